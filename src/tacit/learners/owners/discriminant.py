"""One good statistic per owner: residuals times features, averaged over its rows. Derivation:
discriminant.md.

Share: mean over the owner's rows of (C^T (e_y - p(x))) x phi(x), where phi is a public map, p are
the probabilities of the model published so far (all alike when there is none) and C are contrasts
of classes. For two classes and no model this is the label-signed mean of the mapped rows; with a
model it is the gradient of its likelihood: what is still wrong. Labels, counts and the number of
rows are inside the one vector, which is clipped to a public ball: nothing else leaves. Learn: with
no model published, linear discriminants in a space where classes have unit covariance.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import positive
from tacit._util.kernels import kernel
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import BlockOwners, Cohort
from tacit.learners.cost import Cost, in_blocks, table
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.models.features import FeatureMap
from tacit.learners.models.scores import Mapped, ScoreModel, contrasts, softmax
from tacit.learners.query import Answer
from tacit.mechanisms.spaces import Ball
from tacit.wire import message


@message("discriminant")
@dataclass(frozen=True, eq=False)
class Discriminant(Learner):
    """`features` say what of a row counts, `model` what is known already, `radius` how long a
    share may be.
    """

    name: ClassVar[str] = "discriminant"

    features: FeatureMap
    model: ScoreModel
    radius: float

    def __post_init__(self) -> None:
        positive("radius", self.radius)

    def space(self, facts: Facts) -> Ball:
        self.features.check(facts.dim)
        self.model.check(facts.dim, facts.classes)
        return Ball(dim=(facts.classes - 1) * self.features.dim, radius=self.radius)

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """The map, the model, and a product of residuals and features for every row."""
        dim, classes = query.facts.dim, query.facts.classes
        width = (classes - 1) * self.features.dim

        def block(rows: int) -> Cost:
            residuals = table(rows, 4 * classes, passes=classes) + table(classes, 3 * classes)
            scores = self.features.cost(dim, rows) + self.model.cost(dim, rows)
            return scores + residuals + Cost(2 * rows * width)

        return in_blocks(block, rows) + table(1, width, passes=2)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        shares = np.zeros((len(cohort), query.facts.classes - 1, self.features.dim))
        for block in cohort.row_blocks():
            phi = self.features.transform(block.X)
            residuals = class_residuals(self.model.scores(block.X), block.y)
            mean_products(residuals, phi, block.of, shares[block.owners])
        return shares.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> ScoreModel:
        """Class means and frequencies of the answer as linear discriminants; noise is taken off
        their lengths.

        The model published before must be the same for all rows: it says which frequencies were
        expected.
        """
        classes, features = query.facts.classes, self.features
        found = answer.mean.reshape(classes - 1, -1)
        noise = float(np.mean(answer.stderr**2)) if np.isfinite(answer.stderr).all() else 0.0
        # Frequencies move only where the answer is two standard errors off: their noise would shift
        # every score.
        surprise = max(
            0.0, 1 - 4 * (classes - 1) * noise / max(float((found[:, 0] ** 2).sum()), 1e-300)
        )
        sums = contrasts(classes) @ found
        expected = self.model.probabilities(np.zeros((1, query.facts.dim)))[0]
        part = np.clip(expected + surprise * sums[:, 0] / features.level, 0.1 / classes, 1.0)
        part = part / part.sum()
        means = sums[:, 1:] / part[:, np.newaxis]
        length = (means**2).sum(axis=1)
        # Directions are kept even where they are mostly noise: somebody asked for the private part
        # alone.
        kept = np.maximum(0.2, 1 - noise * means.shape[1] / part**2 / np.maximum(length, 1e-300))
        means = means * np.sqrt(kept)[:, np.newaxis]
        level = np.log(part) - (means**2).sum(axis=1) / 2
        weights = np.vstack([level / features.level, means.T])
        return ScoreModel(classes, (Mapped(features, np.ascontiguousarray(weights)),))


def class_residuals(scores: FloatArray, y: IntArray) -> FloatArray:
    """C^T (e_y - softmax(scores)), (rows, classes - 1)."""
    residual = -softmax(scores)
    residual[np.arange(len(y)), y] += 1.0
    matrix = contrasts(scores.shape[1])
    out = np.zeros((len(y), matrix.shape[1]))
    for k in range(len(matrix)):  # not a product of a library: its rounding may depend on the block
        out += residual[:, k, np.newaxis] * matrix[k]
    return out


@kernel
def mean_products(residuals: FloatArray, phi: FloatArray, of: BlockOwners, out: FloatArray) -> None:
    """Add to every owner's mean over its rows of residual x phi what the rows of a block add."""
    for owner in range(len(of.sizes)):
        for i in range(of.offsets[owner], of.offsets[owner + 1]):
            for a in range(residuals.shape[1]):
                weight = residuals[i, a] / of.sizes[owner]
                for j in range(phi.shape[1]):
                    out[owner, a, j] += weight * phi[i, j]
