"""The published model of peers: a sum of scores, one table of them per released part.

A part gives each cell of one attribute a score, positive for class 1, and says who it was made from. Everybody may know
it. Participants replay it on their own rows; an attribute that a row does not have adds nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.checks import bad, whole
from tacit.learners.cells import at_cells
from tacit.types import FloatArray, IntArray
from tacit.wire import message

_LARGEST = 700.0  # exponents beyond overflow


@message("part")
@dataclass(frozen=True)
class Part:
    """Scores of the cells of one attribute, made from what `speaker` (a participant by number) released in `round`."""

    round: int
    column: int
    scores: tuple[float, ...]
    speaker: int

    def __post_init__(self) -> None:
        whole("column", self.column, 0)

    def score(self, cells: IntArray) -> FloatArray:
        """The score of each row, 0 where the attribute is absent."""
        return at_cells(np.array(self.scores), cells[:, self.column])


@message("additive")
@dataclass(frozen=True)
class Additive:
    """F(x), the sum of the parts: the logarithm of the odds of class 1, as far as it is known.

    >>> F = Additive((Part(1, 0, (-1.0, 2.0), 0), Part(2, 0, (0.0, 0.5), 1)))
    >>> F.score(np.array([[0], [1], [-1]]))
    array([-1. ,  2.5,  0. ])
    >>> F.without({1}).weights(np.array([[1], [1]]), np.array([0, 1]))
    array([1.        , 0.13533528])
    """

    parts: tuple[Part, ...] = ()

    def check(self, attributes: int) -> None:
        """Refuse parts about attributes that are not there."""
        if not all(part.column < attributes for part in self.parts):
            raise bad("columns of the model", f"below {attributes}", "one beyond")

    def plus(self, *parts: Part) -> "Additive":
        return Additive((*self.parts, *parts))

    def without(self, participants: Collection[int]) -> "Additive":
        """Only parts of others than these participants."""
        return Additive(tuple(part for part in self.parts if part.speaker not in participants))

    def score(self, cells: IntArray) -> FloatArray:
        """F of each row. Parts of the same attribute are added up before rows are looked at."""
        total = np.zeros(len(cells))
        for column, scores in self.tables.items():
            total += at_cells(scores, cells[:, column])
        return total

    @cached_property
    def tables(self) -> dict[int, FloatArray]:
        """The summed scores of each attribute that occurs."""
        tables: dict[int, FloatArray] = {}
        for part in self.parts:
            scores, before = np.array(part.scores), tables.get(part.column, np.zeros(0))
            longer, shorter = (scores, before) if len(scores) > len(before) else (before.copy(), scores)
            longer[: len(shorter)] += shorter
            tables[part.column] = longer
        return tables

    def weights(self, cells: IntArray, y: IntArray) -> FloatArray:
        """What each row counts with in the next release: `loss_weights` of its score."""
        return loss_weights(self.score(cells), y)


def loss_weights(scores: FloatArray, y: IntArray) -> FloatArray:
    """min(1, exp(-y F)) with y as -1 and +1: in [0, 1] whatever the row and the model are.

    It is the slope of a convex loss whose minimum is the true log odds, and it wastes nothing of the bound: before
    anything is known every weight is 1, and rows that F gets wrong keep it.
    """
    margin = np.where(y == 1, 1.0, -1.0) * scores
    return np.asarray(np.exp(-np.clip(margin, 0.0, _LARGEST)))
