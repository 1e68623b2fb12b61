from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.streams import LARGEST, SMALLEST, exp_below, odds


def taylor_below(x: Fraction, terms: int) -> Fraction:
    """An independent rational lower bound of e^x, in plain fractions."""
    term = total = Fraction(1)
    for i in range(1, terms):
        term *= x / i
        total += term
    return total


@given(st.floats(SMALLEST, LARGEST))
def test_exponential_is_a_tight_lower_bound(epsilon):
    with localcontext(prec=80):
        true = Decimal(repr(epsilon)).exp()
        below = exp_below(epsilon)
        assert Decimal(below.numerator) / Decimal(below.denominator) <= true * (
            1 + Decimal(10) ** -78
        )
        assert Decimal(below.numerator) / Decimal(below.denominator) >= true * (
            1 - Decimal(10) ** -70
        )


@pytest.mark.parametrize("base", [8, 1 << 20, 1 << 32])
@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0, 3.0, 7.0, 12.0])
def test_odds_never_exceed_and_cannot_be_improved(epsilon, base):
    chances = odds(epsilon, base)
    assert chances.ratio <= taylor_below(Fraction(repr(epsilon)), 80)
    assert Fraction(chances.high + 1, base) > exp_below(epsilon)


def test_shipped_grids_from_a_twentieth_to_twelve():
    """The worst ratio A / B <= e^epsilon as rationals, over the range, on the grids that ship."""
    for epsilon in np.linspace(0.05, 12, 240).tolist():
        bound = taylor_below(Fraction(repr(epsilon)), 100)
        for base in (1 << 20, 1 << 32):
            assert 1 - 2e-5 < float(odds(epsilon, base).ratio / bound) <= 1
            assert odds(epsilon, base).ratio <= bound


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), 1e-5, 21.0, "1", None])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match=r"^epsilon must be "):
        odds(epsilon, 1 << 20)


def test_a_grid_too_coarse_is_refused():
    with pytest.raises(
        ValueError,
        match=r"^epsilon must be larger: a grid of 8 steps cannot tell it from 0, got 0.1",
    ):
        odds(0.1, 8)
