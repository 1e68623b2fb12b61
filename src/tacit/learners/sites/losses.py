"""Losses of a linear score z, with the two bounds that privacy needs: of the slope and of the
curvature.

Classes are -1 and +1. Numbers are targets scaled to [-1, 1]. A squared error has slopes without
bound, so no site may train with it privately; `Huber` is the same near the target and bounded far
from it.

`minimise` finds the regularised empirical risk of public rows fast. No private row may come there
but in simulations: nothing is proven of where it stops (descent.py has the method that is).

    J(f) = sum over rows of l(f . x, target) + ridge/2 |f|^2 + tilt . f

Newton's method with a line search; of many rows, every eighth gives a start and a curvature, and
the curvature is renewed only where steps stop helping.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import expit

from tacit._util.checks import bad, one_of, positive
from tacit._util.types import FloatArray
from tacit.wire import message

HINGE, HUBER, LOGISTIC, SQUARED = range(4)  # as kernels know losses
_STEPS = 100  # at most
_COARSE = 1 << 12  # rows
_LEAST_H, _LARGEST_H = 2.0**-10, 2.0**10  # a sharper corner bends more than sums can follow


class Loss(ABC):
    """A convex loss l(z, target), differentiable in z, with |l'| <= slope and 0 <= l'' <= curvature
    almost everywhere.

    `of_numbers` says whether targets are numbers rather than the classes -1 and +1. `code` and `h`
    are all that a kernel needs to know.
    """

    of_numbers: ClassVar[bool]
    code: ClassVar[int]

    @property
    @abstractmethod
    def h(self) -> float:
        """Half the width of the curved part, where a loss has one."""

    @property
    @abstractmethod
    def slope(self) -> float: ...

    @property
    @abstractmethod
    def curvature(self) -> float: ...

    @abstractmethod
    def value(self, z: FloatArray, target: FloatArray) -> FloatArray: ...

    @abstractmethod
    def first(self, z: FloatArray, target: FloatArray) -> FloatArray:
        """The derivative by z."""

    @abstractmethod
    def second(self, z: FloatArray, target: FloatArray) -> FloatArray:
        """The second derivative by z; at a kink of the first, the value from one side."""


@message("loss.logistic")
@dataclass(frozen=True)
class LogisticLoss(Loss):
    """log(1 + e^(-target z))."""

    of_numbers: ClassVar[bool] = False
    code: ClassVar[int] = LOGISTIC
    h: ClassVar[float] = 1.0  # of no meaning here
    slope: ClassVar[float] = 1.0
    curvature: ClassVar[float] = 0.25

    def value(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.asarray(np.logaddexp(0.0, -target * z))

    def first(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.asarray(-target * expit(-target * z))

    def second(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.asarray(expit(z) * expit(-z))


@message("loss.huber_hinge")
@dataclass(frozen=True)
class HuberHinge(Loss):
    """The hinge with its corner rounded over 1 - h .. 1 + h (paper C: h = 0.5)."""

    h: float = 0.5
    of_numbers: ClassVar[bool] = False
    code: ClassVar[int] = HINGE
    slope: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", _width(self.h))

    @property
    def curvature(self) -> float:
        return 1 / (2 * self.h)

    def value(self, z: FloatArray, target: FloatArray) -> FloatArray:
        short = 1 - target * z
        curved = (short + self.h) ** 2 / (4 * self.h)
        return np.asarray(np.where(short > self.h, short, np.where(short < -self.h, 0.0, curved)))

    def first(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.asarray(-target * np.clip((1 - target * z + self.h) / (2 * self.h), 0.0, 1.0))

    def second(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.asarray(np.where(np.abs(1 - target * z) <= self.h, self.curvature, 0.0))


@message("loss.huber")
@dataclass(frozen=True)
class Huber(Loss):
    """Half the squared error up to a distance h, a straight line beyond."""

    h: float = 0.5
    of_numbers: ClassVar[bool] = True
    code: ClassVar[int] = HUBER
    curvature: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", _width(self.h))

    @property
    def slope(self) -> float:
        return self.h

    def value(self, z: FloatArray, target: FloatArray) -> FloatArray:
        off = np.abs(z - target)
        return np.asarray(np.where(off <= self.h, off**2 / 2, self.h * (off - self.h / 2)))

    def first(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.clip(z - target, -self.h, self.h)

    def second(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.asarray(np.where(np.abs(z - target) <= self.h, 1.0, 0.0))


@message("loss.squared")
@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error: for baselines and for public data only."""

    of_numbers: ClassVar[bool] = True
    code: ClassVar[int] = SQUARED
    h: ClassVar[float] = 1.0  # of no meaning here
    slope: ClassVar[float] = inf
    curvature: ClassVar[float] = 1.0

    def value(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.asarray((z - target) ** 2 / 2)

    def first(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return z - target

    def second(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return np.ones_like(z)


def _width(h: float) -> float:
    if not _LEAST_H <= positive("h", h) <= _LARGEST_H:
        raise bad("h", f"between {_LEAST_H:g} and {_LARGEST_H:g}", h)
    return float(h)


LOSSES: dict[str, Loss] = {
    "logistic": LogisticLoss(),
    "huber_hinge": HuberHinge(),
    "huber": Huber(),
    "squared": Squared(),
}


def loss_of(name: Any, *, numbers: bool) -> Loss:
    """A loss by name; "auto" is the Huber hinge for classes and the Huber loss for numbers."""
    fitting = [known for known, loss in LOSSES.items() if loss.of_numbers == numbers]
    chosen = one_of("loss", name, ["auto", *fitting])
    return LOSSES[("huber" if numbers else "huber_hinge") if chosen == "auto" else chosen]


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

    is_tilted = bool(np.any(tilt))

    def objective(point: FloatArray, z: FloatArray) -> float:
        away = point - centre
        risk = loss.value(z, targets).sum() + pull @ away**2 / 2
        return float(risk + np.sum(tilt * point) if is_tilted else risk)

    z = rows @ f
    value = objective(f, z)
    every, before, solve = (8 if len(rows) > _COARSE else 1), 0.0, None
    for _ in range(_STEPS):
        gradient = rows.T @ loss.first(z, targets) + pull * (f - centre) + tilt
        size = _length(gradient)
        if not size < inf:
            raise ValueError("rows, targets and ridge must be finite")
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
        inner = _divide_by(small) if len(held) else None

        def by_rows(gradient: FloatArray) -> FloatArray:
            if inner is None:
                return gradient / pull
            return np.asarray((gradient - held.T @ inner(held @ (gradient / pull))) / pull)

        return by_rows
    curvature = held.T @ held
    curvature[np.diag_indices(len(pull))] += pull
    return _divide_by(curvature)


def _divide_by(matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """What multiplies with the inverse of a positive definite matrix: LAPACK's two calls and no
    more around them, since systems are small and many.
    """
    factor, wrong = dpotrf(matrix, clean=0)
    if wrong or not np.isfinite(factor).all():
        raise np.linalg.LinAlgError("the curvature must be finite and positive definite")
    return lambda vector: np.asarray(dpotrs(factor, vector)[0])


def _length(vector: FloatArray) -> float:
    return float(np.sqrt(vector @ vector))
