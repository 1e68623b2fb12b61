"""How much of a share is said along its steepest axes: as much as lets answers explain most."""

import numpy as np
import pytest

from tacit.algorithms.public_metric import best_parts


def explained(parts, curvature, variance, freedom, noise):
    """What answers explain of the expected loss, in plain words."""
    longer = np.sum(freedom * curvature * parts**2) / np.sum(freedom * curvature)
    precision = curvature**2 * parts**2 / (noise * longer)
    return np.sum(freedom * curvature * (variance - 1 / (1 / variance + precision)))


@pytest.mark.parametrize("noise", [1e-8, 1e-5, 1e-3, 1.0])
def test_no_other_parts_explain_more(noise):
    coins = np.random.default_rng(4)
    curvature = np.sort(np.exp(coins.normal(size=40)))[::-1] / 100
    variance, freedom = coins.uniform(0.2, 4.0, 40), np.where(np.arange(40) < 38, 1.0, 20.0)
    known = curvature, variance, freedom, noise
    places, found = best_parts(*known, axes=12)
    np.testing.assert_array_equal(places, np.arange(12))
    parts = np.ones(40)
    parts[places] = found
    best = explained(parts, *known)
    assert best >= explained(np.ones(40), *known)
    for place in places:
        for other in (0.5, 0.8, 1.25, 2.0):
            changed = parts.copy()
            changed[place] = np.clip(other * parts[place], np.exp(-6), np.exp(2))
            assert explained(changed, *known) <= best * (1 + 1e-4)


def test_what_is_steep_is_turned_down_where_answers_are_nearly_exact():
    """Without noise to speak of all directions are to be known alike: parts as curvature to the
    power of -1/2 over 4 directions, if all the others are as flat as one another.
    """
    curvature = np.array([16.0, 4.0, 2.0] + [1.0] * 200)
    _, parts = best_parts(curvature, np.ones(203), np.ones(203), 1e-9, axes=3)
    assert np.all(np.diff(parts) > 0)
    np.testing.assert_allclose(parts, curvature[:3] ** -0.5, rtol=0.01)
