"""What a ledger is made of: entries, which form a chain, the tables that they lie in, and marks
outside the file, by which an old copy of it is noticed.

An `Entry` is one line: what was released, to whom, for how much. A mark says how far a ledger has
come. Before a ledger commits, the mark is written: the number of entries and the head of their
chain before this transaction, and the new entries themselves, report bytes included. So whenever
something breaks, either both agree, or the mark is one transaction ahead, and what is missing in
the ledger is put back from it: same entries, same bytes, nothing spent twice and nothing lost. That
is committed before the mark is written again, so kills may come in a row. If the mark is further
ahead, the ledger is an old copy: it is refused.

The mark is kept apart from the ledger, and there may be several, of which the newest counts. Cannot
be noticed: an old copy of the ledger together with all its marks of the same moment (a whole disk
put back, and no mark elsewhere).

    version 1   lines of ten fields, from the owner to the report
    version 2   and what a release costs beside Gaussian noise: rho, delta
    version 3   and the campaign's key

Claim: a ledger of before is brought here by the transaction that opens it; every release, its cost
and its bytes stay; an old copy is noticed as before; a kill at any moment loses nothing. Proof: its
chain is checked with the bytes of before and then written anew, which is a function of its lines
alone. Marks are translated first, head by head, then the transaction ends: killed in between, marks
of now and lines of before meet, and the lines give the heads that the marks have.
"""

import hashlib
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgpack

from tacit._util.checks import bad
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.wire import WireError, decode, encode, message
from tacit.wire.codec import VERSION as WIRE

COUNTS = "counts"  # how peers release; see `budget_used`
EMPTY = bytes(32)  # the head of a ledger without entries
_RATIONAL = re.compile("[0-9]{1,400}(/[0-9]{1,400})?")


@lru_cache(maxsize=4096)
def read_rational(text: str) -> Fraction:
    """The number that a line of a ledger writes; `ValueError` where it is none."""
    if not _RATIONAL.fullmatch(text):
        raise ValueError("it must be a rational number such as 1/2")
    top, _, bottom = text.partition("/")
    if bottom and not int(bottom):
        raise ValueError("it must not divide by 0")
    return Fraction(int(top), int(bottom or 1))


class CampaignId(NamedTuple):
    """A campaign as a ledger knows it: by its key, in hex. Names are no more than names."""

    name: str
    key: str


@message("ledger entry")
@dataclass(frozen=True)
class Entry:
    """A release; `epsilon` is an exact rational as text, `at` in seconds since 1970. What cost
    neither epsilon nor rho was made from no rows. `key` is the campaign's, in hex; empty in lines
    of before they had one, which count for every campaign of that name.

    Where it has a delta, `rho` is what it costs beside Gaussian noise, and `epsilon` what it
    adds to the epsilon of its campaign at this `delta` (`added_epsilon`).
    """

    owner: str
    digest: bytes
    campaign: str
    number: int
    at: int
    epsilon: str
    unit: str
    what: str
    how: str
    report: bytes
    rho: str = "0"
    delta: str = "0"
    key: str = ""

    def __post_init__(self) -> None:
        for name in ("rho", "delta", "epsilon"):
            try:
                read_rational(getattr(self, name))
            except ValueError:
                text = getattr(self, name)[:20]
                raise bad(name, "a rational number such as 1/2", text) from None

    @cached_property
    def line(self) -> bytes:
        """As the chain has it."""
        return encode(self)

    @property
    def cost(self) -> Fraction:
        """The epsilon charged."""
        return read_rational(self.epsilon)

    @property
    def is_paid(self) -> bool:
        """Whether rows were used: a rho may cost no epsilon yet, where delta is large."""
        return self.cost > 0 or read_rational(self.rho) > 0

    def __repr__(self) -> str:
        return f"Entry({self.owner!r}, {self.digest.hex()[:12]}, epsilon={self.epsilon})"


def budget_used(spent: Fraction, counts: Fraction) -> Fraction:
    """What of a budget is used when `counts` of all that was `spent` went for peers' counts.

    Claim: it is an epsilon for one record added, removed or replaced, where releases of several
    kinds are mixed; where all are counts, for one added or removed, as they say. Proof: shares and
    sites prove their epsilon for all three; counts prove it for added or removed, and twice it for
    replaced, which is one of each. Epsilons of one adjacency add up.

    >>> budget_used(Fraction(3), Fraction(1)), budget_used(Fraction(1), Fraction(1))
    (Fraction(4, 1), Fraction(1, 1))
    """
    return spent + counts if counts and counts < spent else spent


def added_epsilon(before: Fraction, rho: Fraction, delta: float) -> Fraction:
    """What a release of this rho adds to the epsilon of releases of `before` in the same campaign,
    at its delta.

    Claim: what was added in a campaign adds up to no less than the epsilon of all of its releases
    together, at delta. Proof: rho adds up, and `epsilon_of` is evaluated at both ends, exactly as a
    rational; what floats make of a rho too small to notice is not given back.

    >>> parts = [added_epsilon(k * Fraction(1, 50), Fraction(1, 50), 1e-6) for k in range(3)]
    >>> [round(float(part), 2) for part in parts]
    [0.83, 0.38, 0.3]
    """
    composed = Fraction(epsilon_of(before + rho, delta))
    return max(Fraction(0), composed - Fraction(epsilon_of(before, delta)))


def link_entry(head: bytes, entry: Entry) -> bytes:
    """The head of the chain after one more entry: no line can be changed, dropped or moved
    without changing it.
    """
    return blake2b(head + entry.line, digest_size=32).digest()


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


VERSION = 3  # of a ledger's tables
FIELDS = (
    "owner", "digest", "campaign", "number", "at", "epsilon", "unit", "what", "how", "report",
    "rho", "delta", "key",
)  # fmt: skip
_EARLIER = {1: FIELDS[:10], 2: FIELDS[:12]}
_RELEASES = (
    "CREATE TABLE IF NOT EXISTS releases (place INTEGER PRIMARY KEY, owner TEXT NOT NULL, "
    "digest BLOB NOT NULL, campaign TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, "
    "epsilon TEXT NOT NULL, unit TEXT NOT NULL, what TEXT NOT NULL, how TEXT NOT NULL, "
    "report BLOB NOT NULL, rho TEXT NOT NULL, delta TEXT NOT NULL, key TEXT NOT NULL, "
    "head BLOB NOT NULL, UNIQUE (owner, digest, key))"
)
_INSERT = (
    f"INSERT INTO releases ({', '.join(FIELDS)}, head) "  # noqa: S608 - constants
    f"VALUES ({','.join('?' * (len(FIELDS) + 1))})"
)
_values = attrgetter(*FIELDS)
_LEDGER = "CREATE TABLE IF NOT EXISTS ledger (version INTEGER NOT NULL, identity BLOB NOT NULL)"


def prepare(connection: sqlite3.Connection, marks: Sequence[Path]) -> bytes:
    """The identity of the ledger, whose tables are those of now; in an open transaction.
    `WireError` says why it is none.
    """
    connection.execute(_RELEASES)
    connection.execute(_LEDGER)
    known = connection.execute("SELECT version, identity FROM ledger").fetchone()
    if known is None:
        known = (VERSION, secrets.token_bytes(16))
        connection.execute("INSERT INTO ledger VALUES (?, ?)", known)
    version, identity = known
    if version in _EARLIER:
        heads = _bring_here(connection, version)
        for mark in marks:
            _translate(mark, heads)
    elif version != VERSION:
        raise WireError(f"it has version {version}, this program knows {VERSION}")
    return bytes(identity)


def end_of(connection: sqlite3.Connection) -> tuple[int, bytes]:
    """How many entries there are, and the head of their chain; places count from 1 without gaps."""
    last = "SELECT place, head FROM releases ORDER BY place DESC LIMIT 1"
    found = connection.execute(last).fetchone()
    return (0, EMPTY) if found is None else (int(found[0]), bytes(found[1]))


def insert(connection: sqlite3.Connection, entry: Entry, head: bytes) -> None:
    """Write a line; `head` is that of the chain with it."""
    connection.execute(_INSERT, (*_values(entry), head))


def read_entries(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Releases in order, as long as their chain holds; `WireError` where it does not."""
    wanted = f"SELECT {', '.join(FIELDS)}, head FROM releases ORDER BY place"  # noqa: S608 - constants
    head = EMPTY
    for number, (*row, stored) in enumerate(connection.execute(wanted), 1):
        entry = None
        with suppress(ValueError, TypeError, WireError):  # what cannot be read was changed, too
            entry = Entry(*row)
            head = link_entry(head, entry)
        if entry is None or head != stored:
            raise _change_error(number)
        yield entry


def _bring_here(connection: sqlite3.Connection, version: int) -> dict[bytes, bytes]:
    """Lines of before in the table of now; the new heads of their chain by the old ones."""
    names = ", ".join(_EARLIER[version])
    rows = connection.execute(
        f"SELECT {names}, head FROM releases ORDER BY place"  # noqa: S608 - constants
    ).fetchall()
    connection.execute("DROP TABLE releases")
    connection.execute(_RELEASES)
    before, now, heads = EMPTY, EMPTY, {EMPTY: EMPTY}
    for number, (*row, stored) in enumerate(rows, 1):
        before = _earlier_link(before, row)
        if before != stored:
            raise _change_error(number)
        try:
            entry = Entry(*row)
        except (ValueError, TypeError):
            raise _change_error(number) from None
        now = link_entry(now, entry)
        insert(connection, entry, now)
        heads[before] = now
    connection.execute("UPDATE ledger SET version = ?", (VERSION,))
    return heads


def _translate(path: Path, heads: dict[bytes, bytes]) -> None:
    """Write a mark of before as one of now; one that is missing, or is of now, stays as it is."""
    with suppress(WireError):
        read_mark(path)
        return
    try:
        _, (tag, ledger, count, head, pending) = msgpack.unpackb(path.read_bytes())
        entries = tuple(Entry(*fields) for _, *fields in pending)
    except (ValueError, TypeError, msgpack.UnpackException):
        raise WireError(f"the mark {path} is damaged") from None
    if not (tag == "mark" and head in heads):
        raise WireError(
            f"the mark {path} knows of {count + len(entries)} releases that the ledger has not: "
            "an old copy forgets what was spent, so put the latest back"
        )
    write_mark(path, Mark(ledger, count, heads[head], entries))


def _earlier_link(head: bytes, row: list[object]) -> bytes:
    """The head of the chain after one more line, as it was computed before."""
    line = msgpack.packb([WIRE, ["entry", *row]], use_bin_type=True, strict_types=True)
    return blake2b(head + line, digest_size=32).digest()


def _change_error(number: int) -> WireError:
    return WireError(f"entry {number} was changed after it was written")
