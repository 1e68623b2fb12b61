"""Exact discrete Gaussian noise over the whole numbers, and what sums of the same owners cost
together. Proof: discrete_gaussian.md.

Claim: z has probability proportional to e^(-z^2 / (2 sigma^2)), exactly, for a whole sigma; added
to a sum of vectors of whole numbers whose length changes by at most Delta it gives
Delta^2 / (2 sigma^2) zero-concentrated differential privacy (Canonne, Kamath and Steinke 2020).
Proof: rejection from discrete Laplace noise of scale sigma, with coins whose chances are exact.
Variance: below sigma^2, and within a part in 10^7 of it. Edges: sigma from 1 to 2^25; a draw reads
as many coins as it takes, from a tape of its own.

Zero-concentrated privacy is accounted in rational numbers: rho adds up. Every alpha gives a valid
(epsilon, delta), so the best of a grid is valid too; floats are moved to the safe side by far more
than they can be wrong.
"""

from fractions import Fraction
from math import inf, isqrt, nextafter

import numpy as np

from tacit._util.checks import bad, check_delta, positive, whole
from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.laplace import survives
from tacit.mechanisms.streams import Stream, rational
from tacit.sums.secure_sum import blocks, draw_rows, endless_laplace

LARGEST_SIGMA = 1 << 25  # so that 2 sigma^2 times a run of coins stays within 64 bits
_WORDS = 56  # coins per draw, unless it needs more
_ALPHAS = 1 + np.exp(np.linspace(np.log(1e-2), np.log(1e7), 20_000))
_SAFE = 1e-12  # relative; a few units in the last place are 1e-15


def discrete_gaussian(count: int, sigma: int, stream: Stream) -> IntArray:
    """`count` draws; draw i is a function of tape i of `stream` alone.

    >>> from tacit import seeded
    >>> many, few = (discrete_gaussian(count, 40, seeded(1)) for count in (9, 3))
    >>> bool((many[:3] == few).all())
    True
    """
    if not whole("sigma", sigma, 1) <= LARGEST_SIGMA:
        raise bad("sigma", f"at most {LARGEST_SIGMA}", sigma)
    drawn = np.empty(count, dtype=np.int64)
    for rows in blocks(count):
        drawn[rows] = draw_rows(_fill, _WORDS, np.arange(rows.start, rows.stop), sigma, stream)
    return drawn


@kernel
def _fill(tape: WordArray, sigma: np.uint64, drawn: IntArray, done: BoolArray) -> None:
    for i in range(len(tape)):
        at, accepted, z = 0, False, 0
        while not accepted and at >= 0:
            z, at = endless_laplace(tape[i], at, sigma)
            if at >= 0:
                accepted, at = _accepts(tape[i], at, abs(z), sigma)
        drawn[i], done[i] = z, at >= 0


@kernel
def _accepts(tape: WordArray, at: int, size: int, sigma: np.uint64) -> tuple[bool, int]:
    """True with probability e^(-(size - sigma)^2 / (2 sigma^2)), and the next place on the tape.

    With size = q sigma + r, q >= 1, the exponent is (q-1)^2 / 2 + (q-1) r / sigma + r^2 / (2
    sigma^2): coins of chances e^(-1/2), e^(-r / sigma) and one more, none of whose numbers is
    large.
    """
    two = np.uint64(2)
    whole_runs, rest = size // int(sigma), np.uint64(size % int(sigma))
    if whole_runs == 0:
        apart = sigma - rest
        return survives(tape, at, apart * apart, two * sigma * sigma)
    beyond = whole_runs - 1
    for _ in range(beyond * beyond):
        alive, at = survives(tape, at, np.uint64(1), two)
        if not alive:
            return False, at
    for _ in range(beyond):
        alive, at = survives(tape, at, rest, sigma)
        if not alive:
            return False, at
    return survives(tape, at, rest * rest, two * sigma * sigma)


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


def compose_epsilon(charge: Fraction, delta: float) -> float:
    """The epsilon of sums that were charged so much together: rho, or epsilon itself with delta 0,
    rounded up.

    >>> Fraction(repr(compose_epsilon(Fraction(1, 3), 0.0))) >= Fraction(1, 3) > Fraction(1 / 3)
    True
    """
    if check_delta(delta):
        return epsilon_of(charge, delta)
    found = float(charge)
    while rational(found) < charge:
        found = nextafter(found, inf)
    return found


def each_of(epsilon: float, answers: int) -> float:
    """The largest epsilon of each of so many sums that together cost no more than this.

    >>> each_of(1.0, 3), 3 * Fraction(repr(each_of(1.0, 3))) <= 1
    (0.3333333333333333, True)
    """
    found = float(rational(epsilon) / answers)
    while answers * rational(found) > rational(epsilon):
        found = nextafter(found, 0.0)
    return found


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
