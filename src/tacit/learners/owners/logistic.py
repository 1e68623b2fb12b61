"""Logistic regressions fitted by the owners themselves (paper A, Algorithm 7, made sound).

Facts: the mean of the data user's sample. Share: the coefficients of a ridge-regularised weighted
logistic regression on the owner's rows less that mean, one per class against the rest (one in all
for two classes), in one vector clipped to a public ball. Learn: their mean, moved back. Noise in
coefficients moves a score by noise times row, which is least for centred rows. Ridge keeps
coefficients bounded on separable rows: lambda/2 ||theta||^2 <= log 2 at the
optimum, so ||theta|| <= sqrt(2 log 2 / lambda) whatever the rows; `bound` may be smaller.

Many small regressions are fitted by Newton's method, one after another in one kernel. An owner's
fit depends on its own rows only, so it is the same alone and among others. How many steps there
are, and which of them renew the second derivative, follows from lambda alone (`newton_steps`): rows
cannot make it stop early. Rows are gone through in blocks and in one order, so that memory does not
grow with them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from tacit._util.checks import bad, positive
from tacit._util.kernels import affine, dot_kernel, kernel, pieces, spread
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.owners.cross_tables import OwnedRows
from tacit.learners.query import Answer, Cost, table
from tacit.mechanisms.spaces import Ball
from tacit.wire import message

_MOST_STEPS = 58  # that renew the second derivative
_LAST_STEPS = 2  # that do not: they polish
_LONGEST = 5.0  # step: longer ones overshoot where the loss is flat
_OWNERS = 512  # in one piece of work
_ROWS = 256  # of an owner in one block: a multiple of four


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
        return Cost(rows * count * width) + table(rows, 4 * count)

    def predict(self, X: FloatArray) -> IntArray:
        scores = np.empty((len(X), len(self.coefficients)))
        affine(X, np.zeros(X.shape[1]), self._slopes, scores)
        scores += self.coefficients[:, -1]
        return (
            (scores[:, 0] > 0).astype(np.int64)
            if len(self.coefficients) == 1
            else np.argmax(scores, axis=1)
        )

    @cached_property
    def _slopes(self) -> FloatArray:
        """A column for each score: found once for all owners."""
        return np.ascontiguousarray(self.coefficients[:, :-1].T)


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

    def facts(self, public: Public) -> Facts:
        return Facts(public.dim, public.classes, public.X.mean(axis=0))

    def space(self, facts: Facts) -> Ball:
        targets = _targets(facts.classes)
        centre_of(facts)
        return Ball(dim=targets * (facts.dim + 1), radius=self.bound * float(np.sqrt(targets)))

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """All steps of Newton's method for every target, and the second derivatives of some."""
        width, targets = query.facts.dim + 1, _targets(query.facts.classes)
        renewing = newton_steps(self.ridge)
        steps = (renewing + _LAST_STEPS) * (9 * rows * width + 2 * width**2)
        curvature = renewing * ((rows + 4) * width**2 // 2 + width**3 // 3)
        room = table(min(rows, _ROWS) + 4, width + 2) + table(width, width + targets + 2)
        fitting = Cost(targets * (steps + curvature)) + room
        return query.ensemble.cost(query.facts.dim, rows) + fitting

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        weights = query.ensemble.weights(cohort)
        centre = centre_of(query.facts)
        theta = fit_owners(cohort, weights, query.facts.classes, self.ridge, centre)
        return theta.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> LogisticModel:
        coefficients = answer.mean.reshape(_targets(query.facts.classes), -1)
        return move_back(coefficients, centre_of(query.facts))


def centre_of(facts: Facts) -> FloatArray:
    """What is taken off every row: the public mean, or nothing where facts name none."""
    centre = facts.values if facts.values.size else np.zeros(facts.dim)
    if not (centre.shape == (facts.dim,) and (np.abs(centre) <= 1).all()):
        raise bad("centre", f"{facts.dim} numbers from -1 to 1", centre.shape)
    return centre


def move_back(coefficients: FloatArray, centre: FloatArray) -> LogisticModel:
    """The model of rows as they are, from coefficients for rows less `centre`."""
    moved = coefficients.copy()
    moved[:, -1] -= coefficients[:, :-1] @ centre
    return LogisticModel(moved)


def _targets(classes: int) -> int:
    return 1 if classes == 2 else classes


@kernel
def newton_steps(ridge: float) -> int:
    """How many steps renew the second derivative: three, and two for every digit of 1 / ridge.

    Enough for a gradient below 1e-9 where ridge is at least 1e-3, on all rows that were tried; with
    less a fit of rows that are all but separable ends early, outside the ball that clips it.
    """
    return min(3 + 2 * int(np.ceil(max(0.0, -np.log10(ridge)))), _MOST_STEPS)


def fit_owners(
    cohort: Cohort,
    weights: FloatArray,
    classes: int,
    ridge: float,
    centre: FloatArray | None = None,
) -> FloatArray:
    """Every owner's own fits, (owners, targets, dim + 1), to rows less `centre`, spread over the
    cores.
    """
    origin = np.zeros(cohort.columns) if centre is None else centre
    theta = np.zeros((len(cohort), _targets(classes), cohort.columns + 1))

    def fit(owners: slice) -> None:
        own = weights[cohort.offsets[owners.start] : cohort.offsets[owners.stop]]
        fit_each(OwnedRows.of(cohort, owners), own, ridge, origin, theta[owners])

    spread(fit, pieces(len(cohort), least=1, most=_OWNERS))
    return theta


class _Room(NamedTuple):
    """Room for one fit: what is taken off rows, a block of them with a 1 for the intercept, their
    curvatures and scores, gradient and step, and the factor of the second derivative.
    """

    centre: FloatArray
    rows: FloatArray
    curve: FloatArray
    score: FloatArray
    gradient: FloatArray
    step: FloatArray
    factor: FloatArray


class _FitRows(NamedTuple):
    """One owner's rows, classes and weights."""

    X: FloatArray
    y: IntArray
    weights: FloatArray


@kernel
def fit_each(
    owned: OwnedRows, weights: FloatArray, ridge: float, centre: FloatArray, theta: FloatArray
) -> None:
    """Fit every owner and target, from zero, into theta (owners, targets, dim + 1), by weights of
    one owner's rows after another's; intercepts are regularised too.
    """
    size = owned.X.shape[1] + 1
    most = 0
    for owner in range(len(owned.spans)):
        most = max(most, min(_ROWS, owned.spans[owner, 1] - owned.spans[owner, 0]))
    room = _Room(
        centre=centre,
        rows=np.zeros((most + 4, size)),
        curve=np.zeros(most + 4),
        score=np.empty(most + 4),
        gradient=np.empty(size),
        step=np.empty(size),
        factor=np.zeros((size, size)),
    )
    begin = 0
    for owner in range(len(owned.spans)):
        first, last = owned.spans[owner]
        rows = _FitRows(
            owned.X[first:last], owned.y[first:last], weights[begin : begin + last - first]
        )
        begin += last - first
        for target in range(theta.shape[1] if last > first else 0):
            truth = 1 if theta.shape[1] == 1 else target
            _fit(rows, room, truth, ridge, theta[owner, target])


@kernel
def _load(X: FloatArray, room: _Room) -> None:
    """A block of rows into the room, and zeros behind them: rows are taken four at a time, and
    nothing of another block may be left there.
    """
    n, dim = X.shape
    for i in range(n):
        for a in range(dim):
            room.rows[i, a] = X[i, a] - room.centre[a]
        room.rows[i, dim] = 1.0
    for i in range(n, n + 4):
        room.curve[i] = 0.0
        for a in range(dim + 1):
            room.rows[i, a] = 0.0


@kernel
def _fit(rows: _FitRows, room: _Room, truth: int, ridge: float, coefficients: FloatArray) -> None:
    """Newton's method: is a row of class `truth`?"""
    renewing, n = newton_steps(ridge), len(rows.y)
    for step in range(renewing + _LAST_STEPS):
        renewed = step < renewing
        for a in range(len(coefficients)):
            room.gradient[a] = ridge * coefficients[a]
            if renewed:
                room.factor[a, : a + 1] = 0.0
                room.factor[a, a] = ridge
        for first in range(0, n, _ROWS):
            last = min(first + _ROWS, n)
            if step == 0 or n > _ROWS:  # one block stays where it is
                _load(rows.X[first:last], room)
            _scores(room.rows, last - first, coefficients, room.score)
            _add_slopes(room, rows.y[first:last], rows.weights[first:last], truth)
            if renewed:
                _add_curvature(room.rows, last - first, room.curve, room.factor)
        if renewed:
            _cholesky(room.factor)
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
def _add_curvature(rows: FloatArray, n: int, curve: FloatArray, out: FloatArray) -> None:
    """Add the sum of curve_i x_i x_i^T to the lower triangle of `out`, four rows at a time."""
    for i in range(0, n, 4):
        for a in range(len(out)):
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
