"""Exact discrete Gaussian noise over the whole numbers, what sums of the same owners cost together,
and the turn of vectors that are to meet such noise. Proof: discrete_gaussian.md.

Claim: z has probability proportional to e^(-z^2 / (2 sigma^2)), exactly, for a whole sigma; added
to a sum of vectors of whole numbers whose length changes by at most Delta it hides the change as
continuous Gaussian noise of variance sigma^2 - 4 does. Proof: the law by rejection from discrete
Laplace noise of scale sigma, with coins whose chances are exact; what it hides because it is that
continuous noise, rounded by coins, up to one part in 10^33. Variance: below sigma^2, and within a
part in 10^7 of it. Edges: sigma from 1 (3, where it is to hide something) to 2^25; a draw reads as
many coins as it takes, from a tape of its own.

What sums cost is accounted in rational numbers: rho = Delta^2 / (2 (sigma^2 - 4)) adds up over
sums of the same owners, whatever was asked after which answer, and epsilon at a delta is that of
one continuous Gaussian noise of the whole rho. Floats are moved to the safe side by far more than
they can be wrong.

What this noise hides is a length, which no turn changes: so vectors are turned by a public
orthogonal matrix first, which spreads them evenly over their entries, and turned back when they
are added up.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import erfc, exp, inf, isqrt, nextafter, sqrt
from sys import float_info

import numpy as np

from tacit._util.checks import bad, check_delta, positive, whole
from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.laplace import survives
from tacit.mechanisms.streams import Stream, rational, seeded
from tacit.sums.secure_sum import blocks, draw_rows, endless_laplace

LARGEST_SIGMA = 1 << 25  # so that 2 sigma^2 times a run of coins stays within 64 bits
ROUNDING = 4  # variance: that which turns continuous noise into this one
_WORDS = 56  # coins per draw, unless it needs more
_SAFE = 1e-11  # relative: of tails beyond 40 deviations a library's erfc is wrong by 1e-12
_LARGEST_EXPONENT = 700.0  # of floats
_HALVINGS = 64  # of an interval of floats: nothing is left of it


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


def _delta_at_most(length: float, epsilon: float) -> float:
    """The delta of continuous Gaussian noise for a change of so many standard deviations, rounded
    up (Balle and Wang 2018, theorem 8).
    """
    near = erfc((epsilon / length - length / 2) / sqrt(2)) / 2
    far = erfc((epsilon / length + length / 2) / sqrt(2)) / 2
    # below the least normal float a tail has fewer digits, and would be rounded up
    known = epsilon < _LARGEST_EXPONENT and far >= float_info.min
    hidden = exp(epsilon) * far if known else 0.0
    return near * (1 + _SAFE) - hidden * (1 - _SAFE)


def _border(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Two neighbours above 0, of a condition that holds from somewhere on: where it does not hold
    yet, and where it does.
    """
    below, above = 0.0, 1.0
    while not holds(above):
        below, above = above, 2 * above
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        if holds(middle):
            above = middle
        else:
            below = middle
    return below, above


@lru_cache(maxsize=4096)
def epsilon_of(rho: Fraction, delta: float) -> float:
    """The least epsilon, rounded up, such that sums that were charged this rho are (epsilon,
    delta)-DP together.

    >>> round(epsilon_of(Fraction(1, 50), 1e-6), 3)
    0.834
    """
    if not rho >= 0:
        raise bad("rho", "a rational number >= 0", rho)
    if rho == 0:
        return 0.0
    length = sqrt(2 * float(rho)) * (1 + _SAFE)
    if _delta_at_most(length, 0.0) <= delta:
        return 0.0
    _, least = _border(lambda epsilon: _delta_at_most(length, epsilon) <= delta)
    return least * (1 + _SAFE)


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


def all_of(epsilon: float, answers: int) -> float:
    """What so many sums of this pure epsilon cost together, rounded up: 3 * 0.7 is below 2.1.

    >>> all_of(0.7, 3)
    2.1
    """
    return compose_epsilon(answers * rational(epsilon), 0.0)


def each_of(epsilon: float, answers: int) -> float:
    """The largest epsilon of each of so many sums that together cost no more than this.

    >>> each_of(1.0, 3), 3 * Fraction(repr(each_of(1.0, 3))) <= 1
    (0.3333333333333333, True)
    """
    found = float(rational(epsilon) / answers)
    while answers * rational(found) > rational(epsilon):
        found = nextafter(found, 0.0)
    return positive(f"epsilon of each of {answers} sums", found)


def rho_of(epsilon: float, delta: float) -> Fraction:
    """The largest rho, rounded down, that is (epsilon, delta)-DP. On the way back more is rounded:
    `epsilon_of` may say a part in 100,000 more than so small an epsilon as 1e-9.

    >>> rho = rho_of(1.0, 1e-6)
    >>> epsilon_of(rho, 1e-6) <= 1.0 < epsilon_of(rho * Fraction(101, 100), 1e-6)
    True
    """
    asked = positive("epsilon", epsilon) * (1 - 4 * _SAFE)
    most, _ = _border(lambda length: _delta_at_most(length, asked) > delta)
    if not most > 0:
        raise bad("epsilon", f"larger for delta {delta:g}", epsilon)
    return Fraction(most * (1 - 4 * _SAFE)) ** 2 / 2


def rho_of_sum(bound: int, sigma: int) -> Fraction:
    """What a sum that changes by at most 2 sqrt(bound) costs beside this noise.

    >>> rho_of_sum(50, 102)
    Fraction(1, 104)
    """
    return Fraction(2 * bound, sigma**2 - ROUNDING)


def least_sigma(bound: int, rho: Fraction) -> int:
    """The least whole sigma with `rho_of_sum(bound, sigma) <= rho`.

    >>> least_sigma(50, Fraction(1, 104))
    102
    """
    square = -(-2 * bound * rho.denominator // rho.numerator) + ROUNDING
    root = isqrt(square)
    return root + (root * root < square)


def least_scale(bound: int, epsilon: float | Fraction) -> int:
    """The least whole scale of discrete Laplace noise for an l1 bound: 2 bound / scale <=
    epsilon.

    >>> least_scale(7, 0.1)
    140
    """
    return -(-2 * bound // rational(epsilon))


def turn_signs(dim: int) -> FloatArray:
    """Two rows of public signs, the same for everybody."""
    return _drawn_signs(dim).copy()


@lru_cache(maxsize=8)
def _drawn_signs(dim: int) -> FloatArray:
    words = seeded(0).child("turn", dim).words(np.arange(dim), 0, 1)[:, 0]
    bits = np.stack([words & np.uint64(1), words >> np.uint64(1) & np.uint64(1)])
    return 1.0 - 2.0 * bits.astype(np.float64)


@kernel
def turn(rows: FloatArray, signs: FloatArray) -> None:
    """Each row through two orthogonal turns in place: signs and Hadamard's matrix over its first
    and then over its last 2^k entries, with 2^k <= dim < 2^(k+1).
    """
    size = 1
    while 2 * size <= rows.shape[1]:
        size *= 2
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            rows[i, j] *= signs[0, j]
        _hadamard(rows[i, :size])
        for j in range(rows.shape[1]):
            rows[i, j] *= signs[1, j]
        _hadamard(rows[i, rows.shape[1] - size :])


@kernel
def turn_back(rows: FloatArray, signs: FloatArray) -> None:
    """The inverse of `turn`."""
    size = 1
    while 2 * size <= rows.shape[1]:
        size *= 2
    for i in range(len(rows)):
        _hadamard(rows[i, rows.shape[1] - size :])
        for j in range(rows.shape[1]):
            rows[i, j] *= signs[1, j]
        _hadamard(rows[i, :size])
        for j in range(rows.shape[1]):
            rows[i, j] *= signs[0, j]


@kernel
def _hadamard(row: FloatArray) -> None:
    """Times Hadamard's matrix over the root of its size: symmetric, orthogonal, its own inverse.

    Sums and differences of halves of 1, 2, 4, ... entries, in this order; several halves in one go
    where there are, which changes no sum.
    """
    half = 1
    if len(row) >= 8:
        _add_eights(row)
        half = 8
    while 4 * half <= len(row):
        _add_fours(row, half)
        half *= 4
    while half < len(row):
        _add_pairs(row, half)
        half *= 2
    scale = 1.0 / np.sqrt(float(len(row)))
    for j in range(len(row)):
        row[j] *= scale


@kernel
def _add_pairs(row: FloatArray, half: int) -> None:
    """Sums and differences of neighbouring halves."""
    for start in range(0, len(row), 2 * half):
        one, two = row[start : start + half], row[start + half : start + 2 * half]
        for j in range(half):
            a, b = one[j], two[j]
            one[j] = a + b
            two[j] = a - b


@kernel
def _add_fours(row: FloatArray, half: int) -> None:
    """`_add_pairs` of halves, and then of twice as long ones."""
    for start in range(0, len(row), 4 * half):
        middle = start + 2 * half
        one, two = row[start : start + half], row[start + half : middle]
        three, four = row[middle : middle + half], row[middle + half : middle + 2 * half]
        for j in range(half):
            a, b, c, d = one[j], two[j], three[j], four[j]
            e, f, g, h = a + b, a - b, c + d, c - d
            one[j] = e + g
            two[j] = f + h
            three[j] = e - g
            four[j] = f - h


@kernel
def _add_eights(row: FloatArray) -> None:
    """`_add_pairs` of halves of 1, 2 and 4 entries."""
    for j in range(0, len(row), 8):
        a, b, c, d = row[j], row[j + 1], row[j + 2], row[j + 3]
        e, f, g, h = row[j + 4], row[j + 5], row[j + 6], row[j + 7]
        a, b, c, d, e, f, g, h = a + b, a - b, c + d, c - d, e + f, e - f, g + h, g - h
        a, b, c, d, e, f, g, h = a + c, b + d, a - c, b - d, e + g, f + h, e - g, f - h
        row[j], row[j + 1], row[j + 2], row[j + 3] = a + e, b + f, c + g, d + h
        row[j + 4], row[j + 5], row[j + 6], row[j + 7] = a - e, b - f, c - g, d - h
