"""The caps of PrivUnit: how many of its codewords to favour, and how far those lean to the share.

Of N / 2 independent uniform axes the k ends closest to a given direction have inner products whose
expected mean and mean square are one-dimensional integrals: with them a `Cap` has the estimate's
scale and variance in closed form, and says how many to favour.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log, pi, sqrt

import numpy as np
from scipy.special import betainc

from tacit._util.types import FloatArray
from tacit.mechanisms.streams import Odds

_PANELS, _NODES = 64, 48  # of the quadrature: about 1e-12
_GAIN = 0.017  # doubling the codewords must lower the error by more than this to be worth the time
_CANDIDATES = range(5, 13)  # of the number of candidates: 32 to 4,096


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


def _best(dim: int, odds: Odds, candidates: int) -> Cap:
    """The cap with the largest pull whose total fits a word; pull rises and then falls with the
    number of favoured codewords.
    """

    def cap(favoured: int) -> Cap:
        return Cap(dim, candidates, favoured, odds.high, odds.low)

    room = ((1 << 64) - 1 - candidates * odds.low) // (odds.high - odds.low)
    low, high = 1, min(candidates // 2, room)
    while low < high:
        middle = (low + high) // 2
        if cap(middle).pull < cap(middle + 1).pull:
            low = middle + 1
        else:
            high = middle
    return cap(low)


@lru_cache(maxsize=1024)
def best_cap(dim: int, odds: Odds) -> Cap:
    """The smallest number of candidates beyond which doubling gains too little, and its best
    cap.
    """
    chosen = _best(dim, odds, 1 << _CANDIDATES.start)
    for bits in _CANDIDATES[1:]:
        larger = _best(dim, odds, 1 << bits)
        if larger.pull**2 < chosen.pull**2 * (1 + _GAIN):
            break
        chosen = larger
    return chosen
