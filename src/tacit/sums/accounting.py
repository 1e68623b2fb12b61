"""What sums of the same owners cost together: zero-concentrated privacy in rational numbers, and
what it means as (epsilon, delta). Proof: discrete_gaussian.md.

rho adds up. Every alpha gives a valid (epsilon, delta), so the best of a grid is valid too; floats
are moved to the safe side by far more than they can be wrong.
"""

from fractions import Fraction
from math import isqrt

import numpy as np

from tacit._util.checks import bad, positive
from tacit._util.types import FloatArray
from tacit.mechanisms.streams import rational

_ALPHAS = 1 + np.exp(np.linspace(np.log(1e-2), np.log(1e7), 20_000))
_SAFE = 1e-12  # relative; a few units in the last place are 1e-15


def check_delta(delta: float) -> float:
    """`delta` as a chance that may be spent; 0 asks for pure epsilon.

    >>> check_delta(1e-6)
    1e-06
    """
    if delta != 0 and not 0 < positive("delta", delta) < 0.5:
        raise bad("delta", "0, or above 0 and below 0.5", delta)
    return float(delta)


def _tails(delta: float) -> FloatArray:
    """What epsilon is beyond alpha rho, for each alpha, rounded up."""
    lead = -np.log(delta) / (_ALPHAS - 1)
    gain, loss = np.log1p(-1 / _ALPHAS), np.log(_ALPHAS) / (_ALPHAS - 1)
    return np.asarray(lead + gain - loss + _SAFE * (lead - gain + loss))


def epsilon_of(rho: Fraction, delta: float) -> float:
    """An epsilon such that rho-zCDP implies (epsilon, delta)-DP, the least on a grid, rounded up.

    >>> round(epsilon_of(Fraction(1, 50), 1e-6), 3)
    0.9
    """
    if not rho >= 0:
        raise bad("rho", "a rational number >= 0", rho)
    if rho == 0:
        return 0.0
    rising = float(rho) * (1 + _SAFE) * _ALPHAS * (1 + _SAFE)
    return max(0.0, float((rising + _tails(delta)).min()) * (1 + _SAFE))


def composed(charge: Fraction, delta: float) -> float:
    """The epsilon of sums that were charged so much together: rho, or epsilon itself with delta
    0.
    """
    return epsilon_of(charge, delta) if check_delta(delta) else float(charge)


def rho_of(epsilon: float, delta: float) -> Fraction:
    """The largest rho, on a grid and rounded down, with `epsilon_of(rho, delta) <= epsilon`.

    >>> rho = rho_of(1.0, 1e-6)
    >>> epsilon_of(rho, 1e-6) <= 1.0 < epsilon_of(rho * Fraction(101, 100), 1e-6)
    True
    """
    room = positive("epsilon", epsilon) * (1 - 4 * _SAFE) - _tails(delta)
    rho = float((room / _ALPHAS).max()) * (1 - 4 * _SAFE)
    if not rho > 0:
        raise bad("epsilon", f"larger for delta {delta:g}", epsilon)
    return Fraction(rho)


def least_sigma(bound: int, rho: Fraction) -> int:
    """The least whole sigma with 2 bound / sigma^2 <= rho: noise for sums that change by at most 2
    sqrt(bound).

    >>> least_sigma(50, Fraction(1, 100))
    100
    """
    square = -(-2 * bound * rho.denominator // rho.numerator)
    root = isqrt(square)
    return root + (root * root < square)


def least_scale(bound: int, epsilon: float | Fraction) -> int:
    """The least whole scale of discrete Laplace noise for an l1 bound: 2 bound / scale <=
    epsilon.

    >>> least_scale(7, 0.1)
    140
    """
    return -(-2 * bound // rational(epsilon))
