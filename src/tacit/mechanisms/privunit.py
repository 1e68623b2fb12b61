"""PrivUnit (Bhowmick et al. 2018, parameters as Asi et al. 2022) by ranking public codewords.
Proof: privunit.md.

Claim: epsilon-LDP for each owner, exactly and without any assumption: whatever the codewords are,
exactly k of N weigh A and the others B, A / B <= e^epsilon in rationals. Variance: `variance`; the
estimate always has length radius / pull. Edges: shares are clipped to the ball, NaN to 0. Unbiased
as far as the codewords are uniform directions: see the note.

Codewords are public directions with 64-bit names (`codewords`). Of N / 2 independent uniform axes
the k ends closest to a given direction have inner products whose expected mean and mean square are
one-dimensional integrals: with them a `Cap` has the estimate's scale and variance in closed form,
and says how many codewords to favour.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import lgamma, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism, Reports
from tacit.mechanisms.codewords import (
    OPERATIONS,
    STEPS,
    closeness,
    closeness_of_many,
    codewords,
    room_for,
    whole_steps,
    whole_steps_of_many,
)
from tacit.mechanisms.spaces import add_squares, sums_of_squares
from tacit.mechanisms.streams import BASE, Odds, high_product, odds, unfair_below, unit

_PANELS, _NODES = 64, 48  # of the quadrature: about 1e-12
_GAIN = 0.017  # doubling the codewords must lower the error by more than this to be worth the time
_CANDIDATES = range(5, 13)  # of the number of candidates: 32 to 4,096
_AT_ONCE = 1 << 15  # inner products, or coordinates, of owners that are drawn by arrays
_SQUARE_SHIFT = 10  # squares of a block of codewords must fit 64 bits
_UNSIGNED = np.uint32((1 << 31) - 1)  # bits of a float of 32 but its sign
_BITS, _LARGEST_BIT = 31, np.uint32(1 << 30)  # of what is left


@dataclass(frozen=True)
class Cap:
    """PrivUnit's constants for one epsilon: the `favoured` closest of `candidates` weigh `high`,
    the others `low`.
    """

    dim: int
    candidates: int
    favoured: int
    high: int
    low: int

    @property
    def total(self) -> int:
        """T: the sum of the weights."""
        return self.favoured * self.high + (self.candidates - self.favoured) * self.low

    @property
    def inputs(self) -> range:
        """Which codeword is closest: cyclic orders stand for all the rankings that shares can
        induce.
        """
        return range(self.candidates)

    def weights(self, closest: int) -> list[int]:
        """Whole-number weights of the candidates when `closest`, closest+1, ... (cyclically) is
        their order.
        """
        rank = [(index - closest) % self.candidates for index in range(self.candidates)]
        return [self.high if place < self.favoured else self.low for place in rank]

    @property
    def pull(self) -> float:
        """E[<codeword, direction>]: the estimate is codeword / pull."""
        lean, _ = leading_moments(self.dim, self.candidates, self.favoured)
        return self.favoured * (self.high - self.low) * lean / self.total

    @property
    def square(self) -> float:
        """E[<codeword, direction>^2]."""
        _, top = leading_moments(self.dim, self.candidates, self.favoured)
        rest = (self.candidates / self.dim - self.favoured * top) / (
            self.candidates - self.favoured
        )
        others = (self.candidates - self.favoured) * self.low
        return (self.favoured * self.high * top + others * rest) / self.total


@lru_cache(maxsize=65536)
def leading_moments(dim: int, candidates: int, favoured: int) -> tuple[float, float]:
    """Expected mean of X and of X^2 over the `favoured` largest of `candidates` inner products,
    at most half of them, which come in pairs X, -X.

    These are the k largest of m = N / 2 independent |X|, and E[sum over the k largest of m of g] =
    m * integral of g(x) P[fewer than k of m-1 others exceed x] dG(x), G the law of |X|.
    """
    pairs, k = candidates // 2, favoured
    if dim == 1:  # one end of every axis is the share's own sign
        return 1.0, 1.0
    x, density, below = _first_coordinate(dim)
    x, density, below = x[x > 0], 2 * density[x > 0], 2 * below[x > 0] - 1
    kept = density if k == pairs else betainc(pairs - k, k, below) * density
    return float(pairs / k * np.sum(x * kept)), float(pairs / k * np.sum(x * x * kept))


@lru_cache(maxsize=256)
def _first_coordinate(dim: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes, weights times density, and distribution function of one coordinate of a uniform
    direction.

    In the angle x = sin(a) the density is proportional to cos(a)^(dim-2), smooth also for dim 2 and
    3.
    """
    reach = min(pi / 2, 14 / sqrt(dim))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = reach / _PANELS
    centres = half * (2 * np.arange(_PANELS) + 1) - reach
    angle = (centres[:, np.newaxis] + half * nodes).ravel()
    constant = lgamma(dim / 2) - lgamma((dim - 1) / 2) - 0.5 * log(pi)
    density = np.exp(constant + (dim - 2) * np.log(np.cos(angle))) * np.tile(
        weights * half, _PANELS
    )
    x = np.sin(angle)
    return x, density, betainc((dim - 1) / 2, (dim - 1) / 2, (1 + x) / 2)


def _best(dim: int, ratio: Odds, candidates: int) -> Cap:
    """The cap with the largest pull whose total fits a word; pull rises and then falls with the
    number of favoured codewords.
    """

    def cap(favoured: int) -> Cap:
        return Cap(dim, candidates, favoured, ratio.high, ratio.low)

    room = ((1 << 64) - 1 - candidates * ratio.low) // (ratio.high - ratio.low)
    low, high = 1, min(candidates // 2, room)
    while low < high:
        middle = (low + high) // 2
        if cap(middle).pull < cap(middle + 1).pull:
            low = middle + 1
        else:
            high = middle
    return cap(low)


@lru_cache(maxsize=1024)
def best_cap(dim: int, ratio: Odds) -> Cap:
    """The smallest number of candidates beyond which doubling gains too little, and its best
    cap.
    """
    chosen = _best(dim, ratio, 1 << _CANDIDATES.start)
    for bits in _CANDIDATES[1:]:
        larger = _best(dim, ratio, 1 << bits)
        if larger.pull**2 < chosen.pull**2 * (1 + _GAIN):
            break
        chosen = larger
    return chosen


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivUnit(Mechanism):
    """PrivUnit over the l2 ball that encloses `space`: 64 bits per owner, whatever the dimension.

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report, between 1e-4 and 20.
    space : Space
        Where shares live; the ball around it counts.
    menu : array of floats, default None
        As for every `Mechanism`.

    >>> from tacit import Ball, PrivUnit, seeded
    >>> mechanism = PrivUnit(epsilon=4.0, space=Ball(dim=8))
    >>> reports = mechanism.randomize(np.tile([0.6, -0.8] + [0.0] * 6, (20_000, 1)), seeded(1))
    >>> reports.points.nbytes // len(reports)
    8
    >>> mechanism.mean(reports).round(1)[:3] + 0.0
    array([ 0.6, -0.8,  0. ])
    """

    def _prepare(self) -> None:
        self.laws  # noqa: B018 - computed now, so that a bad epsilon is refused here

    @cached_property
    def laws(self) -> list[Cap]:
        """The cap of each level."""
        return [best_cap(self.space.dim, odds(e, BASE)) for e in self.levels.tolist()]

    @property
    def report_bits(self) -> int:
        return 64

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, 1), dtype=np.uint64))

    def _words(self, level: int) -> int:
        return 3

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        done = np.ones(len(shares), dtype=np.bool_)
        _draw_codewords(shares, tape, self._drawn[level], out.points, done)
        return done

    @cached_property
    def _drawn(self) -> list["_CapLaw"]:
        """What the kernel is told of each level."""
        weights = [
            [cap.candidates, cap.favoured, cap.high, cap.low, cap.total] for cap in self.laws
        ]
        return [_CapLaw(np.array(each, dtype=np.uint64), self.space.radius_2) for each in weights]

    @property
    def work(self) -> int:
        """Every pair of candidates is compared with the share."""
        return (16 + max(cap.candidates for cap in self.laws)) * (16 + self.space.dim)

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        return np.asarray(self._scales[level] * codewords(reports.points[:, 0], self.space.dim))

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        sums, squares = codeword_sums(reports.points[:, 0], self.space.dim, _SQUARE_SHIFT)
        return sums[np.newaxis], squares[np.newaxis].astype(object) << (2 * _SQUARE_SHIFT)

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        return np.ones(len(reports), dtype=np.bool_)  # every 64-bit number names a codeword

    @property
    def _scales(self) -> FloatArray:
        return np.array([self.space.radius_2 / cap.pull / STEPS for cap in self.laws])

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        # codeword = t * direction + sqrt(1 - t^2) * (uniform among what is orthogonal), E[t^2] =
        # square
        cap, dim, radius = self.laws[level], self.space.dim, self.space.radius_2
        along = _directions(x, np.sqrt(np.sum(x**2, axis=1))) ** 2
        across = (1 - along) / max(dim - 1, 1)
        moment = cap.square * along + (1 - cap.square) * across
        return np.asarray((radius / cap.pull) ** 2 * moment - x**2)

    @property
    def risks(self) -> FloatArray:
        # worst at x = 0
        return np.array([(self.space.radius_2 / cap.pull) ** 2 for cap in self.laws])

    @property
    def spans(self) -> FloatArray:
        # codewords have length 1 but for rounding of their coordinates, half a step each
        longest = 1 + self.space.dim**0.5 / STEPS
        return np.array([2 * longest * self.space.radius_2 / cap.pull for cap in self.laws])


def _directions(x: FloatArray, lengths: FloatArray) -> FloatArray:
    """Rows divided by their lengths; a zero row points along the first axis."""
    length = lengths[:, np.newaxis]
    first = np.eye(1, x.shape[1])
    return np.where(length > 0, x / np.where(length > 0, length, 1.0), first)


class _CapLaw(NamedTuple):
    """N, k, A, B and their total weight; the length of the longest share."""

    constants: WordArray
    radius: float


@kernel
def _draw_codewords(
    shares: FloatArray, tape: WordArray, law: _CapLaw, names: AnyArray, done: BoolArray
) -> None:
    """Word 0 rounds the share to the sphere, word 1 is the public part of the name, word 2 chooses
    among N codewords, the ends of N / 2 axes.

    A codeword's place in the order of closeness decides its weight: u < k A goes to the k first
    places, A each, the rest B each. So only the codeword in one place has to be found. The nearer
    ends take the first half of the places, the nearest first; the farther ends the second half, in
    the opposite order.
    """
    constants, radius = law
    candidates, favoured, high, low, total = constants
    unfair = unfair_below(total)
    n, dim = len(shares), shares.shape[1]
    first = tape.shape[1] - 3  # a rejected word makes a row be drawn again whole
    direction, squares = np.empty(dim, dtype=np.float32), np.empty(n)
    add_squares(shares, squares)
    room = room_for(np.int64(candidates) // 2)
    for i in range(n):
        length = np.sqrt(squares[i])
        sign = 1.0 if unit(tape[i, first]) < 0.5 + 0.5 * length / radius else -1.0
        if length > 0:
            for j in range(dim):
                direction[j] = sign * (shares[i, j] / length)
        else:
            direction[:], direction[0] = 0.0, sign
        public = tape[i, first + 1] & ~(candidates - np.uint64(1))
        closeness(public >> np.uint64(1), direction, room)
        if tape[i, first + 2] * total < unfair:
            done[i] = False
        u = high_product(tape[i, first + 2], total)
        near = favoured * high
        place = u // high if u < near else favoured + (u - near) // low
        names[i, 0] = public | np.uint64(_in_place(room.inner, room.low, np.int64(place)))


@_draw_codewords.by_arrays(
    lambda shares, tape, law, names, done: OPERATIONS * shares.size * int(law.constants[0]) // 2
)
def _draw_arrays(
    shares: FloatArray, tape: WordArray, law: _CapLaw, names: AnyArray, done: BoolArray
) -> None:
    """The same with all axes of some owners in the order of closeness."""
    constants, radius = law
    candidates, favoured, high, low, total = constants
    axes, near = int(candidates) // 2, favoured * high
    for start in range(0, len(shares), 1 + _AT_ONCE // axes):
        some = slice(start, start + 1 + _AT_ONCE // axes)
        sphere, public, choice = tape[some, -3:].T
        length = np.sqrt(sums_of_squares(shares[some]))
        sign = np.where(unit(sphere) < 0.5 + 0.5 * length / radius, 1.0, -1.0)
        directions = (sign[:, np.newaxis] * _directions(shares[some], length)).astype(np.float32)
        public = public & ~(candidates - np.uint64(1))
        inner = closeness_of_many(public >> np.uint64(1), directions, axes)
        done[some] &= ~(choice * total < unfair_below(total))
        u = high_product(choice, total)
        place = np.where(u < near, u // high, favoured + (u - near) // low).astype(np.int64)
        is_far = place >= axes
        ahead = np.where(is_far, 2 * axes - 1 - place, place)
        order = np.argsort(-np.abs(inner), axis=1, kind="stable")
        axis = np.take_along_axis(order, ahead[:, np.newaxis], axis=1)
        is_back = np.take_along_axis(inner, axis, axis=1)[:, 0] < 0
        names[some, 0] = public | (2 * axis[:, 0] + (is_back != is_far)).astype(np.uint64)


@kernel
def _in_place(inner: AnyArray, near: AnyArray, place: int | np.int64) -> int:
    """The number of the candidate in this place, from the inner products of the first ends of all
    axes; equally near axes are in the order of their numbers. `near` is room for as many words.
    """
    axes = len(inner)
    is_far = place >= axes
    ahead = 2 * axes - 1 - place if is_far else place
    bits = inner.view(np.uint32)
    for c in range(axes):
        near[c] = bits[c] & _UNSIGNED  # in the same order as sizes
    value = _nearness(near, ahead)
    ahead -= _count_from(near, value + np.uint32(1))
    for c in range(axes):
        if near[c] == value:
            if ahead == 0:
                return 2 * c + int((inner[c] < 0) != is_far)
            ahead -= 1
    return 0  # not reached: `value` is among them


@kernel
def _nearness(near: AnyArray, ahead: int | np.int64) -> np.uint32:
    """How near the axis is that has `ahead` axes before it: the largest number that more than
    `ahead` of them reach, found bit by bit. All are looked at every time, several at once, so it
    takes as long whatever they are.
    """
    value = np.uint32(0)
    for bit in range(_BITS):
        tried = np.uint32(value | np.uint32(_LARGEST_BIT >> np.uint32(bit)))
        value = tried if _count_from(near, tried) > ahead else value
    return value


@kernel
def _count_from(near: AnyArray, least: np.uint32) -> int:
    """How many are no less than `least`."""
    count = np.int32(0)
    for c in range(len(near)):
        count += np.int32(near[c] >= least)
    return int(count)


@kernel
def _sum(names: WordArray, shift: int, sums: AnyArray, squares: AnyArray) -> None:
    z = np.empty(len(sums), dtype=np.int64)
    for i in range(len(names)):
        whole_steps(names[i], z)
        for j in range(len(sums)):
            sums[j] += z[j]
            squares[j] += (z[j] >> shift) * (z[j] >> shift)


@_sum.by_arrays(lambda names, shift, sums, squares: OPERATIONS * len(names) * len(sums))
def _sum_arrays(names: WordArray, shift: int, sums: AnyArray, squares: AnyArray) -> None:
    for start in range(0, len(names), 1 + _AT_ONCE // len(sums)):
        z = whole_steps_of_many(names[start : start + 1 + _AT_ONCE // len(sums)], len(sums))
        sums += z.sum(axis=0)
        squares += ((z >> shift) ** 2).sum(axis=0)


def codeword_sums(names: WordArray, dim: int, shift: int) -> tuple[AnyArray, AnyArray]:
    """The sum of the codewords and of the squares of their coordinates (each first divided by
    2^shift).
    """
    sums, squares = np.zeros(dim, dtype=np.int64), np.zeros(dim, dtype=np.int64)
    _sum(names, shift, sums, squares)
    return sums, squares
