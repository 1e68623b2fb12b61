"""One level of a gradient-boosted tree: where the rows lie that the model gets wrong. Two classes.

Share: mean over the owner's rows of g onehot(leaf, column, bin of x[column]) / sqrt(columns), with
g = y - p(x) under the published model, leaves of the published tree and public edges of bins. A row
fills one cell per column, so a share is at most 1 long whatever the bins, and is clipped to a
public ball: labels, counts and the number of rows are inside the one vector. An owner without rows
says 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, positive
from tacit._util.kernels import kernel
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import BlockOwners, Cohort
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.models.ensemble import LARGEST
from tacit.learners.models.scores import ScoreModel, Trees
from tacit.learners.query import Answer, Cost, in_blocks, table
from tacit.mechanisms.spaces import Ball
from tacit.wire import message


@message("gradient.histogram")
@dataclass(frozen=True, eq=False)
class GradientHistogram(Learner):
    """`model` says what is known already, `tree` which leaves to split, `edges` (columns, bins -
    1) where to cut.
    """

    name: ClassVar[str] = "gradient histogram"

    model: ScoreModel
    tree: Trees
    edges: FloatArray
    radius: float

    def __post_init__(self) -> None:
        positive("radius", self.radius)
        if not (
            self.edges.ndim == 2 and self.edges.shape[1] >= 1 and np.isfinite(self.edges).all()
        ):
            raise bad("edges", "finite numbers, (columns, cuts)", self.edges.shape)
        if not (len(self.tree.roots) == 1 and self.model.classes == 2):
            raise ValueError("a histogram of gradients is for one tree and two classes")

    def space(self, facts: Facts) -> Ball:
        self.model.check(facts.dim, facts.classes)
        self.tree.check(facts.dim)
        if not (len(self.edges) == facts.dim and facts.classes == 2):
            raise bad("edges", f"for {facts.dim} columns and two classes", self.edges.shape)
        if not self.cells <= LARGEST:
            raise bad("cells of a histogram", f"at most {LARGEST}", self.cells)
        return Ball(dim=self.cells, radius=self.radius)

    @property
    def cells(self) -> int:
        return self.leaves * self.columns * self.bins

    @property
    def leaves(self) -> int:
        return int(np.count_nonzero(self.tree.column < 0))

    @property
    def columns(self) -> int:
        return int(self.edges.shape[0])

    @property
    def bins(self) -> int:
        return int(self.edges.shape[1]) + 1

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """The model, the leaf of every row, and every edge of every column for every row."""

        def block(rows: int) -> Cost:
            leaf = self.tree.cost(rows) + table(rows, self.leaves, passes=3)
            edges = Cost(rows * self.edges.size)
            return self.model.cost(query.facts.dim, rows) + leaf + edges

        return in_blocks(block, rows) + table(rows, 1) + table(1, 2 * self.cells, passes=2)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        wrong = np.empty(int(cohort.offsets[-1]))
        for block in cohort.row_blocks():
            wrong[block.rows] = block.y - self.model.probabilities(block.X)[:, 1]
        return np.asarray(self.histograms(wrong, cohort) / np.sqrt(self.columns))

    def histograms(self, weights: FloatArray, cohort: Cohort) -> FloatArray:
        """Mean of each owner's weights by leaf, column and bin, (owners, cells)."""
        out = np.zeros((len(cohort), self.cells))
        for block in cohort.row_blocks():
            leaf = np.argmax(self.tree.indicators(block.X), axis=1)
            parts = weights[block.rows], leaf, block.X, self.edges
            mean_histograms(*parts, of=block.of, out=out[block.owners])
        return out

    def learn(self, query: ShareQuery, answer: Answer) -> ScoreModel:
        """A level alone is no model yet; `tacit.algorithms.gradient_trees` puts levels together."""
        return self.model


@kernel
def mean_histograms(
    weights: FloatArray,
    leaf: IntArray,
    X: FloatArray,
    edges: FloatArray,
    of: BlockOwners,
    out: FloatArray,
) -> None:
    """Add to every owner's mean over its rows of weight x onehot(leaf, column, bin) what the rows
    of a block add.
    """
    columns, bins = edges.shape[0], edges.shape[1] + 1
    for owner in range(len(of.sizes)):
        for i in range(of.offsets[owner], of.offsets[owner + 1]):
            for j in range(columns):
                b = 0
                while b < bins - 1 and X[i, j] > edges[j, b]:
                    b += 1
                out[owner, (leaf[i] * columns + j) * bins + b] += weights[i] / of.sizes[owner]
