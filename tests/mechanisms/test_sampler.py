"""Samplers against their tables: chi-square over the outcomes. Fixed seeds, false-alarm rate
1e-6 per test.
"""

from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit import (
    Ball,
    Box,
    Duchi,
    Hybrid,
    Laplace,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Simplex,
    secure,
    seeded,
)
from tests.mechanisms import reference

N = 400_000
ALARM = 1e-6


def agrees(counts, weights):
    weights = np.asarray(weights, dtype=np.float64)
    return chisquare(counts, weights / weights.sum() * np.sum(counts)).pvalue > ALARM


@pytest.mark.parametrize("stream", [seeded(1), secure()], ids=["seeded", "secure"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("step", [0, 5, 16])
def test_piecewise(step, epsilon, stream):
    mechanism = Piecewise(epsilon=epsilon, space=Box(dim=1), steps=16)
    reports = mechanism.randomize(np.full((N, 1), step / 8 - 1), stream)
    law = mechanism.laws[0]
    counts = np.bincount(reports.points[:, 0], minlength=law.size)
    assert agrees(counts, law.weights(step))
    assert not agrees(counts, law.weights((step + 1) % 17))


def test_piecewise_rounds_between_steps():
    mechanism = Piecewise(epsilon=1.0, space=Box(dim=1), steps=16)
    law = mechanism.laws[0]
    counts = np.bincount(
        mechanism.randomize(np.full((N, 1), 5.25 / 8 - 1), seeded(2)).points[:, 0],
        minlength=law.size,
    )
    assert agrees(counts, 0.75 * np.array(law.weights(5)) + 0.25 * np.array(law.weights(6)))


@pytest.mark.parametrize(("dim", "epsilon", "k"), [(4, 1.0, 1), (4, 5.0, 2), (3, 9.0, 3)])
def test_coordinates_are_chosen_uniformly(dim, epsilon, k):
    mechanism = Piecewise(epsilon=epsilon, space=Box(dim=dim))
    assert mechanism.slots == k
    indices = np.sort(mechanism.randomize(np.zeros((N, dim)), seeded(3)).indices, axis=1)
    sets, counts = np.unique(indices @ dim ** np.arange(k), return_counts=True)
    assert len(sets) == comb(dim, k)
    assert len(sets) == 1 or agrees(counts, np.ones(len(sets)))
    assert (np.diff(indices, axis=1) > 0).all()


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_duchi(dim):
    mechanism = Duchi(epsilon=1.5, space=Box(dim=dim))
    signs = np.array([1, -1, -1, 1][:dim])
    reports = mechanism.randomize(np.tile(signs.astype(float), (N, 1)), seeded(4))
    weights = mechanism.laws[0].weights(tuple(signs))
    expected = np.zeros(2**dim)
    for output, weight in weights.items():
        expected[sum((s > 0) << j for j, s in enumerate(output))] = weight
    counts = np.bincount(reports.points[:, 0].astype(np.int64), minlength=2**dim)
    assert agrees(counts, expected)
    assert not agrees(counts, expected[::-1])


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_hybrid(epsilon):
    mechanism = Hybrid(epsilon=epsilon, space=Box(dim=1))
    points = mechanism.randomize(np.full((N, 1), 1.0), seeded(5)).points[:, 0].astype(np.int64)
    law, alpha = mechanism.laws[0], mechanism.shares_of_piecewise[0] / 2**32
    near = law.width * law.odds.high / law.total
    keep = law.odds.high / (law.odds.high + law.odds.low)
    expected = [alpha * (1 - near), alpha * near, (1 - alpha) * (1 - keep), (1 - alpha) * keep]
    counts = np.bincount(
        np.searchsorted([law.steps, law.size, law.size + 1], points, side="right"), minlength=4
    )
    used = np.array(expected) > 0
    assert (counts[~used] == 0).all()
    assert agrees(counts[used], np.array(expected)[used])


@pytest.mark.parametrize(("space", "vertex"), [(Simplex(dim=5), 3), (Box(dim=3), 4)], ids=str)
def test_randomized_response(space, vertex):
    mechanism = RandomizedResponse(epsilon=1.0, space=space)
    share = np.zeros(space.dim)
    share[vertex if isinstance(space, Simplex) else vertex // 2] = 1.0
    counts = np.bincount(
        mechanism.randomize(np.tile(share, (N, 1)), seeded(6)).points[:, 0],
        minlength=mechanism.vertices,
    )
    weights = np.array(mechanism.laws[0].weights(vertex), dtype=np.float64)
    # x = (0, 0, 1) in a box of l1 radius 3: two thirds of the mass go anywhere
    if not isinstance(space, Simplex):
        weights = weights / 3 + 2 / 3 * weights.mean()
    assert agrees(counts, weights)


def test_laplace_is_a_two_sided_geometric():
    mechanism = Laplace(epsilon=2.0, space=Box(dim=1))
    scale = mechanism.noise_scales[0]
    noise = mechanism.randomize(np.zeros((N, 1)), seeded(7)).points[:, 0]
    q = np.exp(-1 / scale)
    edges = np.arange(-5 * scale, 5 * scale + 1, scale // 4)

    def below(z):  # P[noise < z]
        return np.where(z <= 0, q ** (1.0 - z) / (1 + q), 1 - q ** np.maximum(z, 0) / (1 + q))

    expected = np.diff(np.concatenate([[0.0], below(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, noise, side="right"), minlength=len(edges) + 1)
    assert agrees(counts, expected)
    q = np.exp(-1 / (1.02 * scale))
    assert not agrees(counts, np.diff(np.concatenate([[0.0], below(edges), [1.0]])))


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_privunit_favours_as_many_as_it_says(epsilon):
    """The place of the reported codeword among its N candidates: k places weigh A, the others B."""
    mechanism = PrivUnit(epsilon=epsilon, space=Ball(dim=3))
    share = np.array([0.6, 0.0, -0.8])
    names = mechanism.randomize(np.tile(share, (4_000, 1)), seeded(8)).points[:, 0]
    cap = mechanism.laws[0]
    places = np.zeros(cap.candidates)
    for name in names.tolist():
        first = name // cap.candidates * cap.candidates
        places[reference.places(range(first, first + cap.candidates), share).index(name)] += 1
    inside = places[: cap.favoured].sum()
    expected = cap.favoured * cap.high / cap.total
    assert abs(inside / 4_000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 4_000)
    assert agrees(places[: cap.favoured], np.ones(cap.favoured))
    assert agrees(places[cap.favoured :], np.ones(cap.candidates - cap.favoured))
