"""Marks: files beside a ledger, or far from it, by which an old copy of it is noticed.

A mark says how far a ledger has come. Before a ledger commits, the mark is written: the number of
entries and the head of their chain before this transaction, and the new entries themselves, report
bytes included. So whenever something breaks, either both agree, or the mark is one transaction
ahead, and what is missing in the ledger is put back from it: same entries, same bytes, nothing
spent twice and nothing lost. That is committed before the mark is written again, so kills may come
in a row. If the mark is further ahead, the ledger is an old copy: it is refused.

There may be several marks, of which the newest counts. Cannot be noticed: an old copy of the ledger
together with all its marks of the same moment (a whole disk put back, and no mark elsewhere).
"""

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tacit.owner.ledger_entries import Entry, link_entry
from tacit.wire import WireError, decode, encode, message

_LARGEST = 1 << 30  # bytes of a mark, in its owner's own file
_AT_ONCE = 1 << 16  # bytes: a mark of one release has some hundred
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW


@message("mark")
@dataclass(frozen=True)
class Mark:
    """`count` entries with head `head`, then `pending`: the entries of the last transaction."""

    ledger: bytes
    count: int
    head: bytes
    pending: tuple[Entry, ...]

    @cached_property
    def final(self) -> tuple[int, bytes]:
        """Count and head with the last transaction."""
        head = self.head
        for entry in self.pending:
            head = link_entry(head, entry)
        return self.count + len(self.pending), head


def state_folder() -> Path:
    """The folder `tacit` in the user's state folder."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base else Path.home() / ".local" / "state") / "tacit"


def default_mark(ledger: Path) -> Path:
    """Where the mark of a ledger is kept: in the user's state folder, by the ledger's full path."""
    name = hashlib.sha256(str(ledger.absolute()).encode()).hexdigest()[:32]
    return state_folder() / f"{name}.mark"


class SeenMark(NamedTuple):
    """A mark and the bytes that it was read from, or written as."""

    data: bytes
    mark: Mark


def read_mark(path: Path, seen: SeenMark | None = None) -> SeenMark | None:
    """The mark that is there, None when there is none; a damaged one is an error, not none. One
    that has the bytes of the one `seen` last is not decoded again.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    parts = []
    try:
        while part := os.read(handle, _AT_ONCE):
            parts.append(part)
    finally:
        os.close(handle)
    data = b"".join(parts)
    if seen is not None and seen.data == data:
        return seen
    try:
        return SeenMark(data, decode(data, Mark, _LARGEST))
    except WireError as problem:
        raise WireError(f"the mark {path} is damaged: {problem}") from problem


def write_mark(path: Path, mark: Mark) -> SeenMark:
    """Replace the mark, durably and in one step; the caller holds the ledger's lock, so there is
    one draft. A mark that is a link, to a share say, stays one: what it leads to is replaced.
    """
    data = encode(mark)
    if os.path.islink(path):
        path = Path(os.path.realpath(path))
    parent, draft = os.path.dirname(path) or ".", f"{path}.draft"
    try:  # what a kill leaves behind is overwritten, not left to pile up
        handle = os.open(draft, _DRAFT, 0o600)
    except FileNotFoundError:
        os.makedirs(parent, mode=0o700, exist_ok=True)
        handle = os.open(draft, _DRAFT, 0o600)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    folder = os.open(parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return SeenMark(data, mark)
