"""Unbiased, and with the variance the formula says: accepted as it is, rejected at nine and eleven
tenths of it.

Seeds are fixed. Thresholds are five standard errors: a false alarm at about 6e-7 per coordinate.
With 60,000 draws a mean that is 3 hundredths of a standard deviation off passes with a chance below
1 in 100 (it is 7.3 standard errors off), and so does one that is 6 hundredths off with 20,000.
"""

from itertools import pairwise

import numpy as np
import pytest

from tacit import PrivUnit, seeded
from tacit.audit.examination import bias_z, variance_z
from tacit.mechanisms.piecewise import PiecewiseLaw
from tests.mechanisms.cases import ALL, PRIVATE, SPACES, corners, make, name

LIMIT = 5.0
_KINDS_FIRST = [(kind, space) for kind in PRIVATE for space in SPACES]


@pytest.mark.parametrize("epsilon", [0.7, 3.0, 6.0])
@pytest.mark.parametrize(("kind", "space"), _KINDS_FIRST, ids=lambda v: name(v))
def test_mean_and_variance(kind, space, epsilon):
    mechanism = make(kind, space, epsilon)
    # in one dimension it is slow
    n = 60_000 if kind is not PrivUnit else 20_000 if space.dim > 1 else 4_000
    for number, x in enumerate(corners(space)):
        estimates = mechanism.estimate(
            mechanism.randomize(np.tile(x, (n, 1)), seeded(11).child(number))
        )
        formula = mechanism.variance(x[np.newaxis])[0]
        assert bias_z(estimates, x, formula) < LIMIT
        assert variance_z(estimates, x, formula) < LIMIT


@pytest.mark.parametrize(("kind", "space"), _KINDS_FIRST, ids=lambda v: name(v))
def test_a_variance_ten_percent_off_is_noticed(kind, space):
    mechanism = make(kind, space, 3.0)
    n = 40_000 if kind is PrivUnit else 200_000
    x = corners(space)[0]
    estimates = mechanism.estimate(mechanism.randomize(np.tile(x, (n, 1)), seeded(12)))
    formula = mechanism.variance(x[np.newaxis])[0]
    assert variance_z(estimates, x, formula) < LIMIT
    assert variance_z(estimates, x, 0.9 * formula) > LIMIT
    assert variance_z(estimates, x, 1.1 * formula) > LIMIT


@pytest.mark.parametrize(("kind", "space"), _KINDS_FIRST, ids=lambda v: name(v))
def test_risk_is_the_worst_case(kind, space):
    mechanism = make(kind, space, 2.0)
    rng = np.random.default_rng(3)
    many = space.clip(
        np.vstack(
            [corners(space), rng.normal(size=(500, space.dim)) * rng.uniform(0, 3, size=(500, 1))]
        )
    )
    uniform = space.clip(np.zeros((1, space.dim)))
    errors = mechanism.variance(np.vstack([many, uniform])).sum(axis=1)
    assert errors.max() <= mechanism.risk * (1 + 1e-9)
    assert errors.max() >= 0.95 * mechanism.risk


@pytest.mark.parametrize("kind", ALL, ids=name)
def test_variance_falls_with_epsilon(kind):
    for space in SPACES:
        risks = [make(kind, space, e).risk for e in (0.1, 0.3, 1.0, 2.0, 4.9, 9.9)]
        assert all(a >= b for a, b in pairwise(risks))


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.5, 7.0, 12.0])
def test_piecewise_is_the_continuous_mechanism_to_one_in_ten_thousand(epsilon):
    """Wang et al. 2019, equation (8): Var = x^2 / (s - 1) + (s + 3) / (3 (s - 1)^2), s =
    e^(epsilon/2).
    """
    law = PiecewiseLaw.of(epsilon, 1 << 20)
    s = np.exp(epsilon / 2)
    x = np.linspace(-1, 1, 21)
    continuous = x**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)
    np.testing.assert_allclose(law.second_moment(x) - x**2, continuous, rtol=1e-4)
