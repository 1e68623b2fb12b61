"""PrivUnit's public codewords, and how far the favoured ones lean towards the share.

A 64-bit number names a direction in space, the same on every machine: it seeds SplitMix64; each 16
bits of its output pick a quantile of the normal distribution from a table of whole numbers; the
vector is divided by its length. Everything is whole numbers or operations that IEEE 754 rounds
correctly, so all machines agree on every codeword, and sums of codewords are exact.

Of N independent uniform directions the k closest to a given one have inner products whose expected
mean and mean square are one-dimensional integrals: with them a `Cap` has the estimate's scale and
variance in closed form, and says how many to favour.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import comb, lgamma, log, pi, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, ndtri

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, FloatArray, WordArray
from tacit.mechanisms.streams import BASE, odds

_PANELS, _NODES = 64, 48  # of the quadrature: about 1e-12
_GAIN = 0.02  # doubling the codewords must lower the error by more than this to be worth the time
_CANDIDATES = range(3, 13)  # of the number of candidates: 8 to 4,096
STEPS = 1 << 30  # a codeword's coordinates are multiples of 1 / STEPS
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # these three are SplitMix64's own
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_BITS = np.uint64(0xFFFF)  # that pick a quantile
_NORMAL_SCALE = 7000  # the largest quantile, 4.3, still fits 16 bits


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
    """Expected mean of X and of X^2 over the `favoured` largest of `candidates` inner products.

    E[sum over the k largest of N of g(X)] = N * integral of g(x) P[fewer than k of N-1 others
    exceed x] dF(x).
    """
    n, k = candidates, favoured
    if dim == 1:  # inner products are +-1 and the number of +1 is binomial
        # times 2^-n: how many +1 among the k
        among = sum(min(plus, k) * comb(n, plus) for plus in range(n + 1))
        return 2 * (among / (k << n)) - 1, 1.0
    x, density, below = _first_coordinate(dim)
    kept = betainc(n - k, k, below) * density
    return float(n / k * np.sum(x * kept)), float(n / k * np.sum(x * x * kept))


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
    """The smallest number of candidates beyond which doubling gains less than two percent, and
    its best cap.
    """
    chosen = _best(dim, epsilon, 1 << _CANDIDATES.start)
    for bits in _CANDIDATES[1:]:
        larger = _best(dim, epsilon, 1 << bits)
        if larger.pull**2 < chosen.pull**2 * (1 + _GAIN):
            break
        chosen = larger
    return chosen


@lru_cache(maxsize=1)
def normal_table() -> npt.NDArray[np.int16]:
    """65,536 equally likely whole numbers that follow the normal distribution; symmetric, none
    of them 0.
    """
    upper = ndtri((np.arange(32768) + 0.5) / 65536 + 0.5)
    half = np.maximum(1, np.rint(_NORMAL_SCALE * upper)).astype(np.int16)
    table = np.concatenate([-half[::-1], half])
    table.setflags(write=False)
    return table


@kernel
def mix(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return np.uint64(word ^ (word >> np.uint64(31)))


@kernel
def raw_codeword(name: np.uint64, table: AnyArray, out: AnyArray) -> float:
    """The codeword before division, into `out`; answers its length."""
    state = mix(name + _GOLDEN)
    norm = 0
    word = np.uint64(0)
    for j in range(len(out)):
        if j % 4 == 0:
            state += _GOLDEN
            word = mix(state)
        out[j] = table[word & _BITS]
        word >>= np.uint64(16)
        norm += int(out[j]) * int(out[j])
    return float(np.sqrt(np.float64(norm)))


@kernel
def closeness(name: np.uint64, direction: FloatArray, table: AnyArray) -> float:
    """The inner product of a codeword and a direction, up to rounding, without storing the
    codeword.

    The hot loop of PrivUnit: four coordinates to a word, written out, in floats.
    """
    state = mix(name + _GOLDEN)
    dim = len(direction)
    whole = dim - dim % 4
    n0 = n1 = n2 = n3 = d0 = d1 = d2 = d3 = 0.0
    for j in range(0, whole, 4):
        state += _GOLDEN
        word = mix(state)
        a = np.float64(table[word & _BITS])
        b = np.float64(table[(word >> np.uint64(16)) & _BITS])
        c = np.float64(table[(word >> np.uint64(32)) & _BITS])
        d = np.float64(table[word >> np.uint64(48)])
        n0, n1, n2, n3 = n0 + a * a, n1 + b * b, n2 + c * c, n3 + d * d
        d0, d1 = d0 + a * direction[j], d1 + b * direction[j + 1]
        d2, d3 = d2 + c * direction[j + 2], d3 + d * direction[j + 3]
    word = mix(state + _GOLDEN)
    for j in range(whole, dim):
        a = np.float64(table[word & _BITS])
        word >>= np.uint64(16)
        n0, d0 = n0 + a * a, d0 + a * direction[j]
    return float(((d0 + d1) + (d2 + d3)) / np.sqrt((n0 + n1) + (n2 + n3)))


@kernel
def _fill(names: WordArray, table: AnyArray, out: AnyArray) -> None:
    raw = np.empty(out.shape[1], dtype=np.int16)
    for i in range(len(names)):
        length = raw_codeword(names[i], table, raw)
        for j in range(out.shape[1]):
            out[i, j] = np.int64(np.rint(np.float64(raw[j]) / length * STEPS))


@kernel
def _sum(names: WordArray, table: AnyArray, shift: int, sums: AnyArray, squares: AnyArray) -> None:
    raw = np.empty(len(sums), dtype=np.int16)
    for i in range(len(names)):
        length = raw_codeword(names[i], table, raw)
        for j in range(len(sums)):
            z = np.int64(np.rint(np.float64(raw[j]) / length * STEPS))
            sums[j] += z
            squares[j] += (z >> shift) * (z >> shift)


def codewords(names: WordArray, dim: int) -> AnyArray:
    """The codewords of some names, (n, dim) whole numbers; divided by STEPS they have length 1."""
    out = np.empty((len(names), dim), dtype=np.int64)
    _fill(names, normal_table(), out)
    return out


def codeword_sums(names: WordArray, dim: int, shift: int) -> tuple[AnyArray, AnyArray]:
    """The sum of the codewords and of the squares of their coordinates (each first divided by
    2^shift).
    """
    sums, squares = np.zeros(dim, dtype=np.int64), np.zeros(dim, dtype=np.int64)
    _sum(names, normal_table(), shift, sums, squares)
    return sums, squares
