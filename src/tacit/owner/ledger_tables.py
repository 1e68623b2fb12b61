"""The tables that a ledger lies in, and how one of an earlier version is brought here.

    version 1   lines of ten fields, from the owner to the report
    version 2   and what a release costs beside Gaussian noise: rho, delta
    version 3   and the campaign's key

Claim: a ledger of before is brought here by the transaction that opens it; every release, its cost
and its bytes stay; an old copy is noticed as before; a kill at any moment loses nothing. Proof: its
chain is checked with the bytes of before and then written anew, which is a function of its lines
alone. Marks are translated first, head by head, then the transaction ends: killed in between, marks
of now and lines of before meet, and the lines give the heads that the marks have.
"""

import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path

import msgpack

from tacit.owner.ledger_entries import EMPTY, Entry, link_entry
from tacit.owner.ledger_marks import Mark, read_mark, write_mark
from tacit.wire import WireError
from tacit.wire.codec import VERSION as WIRE

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
