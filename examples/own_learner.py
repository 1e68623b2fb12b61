"""A base learner of your own, in one file: naive Bayes. Run: python examples/own_learner.py"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.datasets import make_classification

from tacit import PrivateBoosting, load, register
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.owners.centroid import class_sums
from tacit.learners.query import Answer, Cost, table
from tacit.mechanisms.spaces import Mixture


@dataclass(frozen=True, eq=False)
class BayesModel:
    means: FloatArray
    variances: FloatArray

    def check(self, dim: int, classes: int) -> None:
        if not self.means.shape == self.variances.shape == (classes, dim):
            raise ValueError(f"means must be ({classes}, {dim}), got {self.means.shape}")

    def cost(self, dim: int, rows: int) -> Cost:
        return table(rows, 4 * self.means.size)

    def predict(self, X: FloatArray) -> IntArray:
        distance = (X[:, np.newaxis] - self.means) ** 2 / self.variances + np.log(self.variances)
        return np.asarray(np.argmin(distance.sum(axis=2), axis=1))


@register
@dataclass(frozen=True)
class Bayes(Learner):
    name: ClassVar[str] = "naive bayes"

    def space(self, facts: Facts) -> Mixture:
        return Mixture(blocks=facts.classes, size=2 * facts.dim + 1)

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        dim, classes = query.facts.dim, query.facts.classes
        moments = table(rows, 4 * dim) + table(classes, 2 * dim + 1)
        return query.ensemble.cost(dim, rows) + moments

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        sums = np.zeros((len(cohort), query.facts.classes, 2 * query.facts.dim + 1))
        moments = np.hstack([cohort.X, cohort.X**2])
        class_sums(moments, cohort.y, query.ensemble.weights(cohort), cohort.offsets, sums)
        return sums.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> BayesModel:
        sums = answer.mean.reshape(query.facts.classes, -1)
        means, squares = np.split(sums[:, :-1] / np.maximum(sums[:, -1:], 0.1), 2, axis=1)
        return BayesModel(np.clip(means, -1, 1), np.clip(squares - means**2, 0.01, 1))


if __name__ == "__main__":
    X, y = make_classification(60_000, 8, n_informative=6, random_state=1)
    owners, public = np.arange(58_000) // 4, (X[:1000], y[:1000])
    model = PrivateBoosting("naive bayes", epsilon=4.0, rounds=3, random_state=1)
    model.fit(X[2000:], y[2000:], owners=owners, public=public)
    model.save("bayes.tacit")
    print(f"{model.ended_}: accuracy {load('bayes.tacit').score(X[1000:2000], y[1000:2000]):.3f}")
