"""Logistic regressions fitted by the owners themselves (paper A, Algorithm 7, made sound).

Share: the coefficients of a ridge-regularised weighted logistic regression on the owner's rows, one per class against
the rest (one in all for two classes), in one vector clipped to a public ball.
Learn: their mean. Ridge keeps coefficients bounded on separable rows: lambda/2 ||theta||^2 <= log 2 at the optimum, so
||theta|| <= sqrt(2 log 2 / lambda) whatever the rows; `bound` may be smaller.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import ClassVar

import numpy as np

from tacit.checks import positive
from tacit.cohort import Cohort
from tacit.kernels import kernel
from tacit.learners.base import Answer, Facts, Learner, Query
from tacit.spaces import Ball
from tacit.types import FloatArray, IntArray

_STEPS = 12
_SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The class with the largest score; `coefficients` (1 or classes, dim + 1), the intercept last."""

    coefficients: FloatArray

    def predict(self, X: FloatArray) -> IntArray:
        scores = X @ self.coefficients[:, :-1].T + self.coefficients[:, -1]
        return (scores[:, 0] > 0).astype(np.int64) if len(self.coefficients) == 1 else np.argmax(scores, axis=1)


@dataclass(frozen=True)
class Logistic(Learner):
    """Boosted logistic regression: `ridge` is lambda, `bound` the public radius of one classifier's coefficients."""

    name: ClassVar[str] = "logistic"
    ridge: float = 0.1
    bound: float = 2.0

    def __post_init__(self) -> None:
        positive("ridge", self.ridge)
        positive("bound", self.bound)

    def space(self, facts: Facts) -> Ball:
        targets = _targets(facts.classes)
        return Ball(dim=targets * (facts.dim + 1), radius=self.bound * float(np.sqrt(targets)))

    def share(self, query: Query, cohort: Cohort) -> FloatArray:
        weights = query.ensemble.weights(cohort)
        theta = fit_owners(cohort, weights, query.facts.classes, self.ridge)
        return theta.reshape(len(cohort), -1)

    def learn(self, query: Query, answer: Answer) -> LinearModel:
        return LinearModel(answer.mean.reshape(_targets(query.facts.classes), -1))


def _targets(classes: int) -> int:
    return 1 if classes == 2 else classes


def fit_owners(cohort: Cohort, weights: FloatArray, classes: int, ridge: float) -> FloatArray:
    """Every owner's own fits, (owners, targets, dim + 1), by damped Newton steps; owners are spread over the cores."""
    targets = _targets(classes)
    theta = np.zeros((len(cohort), targets, cohort.X.shape[1] + 1))

    def fit(owners: slice) -> None:
        _fit_block(cohort.X, cohort.y, weights, cohort.offsets[owners.start : owners.stop + 1], ridge, theta[owners])

    size = max(1, min(512, -(-len(cohort) // (cpu_count() or 1))))
    blocks = [slice(start, min(start + size, len(cohort))) for start in range(0, len(cohort), size)]
    if len(blocks) > 1:
        with ThreadPoolExecutor(cpu_count()) as pool:
            list(pool.map(fit, blocks))
    else:
        for block in blocks:
            fit(block)
    return theta


@kernel
def _fit_block(
    X: FloatArray, y: IntArray, weights: FloatArray, offsets: IntArray, ridge: float, theta: FloatArray
) -> None:
    """Newton's method for each owner and target, from zero, until the gradient is small."""
    dim = X.shape[1]
    gradient, step = np.empty(dim + 1), np.empty(dim + 1)
    hessian = np.empty((dim + 1, dim + 1))
    row = np.empty(dim + 1)
    row[dim] = 1.0
    targets = theta.shape[1]
    for owner in range(len(offsets) - 1):
        if offsets[owner] == offsets[owner + 1]:
            continue
        for target in range(targets):
            truth = 1 if targets == 1 else target
            coefficients = theta[owner, target]
            for _ in range(_STEPS):
                for a in range(dim + 1):
                    gradient[a] = ridge * coefficients[a]
                    for b in range(a + 1):
                        hessian[a, b] = 0.0
                    hessian[a, a] = ridge
                for i in range(offsets[owner], offsets[owner + 1]):
                    score = coefficients[dim]
                    for a in range(dim):
                        row[a] = X[i, a]
                        score += coefficients[a] * X[i, a]
                    chance = 1.0 / (1.0 + np.exp(-score)) if score > -700.0 else 0.0
                    pull = weights[i] * (chance - (1.0 if y[i] == truth else 0.0))
                    curve = weights[i] * max(chance * (1.0 - chance), 1e-12)
                    for a in range(dim + 1):
                        gradient[a] += pull * row[a]
                        scaled = curve * row[a]
                        for b in range(a + 1):
                            hessian[a, b] += scaled * row[b]
                largest = 0.0
                for a in range(dim + 1):
                    largest = max(largest, abs(gradient[a]))
                if largest < _SMALL:
                    break
                _solve(hessian, gradient, step)
                length = 0.0
                for a in range(dim + 1):
                    length += step[a] * step[a]
                damp = min(1.0, 5.0 / np.sqrt(length)) if length > 0 else 1.0
                for a in range(dim + 1):
                    coefficients[a] -= damp * step[a]


@kernel
def _solve(matrix: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """Solve with the lower triangle of a positive definite matrix, by Cholesky in place."""
    n = len(right)
    for k in range(n):
        pivot = np.sqrt(matrix[k, k])
        for i in range(k, n):
            matrix[i, k] /= pivot
        for i in range(k + 1, n):
            factor = matrix[i, k]
            for j in range(k + 1, i + 1):
                matrix[i, j] -= factor * matrix[j, k]
    for i in range(n):
        total = right[i]
        for j in range(i):
            total -= matrix[i, j] * out[j]
        out[i] = total / matrix[i, i]
    for i in range(n - 1, -1, -1):
        total = out[i]
        for j in range(i + 1, n):
            total -= matrix[j, i] * out[j]
        out[i] = total / matrix[i, i]
