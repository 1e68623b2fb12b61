"""The owner's ledger: every release, written down durably before it is sent.

SQLite in WAL mode with full synchronisation. A transaction takes the write lock first (BEGIN
IMMEDIATE), so several processes on one file are one after the other, and what is checked is still
true when it is written. Entries form a hash chain, which is checked whenever a ledger is opened;
marks outside the file (ledger_marks.py) notice an old copy.

Claim: what has been returned to a caller is in the ledger, whatever is killed and whenever; the
same question gives the same bytes; budgets are never exceeded, also by several processes. Edges: a
full disk is a `LedgerError` before anything is sent; a ledger is not copied or pickled as an
object, because two of them would be two budgets.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, NoReturn

from tacit._util.stopping import use_journal
from tacit.owner.ledger_entries import COUNTS, CampaignId, Entry, link_entry, read_rational
from tacit.owner.ledger_marks import Mark, SeenMark, default_mark, read_mark, write_mark
from tacit.owner.ledger_tables import FIELDS, end_of, insert, prepare, read_entries
from tacit.wire import WireError

log = logging.getLogger(__name__)

_WAIT = 60.0  # seconds for another process's transaction
_OF_CAMPAIGN = "owner = ? AND (key = ? OR key = '' AND campaign = ?)"
_LINES = "SELECT digest, key, epsilon, rho, how FROM releases WHERE owner = ?"
_FIND = (
    f"SELECT {', '.join(FIELDS)} FROM releases "  # noqa: S608 - constants
    "WHERE owner = ? AND digest = ? AND (key IN (?, '') OR ?)"
)


class LedgerError(RuntimeError):
    """The ledger cannot vouch for a release: nothing may be sent. The message says what to do."""


class Spending(NamedTuple):
    """Epsilon, the releases that cost something (epsilon, or rho whose epsilon is still 0 at its
    delta), and of the epsilon the part that went for peers' counts.
    """

    epsilon: Fraction
    releases: int
    counts: Fraction


class _Line(NamedTuple):
    """Of an entry, what it answered and what it cost."""

    digest: bytes
    key: str
    epsilon: str
    rho: str
    how: str


@dataclass
class Book:
    """An open transaction, begun after `count` entries: what one may read and write while nobody
    else can.
    """

    connection: sqlite3.Connection = field(repr=False)
    count: int
    before: bytes
    added: list[Entry] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.head = self.before
        self._lines: dict[str, list[_Line]] = {}

    def find(self, owner: str, digest: bytes, key: str | None = "") -> Entry | None:
        """The release that answered this question of the campaign with this key, if there was
        one; without a key, of any campaign.
        """
        anybody = key is None
        keys = (key, "")
        if not any(
            line.digest == digest and (anybody or line.key in keys) for line in self._of(owner)
        ):
            return None
        found = self.connection.execute(_FIND, (owner, digest, key, anybody)).fetchone()
        return None if found is None else Entry(*found)

    def spending_of(self, owner: str) -> Spending:
        """What an owner has spent so far."""
        costs = [line for line in self._of(owner) if (line.epsilon, line.rho) != ("0", "0")]
        spent, counts = Fraction(0), Fraction(0)
        for line in costs:
            spent += read_rational(line.epsilon)
            counts += read_rational(line.epsilon) if line.how == COUNTS else 0
        return Spending(spent, len(costs), counts)

    def _of(self, owner: str) -> list[_Line]:
        """The lines of an owner, which are read once for all that is asked of them."""
        if owner not in self._lines:
            found = self.connection.execute(_LINES, (owner,)).fetchall()
            self._lines[owner] = [_Line(*each) for each in found]
        return self._lines[owner]

    def rho_of(self, owner: str, campaign: CampaignId, delta: Fraction) -> Fraction:
        """The rho of Gaussian noise that an owner has spent in a campaign at this delta."""
        return self._noise_of(owner, campaign, delta, "rho")

    def charged_of(self, owner: str, campaign: CampaignId, delta: Fraction) -> Fraction:
        """The epsilon that an owner was charged for that."""
        return self._noise_of(owner, campaign, delta, "epsilon")

    def _noise_of(self, owner: str, campaign: CampaignId, delta: Fraction, what: str) -> Fraction:
        costs = self.connection.execute(
            f"SELECT {what} FROM releases WHERE {_OF_CAMPAIGN} AND delta = ?",  # noqa: S608 - a constant
            (owner, campaign.key, campaign.name, str(delta)),
        ).fetchall()
        return sum((read_rational(cost) for (cost,) in costs), Fraction(0))

    def delta_of(self, owner: str, campaign: CampaignId, delta: Fraction) -> Fraction:
        """What the deltas of an owner's campaigns add up to, this one's included."""
        found = self.connection.execute(
            "SELECT DISTINCT campaign, key, delta FROM releases WHERE owner = ? AND delta <> '0'",
            (owner,),
        ).fetchall()
        deltas = {*found, (campaign.name, campaign.key, str(delta))}
        return sum((read_rational(each) for *_, each in deltas), Fraction(0))

    def count_answers(self, owner: str, campaign: CampaignId, what: str) -> int:
        """How many questions for this the owner has answered in a campaign."""
        wanted = f"SELECT count(*) FROM releases WHERE {_OF_CAMPAIGN} AND what = ?"  # noqa: S608 - a constant
        given = (owner, campaign.key, campaign.name, what)
        return int(self.connection.execute(wanted, given).fetchone()[0])

    def add(self, entry: Entry) -> None:
        """Write a release down; it counts when the transaction ends."""
        self.head = link_entry(self.head, entry)
        self._lines.pop(entry.owner, None)
        insert(self.connection, entry, self.head)
        self.added.append(entry)


class _End(NamedTuple):
    """How far a ledger has come, as of SQLite's count of what other connections changed."""

    version: int
    identity: bytes
    entries: int
    head: bytes


class Ledger:
    """A ledger on disk; `mark` is where to keep the mark (default: the user's state folder).

    `also` are further places for the same mark, for example on a share or a token: the newest of
    all counts. Their folders must be there, and every release is written to each before it counts.

    `begun` says that the ledger was opened before: then it is refused where the file or every mark
    is gone. Without it a ledger whose file and marks were all deleted begins anew, and what was
    spent is forgotten: whoever opens a ledger by itself, and not in a home, should say so from the
    second time on, or keep a mark where it is not deleted along with it.
    """

    def __init__(
        self,
        path: str | Path,
        mark: str | Path | None = None,
        also: Sequence[str | Path] = (),
        *,
        begun: bool = False,
    ) -> None:
        self.path = Path(path)
        self.mark = default_mark(self.path) if mark is None else Path(mark)
        self.marks = (self.mark, *(Path(each) for each in also))
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._lock = threading.Lock()
        self._seen: dict[Path, SeenMark] = {}
        self._end: _End | None = None
        for each in self.marks[1:]:
            if not each.parent.is_dir():
                raise LedgerError(
                    f"the folder of the guard {each} is not there (a share that is not mounted?); "
                    "nothing was released"
                )
        gone = [each for each in (self.path, self.mark) if not each.exists()]
        if begun and (self.path in gone or not any(each.exists() for each in self.marks)):
            raise LedgerError(
                f"ledger {self.path} has lost {gone[0]}, and with it what was spent: put the "
                "latest back; nothing was released"
            )
        with self.transaction() as book:  # creates the tables, and compares ledger and marks
            for _ in read_entries(book.connection):
                pass
            for each in self.marks:
                if not each.exists():
                    identity = prepare(book.connection, self.marks)
                    write_mark(each, Mark(identity, book.count, book.head, ()))

    @classmethod
    def adopt(
        cls, path: str | Path, mark: str | Path | None = None, also: Sequence[str | Path] = ()
    ) -> "Ledger":
        """Take a ledger as it is for true, write its mark anew, and open it.

        For one that was moved here on purpose. Whoever adopts an old copy gives away what it
        forgot.
        """
        target = default_mark(Path(path)) if mark is None else Path(mark)
        try:
            connection = sqlite3.connect(
                f"{Path(path).absolute().as_uri()}?mode=rw", uri=True, timeout=_WAIT
            )
            connection.execute("BEGIN IMMEDIATE")  # nobody else writes a mark meanwhile
            connection.execute("SELECT identity FROM ledger")  # or it is none
            identity = prepare(connection, ())
            for each in (target, *(Path(other) for other in also)):
                write_mark(each, Mark(identity, *end_of(connection), ()))
            connection.execute("COMMIT")
            connection.close()
        except (sqlite3.Error, OSError, WireError) as problem:
            raise LedgerError(f"ledger {path} cannot be adopted: {problem}") from problem
        return cls(path, mark, also)

    @contextmanager
    def transaction(self) -> Iterator[Book]:
        """Read and write with nobody in between; an exception inside writes nothing."""
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            identity, book = self._catch_up(connection)
            # put back for good before anything new: a second kill must not find it missing
            while book.added:
                connection.execute("COMMIT")
                log.warning("put %d releases back from the mark", len(book.added))
                connection.execute("BEGIN IMMEDIATE")
                identity, book = self._catch_up(connection)
            yield book
            if book.added:
                mark = Mark(identity, book.count, book.before, tuple(book.added))
                for each in self.marks:
                    self._seen[each] = write_mark(each, mark)
            connection.execute("COMMIT")
            if book.added and self._end is not None:
                total = book.count + len(book.added)
                self._end = self._end._replace(entries=total, head=book.head)

    @contextmanager
    def glance(self) -> Iterator[Book]:
        """Read only, while others may write, and compare with no mark: whatever is decided by it
        counts only if a `transaction` that follows has the same head, which is as old as the last
        look, or older than all that is read.
        """
        with self._connected() as connection:
            known = self._end
            yield Book(connection, *(end_of(connection) if known is None else known[-2:]))

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """This process's connection, for one thread; what an exception leaves open is undone."""
        connection = self._open()
        with self._lock:  # threads of this process; BEGIN IMMEDIATE keeps processes apart
            try:
                try:
                    yield connection
                except BaseException:
                    self._end = None
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
            except (sqlite3.Error, OSError, WireError) as problem:
                raise LedgerError(
                    f"ledger {self.path}: {problem}; nothing was released"
                ) from problem

    def _end_now(self, connection: sqlite3.Connection) -> "_End":
        """How far the ledger has come, in an open transaction: SQLite tells whether another
        connection has committed anything since it was last looked at.
        """
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if self._end is None or self._end.version != version:
            identity = prepare(connection, self.marks)
            self._end = _End(version, identity, *end_of(connection))
        return self._end

    def entries(self) -> list[Entry]:
        """All releases in order, their chain checked."""
        with self.transaction() as book:
            return list(read_entries(book.connection))

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _open(self) -> sqlite3.Connection:
        """This process's own connection: one that crossed a fork would break the locks."""
        if self._connection is None or self._process != os.getpid():
            try:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                made = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
                use_journal(made)
            except (sqlite3.Error, OSError) as problem:
                raise LedgerError(f"ledger {self.path} cannot be opened: {problem}") from problem
            self._connection, self._process, self._lock = made, os.getpid(), threading.Lock()
            self._end = None
        return self._connection

    def _catch_up(self, connection: sqlite3.Connection) -> tuple[bytes, Book]:
        """Compare with the newest mark; what it has and the ledger lost in the last transaction is
        added, to be committed.
        """
        _, identity, count, head = self._end_now(connection)
        known = self._read_marks()
        book = Book(connection, count, head)
        if count == 0 and not any(mark.final[0] for mark in known):
            return identity, book  # nothing was ever released
        if not known:
            raise LedgerError(
                f"ledger {self.path} has releases ({count}) but its mark {self.mark} is missing; "
                "if the ledger was moved here on purpose: tacit ledger adopt"
            )
        mark = max(known, key=lambda each: each.final[0])
        total, final = mark.final
        ours = all(each.ledger == identity for each in known)
        if ours and all(each.final[1] == final for each in known if each.final[0] == total):
            if (count, head) == (total, final):
                return identity, book
            if (count, head) == (mark.count, mark.head):
                self._end = None
                for entry in mark.pending:
                    book.add(entry)
                return identity, book
        raise LedgerError(
            f"ledger {self.path} is not the latest: it has {count} releases, its mark "
            f"{self.mark} knows of {total}; "
            "an old copy forgets what was spent, so put the latest back"
        )

    def _read_marks(self) -> list[Mark]:
        """All marks that there are, as they are on disk now."""
        found = ((path, read_mark(path, self._seen.get(path))) for path in self.marks)
        self._seen = {path: seen for path, seen in found if seen is not None}
        return [seen.mark for seen in self._seen.values()]

    def __copy__(self) -> NoReturn:
        raise TypeError("a ledger cannot be copied: two ledgers would be two budgets")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a ledger cannot be copied: two ledgers would be two budgets")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ledger cannot be pickled: two ledgers would be two budgets")

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"
