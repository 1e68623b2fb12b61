"""The mark: how far a ledger has come, kept outside its file, so that an old copy of the file is
noticed.

Before a ledger commits, the mark is written: the number of entries and the head of their chain
before this transaction, and the new entries themselves, report bytes included. So whenever
something breaks, either both agree, or the mark is one transaction ahead, and what is missing in
the ledger is put back from it: same entries, same bytes, nothing spent twice and nothing lost. That
is committed before the mark is written again, so kills may come in a row. If the mark is further
ahead, the ledger is an old copy: it is refused.

The mark is kept apart from the ledger, and there may be several, of which the newest counts. Cannot
be noticed: an old copy of the ledger together with all its marks of the same moment (a whole disk
put back, and no mark elsewhere).

An `Entry` is one line of the ledger: what was released, to whom, for how much.
"""

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from tacit._util.checks import bad
from tacit.sums.discrete_gaussian import epsilon_of
from tacit.wire import WireError, decode, encode, message

COUNTS = "counts"  # how peers release; see `budget_used`
EMPTY = bytes(32)  # the head of a ledger without entries
_RATIONAL = re.compile("[0-9]{1,400}(/[0-9]{1,400})?")


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

    Where it has a delta, `rho` is what it costs as zero-concentrated privacy, and `epsilon` what it
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
        for name in ("rho", "delta"):
            if not _RATIONAL.fullmatch(getattr(self, name)):
                raise bad(name, "a rational number such as 1/2", getattr(self, name)[:20])
        if not _RATIONAL.fullmatch(self.epsilon):
            raise bad("epsilon", "a rational number such as 1/2", self.epsilon[:20])
        Fraction(self.epsilon)  # refuses what divides by 0

    @property
    def cost(self) -> Fraction:
        """The epsilon charged."""
        return Fraction(self.epsilon)

    @property
    def is_paid(self) -> bool:
        """Whether rows were used: a rho may cost no epsilon yet, where delta is large."""
        return self.cost > 0 or Fraction(self.rho) > 0

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
    return spent + counts if 0 < counts < spent else spent


def added_epsilon(before: Fraction, rho: Fraction, delta: float) -> Fraction:
    """What a release of this rho adds to the epsilon of releases of `before` in the same campaign,
    at its delta.

    Claim: what was added in a campaign adds up to the epsilon of all of its releases together, at
    delta. Proof: rho adds up, and `epsilon_of` is evaluated at both ends, exactly as a rational.

    >>> parts = [added_epsilon(k * Fraction(1, 50), Fraction(1, 50), 1e-6) for k in range(3)]
    >>> [round(float(part), 2) for part in parts]
    [0.9, 0.41, 0.32]
    """
    composed = Fraction(epsilon_of(before + rho, delta))
    return composed - Fraction(epsilon_of(before, delta))


def link_entry(head: bytes, entry: Entry) -> bytes:
    """The head of the chain after one more entry: no line can be changed, dropped or moved
    without changing it.
    """
    return blake2b(head + encode(entry), digest_size=32).digest()


_LARGEST = 1 << 30


@message("mark")
@dataclass(frozen=True)
class Mark:
    """`count` entries with head `head`, then `pending`: the entries of the last transaction."""

    ledger: bytes
    count: int
    head: bytes
    pending: tuple[Entry, ...]

    @property
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


def read_mark(path: Path) -> Mark | None:
    """The mark, None when there is none; a damaged one is an error, not none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return decode(data, Mark, _LARGEST)
    except WireError as problem:
        raise WireError(f"the mark {path} is damaged: {problem}") from problem


def write_mark(path: Path, mark: Mark) -> None:
    """Replace the mark, durably and in one step; the caller holds the ledger's lock, so there is
    one draft.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(
        f"{path.name}.draft"
    )  # what a kill leaves behind is overwritten, not left to pile up
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(encode(mark))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
