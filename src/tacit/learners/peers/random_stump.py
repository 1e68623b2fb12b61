"""Random stumps of paper D: a public cut of one attribute in leaves, counted in private, shared
with its counts.

The cut depends on public coins alone. What a leaf says comes from the released counts, and so does
how many rows a participant seems to have: nothing exact leaves.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np

from tacit._util.checks import one_of
from tacit._util.types import FloatArray, IntArray
from tacit.learners.peers.cells import Cells, Cut, at_cells
from tacit.learners.peers.peer_model import Additive, ScorePart
from tacit.mechanisms.streams import Stream

LEAVES = ("halves", "values", "cells")  # how an attribute is cut


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
