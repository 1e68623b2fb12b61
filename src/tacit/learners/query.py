"""What a data user asks, what it gets, what answering takes, and what of it travels: the words of
the whole protocol.

A `Query` is public. It says what an owner computes and how it randomises it (`release`, run where
the rows are), and how the data user checks and reads reports (`valid`, `collect`, `answer`). The
families are the shares of learners through a mechanism (`ShareQuery`, unit owner, `Answer`), and
private training or counting inside a site or peer (unit record, `Estimates`, every owner's vector
one by one).

A question has a price before it has an answer (`Cost`): work in steps, memory in bytes, from public
facts alone. A step is some ten machine instructions: one entry of an array looked at, added or
compared. `CALL` is what a call into a library costs whatever the size of what it is given. Bounds
are for the worst rows that the public number of rows allows; they say nothing about the rows that
are there, so that a gate may act on them. Claim: `seconds` bounds the time of one core that is at
least a fifth as quick as a processor of 2020. tests/learners/test_cost.py measures bounds against
clocks; a machine that is slower loses its own answers, never its privacy (owner/gate.md).

An `Invitation` carries a query to an owner, signed. It names its campaign, counts up in it, ends at
a time, and says by which schema rows are to be read. Its digest is its identity: an owner answers a
digest once and repeats the same bytes ever after. A report is version (1 byte), tag (6 bytes of the
digest, against mix-ups), level (1 byte: which of the offered epsilons), and the mechanism's
numbers, little-endian: 16 bytes with PrivUnit, whatever the dimension.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.cohort import ROWS_IN_BLOCK, Cohort
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream
from tacit.wire import encode, message

STEP = 1e-8  # seconds
CALL = 5_000  # steps
NUMBER = 8  # bytes


@dataclass(frozen=True)
class Cost:
    """Bounds that add up: of parts done one after the other, whose memory may stay in use. `calls`
    into libraries are made once for all owners that are answered in one go.

    >>> Cost(10, 100, 1) + Cost(5, 50, 2)
    Cost(work=15, memory=150, calls=3)
    >>> Cost(10, 100, 1).times(3)
    Cost(work=30, memory=300, calls=1)
    """

    work: int = 0
    memory: int = 0
    calls: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.work + other.work, self.memory + other.memory, self.calls + other.calls)

    def times(self, owners: int) -> "Cost":
        """Of so many owners in one go."""
        return Cost(owners * self.work, owners * self.memory, self.calls)

    @property
    def seconds(self) -> float:
        """The time that it takes at most."""
        return (self.work + CALL * self.calls) * STEP


def in_blocks(cost: Callable[[int], Cost], rows: int) -> Cost:
    """What takes `cost` of so many rows, done block by block (`Cohort.row_blocks`): the work of
    all rows, the memory of two blocks (one is made while the last is still there), and calls again
    for every block.

    >>> in_blocks(lambda rows: Cost(rows, 8 * rows, 1), 10 * ROWS_IN_BLOCK)
    Cost(work=90960, memory=65536, calls=1)
    """
    whole, block = cost(rows), cost(min(rows, ROWS_IN_BLOCK))
    again = -(-rows * CALL * whole.calls // ROWS_IN_BLOCK)
    return Cost(whole.work + again, 2 * block.memory, whole.calls)


def table(rows: int, columns: int, passes: int = 1) -> Cost:
    """A table of numbers that is made and gone over several times."""
    size = rows * columns
    return Cost(passes * size, NUMBER * size, 1)


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """One question to `owners` owners that were never asked before, to those named by number, or to
    everybody (None).

    The guarantee of answering it is pure epsilon-DP for `unit` and `adjacency`, epsilon being the
    one of `epsilons` that the owner chooses; `unsound` says why a query may only be simulated, and
    is empty where it holds. What named owners, or all, are asked several times adds up.
    """

    unit: ClassVar[str]
    adjacency: ClassVar[str]

    round: int
    attempt: int
    owners: int | tuple[int, ...] | None

    def __post_init__(self) -> None:
        whole("round", self.round, 1)
        whole("attempt", self.attempt, 1)
        if isinstance(self.owners, tuple):
            if not (self.owners and all(whole("owners", owner, 0) >= 0 for owner in self.owners)):
                raise bad("owners", "one at least", self.owners)
        elif self.owners is not None:
            whole("owners", self.owners, 1)

    @property
    @abstractmethod
    def what(self) -> str:
        """The name of what an owner computes, as policies know it."""

    @property
    @abstractmethod
    def how(self) -> str:
        """The name of what randomises it, as policies know it."""

    @property
    def how_in_words(self) -> str:
        """The same for people."""
        return self.how

    @property
    @abstractmethod
    def dim(self) -> int:
        """How many numbers a row of the owners has."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many classes there are."""

    @property
    @abstractmethod
    def epsilons(self) -> tuple[float, ...]:
        """What one answer may cost, in rising order; an owner takes the largest it allows."""

    @property
    def sum_digest(self) -> bytes | None:
        """The name of the sum that an answer goes into, where it counts once whoever asks for it
        and however often; None: every invitation is a question of its own.
        """
        return None

    @property
    def rho(self) -> Fraction:
        """What one answer costs as the rho of Gaussian noise, where it has a delta; else 0."""
        return Fraction(0)

    @property
    def delta(self) -> float:
        """The delta of all answers to one campaign together; 0: pure epsilon."""
        return 0.0

    @property
    @abstractmethod
    def unsound(self) -> str:
        """Why no real owner may answer this; empty: it may."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers that one owner computes: what a block of owners is sized by."""

    @property
    @abstractmethod
    def influence(self) -> str:
        """What one valid report can do at most, whoever sent it: one sentence."""

    @abstractmethod
    def cost(self, rows: int) -> Cost:
        """What one owner's release takes at most, if no owner has more than `rows` rows: from
        the question alone.
        """

    @abstractmethod
    def blank(self, n: int) -> Reports:
        """Room for n reports: their types and widths are public."""

    @abstractmethod
    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        """One report per owner of the cohort, whatever its rows are; owner i reads tape i of
        `stream`.
        """

    @abstractmethod
    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        """Which reports an honest owner could have sent."""

    @abstractmethod
    def collect(self, reports: Reports, epsilon: float | FloatArray) -> Any:
        """What the data user keeps of valid reports; what it keeps of several blocks can be
        added with +.
        """

    @abstractmethod
    def answer(self, collected: Any) -> "Answer | Estimates":
        """What the algorithm is told."""


@message("answer")
@dataclass(frozen=True, eq=False)
class Answer:
    """The estimated mean share of the owners asked, its standard error, and how many there were."""

    mean: FloatArray
    stderr: FloatArray
    n: int


@dataclass(frozen=True, eq=False)
class Estimates:
    """What each owner said, one by one: `values` (owners, dim), released with `epsilons`
    (owners,).
    """

    values: FloatArray
    epsilons: FloatArray

    @property
    def n(self) -> int:
        return len(self.values)

    def __add__(self, other: "Estimates") -> "Estimates":
        joined = np.concatenate([self.values, other.values])
        return Estimates(joined, np.concatenate([self.epsilons, other.epsilons]))


PURPOSE = "invitation"
_VERSION = 1
_TAG = 6  # bytes
_HEADER = 2 + _TAG  # version, tag, level
_DIGEST = 32  # bytes
_LARGEST_NUMBER = (1 << 63) - 1  # what a ledger can write down


@message("invitation")
@dataclass(frozen=True, eq=False)
class Invitation:
    """One question of a campaign; `expires` is in seconds since 1970, `schema` the digest of the
    schema.
    """

    campaign: str
    number: int
    expires: int
    schema: bytes
    query: Query

    def __post_init__(self) -> None:
        if not (1 <= len(self.campaign) <= 200 and self.campaign.isprintable()):
            raise bad("campaign", "a name of 1 to 200 printable characters", self.campaign[:20])
        if not whole("number", self.number, 1) <= _LARGEST_NUMBER:
            raise bad("number", f"at most {_LARGEST_NUMBER}", self.number)
        whole("expires", self.expires, 0)
        if not len(self.schema) == _DIGEST:
            raise bad("schema", f"a digest of {_DIGEST} bytes", len(self.schema))
        if not len(self.query.epsilons) <= 256:
            raise bad(
                "epsilons",
                "at most 256: a report names its level in a byte",
                len(self.query.epsilons),
            )

    @cached_property
    def digest(self) -> bytes:
        """The identity of this invitation: a hash of its canonical bytes."""
        return digest_of(self)

    @cached_property
    def sum_digest(self) -> bytes | None:
        """The name of the sum that it asks for, if it does."""
        return self.query.sum_digest

    @property
    def answered_as(self) -> bytes:
        """By what a ledger knows an answer to it: this invitation, or the sum that it asks for."""
        return self.sum_digest or self.digest


def write_bound(value: float) -> str:
    """An upper bound in three digits, as people write numbers, and never below itself.

    >>> write_bound(7.741), write_bound(11.991), write_bound(1837.2), write_bound(0.07564)
    ('7.75', '12', '1,840', '0.0757')
    """
    digits = Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{digits.normalize():,f}"


def digest_of(value: object) -> bytes:
    """32 bytes that name a registered object."""
    return blake2b(encode(value), digest_size=_DIGEST).digest()


def pack(digest: bytes, level: int, reports: Reports) -> bytes:
    """The bytes of one report."""
    if not len(reports) == 1:
        raise bad("reports", "one report", len(reports))
    body = b"".join(
        array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        for array in (reports.points, reports.indices)
        if array.size
    )
    return bytes([_VERSION]) + digest[:_TAG] + bytes([level]) + body


def unpack(
    data: Sequence[bytes], digest: bytes, query: Query
) -> tuple[BoolArray, IntArray, Reports]:
    """Which of some bytes are reports to this query; the levels and the reports of those that are,
    in order.

    Refused are a wrong version, tag, length or level, and what is not on the mechanism's grid.
    Total: no bytes raise.
    """
    size = report_size(query)
    good = np.array([len(each) == size for each in data], dtype=np.bool_)
    sized = b"".join(each for each in data if len(each) == size)
    rows = np.frombuffer(sized, np.uint8).reshape(-1, size)
    header = np.frombuffer(bytes([_VERSION]) + digest[:_TAG], np.uint8)
    levels = rows[:, _HEADER - 1].astype(np.int64)
    fits = (rows[:, : _HEADER - 1] == header).all(axis=1) & (levels < len(query.epsilons))
    good[good] = fits
    rows, levels = rows[fits], levels[fits]
    reports = query.blank(len(rows))
    at = _HEADER
    for array in (reports.points, reports.indices):
        width = array.dtype.itemsize * array.shape[1]
        raw = np.ascontiguousarray(rows[:, at : at + width]).view(array.dtype.newbyteorder("<"))
        array[...] = raw.reshape(array.shape)
        at += width
    valid = query.valid(reports, np.array(query.epsilons)[levels])
    good[good] = valid
    return good, levels[valid], reports[valid]


def tag_of(digest: bytes) -> bytes:
    """The bytes 1 to 7 of every report to the invitation with this digest."""
    return digest[:_TAG]


def report_size(query: Query) -> int:
    """Bytes of a report to this query."""
    return _HEADER + query.blank(1).nbytes
