"""The law of Gaussian noise on whole numbers, and what it costs. Fixed seeds, false-alarm rate 1e-6
per test.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chisquare, norm

from tacit import secure, seeded
from tacit.sums import discrete_gaussian as sampler
from tacit.sums.discrete_gaussian import (
    discrete_gaussian,
    epsilon_of,
    least_scale,
    least_sigma,
    rho_of,
)

ALARM = 1e-6
# (rho, delta, epsilon) by dp-accounting 0.6.0, which cannot be installed beside ours (attrs < 24):
# RdpAccountant(3,000 orders, logarithmic from 1.001 to 10,001) of ZCDpEvent(rho).
BY_DP_ACCOUNTING = [
    (0.0002, 1e-4, 0.05147691651139752),
    (0.0002, 1e-6, 0.07773620995606836),
    (0.0002, 1e-10, 0.11458005842387362),
    (0.02, 1e-4, 0.6739458185863334),
    (0.02, 1e-6, 0.8999356745985982),
    (0.02, 1e-10, 1.2391764067087336),
    (0.25, 1e-4, 2.791937285405833),
    (0.25, 1e-6, 3.542303851758306),
    (0.25, 1e-10, 4.696930430751528),
    (2.0, 1e-4, 9.650242563181067),
    (2.0, 1e-6, 11.688603958320002),
    (2.0, 1e-10, 14.870719833890982),
]


def table(sigma, reach, shift=0.0):
    """Weights of -reach .. reach, ends included in the last."""
    far = np.arange(-40 * reach, 40 * reach + 1)
    weights = np.exp(-((far - shift) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    return np.bincount(np.clip(far, -reach, reach) + reach, weights)


def fits(draws, weights):
    reach = len(weights) // 2
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=len(weights))
    return chisquare(counts, weights * len(draws)).pvalue > ALARM


@pytest.mark.parametrize("stream", [seeded(4), secure()], ids=["seeded", "secure"])
@pytest.mark.parametrize("sigma", [1, 2, 9])
def test_noise_has_its_law(sigma, stream):
    draws = discrete_gaussian(300_000, sigma, stream)
    assert fits(draws, table(sigma, 4 * sigma))
    for near in (0.98, 1.02):
        assert not fits(draws, table(near * sigma, 4 * sigma))
    assert not fits(draws, table(sigma, 4 * sigma, shift=0.05 * sigma))
    assert not fits(np.abs(draws), table(sigma, 4 * sigma))


def test_a_rounded_continuous_law_is_another_one():
    draws = np.rint(np.random.default_rng(1).normal(size=300_000)).astype(np.int64)
    assert not fits(draws, table(1, 4))


def test_large_noise_has_mean_and_variance():
    draws = discrete_gaussian(100_000, 1000, seeded(5)) / 1000
    width = norm.isf(ALARM / 4) / np.sqrt(len(draws))
    assert abs(draws.mean()) < width
    assert abs((draws**2).mean() - 1) < np.sqrt(2) * width


def test_noise_is_a_function_of_its_tape(monkeypatch):
    draws = discrete_gaussian(2000, 1 << 20, seeded(5))
    monkeypatch.setattr(sampler, "_WORDS", 1)
    assert (discrete_gaussian(2000, 1 << 20, seeded(5)) == draws).all()


@pytest.mark.parametrize("sigma", [0, -1, 1.5, (1 << 25) + 1])
def test_a_bad_sigma_is_refused(sigma):
    with pytest.raises(ValueError, match="sigma"):
        discrete_gaussian(1, sigma, seeded(1))


def delta_of_gaussian(sigma, epsilon):
    """Balle and Wang 2018, sensitivity 1: the least delta of the continuous mechanism."""
    a, b = 1 / (2 * sigma), epsilon * sigma
    return norm.cdf(a - b) - np.exp(epsilon) * norm.cdf(-a - b)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("sigma", [0.5, 2.0, 10.0, 100.0])
def test_epsilon_is_above_the_least_that_holds_and_not_far_above(sigma, delta):
    least = brentq(lambda e: delta_of_gaussian(sigma, e) - delta, 0, 100, xtol=1e-12)
    stated = epsilon_of(Fraction(1 / (2 * sigma**2)), delta)
    assert least < stated < 1.5 * least


@pytest.mark.parametrize(("rho", "delta", "epsilon"), BY_DP_ACCOUNTING)
def test_epsilon_is_that_of_dp_accounting(rho, delta, epsilon):
    assert epsilon_of(Fraction(rho), delta) == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0])
def test_the_inverse_stays_below_what_was_asked(epsilon, delta):
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon < epsilon_of(rho * Fraction(101, 100), delta)
    for parts in (1, 4, 7):
        sigma = least_sigma(2463, rho / parts)
        assert parts * Fraction(2 * 2463, sigma**2) <= rho
        assert parts * Fraction(2 * 2463, (sigma - 1) ** 2) > rho


def test_the_least_scale_is_exact():
    assert least_scale(3, 0.1) == 60
    assert least_scale(3, Fraction(1, 7)) == 42
    assert least_scale(1, 3.0) == 1
