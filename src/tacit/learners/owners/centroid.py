"""Nearest centroids from class-wise weighted sums (paper A, Algorithm 5, made sound).

Share: for each class the weighted sum of the owner's rows and the weight itself, (p_k mean_k, p_k),
p_k >= 0 adding up to 1. Labels, counts and weights are inside the one vector that is randomised:
nothing else leaves. Learn: centroid_k = sum_k / weight_k, with weights that are noise kept away
from 0.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad
from tacit._util.kernels import affine, kernel
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.query import Answer, Cost, table
from tacit.mechanisms.spaces import Mixture
from tacit.wire import message


@message("centroid.model")
@dataclass(frozen=True, eq=False)
class CentroidModel:
    """The class of the nearest centroid, (classes, dim)."""

    centroids: FloatArray

    def __post_init__(self) -> None:
        if not self.centroids.ndim == 2:
            raise bad("centroids", "(classes, dim)", self.centroids.shape)

    def check(self, dim: int, classes: int) -> None:
        if not (self.centroids.shape[1] == dim and 1 <= len(self.centroids) <= classes):
            raise bad("centroids", f"(classes, {dim})", self.centroids.shape)

    def cost(self, dim: int, rows: int) -> Cost:
        classes, dim = self.centroids.shape
        return Cost(rows * classes * dim + classes * dim) + table(rows, 4 * classes)

    def predict(self, X: FloatArray) -> IntArray:
        # ||x - c||^2 without ||x||^2, which is the same for all classes
        columns, squares = self._columns_and_squares
        products = np.empty((len(X), len(self.centroids)))
        affine(X, np.zeros(X.shape[1]), columns, products)
        return np.asarray(np.argmin(squares - 2 * products, axis=1))

    @cached_property
    def _columns_and_squares(self) -> tuple[FloatArray, FloatArray]:
        """The centroids as columns, and their squared lengths: found once for all owners."""
        return np.ascontiguousarray(self.centroids.T), (self.centroids**2).sum(axis=1)


@message("centroid")
@dataclass(frozen=True)
class Centroid(Learner):
    """Boosted nearest centroids; any number of classes."""

    name: ClassVar[str] = "centroid"

    def space(self, facts: Facts) -> Mixture:
        return Mixture(blocks=facts.classes, size=facts.dim + 1)

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        dim, classes = query.facts.dim, query.facts.classes
        return (
            query.ensemble.cost(query.facts.dim, rows)
            + Cost(rows * (dim + 1))
            + table(classes, dim + 1, 2)
        )

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        weights = query.ensemble.weights(cohort)
        sums = np.zeros((len(cohort), query.facts.classes, query.facts.dim + 1))
        for block in cohort.row_blocks():
            parts = weights[block.rows], block.of.offsets
            class_sums(block.X, block.y, *parts, sums[block.owners])
        return sums.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> CentroidModel:
        classes = query.facts.classes
        sums = answer.mean.reshape(classes, -1)
        errors = answer.stderr.reshape(classes, -1)[:, -1]
        least = np.maximum(np.where(np.isfinite(errors), errors, 0.0), 0.1 / classes)
        weight = np.maximum(sums[:, -1], least)
        return CentroidModel(np.clip(sums[:, :-1] / weight[:, np.newaxis], -1.0, 1.0))


@kernel
def class_sums(
    X: FloatArray, y: IntArray, weights: FloatArray, offsets: IntArray, sums: FloatArray
) -> None:
    """Per owner and class: the weighted sum of rows, and in the last column the weight."""
    dim = X.shape[1]
    for owner in range(len(offsets) - 1):
        for i in range(offsets[owner], offsets[owner + 1]):
            for j in range(dim):
                sums[owner, y[i], j] += weights[i] * X[i, j]
            sums[owner, y[i], dim] += weights[i]
