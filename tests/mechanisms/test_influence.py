"""What one report can do at most: the closed form against a search over valid reports."""

import numpy as np
import pytest

from tacit import (
    Ball,
    Box,
    Duchi,
    Laplace,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Simplex,
    seeded,
)
from tacit.mechanisms.sampled import Sampled
from tests.mechanisms.cases import ALL, SPACES, make, name

EVERY = [(kind, space) for kind in ALL for space in SPACES]


def extremes(mechanism, count=4_000):
    """Valid reports that lie far out: random bits, and the ends of every grid."""
    rng = np.random.default_rng(5)
    reports = mechanism.blank(count)
    kind = reports.points.dtype
    if isinstance(mechanism, Sampled):
        last = int(mechanism.sizes[0]) - 1 + 2 * (mechanism.branches - 1)
        ends = np.array([0, int(mechanism.sizes[0]) - 1, last], dtype=kind)
        reports.points[:] = rng.choice(ends, size=reports.points.shape)
        for row in reports.indices:
            row[:] = rng.permutation(mechanism.space.dim)[: len(row)]
    elif kind == np.int64:
        most = mechanism.limit(0) if isinstance(mechanism, Laplace) else 1 << 40
        reports.points[:] = rng.choice([-most, most], size=reports.points.shape)
    else:
        words = rng.integers(0, 1 << 63, size=reports.points.shape, dtype=np.uint64)
        reports.points[:] = words % max(1, 2 ** min(63, mechanism.report_bits))
    return reports[np.flatnonzero(mechanism.valid(reports))]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize(("kind", "space"), EVERY, ids=lambda v: name(v))
def test_no_two_reports_are_farther_apart_and_some_nearly_are(kind, space, epsilon):
    mechanism = make(kind, space, epsilon)
    estimates = mechanism.estimate(extremes(mechanism))
    apart = max(
        float(np.linalg.norm(estimates - estimates[i], axis=1).max())
        for i in range(min(60, len(estimates)))
    )
    near = 0.9 if kind is PrivUnit else 1 - 1e-6  # codewords are seldom quite opposite
    assert near * mechanism.spans[0] <= apart <= mechanism.spans[0] * (1 + 1e-9)


def test_one_report_moves_a_mean_by_at_most_its_influence():
    for mechanism in (Laplace(epsilon=1.0, space=Box(3)), PrivUnit(epsilon=1.0, space=Ball(3))):
        reports = extremes(mechanism, 50)
        moved = 0.0
        for i in range(50):
            other = mechanism.blank(50)
            other[np.arange(50)] = reports
            other[np.array([7])] = reports[np.array([i])]
            shift = mechanism.mean(other) - mechanism.mean(reports)
            moved = max(moved, float(np.linalg.norm(shift)))
        assert 0.8 * mechanism.influence(50) < moved <= mechanism.influence(50)


def test_levels_weigh_differently_and_the_bound_knows():
    epsilon = np.array([0.5] * 5 + [4.0] * 5)
    mechanism = Piecewise(epsilon=epsilon, space=Box(1))
    one = mechanism.randomize(np.zeros((10, 1)), seeded(3))
    moved = 0.0
    for row in range(10):
        for point in (0, int(mechanism.sizes[row // 5]) - 1):
            other = mechanism.blank(10)
            other[np.arange(10)] = one
            other.points[row] = point
            moved = max(moved, abs(float(mechanism.mean(other)[0] - mechanism.mean(one)[0])))
    assert 0 < moved <= mechanism.influence(10)


@pytest.mark.parametrize("menu", [(0.1, 5.0), (1.0, 1.5), (2.0, 20.0), (0.5, 1.0, 4.0)])
@pytest.mark.parametrize(("kind", "space"), [(Duchi, Box(1)), (RandomizedResponse, Simplex(3))])
def test_a_report_of_another_level_moves_no_farther(kind, space, menu):
    """A louder report in place of a quiet one, where all others are at one end: it is pulled from
    there, too.
    """
    moved = dict.fromkeys((2, 5, 30, 1000), 0.0)
    loud = [kind(epsilon=epsilon, space=space) for epsilon in menu]
    said = [
        (1 / each.risk, point)
        for each in loud
        for point in np.unique(each.estimate(extremes(each, 100)), axis=0)
    ]
    for n in moved:
        for weight, others in said:
            means = [
                ((n - 1) * weight * others + own * point) / ((n - 1) * weight + own)
                for own, point in said
            ]
            apart = np.linalg.norm(np.array(means)[:, np.newaxis] - np.array(means), axis=2)
            moved[n] = max(moved[n], float(apart.max()))
        claimed = kind.over(space, np.full(n, menu[0]), np.array(menu)).influence(n)
        assert moved[n] <= claimed * (1 + 1e-9)
    assert moved[1000] > claimed / 4  # and no more than four times the truth


def test_laplace_says_no_more_than_its_cap():
    """The cap is 12 scales beyond the space; before, one valid report decoded to 6,299 radii."""
    mechanism = Laplace(epsilon=1.0, space=Box(50))
    report = mechanism.blank(2)
    report.points[0], report.points[1] = mechanism.limit(0), mechanism.limit(0) + 1
    assert mechanism.valid(report).tolist() == [True, False]
    assert float(mechanism.estimate(report[:1])[0, 0]) == pytest.approx(1201, abs=1)


def test_figures_of_a_report_are_known():
    """The longest estimate of one report, in radii of the space."""
    found = {
        epsilon: PrivUnit(epsilon=epsilon, space=Ball(50)).spans[0] / 2 for epsilon in (0.1, 1.0)
    }
    assert found[1.0] == pytest.approx(17.9, abs=0.1)
    assert found[0.1] == pytest.approx(176, abs=2)
    assert make(ALL[-1], Simplex(4), None).influence(10) == pytest.approx(0.4)
