"""Regularised empirical risk of public rows, minimised fast. No private row may come here but in
simulations: nothing is proven of where it stops (descent.py has the method that is).

    J(f) = sum over rows of l(f . x, target) + ridge/2 |f|^2 + tilt . f

Newton's method with a line search; of many rows, every eighth gives a start and a curvature, and
the curvature is renewed only where steps stop helping.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit._util.types import FloatArray
from tacit.learners.sites.losses import Loss

_STEPS = 100
_COARSE = 1 << 12  # rows


def minimise(
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    ridge: float | FloatArray,
    tilt: FloatArray | float = 0.0,
    *,
    tolerance: float = 1e-6,
    centre: FloatArray | float = 0.0,
) -> FloatArray:
    """The minimum of J to within `tolerance` of gradient, unless floating point cannot get there.

    `ridge` may differ by coordinate, and pull to `centre` instead of 0.
    """
    f = np.zeros(rows.shape[1]) + centre
    if len(rows) > _COARSE:  # a good start from every eighth row: most steps then cost an eighth
        eighth = rows[::8], targets[::8], loss, np.asarray(ridge) / 8, np.asarray(tilt) / 8
        f = minimise(*eighth, tolerance=8e-3, centre=centre)
    pull = np.broadcast_to(np.asarray(ridge, dtype=np.float64), f.shape)

    def objective(point: FloatArray, z: FloatArray) -> float:
        away = point - centre
        return float(loss.value(z, targets).sum() + pull @ away**2 / 2 + np.sum(tilt * point))

    z = rows @ f
    value = objective(f, z)
    every, before, solve = (8 if len(rows) > _COARSE else 1), 0.0, None
    for _ in range(_STEPS):
        gradient = rows.T @ loss.first(z, targets) + pull * (f - centre) + tilt
        size = _length(gradient)
        if size < tolerance / 4:
            break
        if solve is None or size > 0.3 * before:  # else the curvature found before is good enough
            every = every if solve is None else 1
            solve = _newton(rows[::every], every * loss.second(z[::every], targets[::every]), pull)
        before = size
        step = solve(gradient)
        along, slope, length = rows @ step, float(gradient @ step), 1.0
        while True:
            point, score = f - length * step, z - length * along
            new = objective(point, score)
            if new <= value - 1e-4 * length * slope or length < 1e-9:
                break
            length /= 2
        if not new < value:
            point, score = (
                f - step,
                z - along,
            )  # rounding hides the gain: trust the quadratic
            gradient = rows.T @ loss.first(score, targets) + pull * (point - centre) + tilt
            if not _length(gradient) < size:
                break
            new = objective(point, score)
        f, z, value = point, score, new
    return f


def _newton(
    rows: FloatArray, curve: FloatArray, pull: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Gradients to Newton's steps. With fewer curved rows than columns, the small system of rows
    is solved instead.
    """
    bent = curve > 0
    held = rows[bent] * np.sqrt(curve[bent])[:, np.newaxis]
    if len(held) < rows.shape[1]:
        small = (held / pull) @ held.T
        small[np.diag_indices(len(held))] += 1.0
        inner = cho_factor(small) if len(held) else None

        def by_rows(gradient: FloatArray) -> FloatArray:
            if inner is None:
                return gradient / pull
            return np.asarray(
                (gradient - held.T @ cho_solve(inner, held @ (gradient / pull))) / pull
            )

        return by_rows
    curvature = held.T @ held
    curvature[np.diag_indices(len(pull))] += pull
    factor = cho_factor(curvature)
    return lambda gradient: np.asarray(cho_solve(factor, gradient))


def _length(vector: FloatArray) -> float:
    return float(np.sqrt(vector @ vector))
