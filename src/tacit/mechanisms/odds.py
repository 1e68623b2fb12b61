"""Exact odds: whole numbers A and B with A / B <= e^epsilon, as close to it as the base allows.

A mechanism that draws every outcome with a whole-number weight between B and A (the same total for
every input) is epsilon-private exactly: no probability ratio can exceed A / B, and A / B <=
e^epsilon is an inequality between a rational number and a rational lower bound of e^epsilon, not
between two floats.

An epsilon is the number that one writes: 0.1 means a tenth, and that is what is claimed, spent and
charged, not the binary float nearest to it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit._util.checks import bad, positive

# epsilon of one released value, as whole-number weights of 64 bits carry it
SMALLEST, LARGEST = 1e-4, 20.0
BASE = 1 << 32  # weight B of mechanisms without a grid: sums of weights stay within 64 bits
_BITS = 320  # fixed-point bits of the exponential; far beyond what any base here resolves


@dataclass(frozen=True)
class Odds:
    """A : B, the odds of the likelier outcome; `ratio` is at most e^epsilon."""

    high: int
    low: int

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.high, self.low)

    @property
    def contrast(self) -> float:
        """(A - B) / (A + B): how much of the signal a two-way answer at these odds keeps."""
        return (self.high - self.low) / (self.high + self.low)


def rational(epsilon: float | Fraction) -> Fraction:
    """The epsilon that one writes, exactly.

    >>> 3 * rational(0.1) == rational(0.3)
    True
    """
    return epsilon if isinstance(epsilon, Fraction) else Fraction(repr(float(epsilon)))


def exp_below(epsilon: float | Fraction) -> Fraction:
    """A rational number at most e^epsilon, and within 2^-300 of it relatively.

    The Taylor series of e^x has only positive terms for x > 0, so cutting it off and rounding every
    term down gives a lower bound.
    """
    numerator, denominator = rational(epsilon).as_integer_ratio()
    term = total = 1 << _BITS
    count = 0
    while term:
        count += 1
        term = term * numerator // (denominator * count)
        total += term
    return Fraction(total, 1 << _BITS)


@lru_cache(maxsize=4096)
def odds(epsilon: float | Fraction, base: int) -> Odds:
    """The best odds A : base with A / base <= e^epsilon, for one released value.

    Refuses an epsilon outside [SMALLEST, LARGEST], the range in which weights of 64 bits represent
    the odds well (on the shipped grids of 2^20 and 2^32, A / base falls short of e^epsilon by less
    than one part in 100 of epsilon at the lower end), and a base too coarse to tell the odds from 1
    : 1.
    """
    positive("epsilon", epsilon)
    if not SMALLEST <= epsilon <= LARGEST:
        raise bad("epsilon", f"between {SMALLEST} and {LARGEST} for each released value", epsilon)
    high = int(exp_below(epsilon) * base)
    if not high > base:
        raise bad("epsilon", f"larger: a grid of {base} steps cannot tell it from 0", epsilon)
    return Odds(high=high, low=base)
