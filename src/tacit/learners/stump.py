"""Decision stumps from cross tables (paper A, Algorithm 6, made sound).

Facts: candidate cuts (column, threshold) from public knowledge alone: one per binary column, several quantiles of the
data user's sample for the others.
Share: for every cut and each of its two sides, the owner's weight by class; for two classes only the difference, so
that a cut is a pair (left, right) with |left| + |right| <= 1.
Learn: the cut whose sides are purest; each side's class is the sign (for more classes the largest) of the noisy sums,
so a stump never points the wrong way.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.checks import bad, whole
from tacit.cohort import Cohort
from tacit.kernels import kernel
from tacit.learners.base import Facts, Learner, Public, ShareQuery
from tacit.learners.query import Answer
from tacit.spaces_of_blocks import Crosses
from tacit.types import FloatArray, IntArray
from tacit.wire import message


@message("stump.model")
@dataclass(frozen=True)
class StumpModel:
    """x[column] < threshold ? left : right."""

    column: int
    threshold: float
    left: int
    right: int

    def __post_init__(self) -> None:
        for name in ("column", "left", "right"):
            whole(name, getattr(self, name), 0)

    def predict(self, X: FloatArray) -> IntArray:
        return self.left + (self.right - self.left) * (X[:, self.column] >= self.threshold)


@message("stump")
@dataclass(frozen=True)
class Stump(Learner):
    """Boosted decision stumps with up to `cuts` candidate thresholds per column; any number of classes."""

    name: ClassVar[str] = "stump"
    cuts: int = 1

    def __post_init__(self) -> None:
        whole("cuts", self.cuts, 1)

    def facts(self, public: Public) -> Facts:
        """Thresholds at evenly spaced quantiles of the data user's sample; 0 for columns of -1 and +1."""
        columns: list[int] = []
        values: list[float] = []
        for column in range(public.dim):
            steps = np.arange(1, self.cuts + 1) / (self.cuts + 1)
            binary = bool((np.abs(public.X[:, column]) == 1.0).all())
            cuts = np.zeros(1) if binary else np.unique(np.quantile(public.X[:, column], steps))
            columns += [column] * len(cuts)
            values += cuts.tolist()
        return Facts(public.dim, public.classes, np.array(values), np.array(columns, dtype=np.int64))

    def space(self, facts: Facts) -> Crosses:
        if not (facts.values.shape == facts.columns.shape and facts.values.ndim == 1 and len(facts.values)):
            raise bad("cuts", "pairs of a column and a value", (facts.columns.shape, facts.values.shape))
        return Crosses(blocks=len(facts.values), size=2 * _codes(facts.classes).shape[1])

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        facts = query.facts
        codes = _codes(facts.classes)
        tables = np.zeros((len(cohort), len(facts.values), 2, codes.shape[1]))
        weights = query.ensemble.weights(cohort)
        cross_tables(cohort.X, cohort.y, weights, cohort.offsets, facts.columns, facts.values, codes, tables)
        return tables.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> StumpModel:
        facts = query.facts
        tables = answer.mean.reshape(len(facts.values), 2, -1)
        if facts.classes == 2:
            tables = np.concatenate([-tables, tables], axis=2)  # side's score for class 0 and class 1
        best = int(np.argmax(tables.max(axis=2).sum(axis=1)))
        left, right = np.argmax(tables[best], axis=1).tolist()
        return StumpModel(int(facts.columns[best]), float(facts.values[best]), left, right)


def _codes(classes: int) -> FloatArray:
    """What a row of each class adds to a side: -1 and +1 for two classes, a unit vector for more."""
    return np.array([[-1.0], [1.0]]) if classes == 2 else np.eye(classes)


@kernel
def cross_tables(
    X: FloatArray,
    y: IntArray,
    weights: FloatArray,
    offsets: IntArray,
    columns: IntArray,
    values: FloatArray,
    codes: FloatArray,
    tables: FloatArray,
) -> None:
    """Per owner, cut and side: the weighted sum of the rows' class codes.

    Only the left side is summed; the right one is what is left of the whole, which is the same for every cut.
    """
    cuts, width = len(columns), codes.shape[1]
    whole_sum = np.empty(width)
    left = np.empty((width, cuts))
    for owner in range(len(offsets) - 1):
        whole_sum[:] = 0.0
        left[:] = 0.0
        for i in range(offsets[owner], offsets[owner + 1]):
            for c in range(width):
                amount = weights[i] * codes[y[i], c]
                if amount != 0.0:
                    whole_sum[c] += amount
                    for cut in range(cuts):
                        left[c, cut] += amount if X[i, columns[cut]] < values[cut] else 0.0
        for cut in range(cuts):
            for c in range(width):
                tables[owner, cut, 0, c] = left[c, cut]
                tables[owner, cut, 1, c] = whole_sum[c] - left[c, cut]
