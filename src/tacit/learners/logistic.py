"""Logistic regressions fitted by the owners themselves (paper A, Algorithm 7, made sound).

Share: the coefficients of a ridge-regularised weighted logistic regression on the owner's rows, one per class against
the rest (one in all for two classes), in one vector clipped to a public ball.
Learn: their mean. Ridge keeps coefficients bounded on separable rows: lambda/2 ||theta||^2 <= log 2 at the optimum, so
||theta|| <= sqrt(2 log 2 / lambda) whatever the rows; `bound` may be smaller.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.checks import bad, positive
from tacit.cohort import Cohort
from tacit.cores import pieces, spread
from tacit.learners.base import Facts, Learner, ShareQuery
from tacit.learners.newton import fit_each
from tacit.learners.query import Answer
from tacit.spaces import Ball
from tacit.types import FloatArray, IntArray
from tacit.wire import message


@message("linear.model")
@dataclass(frozen=True, eq=False)
class LinearModel:
    """The class with the largest score; `coefficients` (1 or classes, dim + 1), the intercept last."""

    coefficients: FloatArray

    def __post_init__(self) -> None:
        if not (self.coefficients.ndim == 2 and self.coefficients.size):
            raise bad("coefficients", "(1 or classes, dim + 1)", self.coefficients.shape)

    def predict(self, X: FloatArray) -> IntArray:
        scores = X @ self.coefficients[:, :-1].T + self.coefficients[:, -1]
        return (scores[:, 0] > 0).astype(np.int64) if len(self.coefficients) == 1 else np.argmax(scores, axis=1)


@message("logistic")
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

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        weights = query.ensemble.weights(cohort)
        theta = fit_owners(cohort, weights, query.facts.classes, self.ridge)
        return theta.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> LinearModel:
        return LinearModel(answer.mean.reshape(_targets(query.facts.classes), -1))


def _targets(classes: int) -> int:
    return 1 if classes == 2 else classes


def fit_owners(cohort: Cohort, weights: FloatArray, classes: int, ridge: float) -> FloatArray:
    """Every owner's own fits, (owners, targets, dim + 1), spread over the cores."""
    targets = _targets(classes)
    theta = np.zeros((len(cohort), targets, cohort.X.shape[1] + 1))

    def fit(owners: slice) -> None:
        fit_each(cohort.X, cohort.y, weights, cohort.offsets[owners.start : owners.stop + 1], ridge, theta[owners])

    spread(fit, pieces(len(cohort), least=1, most=512))
    return theta
