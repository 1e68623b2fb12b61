"""What a published model gets wrong on an owner's rows, along public features. Note: gradient.md.

Share: mean over the owner's rows of w(x) (C^T (e_y - p(x))) x phi(x), where phi is a public map, p
are the probabilities of the scores phi(x) weights, C are contrasts of classes, and w(x) <= 1
shortens a row to at most `reach` whatever its label is. Since w looks at x alone, the mean of
shares is 0 if p is right, however many rows are shortened. The mean is clipped to a public ball:
labels, counts and the number of rows are inside the one vector, and nothing else leaves.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, positive
from tacit._util.kernels import kernel
from tacit._util.types import FloatArray
from tacit.data.cohort import BlockOwners, Cohort
from tacit.learners.cost import Cost, in_blocks, table
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.models.features import FeatureMap, affine
from tacit.learners.models.scores import Mapped, ScoreModel, softmax
from tacit.learners.owners.discriminant import class_residuals
from tacit.learners.query import Answer
from tacit.mechanisms.spaces import Ball
from tacit.wire import message


@message("gradient")
@dataclass(frozen=True, eq=False)
class Gradient(Learner):
    """`features` say what of a row counts, `weights` (features, classes) which model is asked
    about; a row counts for at most `reach`, an owner for at most `radius`.
    """

    name: ClassVar[str] = "gradient"

    features: FeatureMap
    weights: FloatArray
    reach: float
    radius: float

    def __post_init__(self) -> None:
        positive("reach", self.reach)
        positive("radius", self.radius)

    def space(self, facts: Facts) -> Ball:
        self.features.check(facts.dim)
        if not self.weights.shape == (self.features.dim, facts.classes):
            raise bad("weights", f"({self.features.dim}, {facts.classes})", self.weights.shape)
        return Ball(dim=(facts.classes - 1) * self.features.dim, radius=self.radius)

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """The map, its scores, and a product of residuals and features for every row."""
        classes, width = query.facts.classes, (query.facts.classes - 1) * self.features.dim

        def block(rows: int) -> Cost:
            scores = Cost(rows * self.weights.size) + table(rows, 12 * classes, passes=4)
            residuals = table(rows, 4 * classes, passes=classes) + table(classes, 3 * classes)
            products = Cost(2 * rows * (width + self.features.dim))
            return self.features.cost(query.facts.dim, rows) + scores + residuals + products

        return in_blocks(block, rows) + table(1, width, passes=2)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        shares = np.zeros((len(cohort), query.facts.classes - 1, self.features.dim))
        for block in cohort.row_blocks():
            phi = self.features.transform(block.X)
            scores = np.empty((len(phi), self.weights.shape[1]))
            affine(phi, np.zeros(phi.shape[1]), self.weights, scores)
            residuals = class_residuals(scores, block.y)
            longest, own = longest_residuals(softmax(scores)), shares[block.owners]
            mean_shortened(residuals, phi, longest, self.reach, of=block.of, out=own)
        return shares.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> ScoreModel:
        """The model that was asked about; `tacit.algorithms.combination` takes the answer in."""
        return ScoreModel(query.facts.classes, (Mapped(self.features, self.weights),))


def longest_residuals(chances: FloatArray) -> FloatArray:
    """The length of e_y - chances for the label that makes it longest, (rows,): public given x.

    |e_k - p|^2 = 1 - 2 p_k + |p|^2 is largest for the least likely class.

    >>> longest_residuals(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [0.707, 1.414]
    """
    squared = 1 - 2 * chances.min(axis=1) + (chances**2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


@kernel
def mean_shortened(
    residuals: FloatArray,
    phi: FloatArray,
    longest: FloatArray,
    reach: float,
    of: BlockOwners,
    out: FloatArray,
) -> None:
    """Add to every owner's mean over its rows of w residual x phi, w = min(1, reach / (longest
    |phi|)), what the rows of a block add.
    """
    for owner in range(len(of.sizes)):
        for i in range(of.offsets[owner], of.offsets[owner + 1]):
            length = 0.0
            for j in range(phi.shape[1]):
                length += phi[i, j] * phi[i, j]
            length = longest[i] * np.sqrt(length)
            w = (reach / length if length > reach else 1.0) / of.sizes[owner]
            for a in range(residuals.shape[1]):
                weight = w * residuals[i, a]
                for j in range(phi.shape[1]):
                    out[owner, a, j] += weight * phi[i, j]
