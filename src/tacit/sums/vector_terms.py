"""What both sides agree on about ONE sum of vectors, and the four things that are done under it: a
share becomes small whole numbers, a server draws its noise, a total becomes a mean, a sum has a
price.

    owner:   shorten to `radius`, turn, divide by `step`, round by coins     -> whole numbers
    server:  add them up, add noise of law and `noise`                       -> total
    public:  total / n, turned back                                          -> mean, standard error

Claim: whatever the share is, its numbers are at most 2^(bits-1) - 1, their squares add up to at
most `bound`, and (where the noise is Laplace) their sizes to at most `reach`. Proof: entries are
clipped, and what coins make too long is drawn again a few times, then rounded towards zero, then
its largest entry is lowered until it fits; vectors of zeros fit. Variance: 2 sigma^2 steps^2 by the
servers' noise and at most n / 4 steps^2 by rounding, in each entry of a total. Edges: NaN counts as
0, as in `Ball.clip`. The turn is public and orthogonal: it spreads a share over its entries, so
that few are clipped (entries have a standard deviation of at most 2 steps). Clipping, a later
draw and lowering bias the longest shares a little, nothing else.

Sites (`RecordTerms`) add up the numbers of their records before anything leaves, and count them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt, sqrt
from typing import NamedTuple

import numpy as np

from tacit._util.checks import bad, check_delta, one_of, positive, whole
from tacit._util.kernels import kernel, pieces, spread
from tacit._util.types import AnyArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.base import matrix
from tacit.mechanisms.spaces import Space, move_inside
from tacit.mechanisms.streams import Stream, high_half, low_half, round_up
from tacit.sums import HOW
from tacit.sums.discrete_gaussian import (
    LARGEST_SIGMA,
    ROUNDING,
    compose_epsilon,
    discrete_gaussian,
    each_of,
    least_scale,
    least_sigma,
    rho_of,
    rho_of_sum,
    turn,
    turn_back,
    turn_signs,
)
from tacit.sums.halves import Batch, SumLaw
from tacit.sums.prio3.bounded import SummedVector
from tacit.sums.prio3.instances import prio3_bounded_vector, prio3_summed_vector
from tacit.sums.prio3.prio3 import Prio3
from tacit.sums.secure_sum import two_sided_geometric, variance
from tacit.wire import message

GAUSSIAN, LAPLACE = "discrete gaussian", "discrete laplace"
MINIMUM = 10  # owners, unless more are asked for
_BITS = 4
_SPREAD = 2.0  # steps: the standard deviation of a turned share's entries, at most
_FINE = 1 << 20  # of sigma: a part that nobody misses
_ATTEMPTS = 4  # draws of a share's rounding before it is rounded towards zero
_BLOCK = 1024  # owners rounded at a time
_TOGETHER = 4  # shares that stay in a core's cache from the first step to the last


@message("sum.vector")
@dataclass(frozen=True)
class VectorTerms(SumLaw):
    """The terms of one sum of vectors of `dim` whole numbers of `bits` bits, squared length at most
    `bound`.

    `noise` is what each server's law has for its scale, in steps: sigma of the Gaussian, t of
    Laplace, for which sizes add up to at most `reach`. Fewer than `minimum` owners are not opened.
    """

    dim: int
    radius: float
    step: float
    bound: int
    reach: int
    law: str
    noise: int
    delta: float
    minimum: int = MINIMUM
    bits: int = _BITS

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1)
        whole("minimum", self.minimum, 1)
        one_of("law", self.law, (GAUSSIAN, LAPLACE))
        if not 2 <= whole("bits", self.bits, 2) <= 6:
            raise bad("bits", "from 2 to 6", self.bits)
        for name in ("radius", "step"):
            if not 1e-100 <= positive(name, getattr(self, name)) <= 1e100:
                raise bad(name, "between 1e-100 and 1e100", getattr(self, name))
        if not whole("bound", self.bound, 1) <= self.dim * self.largest**2:
            raise bad("bound", f"at most {self.dim * self.largest**2}", self.bound)
        if not whole("reach", self.reach, 1) <= self.dim * self.largest:
            raise bad("reach", f"at most {self.dim * self.largest}", self.reach)
        if not whole("noise", self.noise, 1) <= LARGEST_SIGMA:
            raise bad("noise", f"at most {LARGEST_SIGMA} steps: a larger epsilon", self.noise)
        if self.law == GAUSSIAN and not self.noise**2 > ROUNDING:
            raise bad("noise", "at least 3 steps where it is Gaussian", self.noise)
        if not (check_delta(self.delta) > 0) == (self.law == GAUSSIAN):
            raise bad("delta", "0 with Laplace noise, above 0 with Gaussian noise", self.delta)

    @classmethod
    def of(
        cls,
        space: Space,
        epsilon: float,
        delta: float,
        *,
        answers: int = 1,
        minimum: int = MINIMUM,
    ) -> "VectorTerms":
        """Terms of each of `answers` sums of the same owners, which together cost (epsilon, delta).

        >>> from tacit import Ball
        >>> terms = VectorTerms.of(Ball(dim=1000), 1.0, 1e-6)
        >>> terms.law, terms.bound, terms.epsilon <= 1.0
        ('discrete gaussian', 4225, True)
        """
        dim, largest, delta = space.dim, (1 << (_BITS - 1)) - 1, check_delta(delta)
        if delta == 0:
            step = space.radius_inf / largest
            long, sizes = space.radius_2 / step, space.radius_1 / step
            reach = min(dim * largest, ceil(sizes + sqrt(sizes)))
            bound = min(dim * largest**2, largest * reach, ceil(long**2 + sizes + 3 * long))
            scale = least_scale(reach, each_of(positive("epsilon", epsilon), answers))
            if not scale <= LARGEST_SIGMA:
                raise _too_small(epsilon, answers * Fraction(2 * reach, LARGEST_SIGMA), 0.0)
            return cls(
                dim,
                space.radius_2,
                step,
                bound=bound,
                reach=reach,
                law=LAPLACE,
                noise=scale,
                delta=0.0,
                minimum=minimum,
            )
        long = max(float(largest), _SPREAD * sqrt(dim))
        rough = long**2 + dim / 6 + sqrt(dim * (2 * (long**2 / dim + 1) / 3))
        bound = min(dim * largest**2, ceil(rough))
        sigma = least_sigma(bound, rho_of(epsilon, delta) / whole("answers", answers, 1))
        while sigma <= LARGEST_SIGMA and (
            compose_epsilon(answers * rho_of_sum(bound, sigma), delta) > epsilon
        ):
            sigma += 1 + sigma // _FINE  # what is charged is rounded, too
        if not sigma <= LARGEST_SIGMA:
            raise _too_small(epsilon, answers * rho_of_sum(bound, LARGEST_SIGMA), delta)
        radius = space.radius_2
        reach = dim * largest
        return cls(
            dim,
            radius,
            radius / long,
            bound=bound,
            reach=reach,
            law=GAUSSIAN,
            noise=sigma,
            delta=delta,
            minimum=minimum,
        )

    @property
    def largest(self) -> int:
        """The largest size of an entry."""
        return (1 << (self.bits - 1)) - 1

    @property
    def rho(self) -> Fraction:
        """What one sum costs an owner beside Gaussian noise; nothing where epsilon is pure."""
        return rho_of_sum(self.bound, self.noise) if self.law == GAUSSIAN else Fraction(0)

    @property
    def charge(self) -> Fraction:
        """What adds up over sums of the same owners: rho, or epsilon where it is pure."""
        return self.rho if self.law == GAUSSIAN else Fraction(2 * self.reach, self.noise)

    @property
    def epsilon(self) -> float:
        """What one sum costs an owner, at `delta`."""
        return compose_epsilon(self.charge, self.delta)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """What an owner may choose from: one epsilon."""
        return (self.epsilon,)

    @property
    def mechanism(self) -> str:
        return HOW

    @property
    def price(self) -> float:
        return self.epsilon

    @property
    def most(self) -> int:
        return self.largest

    @cached_property
    def prio3(self) -> Prio3:
        return prio3_bounded_vector(self.dim, self.bound, self.bits)

    def tape(self, batch: Batch, stream: Stream) -> Stream:
        return sum_tape(stream, batch.number, batch.attempt)

    def draw_noise(self, stream: Stream) -> IntArray:
        return _draw_noise(self, self.dim, stream)

    def answer(self, total: Sequence[int], n: int) -> tuple[FloatArray, FloatArray, int]:
        return (*mean_of(np.array(total, dtype=np.int64), n, self), n)

    @property
    def variance(self) -> float:
        """Of an entry of an opened sum by the noise of both servers, in squares of shares."""
        each = float(self.noise) ** 2 if self.law == GAUSSIAN else variance(self.noise)
        return 2 * each * self.step**2

    @property
    def influence(self) -> float:
        """How far one valid owner moves a sum at most, in Euclidean length."""
        return 2 * sqrt(self.bound) * self.step


def _too_small(epsilon: float, least: Fraction, delta: float) -> ValueError:
    """What is said of an epsilon that would take more noise than can be drawn."""
    return bad("epsilon", f"at least {compose_epsilon(least, delta):.2g} for these sums", epsilon)


@message("sum.records")
@dataclass(frozen=True)
class RecordTerms(VectorTerms):
    """The same where a site adds the sum over its records, at most `records` of them, and their
    number: an entry more, in units of `weight`.

    Claim: the promise of the law holds for one record of a site replaced, added or removed.
    Proof: two_servers.md. Proven of what a site adds: it is no longer than `records` times a
    record, and its number is from 0 to `records`.
    """

    records: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("records", self.records, 1)
        if not self.weight >= 1:
            raise bad("bound", "at least 2", self.bound)
        try:
            SummedVector(*self._proven, self.bits, 1)
        except ValueError:
            fewer = f"fewer: a sum of {self.dim:,} numbers of each would wrap round"
            raise bad("records", fewer, self.records) from None

    @classmethod
    def at_sites(cls, of_record: VectorTerms, records: int, minimum: int = 1) -> "RecordTerms":
        """On the terms of one record each, for sites of at most so many."""
        return cls(**{**asdict(of_record), "minimum": minimum, "records": records})

    @property
    def weight(self) -> int:
        """Of one record in the entry that counts: as much as an added record may weigh beside its
        numbers without being longer than the difference of two records.
        """
        return isqrt(3 * self.bound) if self.law == GAUSSIAN else self.reach

    @cached_property
    def prio3(self) -> Prio3:
        dim, bound, most, tally = self._proven
        return prio3_summed_vector(dim, bound, most=most, tally=tally, bits=self.bits)

    @property
    def _proven(self) -> tuple[int, int, int, int]:
        """Of what a site adds: its numbers, their squared length, the largest, its tally."""
        largest = self.records * self.largest
        return self.dim, self.records**2 * self.bound, largest, self.records * self.weight

    def tell(self, total: IntArray, records: int) -> IntArray:
        """What a site with this total over its records adds, as its circuit has it."""
        return np.append(total, records * self.weight - self._middle)

    @property
    def most(self) -> int:
        return self._circuit.farthest

    @property
    def _middle(self) -> int:
        return self._circuit.middle

    @property
    def _circuit(self) -> SummedVector:
        circuit = self.prio3.circuit
        if not isinstance(circuit, SummedVector):
            raise TypeError("what sites add is proven by the circuit of summed vectors")
        return circuit

    def draw_noise(self, stream: Stream) -> IntArray:
        return _draw_noise(self, self.dim + 1, stream)

    def answer(self, total: Sequence[int], n: int) -> tuple[FloatArray, FloatArray, int]:
        """Of n sites: the mean over records, of which there are as many as the sum says."""
        *numbers, tally = total
        records = max(1, round((int(tally) + n * self._middle) / self.weight))
        return super().answer(numbers, records)

    @property
    def influence(self) -> float:
        return self.records * super().influence


def round_shares(shares: object, terms: VectorTerms, stream: Stream) -> IntArray:
    """Shares (n, dim) as whole numbers that always keep the terms; row i reads tape i of
    `stream`.
    """
    rows, rounding = matrix("shares", shares, terms.dim), _Rounding.of(terms)
    rounded = np.empty(rows.shape, dtype=np.int64)
    words, _ = coins_of_share(terms)

    def work(part: slice) -> None:
        owners, mine, out = np.arange(part.start, part.stop), rows[part], rounded[part]
        left = np.arange(len(mine))
        for attempt in range(_ATTEMPTS):
            tape = stream.words(owners[left], attempt * words, words)
            last = attempt == _ATTEMPTS - 1
            left = left[~_round(mine, left, tape, rounding, last, out)]
            if not left.size:
                return

    spread(work, pieces(len(rows), least=_BLOCK, most=_BLOCK))
    return rounded


def coins_of_share(terms: VectorTerms) -> tuple[int, int]:
    """Words of a tape that rounding one share reads first, and that more attempts read at most."""
    words = (terms.dim + 1) // 2
    return words, (_ATTEMPTS - 1) * words


def _draw_noise(terms: VectorTerms, entries: int, stream: Stream) -> IntArray:
    """One server's noise for so many entries of a sum, from a tape for each."""
    if terms.law == GAUSSIAN:
        return discrete_gaussian(entries, terms.noise, stream)
    return two_sided_geometric(entries, terms.noise, stream)


def sum_tape(noise: Stream, round_number: int, attempt: int) -> Stream:
    """Where the noise of one sum comes from, the same over the network and in one process."""
    return noise.child("sum", round_number, attempt)


def server_tape(noise: Stream, round_number: int, attempt: int, server: str) -> Stream:
    """The tape of server "a" (the coordinator) or "b" (the helper) in one sum: in a rehearsal over
    the network that of the sum in one process.
    """
    return sum_tape(noise, round_number, attempt).child("noise", server)


def mean_of(total: IntArray, n: int, terms: VectorTerms) -> tuple[FloatArray, FloatArray]:
    """The mean share of n owners from a sum with both servers' noise, and its standard error.

    Beside the noise the error has rounding, and what owners drawn at random differ by: at most the
    squared radius shared out over the entries.
    """
    mean = np.asarray(total, dtype=np.float64)[np.newaxis] * (terms.step / n)
    if terms.law == GAUSSIAN:
        turn_back(mean, turn_signs(terms.dim))
    return mean[0], np.full(terms.dim, sqrt(coordinate_variance(terms, n)))


def coordinate_variance(terms: VectorTerms, n: int) -> float:
    """Of a coordinate of the mean of n owners, on average over coordinates, at most."""
    own = terms.step**2 / 4 + terms.radius**2 / terms.dim
    return terms.variance / n**2 + own / n


class _Rounding(NamedTuple):
    """What a kernel needs of terms; no signs: nothing is turned."""

    radius: float
    step: float
    signs: FloatArray
    largest: int
    bound: int
    reach: int

    @classmethod
    def of(cls, terms: VectorTerms) -> "_Rounding":
        signs = turn_signs(terms.dim) if terms.law == GAUSSIAN else np.empty((0, 0))
        return cls(
            terms.radius,
            terms.step,
            signs,
            largest=terms.largest,
            bound=terms.bound,
            reach=terms.reach,
        )


@kernel
def _round(
    shares: FloatArray,
    which: IntArray,
    tape: WordArray,
    rounding: _Rounding,
    last: bool,
    out: AnyArray,
) -> AnyArray:
    """Some of the shares rounded, each by the coins of its tape; answers which keep the limits:
    all, if this is the `last` attempt. One kernel, so that no long share is the first for which
    something is compiled.
    """
    done = np.empty(len(which), dtype=np.bool_)
    some = np.empty((2, _TOGETHER, shares.shape[1]))
    for first in range(0, len(which), _TOGETHER):
        rows = _in_steps(shares, which[first : first + _TOGETHER], rounding, some)
        for i in range(len(rows)):
            to = out[which[first + i]]
            done[first + i] = _round_row(rows[i], tape[first + i], rounding, to)
            if last and not done[first + i]:
                _round_down(rows[i], rounding, to)
                done[first + i] = True
    return done


@kernel
def _in_steps(
    shares: FloatArray, which: IntArray, rounding: _Rounding, room: FloatArray
) -> FloatArray:
    """Some of the shares shortened, in steps, turned."""
    taken, rows = room[0, : len(which)], room[1, : len(which)]
    for i in range(len(which)):
        taken[i] = shares[which[i]]
    if move_inside(taken, rounding.radius, rows):
        rows[:] = taken
    for i in range(len(rows)):
        row = rows[i]
        for j in range(len(row)):
            row[j] /= rounding.step
    if len(rounding.signs):
        turn(rows, rounding.signs)
    return rows


@kernel
def _round_row(row: FloatArray, tape: WordArray, rounding: _Rounding, out: AnyArray) -> bool:
    """Each entry up or down by a coin of 32 bits."""
    most = float(rounding.largest)
    for j in range(len(row) // 2):
        out[2 * j], out[2 * j + 1] = low_half(tape[j]), high_half(tape[j])
    if len(row) % 2:
        out[len(row) - 1] = low_half(tape[len(row) // 2])
    squares, sizes = 0, 0
    for j in range(len(row)):
        value = min(max(row[j], -most), most)
        floor = np.floor(value)
        size = int(floor) + round_up(value - floor, np.uint64(out[j]))
        out[j] = size
        squares += size * size
        sizes += abs(size)
    return squares <= rounding.bound and sizes <= rounding.reach


@kernel
def _round_down(row: FloatArray, rounding: _Rounding, out: AnyArray) -> None:
    """Each entry towards zero; then the largest one, of several the first, by one until the limits
    are kept: all of a size before any of the next, so that it takes a time like that of rounding.
    """
    squares, sizes = 0, 0
    for j in range(len(row)):
        # no whole number holds all floats
        size = int(min(np.floor(abs(row[j])), float(rounding.largest)))
        out[j] = size if row[j] >= 0 else -size
        squares += size * size
        sizes += size
    for size in range(rounding.largest, 0, -1):
        for j in range(len(row)):
            if squares <= rounding.bound and sizes <= rounding.reach:
                return
            if abs(out[j]) == size:
                out[j] += -1 if out[j] > 0 else 1
                squares -= 2 * size - 1
                sizes -= 1
