"""The published models of peers: sums of released scores, and how they are saved and served.

`Additive` is a sum of parts. A part gives each cell of one attribute a score, positive for class 1,
and says who it was made from; an attribute that a row does not have adds nothing. `NoisyTrees` is a
sum of trees that were passed along. `ServedScores` puts either together with the public cells that
it reads rows by. Everybody may know them; participants replay them on their own rows.

Random stumps of paper D are a public cut of one attribute in leaves, counted in private, shared
with its counts. The cut depends on public coins alone. What a leaf says comes from the released
counts, and so does how many rows a participant seems to have: nothing exact leaves.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log

import numpy as np

from tacit._util.checks import bad, one_of, whole
from tacit._util.types import FloatArray, IntArray
from tacit.learners.models.scores import logistic
from tacit.learners.peers.cells import Cells, Cut, at_cells
from tacit.mechanisms.streams import Stream
from tacit.wire import message

_LARGEST = 700.0  # exponents beyond overflow


@message("part")
@dataclass(frozen=True)
class ScorePart:
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

    >>> F = Additive((ScorePart(1, 0, (-1.0, 2.0), 0), ScorePart(2, 0, (0.0, 0.5), 1)))
    >>> F.score(np.array([[0], [1], [-1]]))
    array([-1. ,  2.5,  0. ])
    >>> F.without({1}).weights(np.array([[1], [1]]), np.array([0, 1]))
    array([1.        , 0.13533528])
    """

    parts: tuple[ScorePart, ...] = ()

    def check(self, attributes: int) -> None:
        """Refuse parts about attributes that are not there."""
        if not all(part.column < attributes for part in self.parts):
            raise bad("columns of the model", f"below {attributes}", "one beyond")

    def plus(self, *parts: ScorePart) -> "Additive":
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


@message("tree")
@dataclass(frozen=True)
class Tree:
    """A complete tree of `round`: cuts in the order of levels, a score for every leaf, and who
    grew it.
    """

    round: int
    cuts: tuple[Cut, ...]
    scores: tuple[float, ...]
    speaker: int

    def __post_init__(self) -> None:
        # or rows would decide whether an owner can answer
        if not len(self.scores) == len(self.cuts) + 1:
            raise bad("scores", f"one for each of {len(self.cuts) + 1} leaves", len(self.scores))

    def score(self, cells: IntArray) -> FloatArray:
        return np.array(self.scores)[leaf_of(self.cuts, cells)]


@message("noisy trees")
@dataclass(frozen=True)
class NoisyTrees:
    """F(x), the sum of the trees that were passed along."""

    trees: tuple[Tree, ...] = ()

    @property
    def parts(self) -> tuple[Tree, ...]:
        """What the sum is of."""
        return self.trees

    def check(self, attributes: int) -> None:
        """Refuse trees that ask for attributes that are not there."""
        if not all(cut.column < attributes for tree in self.trees for cut in tree.cuts):
            raise bad("columns of the trees", f"below {attributes}", "one beyond")

    def without(self, participants: Collection[int]) -> "NoisyTrees":
        """Only trees of others than these participants."""
        return NoisyTrees(tuple(tree for tree in self.trees if tree.speaker not in participants))

    def score(self, cells: IntArray) -> FloatArray:
        return np.asarray(
            sum((tree.score(cells) for tree in self.trees), start=np.zeros(len(cells)))
        )


def leaf_of(cuts: tuple[Cut, ...], cells: IntArray) -> IntArray:
    """The leaf of each row in a complete tree."""
    node = np.zeros(len(cells), dtype=np.int64)
    for number, cut in enumerate(cuts):
        here = node == number
        node[here] = 2 * number + 1 + (cut.leaf_of(cells[here]) == 1)
    return np.asarray(node - len(cuts))


@message("served scores")
@dataclass(frozen=True)
class ServedScores:
    """Released scores over public cells: nothing in it knows anybody's rows but through noise."""

    cells: Cells
    scores: Additive | NoisyTrees

    def __post_init__(self) -> None:
        self.scores.check(len(self.cells))  # a model comes from a file, too

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Chances of the two classes of encoded rows, (rows, 2)."""
        return odds_as_chances(self.scores.score(self.cells.read(X)))


def odds_as_chances(log_odds: FloatArray) -> FloatArray:
    """Chances of the two classes, (rows, 2).

    >>> odds_as_chances(np.array([0.0, 1000.0]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    return np.stack([logistic(-log_odds), logistic(log_odds)], axis=1)


LEAVES = ("halves", "values", "cells")  # how an attribute is cut


@message("random stump")
@dataclass(frozen=True)
class RandomStump:
    """A shared stump: who made it in which round, and its noisy weight of class 0 and class 1 in
    each leaf.
    """

    round: int
    participant: int
    cut: Cut
    zeros: tuple[float, ...]
    ones: tuple[float, ...]

    @property
    def signs(self) -> FloatArray:
        """What each cell votes for: +1 for class 1, -1 for class 0."""
        leaf = np.where(np.array(self.ones) > np.array(self.zeros), 1.0, -1.0)
        return np.asarray(leaf[list(self.cut.leaves)])

    @property
    def support(self) -> float:
        """The released weight of its rows, at least that of one row."""
        return max(1.0, sum(self.zeros) + sum(self.ones))

    @property
    def alpha(self) -> float:
        """AdaBoost's log((1 - e) / e) / 2, with the error e that the released counts show."""
        wrong = sum(max(0.0, min(pair)) for pair in zip(self.zeros, self.ones, strict=True))
        return adaboost(wrong / self.support)

    def votes(self, cells: IntArray) -> FloatArray:
        """-1 or +1 for each row, 0 where the attribute is absent."""
        return at_cells(self.signs, cells[:, self.cut.column])

    def part(self, share: float) -> ScorePart:
        """The stump in the published sum, with this share of the round's say."""
        scores = share * self.alpha * self.signs
        return ScorePart(self.round, self.cut.column, tuple(scores.tolist()), self.participant)


@message("shared stumps")
@dataclass(frozen=True)
class SharedStumps:
    """Everything that was released: the stumps of each round, and the sum that may be served."""

    rounds: tuple[tuple[RandomStump, ...], ...] = ()
    model: Additive = field(default_factory=Additive)

    def shares(self) -> dict[int, float]:
        """Each participant's part of all rows, by the weight it released in its first round,
        when weights were 1.
        """
        sizes: dict[int, float] = {}
        for stump in (stump for stumps in self.rounds for stump in stumps):
            sizes.setdefault(stump.participant, stump.support)
        return {participant: size / sum(sizes.values()) for participant, size in sizes.items()}

    def without(self, participants: Collection[int]) -> "SharedStumps":
        """Only what others than these participants shared."""
        rounds = (
            tuple(stump for stump in stumps if stump.participant not in participants)
            for stumps in self.rounds
        )
        return SharedStumps(
            tuple(stumps for stumps in rounds if stumps), self.model.without(participants)
        )

    def plus(self, stumps: Sequence[RandomStump]) -> "SharedStumps":
        """One more round; a participant's say is its share of the rows of all."""
        longer = SharedStumps((*self.rounds, tuple(stumps)))
        shares = longer.shares()
        return SharedStumps(
            longer.rounds,
            self.model.plus(*(stump.part(shares[stump.participant]) for stump in stumps)),
        )


def random_cut(cells: Cells, held: tuple[int, ...], leaves: str, coins: Stream) -> Cut:
    """A random attribute and a random cut, as `leaves` says: "halves", a number's range at a
    random place and categories into random halves; "values", one leaf for each category; "cells",
    one for each cell of a number as well.

    >>> from tacit.data.schema import Number, Schema
    >>> from tacit.mechanisms.streams import seeded
    >>> cells = Cells(Schema((Number("age", 0, 100),), (0, 1)), bins=4)
    >>> sorted(set(random_cut(cells, (0,), "halves", seeded(1)).leaves))
    [0, 1]
    """
    one_of("leaves", leaves, LEAVES)
    words = coins.words(np.arange(1), 0, 2 + max(cells.sizes))[0]
    column = held[int(words[0] % np.uint64(len(held)))]
    size = cells.sizes[column]
    if leaves == "cells" or (leaves == "values" and not cells.is_ordered[column]):
        return cells.every_cell(column)
    if cells.is_ordered[column]:
        after = 1 + int(words[1] % np.uint64(size - 1))
        return Cut(column, tuple(int(cell >= after) for cell in range(size)))
    order = np.argsort(words[2 : 2 + size], kind="stable")
    return Cut(column, tuple(int(cell in order[: size // 2]) for cell in range(size)))


def adaboost(error: float) -> float:
    """The vote log((1 - e) / e) / 2, for an error kept within [0.01, 0.5]: stumps no better than
    chance say nothing.
    """
    inside = min(max(error, 0.01), 0.5)
    return log((1 - inside) / inside) / 2
