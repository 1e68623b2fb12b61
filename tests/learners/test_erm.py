"""Losses keep to the bounds they state; minima are minima, and their certificates true."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.learners.sites.losses import LOSSES, Huber, HuberHinge, LogisticLoss
from tacit.learners.sites.perturbation import least_ridge, objective
from tacit.learners.sites.solver import minimise

RNG = np.random.default_rng(3)


def rows_of(n, dim):
    rows = RNG.normal(size=(n, dim))
    return rows / np.maximum(np.sqrt((rows**2).sum(axis=1, keepdims=True)), 1.0)


def targets_for(loss, n):
    return RNG.uniform(-1, 1, n) if loss.of_numbers else RNG.choice([-1.0, 1.0], n)


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
    assert found.off < 1e-6
    np.testing.assert_allclose(found.f, general.x, atol=1e-5)


def test_ridge_by_column_pulls_to_the_centre():
    rows, targets = rows_of(50, 3), targets_for(LogisticLoss(), 50)
    centre = np.array([1.0, -2.0, 0.5])
    held = minimise(rows, targets, LogisticLoss(), np.array([1e9, 1e9, 1.0]), centre=centre).f
    np.testing.assert_allclose(held[:2], centre[:2], atol=1e-6)
    assert abs(held[2] - centre[2]) > 0.01


def test_the_certificate_is_above_the_true_gradient():
    """The true one in rationals, for a loss whose slope is rational arithmetic."""
    loss = HuberHinge()
    for tilt_size in (0.0, 1.0, 1e6):
        rows, targets = rows_of(60, 4), targets_for(loss, 60)
        tilt = RNG.normal(scale=tilt_size, size=4)
        found = minimise(rows, targets, loss, ridge=0.7, tilt=tilt)
        f = [Fraction(value) for value in found.f.tolist()]
        gradient = [
            Fraction(0.7) * part + Fraction(b) for part, b in zip(f, tilt.tolist(), strict=True)
        ]
        for row, target in zip(rows.tolist(), targets.tolist(), strict=True):
            z = sum(Fraction(x) * part for x, part in zip(row, f, strict=True))
            inside = min(max((1 - Fraction(target) * z + Fraction(1, 2)), Fraction(0)), Fraction(1))
            gradient = [
                g - Fraction(target) * inside * Fraction(x)
                for g, x in zip(gradient, row, strict=True)
            ]
        true = float(sum(g * g for g in gradient)) ** 0.5
        assert true <= found.off
        assert found.off < 1e-6 + 1e-6 * tilt_size * 1e-3


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
def test_rows_that_are_hard_are_certified_too(name, epsilon):
    rows = HARD[name]
    for loss in (LogisticLoss(), HuberHinge(), HuberHinge(h=1e-3), Huber(h=0.01)):
        for ridge in (least_ridge(epsilon, loss.curvature), 1.0, 1e5):
            plan = objective(epsilon, 3, loss, 1.5, ridge)
            for told in (np.ones(len(rows)), targets_for(loss, len(rows))):
                for tilt in (0.0, 1.0, 40.0):  # noise beyond 40 scales has a chance of e^-40
                    found = minimise(
                        rows,
                        told,
                        loss,
                        plan.ridge,
                        np.full(3, tilt * plan.tilt_size),
                        plan.tolerance,
                    )
                    assert found.off <= plan.tolerance, (loss, ridge, tilt)


def test_many_rows_in_many_columns_are_certified():
    rows = np.tile(rows_of(500, 40), (200, 1))
    for loss in (HuberHinge(), LogisticLoss()):
        plan = objective(0.1, 40, loss, 5.0, 1.0)
        tilt = RNG.laplace(scale=plan.tilt_size, size=40)
        found = minimise(rows, targets_for(loss, len(rows)), loss, plan.ridge, tilt, plan.tolerance)
        assert found.off <= plan.tolerance
