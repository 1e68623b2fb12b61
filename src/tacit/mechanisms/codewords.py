"""PrivUnit's public codewords, and how far the favoured ones lean towards the share.

A 64-bit number names a direction in space, the same on every machine: its last bit is a sign, the
others seed a generator of 32 bits per coordinate, whose four bytes are added up and bent by a
polynomial so that they follow the normal law; the vector is divided by its length. Everything is
whole numbers or operations that IEEE 754 rounds correctly, so all machines agree on every codeword,
and sums of codewords are exact. Names that differ in the last bit only are opposite codewords: of
each pair one is computed.

Of N / 2 independent uniform axes the k ends closest to a given direction have inner products whose
expected mean and mean square are one-dimensional integrals: with them a `Cap` has the estimate's
scale and variance in closed form, and says how many to favour.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, FloatArray, WordArray
from tacit.mechanisms.streams import BASE, odds

_PANELS, _NODES = 64, 48  # of the quadrature: about 1e-12
_GAIN = 0.017  # doubling the codewords must lower the error by more than this to be worth the time
_CANDIDATES = range(5, 13)  # of the number of candidates: 32 to 4,096
STEPS = 1 << 30  # a codeword's coordinates are multiples of 1 / STEPS
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # these three are SplitMix64's own
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint32(0x9E3779B9)
_EVEN_BYTES = np.uint32(0x00FF00FF)
# Sums of bytes to the normal law: odd, of degree 9 in sum / 512; found by making the mean of the
# largest part, for parts from a half to 1 / 1000, as close to the normal law's as can be.
_BEND = (0.10357, 0.28702, -0.61922, 0.76565)
_B1, _B2, _B3, _B4 = (np.float32(c * 2.0 ** (-18 * (i + 1))) for i, c in enumerate(_BEND))
_MIDDLE = np.float32(510.5)


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


def _best(dim: int, epsilon: float, candidates: int) -> Cap:
    """The cap with the largest pull; pull rises and then falls with the number of favoured
    codewords.
    """
    chances = odds(epsilon, BASE)

    def cap(favoured: int) -> Cap:
        return Cap(dim, candidates, favoured, chances.high, chances.low)

    low, high = 1, candidates // 2
    while low < high:
        middle = (low + high) // 2
        if cap(middle).pull < cap(middle + 1).pull:
            low = middle + 1
        else:
            high = middle
    return cap(low)


@lru_cache(maxsize=1024)
def best_cap(dim: int, epsilon: float) -> Cap:
    """The smallest number of candidates beyond which doubling gains too little, and its best
    cap.
    """
    chosen = _best(dim, epsilon, 1 << _CANDIDATES.start)
    for bits in _CANDIDATES[1:]:
        larger = _best(dim, epsilon, 1 << bits)
        if larger.pull**2 < chosen.pull**2 * (1 + _GAIN):
            break
        chosen = larger
    return chosen


@kernel
def mix(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return np.uint64(word ^ (word >> np.uint64(31)))


@kernel
def coordinate(low: np.uint32, high: np.uint32, place: np.uint32) -> np.float32:
    """A normal coordinate of the axis with the seeds `low` and `high`; never 0.

    One odd byte makes the sum of the four, 1 to 1,020, symmetric around a half.
    """
    word = np.uint32(low + place)
    word = np.uint32(np.uint32(word ^ (word >> np.uint32(16))) * high)
    word = np.uint32(np.uint32(word ^ (word >> np.uint32(15))) | np.uint32(1))
    pairs = np.uint32((word & _EVEN_BYTES) + ((word >> np.uint32(8)) & _EVEN_BYTES))
    total = np.int32((pairs & np.uint32(0xFFFF)) + (pairs >> np.uint32(16)))
    t = np.float32(np.float32(total) - _MIDDLE)
    v = np.float32(t * t)
    bend = np.float32(np.float32(_B4 * v) + _B3)
    bend = np.float32(np.float32(bend * v) + _B2)
    bend = np.float32(np.float32(bend * v) + _B1)
    return np.float32(np.float32(np.float32(bend * v) + np.float32(1)) * t)


@kernel
def seeds(axis: np.uint64) -> tuple[np.uint32, np.uint32]:
    """The two words that an axis's coordinates grow from; the second is odd."""
    word = mix(axis + _GOLDEN)
    return np.uint32(word), np.uint32((word >> np.uint64(32)) | np.uint64(1))


@kernel
def closeness(first: np.uint64, direction: AnyArray, room: "Room") -> None:
    """The inner products of a direction with the axes `first`, first + 1, ..., up to rounding,
    into the room's `inner`.

    The hot loop of PrivUnit. Axes lie side by side and each adds up its own coordinates in their
    order: that is vectors for the machine, and the same bits whatever their width.
    """
    low, high, inner, square = room
    for c in range(len(low)):
        low[c], high[c] = seeds(first + np.uint64(c))
        inner[c] = square[c] = np.float32(0)
    for j in range(len(direction)):
        along, place = direction[j], np.uint32(np.uint32(j) * _STEP)
        for c in range(len(low)):
            z = coordinate(low[c], high[c], place)
            inner[c] += np.float32(z * along)
            square[c] += np.float32(z * z)
    for c in range(len(low)):
        inner[c] = np.float32(inner[c] / np.sqrt(square[c]))


class Room(NamedTuple):
    """Where the axes of one owner are worked on: their seeds, inner products, squared lengths."""

    low: AnyArray
    high: AnyArray
    inner: AnyArray
    square: AnyArray


@kernel
def room_for(axes: int | np.int64) -> Room:
    """Room for so many axes."""
    return Room(
        np.empty(axes, dtype=np.uint32),
        np.empty(axes, dtype=np.uint32),
        np.empty(axes, dtype=np.float32),
        np.empty(axes, dtype=np.float32),
    )


@kernel
def _whole(name: np.uint64, out: AnyArray) -> None:
    """The codeword of a name in whole steps, into `out`."""
    low, high = seeds(name >> np.uint64(1))
    sign = 1.0 - 2.0 * np.float64(name & np.uint64(1))
    square = 0.0
    raw = np.empty(len(out))
    for j in range(len(out)):
        raw[j] = sign * np.float64(coordinate(low, high, np.uint32(np.uint32(j) * _STEP)))
        square += raw[j] * raw[j]
    length = np.sqrt(square)
    for j in range(len(out)):
        out[j] = np.int64(np.rint(raw[j] / length * STEPS))


@kernel
def _fill(names: WordArray, out: AnyArray) -> None:
    for i in range(len(names)):
        _whole(names[i], out[i])


@kernel
def _sum(names: WordArray, shift: int, sums: AnyArray, squares: AnyArray) -> None:
    z = np.empty(len(sums), dtype=np.int64)
    for i in range(len(names)):
        _whole(names[i], z)
        for j in range(len(sums)):
            sums[j] += z[j]
            squares[j] += (z[j] >> shift) * (z[j] >> shift)


def codewords(names: WordArray, dim: int) -> AnyArray:
    """The codewords of some names, (n, dim) whole numbers; divided by STEPS they have length 1."""
    out = np.empty((len(names), dim), dtype=np.int64)
    _fill(names, out)
    return out


def codeword_sums(names: WordArray, dim: int, shift: int) -> tuple[AnyArray, AnyArray]:
    """The sum of the codewords and of the squares of their coordinates (each first divided by
    2^shift).
    """
    sums, squares = np.zeros(dim, dtype=np.int64), np.zeros(dim, dtype=np.int64)
    _sum(names, shift, sums, squares)
    return sums, squares
