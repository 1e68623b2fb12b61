"""Locally private gradient boosting, paper A's future work: trees grown level by level from histograms of gradients.

    for each tree, for each level:
        ask the next owners for  mean over rows of  g(x, y) onehot(leaf, column, bin of x[column]) / sqrt(columns),
        g = y - p(x) under the model so far; split every leaf where the answer promises most
    leaves add  rate G / H,  G from the answer with its noise taken off, H the curvature on the public rows

A share has length at most 1 whatever the bins, so one mechanism on a ball serves. It lives here and not among the
learners because it has not won anywhere yet: `tacit reproduce trees` prints the table that says so.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.cohort import Cohort
from tacit.kernels import kernel
from tacit.learners.base import Facts, Learner, Public, ShareQuery, Terms
from tacit.learners.ensemble import Ensemble
from tacit.learners.query import Answer
from tacit.learners.scores import Forest, ScoreModel
from tacit.learners.trees import Trees
from tacit.spaces import Ball
from tacit.types import FloatArray, IntArray

_BINS = 4
_RATE = 0.5
_QUANTILE = 0.9  # of the lengths of residuals on public rows: longer shares are clipped


@dataclass(frozen=True)
class Growth:
    """How much to grow: so many trees of so many levels, each level asking owners of its own."""

    trees: int
    depth: int

    @property
    def questions(self) -> int:
        return self.trees * self.depth


@dataclass(frozen=True, eq=False)
class GradientHistogram(Learner):
    """The share of one level: where rows lie that the model so far gets wrong. Two classes."""

    name: ClassVar[str] = "gradient histogram"

    model: ScoreModel
    leaves: Trees  # the tree so far; its leaves are to be split
    edges: FloatArray  # (columns, bins - 1), public
    radius: float

    def space(self, facts: Facts) -> Ball:
        return Ball(dim=self.cells, radius=self.radius)

    @property
    def cells(self) -> int:
        leaves = int(np.count_nonzero(self.leaves.column < 0))
        return leaves * int(self.edges.shape[0]) * int(self.edges.shape[1] + 1)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        residual = residuals(self.model, cohort.X, cohort.y)
        out = np.zeros((len(cohort), self.cells))
        _mean_histograms(residual, self.leaf_of(cohort.X), cohort.X, self.edges, cohort.offsets, out)
        return np.asarray(out / np.sqrt(len(self.edges)))

    def learn(self, query: ShareQuery, answer: Answer) -> ScoreModel:
        """A level is no model yet: `grow` puts levels together."""
        return self.model

    def leaf_of(self, X: FloatArray) -> IntArray:
        return np.asarray(np.argmax(self.leaves.indicators(X), axis=1))


def residuals(model: ScoreModel, X: FloatArray, y: IntArray) -> FloatArray:
    """How far labels are from the model's probabilities, y - p(x)."""
    return np.asarray(y - model.probabilities(X)[:, 1])


def grow(
    public: Public, start: ScoreModel, owners: int, growth: Growth, mechanism: str, epsilon: float
) -> Generator[ShareQuery, Answer | None, ScoreModel]:
    """Trees added to `start`; when owners run out, what was grown so far."""
    facts, model = Facts(public.dim, public.classes), start
    edges = np.quantile(public.X, np.linspace(0, 1, _BINS + 1)[1:-1], axis=0).T.copy()
    for place in range(growth.trees):
        tree, wrong = _bud(), np.abs(residuals(model, public.X, public.y))
        radius = max(float(np.quantile(wrong, _QUANTILE)), 1e-3)
        for level in range(growth.depth):
            learner = GradientHistogram(model, tree, edges, radius)
            terms = Terms.of(mechanism, learner.space(facts), epsilon)
            number = place * growth.depth + level + 1
            each = max(1, owners // growth.questions)
            answer = yield ShareQuery(number, 1, each, learner, facts, Ensemble(2), terms)
            if answer is None:
                return model
            tree = _split(learner, answer, public)
        model = model.plus(Forest(tree, np.zeros(2), _RATE))
    return model


def _bud() -> Trees:
    none = np.full(1, -1)
    return Trees(none, np.zeros(1), none, none, np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64))


def _split(learner: GradientHistogram, answer: Answer, public: Public) -> Trees:
    """Every leaf split where G^2 / H promises most, noise taken off; children get their values."""
    columns, bins = len(learner.edges), learner.edges.shape[1] + 1
    leaves = learner.cells // (columns * bins)
    shape = (leaves, columns, bins)
    gradient = np.sqrt(columns) * answer.mean.reshape(shape)
    noise = columns * (answer.stderr**2).reshape(shape)
    chance = learner.model.probabilities(public.X)[:, 1]
    weight = np.zeros((1, learner.cells))
    _mean_histograms(
        chance * (1 - chance),
        learner.leaf_of(public.X),
        public.X,
        learner.edges,
        np.array([0, len(public.y)]),
        weight,
    )
    curved = weight.reshape(shape) + 0.25 / (len(public.y) * bins)  # a cell that no public row is in is not empty
    tree, places = learner.leaves, np.flatnonzero(learner.leaves.column < 0)
    column, left, right = tree.column.copy(), tree.left.copy(), tree.right.copy()
    cut, value = tree.cut.copy(), tree.value
    for leaf, node in enumerate(places):
        sides = [_sides(part[leaf]) for part in (gradient, noise, curved)]
        (low, high), (low_noise, high_noise), (low_curve, high_curve) = sides
        signal = (low**2 - low_noise) / low_curve + (high**2 - high_noise) / high_curve
        which, where = np.unravel_index(int(np.argmax(signal)), signal.shape)
        column[node], cut[node] = which, learner.edges[which, where]
        left[node], right[node] = len(column), len(column) + 1
        values = [
            _leaf_value(g[which, where], v[which, where], h[which, where])
            for g, v, h in ((low, low_noise, low_curve), (high, high_noise, high_curve))
        ]
        column, left, right = (np.append(part, [-1, -1]) for part in (column, left, right))
        cut, value = np.append(cut, [0.0, 0.0]), np.append(value, values)
    return Trees(column, cut, left, right, value, tree.roots, tree.classes)


def _sides(cells: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums below and above every edge of every column, (columns, bins - 1)."""
    below = np.cumsum(cells, axis=1)
    return below[:, :-1], below[:, -1:] - below[:, :-1]


def _leaf_value(gradient: float, noise: float, curvature: float) -> float:
    """A Newton step, as far as it is not noise."""
    kept = max(0.0, 1 - noise / max(gradient**2, 1e-300))
    return float(np.clip(kept * gradient / curvature, -4, 4))


@kernel
def _mean_histograms(
    weights: FloatArray, leaf: IntArray, X: FloatArray, edges: FloatArray, offsets: IntArray, out: FloatArray
) -> None:
    """Per owner the mean over rows of weight x onehot(leaf, column, bin); an owner without rows says 0."""
    columns, bins = edges.shape[0], edges.shape[1] + 1
    for owner in range(len(offsets) - 1):
        rows = offsets[owner + 1] - offsets[owner]
        for i in range(offsets[owner], offsets[owner + 1]):
            for j in range(columns):
                b = 0
                while b < bins - 1 and X[i, j] > edges[j, b]:
                    b += 1
                out[owner, (leaf[i] * columns + j) * bins + b] += weights[i] / rows
