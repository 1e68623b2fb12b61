"""Regularised empirical risk, minimised with a certificate of how far from the minimum we stopped.

    J(f) = sum over rows of weight l(f . x, target) + ridge/2 |f|^2 + tilt . f

It is a sum, not a mean: the number of rows, which is private, is no part of it. J is ridge-strongly
convex, so a point whose gradient is at most tau long lies within tau / ridge of the minimum. `off`
bounds that length from above, with the rounding of its own computation included. Newton's method
with a line search; of many rows, every eighth gives a start and a curvature, and the curvature is
renewed only where steps stop helping.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit._util.types import FloatArray
from tacit.learners.sites.losses import Loss

_STEPS = 100
_COARSE = 1 << 12  # rows
BLOCK = 1 << 10  # rows whose gradients are added in one product
ULP = 2.0**-52


@dataclass(frozen=True, eq=False)
class Minimum:
    """A point, and an upper bound of the length of the gradient there."""

    f: FloatArray
    off: float


def minimise(
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    ridge: float | FloatArray,
    tilt: FloatArray | float = 0.0,
    tolerance: float = 1e-6,
    centre: FloatArray | float = 0.0,
) -> Minimum:
    """The minimum of J to within `tolerance` of gradient, unless floating point cannot get there.

    `ridge` may differ by coordinate, and pull to `centre` instead of 0.
    """
    f = np.zeros(rows.shape[1]) + centre
    if len(rows) > _COARSE:  # a good start from every eighth row: most steps then cost an eighth
        f = minimise(
            rows[::8], targets[::8], loss, np.asarray(ridge) / 8, np.asarray(tilt) / 8, 8e-3, centre
        ).f
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
            )  # rounding hides the gain: trust the quadratic, the certificate decides
            if not _length(_gradient(rows, targets, loss, pull, tilt, centre, point)) < size:
                break
            new = objective(point, score)
        f, z, value = point, score, new
    return Minimum(f, _certificate(rows, targets, loss, pull, tilt, centre, f))


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


def _certificate(
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    pull: FloatArray,
    tilt: FloatArray | float,
    centre: FloatArray | float,
    f: FloatArray,
) -> float:
    """The gradient's length, rounded up: blocks of rows, so that rounding grows with rows, not
    with their square.
    """
    gradient = _gradient(rows, targets, loss, pull, tilt, centre, f)
    n, dim = rows.shape
    steep = min(loss.slope, float(np.max(np.abs(loss.first(rows @ f, targets)), initial=0.0)) + 1.0)
    scores = (
        (dim + 8) * loss.curvature * _length(f)
    )  # how far a rounded score moves the slope, in ulps
    rest = _length(pull * (f - centre)) + _length(np.zeros(dim) + tilt)
    rounding = ULP * (n * ((BLOCK + 64) * steep + scores) + 4 * rest)
    return float(_length(gradient) * (1 + dim * ULP) + rounding)


def _gradient(
    rows: FloatArray,
    targets: FloatArray,
    loss: Loss,
    pull: FloatArray,
    tilt: FloatArray | float,
    centre: FloatArray | float,
    f: FloatArray,
) -> FloatArray:
    parts = [
        loss.first(rows[i : i + BLOCK] @ f, targets[i : i + BLOCK]) @ rows[i : i + BLOCK]
        for i in range(0, len(rows), BLOCK)
    ]
    total = np.sum(
        np.array([*parts, pull * (f - centre) + tilt]).T.copy(), axis=1
    )  # contiguous: NumPy adds in pairs
    return np.asarray(total)


def _length(vector: FloatArray) -> float:
    return float(np.sqrt(vector @ vector))
