"""Models that are sums of scores: the data user's own model, linear or of trees, and what owners'
answers added to it; as plain arrays, as they travel to owners.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.kernels import affine, exponential, exponentials, kernel
from tacit._util.types import FloatArray, IntArray, WordArray
from tacit.learners.models.features import Expansion, FeatureMap
from tacit.learners.query import Cost, table
from tacit.wire import message

_ROOM = 1 << 19  # numbers that are made of rows at a time


class Term(ABC):
    """One summand: rows in, a score per class out."""

    @abstractmethod
    def check(self, dim: int, classes: int) -> None:
        """Refuse rows of another width or another number of classes."""

    @abstractmethod
    def cost(self, dim: int, rows: int) -> Cost:
        """What scoring so many rows takes at most; called after `check`."""

    @abstractmethod
    def scores(self, X: FloatArray, classes: int) -> FloatArray:
        """(rows, classes)."""


@message("term.linear")
@dataclass(frozen=True, eq=False)
class Linear(Term):
    """weights (dim, classes) and level (classes,)."""

    weights: FloatArray
    level: FloatArray

    def check(self, dim: int, classes: int) -> None:
        if not (self.weights.shape == (dim, classes) and self.level.shape == (classes,)):
            raise bad(
                "weights", f"({dim}, {classes}) with a level ({classes},)", self.weights.shape
            )

    def cost(self, dim: int, rows: int) -> Cost:
        return Cost(rows * self.weights.size) + table(rows, 2 * self.weights.shape[1])

    def scores(self, X: FloatArray, classes: int) -> FloatArray:
        out = np.empty((len(X), classes))
        affine(X, np.zeros(X.shape[1]), self.weights, out)
        return out + self.level


@message("public.trees")
@dataclass(frozen=True, eq=False)
class Trees:
    """Regression trees whose values add up, one score per class.

    Node i asks x[column[i]] <= cut[i] and goes on to left[i] or right[i]; a leaf has column -1 and
    adds value[i] to the score of its tree's class. `roots` and `classes` are by tree. Children come
    after their node, so every walk ends.
    """

    column: IntArray
    cut: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray
    roots: IntArray
    classes: IntArray

    def __post_init__(self) -> None:
        if not self.column.ndim == self.roots.ndim == 1:
            raise bad("columns and roots", "vectors", (self.column.shape, self.roots.shape))
        size = len(self.column)
        here = np.arange(size)
        inner = self.column >= 0
        if not all(part.shape == (size,) for part in (self.cut, self.left, self.right, self.value)):
            raise bad("nodes", "vectors of one length", size)
        if not all(
            bool(_between(part[inner], here[inner] + 1, size)) for part in (self.left, self.right)
        ):
            raise ValueError("children must come after their node")
        if not (self.roots.shape == self.classes.shape and bool(_between(self.roots, 0, size))):
            raise bad("roots", "numbers of nodes, with a class each", self.roots.shape)
        if not bool(_between(self.classes, 0, 1 << 16)):
            raise bad("classes", "class numbers", self.classes.shape)

    def check(self, dim: int) -> None:
        """Refuse trees that ask for columns which rows of `dim` numbers do not have."""
        if not (self.column < dim).all():
            raise bad("columns of the trees", f"below {dim}", int(self.column.max()))

    def cost(self, rows: int) -> Cost:
        """Every row walks every tree to its deepest leaf."""
        walk = int((self._walk.steps + 1).sum())
        return Cost(4 * rows * walk, 0, 1) + Cost(len(self.column))

    @property
    def leaves(self) -> int:
        """Nodes that ask nothing."""
        return int(np.count_nonzero(self.column < 0))

    def scores(self, X: FloatArray, classes: int) -> FloatArray:
        """Summed values, (rows, classes)."""
        if not (self.classes < classes).all():
            raise bad("classes of the trees", f"below {classes}", int(self.classes.max()))
        self.check(X.shape[1])
        out = np.zeros((len(X), classes))
        _add_scores(X, self._walk, self.value, self.classes, out)
        return out

    def indicators(self, X: FloatArray) -> FloatArray:
        """Which leaf of every tree a row falls into, (rows, leaves) of 0 and 1."""
        out = np.empty((len(X), self.leaves))
        self.mark(X, out, 0)
        return out

    def mark(self, X: FloatArray, out: FloatArray, at: int) -> None:
        """Write `indicators` to `out`, from column `at` on."""
        self.check(X.shape[1])
        out[:, at : at + self.leaves] = 0.0
        _mark_leaves(X, self._walk, at + np.cumsum(self.column < 0) - 1, out)

    @cached_property
    def _walk(self) -> "_Walk":
        """A leaf leads to itself, so that all rows walk a tree in as many steps: neither time nor
        branches depend on them.
        """
        is_leaf, here = self.column < 0, np.arange(len(self.column))
        left, right = (np.where(is_leaf, here, side) for side in (self.left, self.right))
        steps = np.zeros(len(self.column), dtype=np.int64)
        _count_steps(self.left, self.right, self.column, steps)
        column, onward = np.where(is_leaf, 0, self.column), np.stack([right, left], axis=1)
        words = (each.ravel().astype(np.uint64) for each in (self.roots, column, onward))
        return _Walk(steps[self.roots], self.cut, *words)


@message("term.forest")
@dataclass(frozen=True, eq=False)
class Forest(Term):
    """Trees times a temperature, and a level per class."""

    trees: Trees
    level: FloatArray
    temperature: float = 1.0

    def check(self, dim: int, classes: int) -> None:
        self.trees.check(dim)
        if not (self.level.shape == (classes,) and (self.trees.classes < classes).all()):
            raise bad("level", f"({classes},)", self.level.shape)

    def cost(self, dim: int, rows: int) -> Cost:
        return self.trees.cost(rows) + table(rows, 3 * len(self.level))

    def scores(self, X: FloatArray, classes: int) -> FloatArray:
        return self.temperature * self.trees.scores(X, classes) + self.level


@message("term.mapped")
@dataclass(frozen=True, eq=False)
class Mapped(Term):
    """Linear in the features of a public map: weights (features, classes)."""

    features: FeatureMap
    weights: FloatArray

    def check(self, dim: int, classes: int) -> None:
        self.features.check(dim)
        if not self.weights.shape == (self.features.dim, classes):
            raise bad("weights", f"({self.features.dim}, {classes})", self.weights.shape)

    def cost(self, dim: int, rows: int) -> Cost:
        width, classes = len(self.features.centre), self.weights.shape[1]
        folding = Cost(self.features.matrix.size * classes) + table(width, classes)
        scores = Cost(rows * width * classes) + table(rows, classes, passes=2)
        return self.features.expansion.cost(dim, rows) + folding + scores

    def scores(self, X: FloatArray, classes: int) -> FloatArray:
        self.features.check(X.shape[1])  # the kernel indexes with these shapes
        start, folded = self.fold()
        out = np.empty((len(X), classes))
        step = max(1, _ROOM // len(folded))
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            affine(self.features.expansion.expand(X[rows]), self.features.centre, folded, out[rows])
        return out + start

    def fold(self) -> tuple[FloatArray, FloatArray]:
        """What a score begins with, and what it has for each number of the expansion: a row need
        not be mapped to be scored.
        """
        level, matrix, weights = self.features.level, self.features.matrix, self.weights
        if matrix.ndim == 1:
            return level * weights[0], matrix[:, np.newaxis] * weights[1:]
        folded = np.empty((len(matrix), weights.shape[1]))
        affine(matrix, np.zeros(matrix.shape[1]), weights[1:], folded)
        return level * weights[0], folded


@message("scores")
@dataclass(frozen=True, eq=False)
class ScoreModel:
    """The class with the largest sum of scores; their softmax says how likely each is. No terms:
    all alike.
    """

    classes: int
    terms: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        whole("classes", self.classes, 2)

    def check(self, dim: int, classes: int) -> None:
        """Refuse terms that are not made for rows of `dim` numbers, and other classes."""
        if not self.classes == classes:
            raise bad("classes of a member", f"{classes} as in the question", self.classes)
        for term in self.terms:
            term.check(dim, self.classes)

    def plus(self, term: Term) -> "ScoreModel":
        """The model with one more term."""
        return ScoreModel(self.classes, (*self.terms, term))

    def scores(self, X: FloatArray) -> FloatArray:
        """(rows, classes)."""
        self.check(X.shape[1], self.classes)  # kernels index with the terms' shapes
        total = np.zeros((len(X), self.classes))
        for term in self.terms:
            total += term.scores(X, self.classes)
        return total

    def cost(self, dim: int, rows: int) -> Cost:
        """What the scores, and their softmax, of so many rows take at most."""
        total = table(rows, 6 * self.classes, passes=4)
        for term in self.terms:
            total += term.cost(dim, rows) + table(rows, self.classes)
        return total

    def predict(self, X: FloatArray) -> IntArray:
        return np.asarray(np.argmax(self.scores(X), axis=1))

    def probabilities(self, X: FloatArray) -> FloatArray:
        """(rows, classes), adding up to 1."""
        return softmax(self.scores(X))


@message("features.model")
@dataclass(frozen=True, eq=False)
class ModelScores(Expansion):
    """What a published model says of a row, as classes - 1 contrasts of its scores."""

    model: ScoreModel

    def width(self, dim: int) -> int:
        self.model.check(dim, self.model.classes)
        return self.model.classes - 1

    def cost(self, dim: int, rows: int) -> Cost:
        classes = self.model.classes
        said = Cost(rows * classes * classes) + table(rows, classes) + table(classes, 3 * classes)
        return self.model.cost(dim, rows) + said

    def fill(self, X: FloatArray, out: FloatArray, at: int) -> None:
        matrix = contrasts(self.model.classes)
        said = np.empty((len(X), matrix.shape[1]))
        affine(self.model.scores(X), np.zeros(len(matrix)), matrix, said)
        out[:, at : at + matrix.shape[1]] = said


@message("features.leaves")
@dataclass(frozen=True, eq=False)
class Leaves(Expansion):
    """Which leaf of each public tree a row falls into: 0 and 1."""

    trees: Trees

    def width(self, dim: int) -> int:
        self.trees.check(dim)
        return self.trees.leaves

    def cost(self, dim: int, rows: int) -> Cost:
        return self.trees.cost(rows) + table(rows, self.width(dim), passes=2)

    def fill(self, X: FloatArray, out: FloatArray, at: int) -> None:
        self.trees.mark(X, out, at)


def softmax(scores: FloatArray) -> FloatArray:
    """Rows of scores as probabilities.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    out = np.empty(scores.shape)
    _softmax(scores, out)
    return out


def temperature(scores: FloatArray, y: IntArray) -> float:
    """The factor of all scores that makes labels most likely which they were not fitted to."""
    from scipy.optimize import minimize_scalar  # here: a model is read and asked without it

    def loss(log_heat: float) -> float:
        right = softmax(float(np.exp(log_heat)) * scores)[np.arange(len(y)), y]
        return float(-np.log(np.maximum(right, 1e-300)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-4.0, 1.0), method="bounded").x))


def logistic(scores: FloatArray) -> FloatArray:
    """1 / (1 + exp(-score)), precise for scores of any size.

    >>> logistic(np.array([0.0, -1000.0, 1000.0]))
    array([0.5, 0. , 1. ])
    """
    small = np.exp(-np.abs(scores))
    return np.asarray(np.where(scores >= 0, 1.0, small) / (1.0 + small))


def contrasts(classes: int) -> FloatArray:
    """(classes, classes - 1) orthonormal columns that add up to 0: residuals of classes lose
    nothing in them.

    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    return _contrasts(classes).copy()


@lru_cache(maxsize=64)
def _contrasts(classes: int) -> FloatArray:
    from scipy.linalg import helmert  # here: a model is read and asked without it

    return np.ascontiguousarray(helmert(classes).T)


@kernel
def _softmax(scores: FloatArray, out: FloatArray) -> None:
    """Class by class in their order, so that owners and data user agree on every bit."""
    classes = scores.shape[1]
    for i in range(len(scores)):
        largest = scores[i, 0]
        for k in range(1, classes):
            largest = scores[i, k] if scores[i, k] > largest else largest
        total = 0.0
        for k in range(classes):
            out[i, k] = exponential(scores[i, k] - largest)
            total += out[i, k]
        for k in range(classes):
            out[i, k] /= total


@_softmax.by_arrays(lambda scores, out: 30 * scores.size)
def _softmax_arrays(scores: FloatArray, out: FloatArray) -> None:
    largest = scores[:, 0].copy()
    for each in scores.T[1:]:
        largest = np.where(each > largest, each, largest)
    total = np.zeros(len(scores))
    for k in range(scores.shape[1]):
        out[:, k] = exponentials(scores[:, k] - largest)
        total += out[:, k]
    out /= total[:, np.newaxis]


@kernel
def _count_steps(left: IntArray, right: IntArray, column: IntArray, steps: IntArray) -> None:
    """Of the longest walk from each node to a leaf; children come after their node."""
    for node in range(len(column) - 1, -1, -1):
        if column[node] >= 0:
            steps[node] = 1 + max(steps[left[node]], steps[right[node]])


@_count_steps.by_arrays(lambda left, right, column, steps: 200 * len(column))
def _count_steps_plainly(
    left: IntArray, right: IntArray, column: IntArray, steps: IntArray
) -> None:
    inner = np.flatnonzero(column >= 0)[::-1]
    counted = [0] * len(column)
    for node, one, two in zip(
        inner.tolist(), left[inner].tolist(), right[inner].tolist(), strict=True
    ):
        counted[node] = 1 + max(counted[one], counted[two])
    steps[:] = counted


def _between(values: IntArray, low: IntArray | int, high: int) -> np.bool_:
    return ((values >= low) & (values < high)).all()


_TOGETHER = 128  # rows that go through a tree side by side, while a core's cache holds it


class _Walk(NamedTuple):
    """What a kernel needs to go from a root to a leaf, in so many `steps` for each tree: from a
    node to onward[2 node + 1] if the row's number in `column` is at most `cut`, else to
    onward[2 node]. Numbers of nodes are words, which index without a look at their sign.
    """

    steps: IntArray
    cut: FloatArray
    roots: WordArray
    column: WordArray
    onward: WordArray


@kernel
def _go(X: FloatArray, first: int, tree: int, walk: _Walk, nodes: WordArray) -> None:
    """The leaf of each of some rows, all a step at a time: their waits for memory overlap."""
    nodes[:] = walk.roots[tree]
    for _ in range(walk.steps[tree]):
        for i in range(len(nodes)):
            node = nodes[i]
            is_below = np.uint64(X[first + i, walk.column[node]] <= walk.cut[node])
            nodes[i] = walk.onward[np.uint64(2) * node + is_below]


@kernel
def _add_scores(
    X: FloatArray, walk: _Walk, value: FloatArray, classes: IntArray, out: FloatArray
) -> None:
    nodes = np.empty(_TOGETHER, dtype=np.uint64)
    for first in range(0, len(X), _TOGETHER):
        some = nodes[: len(X) - first]
        for tree in range(len(walk.roots)):
            _go(X, first, tree, walk, some)
            for i in range(len(some)):
                out[first + i, classes[tree]] += value[some[i]]


@_add_scores.by_arrays(lambda X, walk, value, classes, out: 32 * len(X) * len(walk.roots))
def _add_arrays(
    X: FloatArray, walk: _Walk, value: FloatArray, classes: IntArray, out: FloatArray
) -> None:
    for tree in range(len(walk.roots)):
        out[:, classes[tree]] += value[_leaves(X, tree, walk)]


def _leaves(X: FloatArray, tree: int, walk: _Walk) -> WordArray:
    """The leaf of each row."""
    node, rows = np.full(len(X), walk.roots[tree]), np.arange(len(X))
    for _ in range(walk.steps[tree]):
        is_below = X[rows, walk.column[node]] <= walk.cut[node]
        node = walk.onward[2 * node + is_below]
    return node


@kernel
def _mark_leaves(X: FloatArray, walk: _Walk, column: IntArray, out: FloatArray) -> None:
    nodes = np.empty(_TOGETHER, dtype=np.uint64)
    for first in range(0, len(X), _TOGETHER):
        some = nodes[: len(X) - first]
        for tree in range(len(walk.roots)):
            _go(X, first, tree, walk, some)
            for i in range(len(some)):
                out[first + i, column[some[i]]] = 1.0


@_mark_leaves.by_arrays(lambda X, walk, column, out: 32 * len(X) * len(walk.roots))
def _mark_arrays(X: FloatArray, walk: _Walk, column: IntArray, out: FloatArray) -> None:
    for tree in range(len(walk.roots)):
        out[np.arange(len(X)), column[_leaves(X, tree, walk)]] = 1.0
