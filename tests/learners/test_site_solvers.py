"""Losses keep to the bounds they state; minima are minima, and their certificates true."""

from fractions import Fraction

import numpy as np
import pytest
from reliability.sites import sites
from scipy.optimize import minimize

from tacit.audit.questions import gradient_length
from tacit.learners.sites.descent import LANES, UNIT, Descent, SlopeRoom, Tiles, add_slopes, descend
from tacit.learners.sites.losses import LOSSES, Huber, HuberHinge, LogisticLoss, minimise
from tacit.learners.sites.perturbation import Perturbation, least_ridge, objective
from tacit.learners.sites.projection import Projection

RNG = np.random.default_rng(3)


def rows_of(n, dim):
    rows = RNG.normal(size=(n, dim))
    return rows / np.maximum(np.sqrt((rows**2).sum(axis=1, keepdims=True)), 1.0)


def targets_for(loss, n):
    return RNG.uniform(-1, 1, n) if loss.of_numbers else RNG.choice([-1.0, 1.0], n)


def bounds_of(plan: Perturbation) -> Descent:
    assert plan.descent is not None
    return plan.descent


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_derivatives_within_their_bounds(name):
    loss, z = LOSSES[name], np.linspace(-4, 4, 4001)
    for target in (-1.0, 1.0, 0.3) if loss.of_numbers else (-1.0, 1.0):
        told = np.full_like(z, target)
        slope = loss.first(z, told)
        np.testing.assert_allclose(
            np.gradient(loss.value(z, told), z)[1:-1], slope[1:-1], atol=2e-3
        )
        bend = np.gradient(slope, z)[1:-1]
        smooth = np.abs(np.diff(loss.second(z, told), 2)) < 1e-3
        np.testing.assert_allclose(bend[smooth], loss.second(z, told)[1:-1][smooth], atol=2e-3)
        assert np.abs(slope).max() <= loss.slope
        assert loss.second(z, told).min() >= 0
        assert loss.second(z, told).max() <= loss.curvature
    if loss.slope < np.inf:  # bounds are reached: half of them would be wrong
        assert np.abs(slope).max() > 0.95 * loss.slope
    assert loss.second(z, told).max() > 0.99 * loss.curvature


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(200, 5), (4, 9), (9_000, 3)], ids=str)
def test_minimum_is_where_a_general_solver_finds_it(name, shape):
    loss, rows = LOSSES[name], rows_of(*shape)
    targets, tilt = targets_for(loss, shape[0]), RNG.normal(scale=20.0, size=shape[1])

    def objective(f):
        z = rows @ f
        value = loss.value(z, targets).sum() + f @ f + tilt @ f
        return value, rows.T @ loss.first(z, targets) + 2 * f + tilt

    general = minimize(
        objective, np.zeros(shape[1]), jac=True, method="BFGS", options={"gtol": 1e-7}
    )
    found = minimise(rows, targets, loss, ridge=2.0, tilt=tilt)
    np.testing.assert_allclose(found, general.x, atol=1e-5)


def test_ridge_by_column_pulls_to_the_centre():
    rows, targets = rows_of(50, 3), targets_for(LogisticLoss(), 50)
    centre = np.array([1.0, -2.0, 0.5])
    held = minimise(rows, targets, LogisticLoss(), np.array([1e9, 1e9, 1.0]), centre=centre)
    np.testing.assert_allclose(held[:2], centre[:2], atol=1e-6)
    assert abs(held[2] - centre[2]) > 0.01


HARD = {
    "no rows": np.zeros((0, 3)),
    "zero rows": np.zeros((20, 3)),
    "one column matters": np.tile([1.0, 0.0, 0.0], (500, 1)),
    "the same row": np.tile(rows_of(1, 3), (300, 1)),
    "almost on a line": rows_of(300, 3) * [1.0, 1e-9, 1e-12],
    "tiny": 1e-160 * rows_of(50, 3),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 100.0])
def test_the_proven_distance_is_kept_on_hard_rows(name, epsilon):
    rows = HARD[name]
    for loss in (LogisticLoss(), HuberHinge(), HuberHinge(h=2.0**-10), Huber(h=0.01)):
        for ridge in (least_ridge(epsilon, loss.curvature), 1.0, 1e5):
            plan = objective(epsilon, 3, loss, 1.5, ridge)
            for told in (np.ones(len(rows)), targets_for(loss, len(rows))):
                for scales in (0.0, 1.0, 60.0):
                    tilt = np.full(3, scales * plan.tilt_size)
                    found = descend(Tiles.of(rows), told, loss, tilt, bounds_of(plan))
                    length = gradient_length(rows, told, loss, plan.ridge, tilt, found)
                    assert length <= plan.tolerance, (loss, ridge, scales)


def test_far_fewer_steps_would_not_be_enough():
    """The number of steps is what a badly conditioned minimum needs, within a small factor: one
    long column, one that rows hardly reach.
    """
    rows = np.tile([1.0, 2.0**-10], (900, 1))
    loss, tilt = Huber(h=4.0), np.array([300.0, 20.0])
    bounds = Descent(2, loss.slope, loss.curvature, 0.5, 2.0**-4, 2.0**-10, 400.0)
    assert bounds.most_rows > 900

    class Hasty(Descent):
        def steps(self, rows):
            return super().steps(rows) // 5

    hasty = Hasty(2, loss.slope, loss.curvature, 0.5, 2.0**-4, 2.0**-10, 400.0)
    off = []
    for each in (bounds, hasty):
        found = descend(Tiles.of(rows), np.ones(900), loss, tilt, each)
        off.append(gradient_length(rows, np.ones(900), loss, 2.0**-4, tilt, found))
    assert off[0] <= bounds.tolerance < off[1]


@pytest.mark.parametrize("name", ["logistic", "huber_hinge", "huber"])
def test_the_kernel_is_the_plain_iteration(name):
    loss, rows = LOSSES[name], rows_of(77, 4)
    targets, tilt = targets_for(loss, 77), RNG.normal(scale=5.0, size=4)
    bounds = Descent(4, loss.slope, loss.curvature, 1.0, 3.0, 2.0**-10, 50.0)
    a = bounds.contraction(77)
    x = y = np.zeros(4)
    for _ in range(bounds.steps(77)):
        gradient = rows.T @ loss.first(rows @ y, targets) + 3.0 * y + tilt
        before, x = x, y - gradient / (9 / 8 * bounds.smoothness(77))
        y = x + (1 - a) / (1 + a) * (x - before)
    found = descend(Tiles.of(rows), targets, loss, tilt, bounds)
    np.testing.assert_allclose(found, x, rtol=0, atol=1e-13)


def test_slopes_are_added_in_one_order_whatever_is_read_at_once():
    """Bit for bit what plain Python adds up, eight rows side by side, 128 times, then together."""
    rows, f, loss = rows_of(1_100, 3), RNG.normal(size=3), Huber(h=8.0)
    targets = RNG.uniform(-1, 1, 1_100)
    sums, lost, lanes = np.zeros(3), np.zeros(3), np.zeros((3, LANES))

    def flush():
        for j in range(3):
            part = 0.0
            for lane in range(LANES):
                part += lanes[j, lane]
            total = sums[j] + part
            larger, smaller = sorted((sums[j], part), key=abs, reverse=True)
            lost[j] += (larger - total) + smaller
            sums[j] = total
        lanes[:] = 0.0

    for i, (row, target) in enumerate(zip(rows.tolist(), targets.tolist(), strict=True)):
        if i and i % (128 * LANES) == 0:
            flush()
        z = 0.0
        for part, x in zip(f.tolist(), row, strict=True):
            z += part * x
        for j, x in enumerate(row):
            lanes[j, i % LANES] += min(max(z - target, -8.0), 8.0) * x
    flush()
    tiles, room = Tiles.of(rows), SlopeRoom(np.empty(3), np.empty(3), np.empty((3, LANES)))
    held = np.zeros((len(tiles.entries), LANES))
    held.reshape(-1)[:1_100] = targets
    add_slopes(tiles.entries, held, loss.code, loss.h, f, room)
    assert room.sums.tolist() == (sums + lost).tolist()


def test_sums_of_slopes_round_less_than_counted():
    """Against rationals: 3,000 rows in three columns, whose sum nearly cancels."""
    rows = rows_of(3_000, 3)
    loss, f = Huber(h=8.0), RNG.normal(size=3)
    targets = RNG.uniform(-1, 1, 3_000)
    tiles = Tiles.of(rows)
    held = np.zeros((len(tiles.entries), LANES))
    held.reshape(-1)[:3_000] = targets
    sums = np.empty(3)
    room = SlopeRoom(sums, np.empty(3), np.empty((3, LANES)))
    add_slopes(tiles.entries, held, loss.code, loss.h, f, room)
    exact = [Fraction(0)] * 3
    for row, target in zip(rows.tolist(), targets.tolist(), strict=True):
        z = sum(Fraction(x) * Fraction(part) for x, part in zip(row, f.tolist(), strict=True))
        exact = [e + (z - Fraction(target)) * Fraction(x) for e, x in zip(exact, row, strict=True)]
    off = float(sum((Fraction(s) - e) ** 2 for s, e in zip(sums.tolist(), exact, strict=True)))
    counted = UNIT * 3_000 * (256 * loss.slope + 5 * float(np.linalg.norm(f)))
    assert 0 < off**0.5 < counted / 10
    assert off**0.5 > counted / 1e6


def test_more_rows_than_are_covered_are_none():
    bounds = bounds_of(objective(1.0, 3, HuberHinge(2.0**-10), 1.5, 1.0))
    assert bounds.covers(bounds.most_rows)
    assert not bounds.covers(bounds.most_rows + 1)
    assert objective(1.0, 3, HuberHinge(), 1.5, 1.0).rows > 100_000


def test_steps_depend_on_the_number_of_rows_alone():
    """The time of a training is the same whatever rows hold: the kernel has no other loop."""
    bounds = bounds_of(objective(1.0, 3, HuberHinge(), 1.5, 1.0))
    steps = [bounds.steps(n) for n in (0, 1, 1_000, bounds.most_rows)]
    assert steps == sorted(steps)
    assert steps[-1] < 40_000


def test_hostile_questions_show_nothing():
    """A little of `python -m reliability.sites`."""
    found = sites(300, seed=5)
    assert found.passed, found
    assert found.figures["largest gradient over its tolerance"] < 0.5


def test_a_solver_that_stalls_is_seen(monkeypatch):
    monkeypatch.setattr(Descent, "steps", lambda self, rows: 40)
    assert sites(100, seed=5).faults["minima that cannot be certified"] > 10


def test_rows_that_depend_on_others_are_seen(monkeypatch):
    exact = Projection.see
    monkeypatch.setattr(
        Projection, "see", lambda self, X: exact(self, X) * (1 - 2.0**-50 * (len(X) % 2))
    )
    assert sites(50, seed=5).faults["rows that another record changed"] > 10
