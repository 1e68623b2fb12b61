"""Models that are sums of scores: the data user's own model and what owners' answers added to
it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray, IntArray
from tacit.learners.cost import Cost, table
from tacit.learners.models.features import Expansion, FeatureMap, affine
from tacit.learners.models.trees import Trees
from tacit.wire import message


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
        features, classes = self.weights.shape
        own = Cost(rows * features * classes) + table(rows, classes)
        return self.features.cost(dim, rows) + own

    def scores(self, X: FloatArray, classes: int) -> FloatArray:
        phi = self.features.transform(X)
        out = np.empty((len(X), classes))
        affine(phi, np.zeros(phi.shape[1]), self.weights, out)
        return out


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

    def expand(self, X: FloatArray) -> FloatArray:
        matrix = contrasts(self.model.classes)
        out = np.empty((len(X), matrix.shape[1]))
        affine(self.model.scores(X), np.zeros(len(matrix)), matrix, out)
        return out


def softmax(scores: FloatArray) -> FloatArray:
    """Rows of scores as probabilities.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def contrasts(classes: int) -> FloatArray:
    """(classes, classes - 1) orthonormal columns that add up to 0: residuals of classes lose
    nothing in them.

    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    return np.ascontiguousarray(helmert(classes).T)
