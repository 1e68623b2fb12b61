"""Logistic regressions fitted by the owners themselves (paper A, Algorithm 7, made sound).

Share: the coefficients of a ridge-regularised weighted logistic regression on the owner's rows, one
per class against the rest (one in all for two classes), in one vector clipped to a public ball.
Learn: their mean. Ridge keeps coefficients bounded on separable rows: lambda/2 ||theta||^2 <= log 2
at the optimum, so ||theta|| <= sqrt(2 log 2 / lambda) whatever the rows; `bound` may be smaller.

Many small regressions are fitted by Newton's method, one after another in one kernel. An owner's
fit depends on its own rows only, so it is the same alone and among others. The second derivative
costs most: its factor is kept while it still brings the gradient down fivefold per step, and
renewed otherwise.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tacit._util.checks import bad, positive
from tacit._util.kernels import dot_kernel, kernel, pieces, spread
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.learners.cost import FLOP, Cost, table
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.query import Answer
from tacit.mechanisms.spaces import Ball
from tacit.wire import message

_STEPS = 60  # of Newton's method, at most: far more than it takes
_SMALL = 1e-9  # the largest entry of the gradient at the end
_LONGEST = 5.0  # step: longer ones overshoot where the loss is flat
_FIVEFOLD = 0.2  # what a step must leave of the gradient for its factor to be kept
_OWNERS = 512  # in one piece of work


@message("linear.model")
@dataclass(frozen=True, eq=False)
class LogisticModel:
    """The class with the largest score; `coefficients` (1 or classes, dim + 1), the intercept
    last.
    """

    coefficients: FloatArray

    def __post_init__(self) -> None:
        if not (self.coefficients.ndim == 2 and self.coefficients.size):
            raise bad("coefficients", "(1 or classes, dim + 1)", self.coefficients.shape)

    def check(self, dim: int, classes: int) -> None:
        count, width = self.coefficients.shape
        if not (width == dim + 1 and count <= classes):
            raise bad("coefficients", f"(1 or classes, {dim + 1})", self.coefficients.shape)

    def cost(self, dim: int, rows: int) -> Cost:
        count, width = self.coefficients.shape
        return Cost(rows * count * width // FLOP) + table(rows, 3 * count)

    def predict(self, X: FloatArray) -> IntArray:
        scores = X @ self.coefficients[:, :-1].T + self.coefficients[:, -1]
        return (
            (scores[:, 0] > 0).astype(np.int64)
            if len(self.coefficients) == 1
            else np.argmax(scores, axis=1)
        )


@message("logistic")
@dataclass(frozen=True)
class Logistic(Learner):
    """Boosted logistic regression: `ridge` is lambda, `bound` the public radius of one
    classifier's coefficients.
    """

    name: ClassVar[str] = "logistic"
    ridge: float = 0.1
    bound: float = 2.0

    def __post_init__(self) -> None:
        positive("ridge", self.ridge)
        positive("bound", self.bound)

    def space(self, facts: Facts) -> Ball:
        targets = _targets(facts.classes)
        return Ball(dim=targets * (facts.dim + 1), radius=self.bound * float(np.sqrt(targets)))

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """All steps of Newton's method for every target, each with a new second derivative."""
        width, targets = query.facts.dim + 1, _targets(query.facts.classes)
        step = 8 * rows * width + (rows + 4) * width**2 // 2 + width**3 // 3
        room = table(rows + 4, width + 2) + table(width, width + targets + 2)
        return query.ensemble.cost(query.facts.dim, rows) + Cost(targets * _STEPS * step) + room

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        weights = query.ensemble.weights(cohort)
        theta = fit_owners(cohort, weights, query.facts.classes, self.ridge)
        return theta.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> LogisticModel:
        return LogisticModel(answer.mean.reshape(_targets(query.facts.classes), -1))


def _targets(classes: int) -> int:
    return 1 if classes == 2 else classes


def fit_owners(cohort: Cohort, weights: FloatArray, classes: int, ridge: float) -> FloatArray:
    """Every owner's own fits, (owners, targets, dim + 1), spread over the cores."""
    theta = np.zeros((len(cohort), _targets(classes), cohort.X.shape[1] + 1))

    def fit(owners: slice) -> None:
        offsets = cohort.offsets[owners.start : owners.stop + 1]
        fit_each(cohort.X, cohort.y, weights, offsets, ridge=ridge, theta=theta[owners])

    spread(fit, pieces(len(cohort), least=1, most=_OWNERS))
    return theta


class _Room(NamedTuple):
    """Room for one fit: rows with a 1 for the intercept, their curvatures and scores, gradient and
    step, and the factor of the second derivative.
    """

    rows: FloatArray
    curve: FloatArray
    score: FloatArray
    gradient: FloatArray
    step: FloatArray
    factor: FloatArray


@kernel
def fit_each(
    X: FloatArray,
    y: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    ridge: float,
    theta: FloatArray,
) -> None:
    """Fit every owner and target, from zero, into theta (owners, targets, dim + 1); intercepts are
    regularised too.
    """
    size = X.shape[1] + 1
    most = 0
    for owner in range(len(offsets) - 1):
        most = max(most, offsets[owner + 1] - offsets[owner])
    room = _Room(
        rows=np.zeros((most + 4, size)),
        curve=np.zeros(most + 4),
        score=np.empty(most + 4),
        gradient=np.empty(size),
        step=np.empty(size),
        factor=np.zeros((size, size)),
    )
    for owner in range(len(offsets) - 1):
        own = slice(offsets[owner], offsets[owner + 1])
        _load(X[own], room)
        for target in range(theta.shape[1] if offsets[owner + 1] > offsets[owner] else 0):
            truth = 1 if theta.shape[1] == 1 else target
            _fit(room, y[own], weights[own], truth, ridge, coefficients=theta[owner, target])


@kernel
def _load(X: FloatArray, room: _Room) -> None:
    """An owner's rows into the room, and zeros behind them: rows are taken four at a time, and
    nothing of another owner may be left there.
    """
    n, dim = X.shape
    for i in range(n):
        for a in range(dim):
            room.rows[i, a] = X[i, a]
        room.rows[i, dim] = 1.0
    for i in range(n, n + 4):
        room.curve[i] = 0.0
        for a in range(dim + 1):
            room.rows[i, a] = 0.0


@kernel
def _fit(
    room: _Room,
    y: IntArray,
    weights: FloatArray,
    truth: int,
    ridge: float,
    coefficients: FloatArray,
) -> None:
    """Newton's method: is a row of class `truth`?"""
    before = 0.0  # no factor yet
    for _ in range(_STEPS):
        _scores(room.rows, len(y), coefficients, room.score)
        for a in range(len(coefficients)):
            room.gradient[a] = ridge * coefficients[a]
        _add_slopes(room, y, weights, truth)
        largest = 0.0
        for a in range(len(coefficients)):
            largest = max(largest, abs(room.gradient[a]))
        if largest < _SMALL:
            break
        if largest > _FIVEFOLD * before:
            _second_derivative(room.rows, len(y), room.curve, ridge, room.factor)
            _cholesky(room.factor)
        before = largest
        _solve(room.factor, room.gradient, room.step)
        _take_step(coefficients, room.step)


@kernel
def _add_slopes(room: _Room, y: IntArray, weights: FloatArray, truth: int) -> None:
    """Every row's part of the gradient, and its curvature."""
    for i in range(len(y)):
        chance = 1.0 / (1.0 + np.exp(-room.score[i])) if room.score[i] > -700.0 else 0.0
        pull = weights[i] * (chance - (1.0 if y[i] == truth else 0.0))
        room.curve[i] = weights[i] * max(chance * (1.0 - chance), 1e-12)
        for a in range(len(room.gradient)):
            room.gradient[a] += pull * room.rows[i, a]


@kernel
def _take_step(coefficients: FloatArray, step: FloatArray) -> None:
    """Go back along the step, not farther than is safe."""
    length = 0.0
    for a in range(len(step)):
        length += step[a] * step[a]
    damp = min(1.0, _LONGEST / np.sqrt(length)) if length > 0 else 1.0
    for a in range(len(step)):
        coefficients[a] -= damp * step[a]


@dot_kernel
def _scores(rows: FloatArray, n: int, coefficients: FloatArray, score: FloatArray) -> None:
    for i in range(n):
        total = 0.0
        for a in range(len(coefficients)):
            total += coefficients[a] * rows[i, a]
        score[i] = total


@kernel
def _second_derivative(
    rows: FloatArray, n: int, curve: FloatArray, ridge: float, out: FloatArray
) -> None:
    """The lower triangle of ridge I + sum of curve_i x_i x_i^T, four rows at a time."""
    size = len(out)
    for a in range(size):
        for b in range(a + 1):
            out[a, b] = 0.0
        out[a, a] = ridge
    for i in range(0, n, 4):
        for a in range(size):
            p, q = curve[i] * rows[i, a], curve[i + 1] * rows[i + 1, a]
            r, s = curve[i + 2] * rows[i + 2, a], curve[i + 3] * rows[i + 3, a]
            if p != 0.0 or q != 0.0 or r != 0.0 or s != 0.0:
                for b in range(a + 1):
                    out[a, b] += (p * rows[i, b] + q * rows[i + 1, b]) + (
                        r * rows[i + 2, b] + s * rows[i + 3, b]
                    )


@dot_kernel
def _cholesky(matrix: FloatArray) -> None:
    """The lower triangle of a positive definite matrix becomes its factor."""
    for i in range(len(matrix)):
        for j in range(i):
            total = 0.0
            for k in range(j):
                total += matrix[i, k] * matrix[j, k]
            matrix[i, j] = (matrix[i, j] - total) / matrix[j, j]
        total = 0.0
        for k in range(i):
            total += matrix[i, k] * matrix[i, k]
        matrix[i, i] = np.sqrt(max(matrix[i, i] - total, 1e-300))


@dot_kernel
def _solve(factor: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """Forward, then backward, with a lower factor."""
    n = len(right)
    for i in range(n):
        total = 0.0
        for j in range(i):
            total += factor[i, j] * out[j]
        out[i] = (right[i] - total) / factor[i, i]
    for i in range(n - 1, -1, -1):
        out[i] /= factor[i, i]
        for j in range(i):
            out[j] -= factor[i, j] * out[i]
