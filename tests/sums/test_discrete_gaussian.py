"""The law of Gaussian noise on whole numbers, and what it costs. Fixed seeds, false-alarm rate 1e-6
per test.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chisquare, norm

from tacit import secure, seeded
from tacit.mechanisms.streams import rational
from tacit.sums import discrete_gaussian as sampler
from tacit.sums.discrete_gaussian import (
    all_of,
    discrete_gaussian,
    epsilon_of,
    least_scale,
    least_sigma,
    rho_of,
    rho_of_sum,
)

ALARM = 1e-6
# (rho, delta, epsilon) by dp-accounting 0.6.0, which cannot be installed beside ours (attrs < 24):
# PLDAccountant, intervals of 1e-5 (1e-6 for the first three), of GaussianDpEvent(1 / sqrt(2 rho)).
BY_DP_ACCOUNTING = [
    (0.0002, 1e-4, 0.043993665237186834),
    (0.0002, 1e-6, 0.0709606830082308),
    (0.0002, 1e-10, 0.10870787324497737),
    (0.02, 1e-4, 0.6015650546486172),
    (0.02, 1e-6, 0.8341175488378031),
    (0.02, 1e-10, 1.1816014107305832),
    (0.25, 1e-4, 2.5325292632545024),
    (0.25, 1e-6, 3.3076007227114563),
    (0.25, 1e-10, 4.492218371014832),
    (2.0, 1e-4, 8.876869464003232),
    (2.0, 1e-6, 10.997151214493309),
    (2.0, 1e-10, 14.274089673893569),
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


def delta_of_gaussian(length, epsilon):
    """Balle and Wang 2018: the least delta of continuous noise, for a change of so many standard
    deviations.
    """
    near, far = length / 2 - epsilon / length, -length / 2 - epsilon / length
    return norm.cdf(near) - np.exp(epsilon + norm.logcdf(far))


def delta_of_law(sigma, change, epsilon):
    """The least delta of the discrete law itself: over the whole numbers, or pairs of them, what
    one chance is above e^epsilon times the other.
    """
    line = np.arange(-12 * sigma, 12 * sigma + 1)
    weights = np.exp(-(line**2) / (2 * sigma**2))
    here, there = np.ones(1), np.ones(1)
    for entry in change:
        moved = np.exp(-((line - entry) ** 2) / (2 * sigma**2))
        here = np.multiply.outer(here, weights / weights.sum()).ravel()
        there = np.multiply.outer(there, moved / weights.sum()).ravel()
    return np.maximum(here - np.exp(epsilon) * there, 0).sum()


CHANGES = [(1,), (2,), (7,), (14,), (3, 4), (5, 5), (1, 12)]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("sigma", [3, 5, 9, 30])
def test_the_law_hides_as_much_as_continuous_noise_of_less_variance(sigma, change, epsilon):
    squares = sum(entry**2 for entry in change)
    claimed = delta_of_gaussian(np.sqrt(squares / (sigma**2 - 4)), epsilon)
    assert delta_of_law(sigma, change, epsilon) <= claimed * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("change", [(14,), (5, 5), (20,)], ids=str)
def test_no_larger_variance_would_do(change):
    """What is claimed is not far from what is so: a tenth more of variance is too much."""
    squares = sum(entry**2 for entry in change)
    too_much = delta_of_gaussian(np.sqrt(squares / (1.1 * 30**2)), 1.0)
    assert delta_of_law(30, change, 1.0) > 1.05 * too_much


@pytest.mark.parametrize("sigma", [3, 4, 9])
def test_continuous_noise_rounded_by_coins_has_the_law(sigma):
    """Claim 2 of the note, by a sum over a fine grid, which for such functions is exact."""
    y = np.arange(-40 * sigma, 40 * sigma, 1 / 16)
    x = np.arange(-4 * sigma, 4 * sigma + 1)
    density = norm.pdf(y, scale=np.sqrt(sigma**2 - 4)) / 16
    near = np.exp(-((np.rint(y)[:, None] + np.arange(-30, 31) - y[:, None]) ** 2) / 8).sum(axis=1)
    chance = (density / near * np.exp(-((x[:, None] - y) ** 2) / 8)).sum(axis=1)
    law = np.exp(-(x**2) / (2 * sigma**2))
    far = np.arange(-40 * sigma, 40 * sigma + 1)
    law /= np.exp(-(far**2) / (2 * sigma**2)).sum()
    assert np.allclose(chance, law, rtol=1e-12, atol=0)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("length", [0.01, 0.1, 0.5, 2.0])
def test_epsilon_is_the_least_that_holds_rounded_up(length, delta):
    least = brentq(lambda e: delta_of_gaussian(length, e) - delta, 0, 100, xtol=1e-12)
    stated = epsilon_of(Fraction(length**2 / 2), delta)
    assert least * (1 - 1e-7) < stated < least * (1 + 1e-7)
    assert delta_of_gaussian(length, stated) <= delta * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 0.4), (650.0, 1e-40), (695.0, 1e-20)])
def test_epsilon_is_on_the_safe_side_where_floats_have_fewer_digits(epsilon, delta):
    """A tail below the least normal float was rounded up: delta was 3 % larger than stated."""
    for part in (1, Fraction(9999, 10000)):
        rho = rho_of(epsilon, delta) * part
        spent = delta_of_gaussian(np.sqrt(2 * float(rho)), epsilon_of(rho, delta))
        assert spent <= delta * (1 + 1e-10)


@pytest.mark.parametrize(("rho", "delta", "epsilon"), BY_DP_ACCOUNTING)
def test_epsilon_is_that_of_dp_accounting(rho, delta, epsilon):
    assert epsilon_of(Fraction(rho), delta) == pytest.approx(epsilon, rel=2e-5)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0])
def test_the_inverse_stays_below_what_was_asked(epsilon, delta):
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon < epsilon_of(rho * Fraction(101, 100), delta)
    for parts in (1, 4, 7):
        sigma = least_sigma(2463, rho / parts)
        assert parts * rho_of_sum(2463, sigma) <= rho < parts * rho_of_sum(2463, sigma - 1)


def test_more_rho_never_costs_less_and_none_costs_nothing():
    for delta in (1e-9, 1e-6, 0.1):
        costs = [epsilon_of(Fraction(k, 1000) ** 2, delta) for k in range(200)]
        assert costs == sorted(costs)
        assert costs[0] == 0


@given(st.floats(1e-6, 1e6), st.integers(0, 1000))
def test_what_sums_cost_together_is_not_rounded_down(epsilon, answers):
    """The product of floats is below what it stands for as often as above."""
    together = all_of(epsilon, answers)
    assert rational(together) >= answers * rational(epsilon)
    assert together == pytest.approx(answers * epsilon, rel=1e-15)


def test_the_least_scale_is_exact():
    assert least_scale(3, 0.1) == 60
    assert least_scale(3, Fraction(1, 7)) == 42
    assert least_scale(1, 3.0) == 1


NO_TAPE = np.empty(0, np.uint64)  # coins are tossed by the test


def tossed_with(size, sigma, patch, dies=None):
    """Whether a draw of this size is accepted where coin number `dies` fails (none does without),
    and the coins that were tossed: minus the logarithms of their chances.
    """
    coins: list[Fraction] = []

    def survives(_tape, at, u, scale):
        assert 0 <= u <= scale < 2**52  # such a coin can be tossed
        coins.append(Fraction(int(u), int(scale)))
        return len(coins) - 1 != dies, at

    with patch.context() as inside:
        inside.setattr(sampler, "survives", survives)
        accepted, _ = sampler._accepts.__wrapped__(NO_TAPE, 0, size, np.uint64(sigma))
    return accepted, coins


@pytest.mark.parametrize("sigma", [*range(1, 13), 1000])
def test_each_size_is_accepted_with_its_exact_chance(sigma, monkeypatch):
    """The law by enumeration: of all sizes up to eight scales, or of some of many, the chances of
    all coins that must survive.
    """
    for size in range(0, 8 * sigma + 1, max(1, sigma // 50)):
        accepted, coins = tossed_with(size, sigma, monkeypatch)
        assert accepted
        assert sum(coins, Fraction(0)) == Fraction((size - sigma) ** 2, 2 * sigma**2), size


NEAR = {
    "another scale": lambda size: (size, 8),
    "one more": lambda size: (size + 1, 7),
    "no zero": lambda size: (max(size, 1), 7),
    "no tail": lambda size: (min(size, 42), 7),
}


@pytest.mark.parametrize("name", NEAR)
def test_what_is_nearly_the_law_has_other_chances(name, monkeypatch):
    def found(size, sigma):
        return sum(tossed_with(size, sigma, monkeypatch)[1], Fraction(0))

    expected = [Fraction((size - 7) ** 2, 98) for size in range(56)]
    assert [found(size, 7) for size in range(56)] == expected
    assert [found(*NEAR[name](size)) for size in range(56)] != expected


@pytest.mark.parametrize("size", range(0, 40, 3))
def test_who_fails_one_coin_is_not_accepted(size, monkeypatch):
    """Each coin in turn: whichever fails, the draw does, and no more coins are tossed."""
    _, coins = tossed_with(size, 7, monkeypatch)
    for dies in range(len(coins)):
        accepted, tossed = tossed_with(size, 7, monkeypatch, dies)
        assert (accepted, tossed) == (False, coins[: dies + 1])
