"""The published model of peers: a sum of scores, one table of them per released part.

A part gives each cell of one attribute a score, positive for class 1, and says who it was made
from. Everybody may know it. Participants replay it on their own rows; an attribute that a row does
not have adds nothing.

Scores from noisy counts: what may be believed of a table when the size of its noise is known.

Everything here works on released numbers only, so it costs no privacy.

    score = 2 (N1 - N0) / (N1 + N0 + 6 std), within [-2, 2]: one Newton step of the loss behind the
    weights, where
            6 std keeps leaves that hold hardly more than noise from shouting;
    times  max(0, 1 - leaves / chi2): the James-Stein factor of the table, with chi2 the
    differences' squares in units
            of their variance. A table of pure noise has chi2 of about its number of leaves, and
            says nothing.

Neighbouring cells of an ordered attribute are first taken together until they hold more than noise.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray, IntArray
from tacit.learners.peers.cells import at_cells
from tacit.wire import message

_LARGEST = 700.0  # exponents beyond overflow


@message("part")
@dataclass(frozen=True)
class Part:
    """Scores of the cells of one attribute, made from what `speaker` (a participant by number)
    released in `round`.
    """

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
            longer, shorter = (
                (scores, before) if len(scores) > len(before) else (before.copy(), scores)
            )
            longer[: len(shorter)] += shorter
            tables[part.column] = longer
        return tables

    def weights(self, cells: IntArray, y: IntArray) -> FloatArray:
        """What each row counts with in the next release: `loss_weights` of its score."""
        return loss_weights(self.score(cells), y)


def loss_weights(scores: FloatArray, y: IntArray) -> FloatArray:
    """min(1, exp(-y F)) with y as -1 and +1: in [0, 1] whatever the row and the model are.

    It is the slope of a convex loss whose minimum is the true log odds, and it wastes nothing of
    the bound: before anything is known every weight is 1, and rows that F gets wrong keep it.
    """
    margin = np.where(y == 1, 1.0, -1.0) * scores
    return np.asarray(np.exp(-np.clip(margin, 0.0, _LARGEST)))


_CLIP = 2.0  # of one part's scores
_RIDGE = 6.0  # in standard deviations of a count
_LOUD = 1.5  # standard deviations of its noise that a group of cells must hold, at least


def cell_scores(zeros: FloatArray, ones: FloatArray, std: float, ordered: bool) -> FloatArray:
    """The score of each cell from its noisy weights of class 0 and class 1, each with noise of
    `std`.

    >>> cell_scores(np.array([90.0, 10.0, 0.0]), np.array([10.0, 90.0, 0.0]), std=1.0, ordered=False).round(2)
    array([-1.47,  1.47,  0.  ])
    >>> cell_scores(np.array([9.0, -7.0, 1.0]), np.array([2.0, 8.0, -3.0]), std=9.0, ordered=False)
    array([-0.,  0., -0.])
    """
    group = groups(zeros + ones, std) if ordered else np.arange(len(zeros))
    zeros, ones = (np.asarray(np.bincount(group, part), dtype=np.float64) for part in (zeros, ones))
    spread = std * np.sqrt(np.bincount(group))
    lead, weight = ones - zeros, np.maximum(ones + zeros, 0.0)
    scores = np.clip(2 * lead / np.maximum(weight + _RIDGE * spread, 1e-9), -_CLIP, _CLIP)
    variance = np.maximum(2 * spread**2 + weight, 1e-9)
    heard = max(0.0, 1 - len(scores) / max(float(np.sum(lead**2 / variance)), 1e-9))
    return np.asarray((heard * scores)[group])


def groups(weights: FloatArray, std: float) -> IntArray:
    """Numbers of groups of neighbouring cells, each with a weight above its noise.

    >>> groups(np.array([50.0, 1.0, 2.0, 60.0, 3.0]), std=2.0)
    array([0, 1, 1, 1, 1])
    """
    number = np.zeros(len(weights), dtype=np.int64)
    group, held, cells = 0, 0.0, 0
    for cell, weight in enumerate(weights.tolist()):
        number[cell], held, cells = group, held + weight, cells + 1
        if held > _LOUD * std * np.sqrt(2 * cells):
            group, held, cells = group + 1, 0.0, 0
    if cells and group:  # what is left over at the end joins the group before it
        number[number == group] = group - 1
    return number
