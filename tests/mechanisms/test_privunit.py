"""What PrivUnit adds: geometry that pays, codewords that all machines agree on, constants from
integrals.
"""

import hashlib

import numpy as np
import pytest
from scipy.special import betainc, ndtri

from tacit import Ball, Box, Piecewise, PrivUnit, seeded
from tacit.mechanisms.codewords import STEPS, best_cap, codewords, leading_moments, normal_table


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 5.0, 7.0])
def test_ten_times_less_error_than_piecewise_on_the_ball(epsilon):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 50))
    x /= np.sqrt((x**2).sum(axis=1, keepdims=True))
    errors = []
    for mechanism in (
        PrivUnit(epsilon=epsilon, space=Ball(dim=50)),
        Piecewise(epsilon=epsilon, space=Box(dim=50)),
    ):
        measured = (
            ((mechanism.estimate(mechanism.randomize(x, seeded(1))) - x) ** 2).sum(axis=1).mean()
        )
        formula = mechanism.variance(x).sum(axis=1).mean()
        assert measured == pytest.approx(formula, rel=0.1)
        errors.append((measured, formula))
    assert errors[1][0] > 10 * errors[0][0]
    assert errors[1][1] > 10 * errors[0][1]


@pytest.mark.parametrize(
    ("dim", "n", "k"), [(1, 8, 3), (2, 8, 3), (3, 32, 5), (10, 64, 20), (300, 256, 4)]
)
def test_integrals_against_simulation(dim, n, k):
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(20_000, n, min(dim, 2)))
    rest = rng.chisquare(max(dim - 2, 1), size=(20_000, n)) if dim > 2 else 0.0
    first = x[..., 0] / np.sqrt((x**2).sum(axis=2) + rest)
    top = -np.sort(-first, axis=1)[:, :k]
    mean, square = leading_moments(dim, n, k)
    for sample, exact in ((top.mean(axis=1), mean), ((top**2).mean(axis=1), square)):
        assert abs(sample.mean() - exact) < 5 * sample.std() / np.sqrt(len(sample)) + 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_two_percent_from_the_limit_of_many_codewords(epsilon):
    from tacit.mechanisms.codewords import _best

    best, limit = best_cap(20, epsilon), _best(20, epsilon, 4096)
    assert 1 <= (limit.pull / best.pull) ** 2 < 1.04


def test_the_best_cap_is_the_best():
    cap = best_cap(20, 2.0)
    pulls = [
        type(cap)(20, cap.candidates, k, cap.high, cap.low).pull for k in range(1, cap.candidates)
    ]
    assert cap.favoured == 1 + int(np.argmax(pulls))


def test_the_table_is_normal_and_the_same_everywhere():
    table = normal_table().astype(np.float64) / 7000
    assert (
        hashlib.sha256(normal_table().astype("<i2").tobytes()).hexdigest()[:16]
        == "f265fd1893898476"
    )
    assert table.mean() == 0
    assert table.var() == pytest.approx(1, abs=2e-4)
    assert (table**4).mean() / table.var() ** 2 == pytest.approx(3, abs=1e-3)
    assert np.count_nonzero(table) == 65536


@pytest.mark.parametrize(
    ("epsilon", "allowed"), [(1.0, 1e-5), (5.0, 1e-5), (7.0, 5e-5), (10.0, 5e-4), (12.0, 1.5e-3)]
)
def test_the_table_pulls_like_the_normal_law(epsilon, allowed):
    """Expected mean of the k largest of N: table against normal law, for a share along an axis
    of a large space.
    """
    cap = best_cap(50, epsilon)
    table = normal_table() / np.sqrt(np.mean(normal_table().astype(np.float64) ** 2))
    place = (np.arange(1 << 21) + 0.5) / (1 << 21)
    leading = betainc(cap.candidates - cap.favoured, cap.favoured, place)
    ratio = np.sum(np.repeat(table, 32) * leading) / np.sum(ndtri(place) * leading)
    assert abs(ratio - 1) < allowed


def test_codewords_are_uniform_directions():
    names = seeded(1).words(np.arange(200_000), 0, 1)[:, 0]
    vectors = codewords(names, 6) / STEPS
    np.testing.assert_allclose((vectors**2).sum(axis=1), 1, atol=1e-8)
    assert np.abs(vectors.mean(axis=0)).max() < 5 / np.sqrt(6 * 200_000)
    np.testing.assert_allclose(
        vectors.T @ vectors / 200_000, np.eye(6) / 6, atol=5 * 0.17 / np.sqrt(200_000)
    )


def test_neighbouring_names_are_independent():
    """The candidates of one owner differ in the last bits only."""
    base = seeded(2).words(np.arange(20_000), 0, 1)[:, 0] & ~np.uint64(63)
    vectors = [codewords(base | np.uint64(c), 5) / STEPS for c in range(4)]
    for a in range(4):
        for b in range(a):
            dots = (vectors[a] * vectors[b]).sum(axis=1)
            assert abs(dots.mean()) < 5 / np.sqrt(5 * 20_000)
            assert dots.var() == pytest.approx(1 / 5, rel=0.05)


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_axes_are_no_special_directions(epsilon):
    """The table is not exactly normal; the note bounds what that can do to a share along an
    axis.
    """
    mechanism = PrivUnit(epsilon=epsilon, space=Ball(dim=4))
    n = 200_000 if epsilon == 1.0 else 60_000
    axis, slant = np.eye(1, 4), np.full((1, 4), 0.5)
    pulls = []
    for x in (axis, slant):
        estimates = mechanism.estimate(mechanism.randomize(np.tile(x, (n, 1)), seeded(5)))
        along = estimates @ x[0]
        assert abs(along.mean() - 1) < 5 * along.std() / np.sqrt(n)
        pulls.append(along.mean())
    assert pulls[0] == pytest.approx(pulls[1], abs=0.05)
