"""Secure sums: clipped terms of many owners in, their total out, nobody's term seen; and the
default, two servers that each add their own exact noise. Proof: two_servers.md.

A term is a vector of k entries in [0, 1], for boosting (weighted error, weight). It is clipped,
rounded to the nearest of `steps` public steps per unit, and summed exactly in whole numbers modulo
2^64. Rounding moves a term's entry by at most half a step, so a sum over n owners by at most n / (2
steps) and a mean by at most 1 / (2 steps) = 2^-21; it needs no coins and does not depend on the
batch.

`TwoServers` is in one process what the protocol over the network (halves.py, protocol.py) gives to
the bit. Claim: unit owner; adjacency one owner's rows replaced by any others, the owner present in
both; adversary either server alone, following the protocol or not, with all other owners and
everybody who sees the answer; epsilon exactly, for ONE sum. Each server adds the full noise, so
this holds even if the other adds none. Two servers that collude see every term: then there is no
privacy at all. Proof: one half of a term is uniform whatever the term; the other server's release
adds discrete Laplace noise. Variance: two draws, 2 / (2 sinh(1 / 2t)^2) steps^2 for each entry,
twice what one trusted server would need. Edges: whoever does not prove its term is left out by
both; the sum of the others stays exact but for the noise.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sinh
from typing import ClassVar, TypeVar

import numpy as np

from tacit._util.checks import bad, positive, whole
from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.base import matrix
from tacit.mechanisms.laplace import RUNS, draw_noise, survives
from tacit.mechanisms.streams import Stream, rational

_BLOCK = 1 << 16  # owners handled at a time
_LARGEST_STEPS = 1 << 30  # per unit: two billion owners still fit a sum
_LARGEST_SCALE = 1 << 40  # noise stays far below 2^63 steps
_LARGEST_SUM = 1 << 62  # steps, so that signed words hold it with its noise


class SumRefusedError(RuntimeError):
    """The protocol will not go on: too few owners, a second release, releases of different
    batches.
    """


@dataclass(frozen=True, eq=False)
class SumAnswer:
    """What everybody may see: the sums (k,), the standard deviation of the noise in each, the
    owners counted.
    """

    sums: FloatArray
    stderr: FloatArray
    n: int


@dataclass(frozen=True, kw_only=True)
class SecureSum(ABC):
    """A way to add up one term per owner.

    `epsilon` is the budget of ONE sum for each owner in it: over several sums of the same owners it
    adds up, which is for a ledger to keep. None means no noise and is accepted only by simulations
    of what was published (`unsound` says why). A batch of fewer than `minimum` owners is never
    opened. A term is rounded to `steps` per unit.
    """

    unsound: ClassVar[str] = ""  # why this is a simulation only; empty where the guarantee holds

    epsilon: float | None
    minimum: int = 10
    steps: int = 1 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "minimum", whole("minimum", self.minimum, 1))
        object.__setattr__(self, "steps", whole("steps", self.steps, 1))
        if not self.steps <= _LARGEST_STEPS:
            raise bad("steps", f"at most {_LARGEST_STEPS}", self.steps)
        if not self.unsound:
            object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        elif self.epsilon is not None:
            raise bad("epsilon", "None: this simulation adds no noise", self.epsilon)

    @abstractmethod
    def total(self, terms: object, stream: Stream) -> SumAnswer:
        """The sums of the columns of `terms` (owners, k), each entry clipped to [0, 1] and NaN
        to 0.
        """

    def width(self, k: int) -> int:
        """The largest l1 distance, in steps, between two terms of k entries: what replacing one
        owner can change.
        """
        return k * self.steps

    def scale(self, k: int) -> int:
        """The noise scale t in steps: the least whole number with width / t <= epsilon. 0
        without noise.
        """
        if self.epsilon is None:
            return 0
        t = ceil(Fraction(self.width(k)) / rational(self.epsilon))
        if not t <= _LARGEST_SCALE:
            raise bad(
                "epsilon",
                f"at least {self.width(k) / _LARGEST_SCALE:.2g} for {k} entries",
                self.epsilon,
            )
        return t

    def accept(self, terms: object) -> FloatArray:
        """`terms` as an (owners, k) matrix; only its shape can be wrong."""
        array = np.asarray(terms)
        rows = matrix("terms", array, array.shape[1] if array.ndim == 2 else 1)
        whole("number of entries of a term", rows.shape[1], 1)
        if not len(rows) * self.steps <= _LARGEST_SUM:
            raise bad("number of owners", f"at most {_LARGEST_SUM // self.steps}", len(rows))
        return rows


# as papers have them, and unsound: estimators simulate them by name, no campaign takes them
SIMULATED_SUMS: dict[str, type[SecureSum]] = {}
SimulatedSum = TypeVar("SimulatedSum", bound=type[SecureSum])


def simulate_sum(name: str) -> Callable[[SimulatedSum], SimulatedSum]:
    """Make a sum that may only be simulated known to estimators by this name."""

    def known(kind: SimulatedSum) -> SimulatedSum:
        if not kind.unsound:
            raise ValueError(f"a simulation must say why it is unsound, got {kind.__name__}")
        SIMULATED_SUMS[name] = kind
        return kind

    return known


def encode(terms: FloatArray, steps: int) -> WordArray:
    """Terms as whole numbers 0 .. steps: clipped, NaN as 0, rounded to nearest (ties to even).
    Total.

    >>> encode(np.array([[0.5, -2.0, np.nan, np.inf]]), 1024)
    array([[ 512,    0,    0, 1024]], dtype=uint64)
    """
    inside = np.clip(np.where(np.isnan(terms), 0.0, terms), 0.0, 1.0)
    return np.asarray(np.rint(inside * steps).astype(np.uint64))


def decode(words: WordArray, steps: int) -> FloatArray:
    """A sum modulo 2^64 as a signed number of units.

    >>> decode(np.array([3, 2**64 - 1], dtype=np.uint64), 2)
    array([ 1.5, -0.5])
    """
    return np.asarray(words.view(np.int64) / steps)


def blocks(n: int) -> Iterator[slice]:
    """Rows 0 .. n-1 in pieces that fit the cache."""
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))


Fill = Callable[[WordArray, np.uint64, IntArray, BoolArray], None]
_WORDS = 28  # coins per draw, unless it needs more
_OWN_PART = 40  # binary digits of the words that one of many draws from a tape may use


def two_sided_geometric(count: int, scale: int, stream: Stream) -> IntArray:
    """`count` draws; draw i is a function of tape i of `stream` alone.

    >>> from tacit import seeded
    >>> many, few = (two_sided_geometric(count, 4, seeded(1)) for count in (9, 3))
    >>> bool((many[:3] == few).all())
    True
    """
    drawn = np.empty(count, dtype=np.int64)
    for rows in blocks(count):
        drawn[rows] = draw_rows(_fill, _WORDS, np.arange(rows.start, rows.stop), scale, stream)
    return drawn


def two_sided_geometric_rows(rows: int, each: int, scale: int, stream: Stream) -> IntArray:
    """`each` draws for every row, (rows, each); row i is a function of tape i of `stream` alone.

    Draw j begins with its own few words near the start of the tape; if these are not enough, it
    goes on in a part of the tape that is its own.

    >>> from tacit import seeded
    >>> many, few = (two_sided_geometric_rows(rows, 5, 4, seeded(1)) for rows in (9, 3))
    >>> bool((many[:3] == few).all())
    True
    """
    tape = stream.words(np.arange(rows), 0, each * _WORDS).reshape(rows * each, _WORDS)
    drawn, done = np.empty(len(tape), dtype=np.int64), np.empty(len(tape), dtype=np.bool_)
    _fill(tape, np.uint64(scale), drawn, done)
    for draw in np.flatnonzero(~done).tolist():
        row, longer, at = np.array([draw // each]), tape[draw], ((draw % each) + 1) << _OWN_PART
        while not done[draw]:
            longer = np.append(longer, stream.words(row, at, _WORDS)[0])
            drawn[draw], end = endless_laplace(longer, 0, np.uint64(scale))
            done[draw], at = end >= 0, at + _WORDS
    return drawn.reshape(rows, each)


def variance(scale: int) -> float:
    """Variance of one draw, in steps^2."""
    return 1 / (2 * sinh(1 / (2 * scale)) ** 2)


def draw_rows(fill: Fill, words: int, rows: IntArray, scale: int, stream: Stream) -> IntArray:
    """One draw per row by a kernel that says for which of them `words` coins were enough; tapes of
    the others are read on. A longer tape begins with the shorter one: a draw is a function of it.
    """
    drawn, done = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.bool_)
    tape = stream.words(rows, 0, words)
    fill(tape, np.uint64(scale), drawn, done)
    left = np.flatnonzero(~done)
    tape = tape[left]
    while left.size:
        tape = np.hstack([tape, stream.words(rows[left], tape.shape[1], words)])
        again, done = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.bool_)
        fill(tape, np.uint64(scale), again, done)
        drawn[left[done]] = again[done]
        left, tape = left[~done], tape[~done]
    return drawn


@kernel
def endless_laplace(tape: WordArray, at: int, scale: np.uint64) -> tuple[int, int]:
    """One draw from place `at` on, and the next place on the tape, -1 when the tape has ended."""
    z, at = draw_noise(tape, at, scale)
    step = int(scale) if z > 0 else -int(scale)
    going = abs(z) >= RUNS * int(scale)
    while going and at >= 0:
        going, at = survives(tape, at, scale, scale)
        if going:
            z += step
    return z, at


@kernel
def _fill(tape: WordArray, scale: np.uint64, drawn: IntArray, done: BoolArray) -> None:
    for i in range(len(tape)):
        drawn[i], at = endless_laplace(tape[i], 0, scale)
        done[i] = at >= 0


@dataclass(frozen=True, kw_only=True)
class TwoServers(SecureSum):
    """The default sum.

    >>> from tacit import seeded
    >>> answer = TwoServers(epsilon=1.0).total(np.full((1000, 2), 0.25), seeded(7))
    >>> answer.n, answer.stderr.round(3)
    (1000, array([4., 4.]))
    >>> bool((abs(answer.sums - 250) < 8 * answer.stderr).all())
    True
    """

    def total(self, terms: object, stream: Stream) -> SumAnswer:
        rows = self.accept(terms)
        return self.open(self.add_up(rows), len(rows), stream)

    def add_up(self, terms: FloatArray) -> IntArray:
        """The sum of terms in steps, before anybody adds noise."""
        total = np.zeros(terms.shape[1], dtype=np.int64)
        for block in blocks(len(terms)):
            total += encode(terms[block], self.steps).astype(np.int64).sum(axis=0)
        return total

    def open(self, total: IntArray, n: int, stream: Stream) -> SumAnswer:
        """What a sum over n owners says when both servers have added their noise."""
        if not n >= self.minimum:
            raise SumRefusedError(f"a sum needs at least minimum={self.minimum} owners, got {n}")
        for server in "ab":
            total = total + two_sided_geometric(
                len(total), self.scale(len(total)), stream.child("noise", server)
            )
        return self.answer_of(total, n)

    def answer_of(self, total: IntArray, n: int) -> SumAnswer:
        """What a sum over n owners in steps says, with the noise of both servers in it."""
        error = np.sqrt(2 * variance(self.scale(len(total)))) / self.steps
        return SumAnswer(decode(total.view(np.uint64), self.steps), np.full(len(total), error), n)
