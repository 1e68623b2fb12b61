"""What PrivUnit adds: geometry that pays, codewords that all machines agree on, constants from
integrals.
"""

import hashlib

import numpy as np
import pytest
from scipy.special import betainc, ndtri
from scipy.stats import chisquare

from tacit import Ball, Box, Piecewise, PrivUnit, seeded
from tacit.mechanisms.codewords import STEPS, codewords
from tacit.mechanisms.privunit import best_cap, leading_moments
from tacit.mechanisms.streams import BASE, odds
from tests.mechanisms import reference


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
    ("dim", "n", "k"), [(1, 8, 3), (2, 8, 3), (2, 8, 4), (3, 32, 5), (10, 64, 20), (300, 256, 4)]
)
def test_integrals_against_simulation(dim, n, k):
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(20_000, n // 2, min(dim, 2)))
    rest = rng.chisquare(max(dim - 2, 1), size=(20_000, n // 2)) if dim > 2 else 0.0
    ends = x[..., 0] / np.sqrt((x**2).sum(axis=2) + rest)
    first = np.hstack([ends, -ends])
    top = -np.sort(-first, axis=1)[:, :k]
    mean, square = leading_moments(dim, n, k)
    for sample, exact in ((top.mean(axis=1), mean), ((top**2).mean(axis=1), square)):
        assert abs(sample.mean() - exact) < 5 * sample.std() / np.sqrt(len(sample)) + 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_two_percent_from_the_limit_of_many_codewords(epsilon):
    from tacit.mechanisms.privunit import _best

    best, limit = best_cap(20, odds(epsilon, BASE)), _best(20, odds(epsilon, BASE), 4096)
    assert 1 <= (limit.pull / best.pull) ** 2 < 1.04


def test_the_best_cap_is_the_best():
    cap = best_cap(20, odds(2.0, BASE))
    pulls = [
        type(cap)(20, cap.candidates, k, cap.high, cap.low).pull
        for k in range(1, cap.candidates // 2 + 1)
    ]
    assert cap.favoured == 1 + int(np.argmax(pulls))


@pytest.mark.parametrize("dim", [1, 2, 3, 50, 10_000])
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 12.0, 19.0, 20.0])
def test_weights_fit_a_word_and_every_place_has_its_candidate(dim, epsilon):
    cap = best_cap(dim, odds(epsilon, BASE))
    assert cap.total < 1 << 64
    reports = PrivUnit(epsilon=epsilon, space=Ball(dim)).randomize(np.zeros((2, dim)), seeded(1))
    assert len(reports) == 2


def law_of_a_coordinate():
    """Values and chances of what `coordinate` can give: four bytes, one of them odd, added up."""
    byte, odd = np.full(256, 1 / 256), np.where(np.arange(256) % 2, 1 / 128, 0.0)
    chances = np.convolve(np.convolve(np.convolve(byte, byte), byte), odd)[1:]
    values = []
    for total in range(1, 1021):
        first = 1 + 2 * min((total - 1) // 2, 127)
        rest = [min(max(total - first - 255 * place, 0), 255) for place in range(3)]
        values.append(reference.normal(int.from_bytes(bytes([first, *rest]), "little")))
    return np.array(values), chances


def test_coordinates_are_normal_and_the_same_everywhere():
    values, chances = law_of_a_coordinate()
    assert (np.diff(values) > 0).all()
    np.testing.assert_array_equal(values, -values[::-1])
    np.testing.assert_allclose(chances, chances[::-1], rtol=1e-12)
    variance = chances @ values**2
    assert chances @ values**4 / variance**2 == pytest.approx(3, abs=2e-3)
    names = seeded(1).words(np.arange(64), 0, 1)[:, 0]
    made = codewords(names, 9).astype("<i8").tobytes()
    assert hashlib.sha256(made).hexdigest()[:16] == "690a1089ab36909a"


def test_coordinates_of_codewords_follow_their_law():
    """One coordinate of a uniform direction is beta distributed; one false alarm in 1e6."""
    names = seeded(3).words(np.arange(8000), 0, 1)[:, 0]
    place = betainc(24.5, 24.5, (1 + codewords(names, 50).ravel() / STEPS) / 2)
    counts = np.bincount((place * 100).astype(int).clip(max=99), minlength=100)
    assert chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize(
    ("epsilon", "allowed"), [(1.0, 4e-4), (5.0, 4e-4), (7.0, 4e-4), (10.0, 5e-4), (12.0, 1e-3)]
)
def test_coordinates_pull_like_the_normal_law(epsilon, allowed):
    """Expected mean of the k largest of N: sums of bytes against the normal law, for a share
    along an axis of a large space.
    """
    cap = best_cap(50, odds(epsilon, BASE))
    values, chances = law_of_a_coordinate()
    ends = np.concatenate([[0.0], np.cumsum(chances)])
    place = (np.arange(1 << 21) + 0.5) / (1 << 21)
    table = values[np.searchsorted(ends, place, side="right").clip(1, len(values)) - 1]
    pairs = cap.candidates // 2
    leading = np.where(place > 0.5, betainc(pairs - cap.favoured, cap.favoured, 2 * place - 1), 0.0)
    mean = np.sum(table * leading) / np.sqrt(chances @ values**2)
    assert abs(mean / np.sum(ndtri(place) * leading) - 1) < allowed


def test_codewords_are_uniform_directions():
    names = seeded(1).words(np.arange(200_000), 0, 1)[:, 0]
    vectors = codewords(names, 6) / STEPS
    np.testing.assert_allclose((vectors**2).sum(axis=1), 1, atol=1e-8)
    assert np.abs(vectors.mean(axis=0)).max() < 5 / np.sqrt(6 * 200_000)
    np.testing.assert_allclose(
        vectors.T @ vectors / 200_000, np.eye(6) / 6, atol=5 * 0.17 / np.sqrt(200_000)
    )


def test_neighbouring_names_are_independent():
    """The candidates of one owner differ in the last bits only; the last is a sign."""
    base = seeded(2).words(np.arange(20_000), 0, 1)[:, 0] & ~np.uint64(63)
    vectors = [codewords(base | np.uint64(2 * c), 5) / STEPS for c in range(4)]
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
