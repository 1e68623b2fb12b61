"""What a published model gets wrong on an owner's rows: residuals times public features,
averaged, or counted by the cells of a tree that grows.

`Gradient`: the share is the mean over the owner's rows of w(x) (C^T (e_y - p(x))) x phi(x), where
phi is a public map, p are the probabilities of the scores phi(x) weights, C are contrasts of
classes, and w(x) <= 1 shortens a row to at most `reach` whatever its label is. Since w looks at x
alone, the mean of shares is 0 if p is right, however many rows are shortened. Note: gradient.md.

`Discriminant`: the same with w = 1, and with the model that is published so far (all classes alike
where there is none). For two classes and no model it is the label-signed mean of the mapped rows,
of which linear discriminants are learned, in a space where classes have unit covariance.
Derivation: discriminant.md.

`GradientHistogram`, of two classes: the mean over the owner's rows of g onehot(leaf, column, bin of
x[column]) / sqrt(columns), with g = y - p(x), leaves of the published tree and public edges of
bins. A row fills one cell per column, so a share is at most 1 long whatever the bins.

Each mean is clipped to a public ball: labels, counts and the number of rows are inside the one
vector, and nothing else leaves. An owner without rows says 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, positive
from tacit._util.kernels import affine, kernel
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import BlockOwners, Cohort
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.models.ensemble import LARGEST
from tacit.learners.models.features import FeatureMap
from tacit.learners.models.scores import Mapped, ScoreModel, Trees, contrasts, softmax
from tacit.learners.query import Answer, Cost, in_blocks, table
from tacit.mechanisms.spaces import Ball, add_squares, sums_of_squares
from tacit.wire import message

_TURN = 1 << 14  # what a turn of a loop over arrays takes at least, in steps


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


def longest_residuals(chances: FloatArray) -> FloatArray:
    """The length of e_y - chances for the label that makes it longest, (rows,): public given x.

    |e_k - p|^2 = 1 - 2 p_k + |p|^2 is largest for the least likely class.

    >>> longest_residuals(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [0.707, 1.414]
    """
    squares = np.zeros(len(chances))
    for k in range(chances.shape[1]):  # not a sum of a library: its order may depend on the machine
        squares += chances[:, k] * chances[:, k]
    squared = 1 - 2 * chances.min(axis=1) + squares
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
    squares = np.empty(len(phi))
    add_squares(phi, squares)
    for owner in range(len(of.sizes)):
        for i in range(of.offsets[owner], of.offsets[owner + 1]):
            length = longest[i] * np.sqrt(squares[i])
            w = (reach / length if length > reach else 1.0) / of.sizes[owner]
            for a in range(residuals.shape[1]):
                weight = w * residuals[i, a]
                for j in range(phi.shape[1]):
                    out[owner, a, j] += weight * phi[i, j]


@mean_shortened.by_arrays(
    lambda residuals, phi, longest, reach, of, out: 8 * phi.size + _TURN * max(np.diff(of.offsets))
)
def _mean_shortened(
    residuals: FloatArray,
    phi: FloatArray,
    longest: FloatArray,
    reach: float,
    of: BlockOwners,
    out: FloatArray,
) -> None:
    length = longest * np.sqrt(sums_of_squares(phi))
    w = np.where(length > reach, reach / np.where(length > 0, length, 1.0), 1.0)
    counts = np.diff(of.offsets)
    w = w / np.repeat(of.sizes, counts)
    weights = w[:, np.newaxis] * residuals
    for row in range(counts.max(initial=0)):  # the first of every owner, the second, ...
        owners = np.flatnonzero(counts > row)
        rows = of.offsets[owners] + row
        out[owners] += weights[rows, :, np.newaxis] * phi[rows, np.newaxis]


@kernel
def mean_products(residuals: FloatArray, phi: FloatArray, of: BlockOwners, out: FloatArray) -> None:
    """Add to every owner's mean over its rows of residual x phi what the rows of a block add."""
    for owner in range(len(of.sizes)):
        for i in range(of.offsets[owner], of.offsets[owner + 1]):
            for a in range(residuals.shape[1]):
                weight = residuals[i, a] / of.sizes[owner]
                for j in range(phi.shape[1]):
                    out[owner, a, j] += weight * phi[i, j]


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
