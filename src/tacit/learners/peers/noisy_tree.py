"""A private tree of gradient boosting, grown by one participant and passed on (after InPriv, Zhao
et al. 2018).

Claim: answering costs epsilon, pure, for one record added or removed; replacing one costs twice
    that.
Proof: leaf_counts.md. Gradients are g = +-min(1, exp(-y F)), so clipped to [-1, 1] by their form.
    Half of epsilon goes to the cuts, the same for each level; nodes of a level hold different rows.
    A node takes the cut with the largest |G_left| + |G_right| after noise of scale 2 /
    epsilon_level on each: one record moves each of these by at most 1, and the largest of noisy
    values needs twice that. The other half goes to the leaves: a record is in one of them, whose
    counts have sensitivity 1.
Edges: a row without the attribute of a cut goes left.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any

import numpy as np

from tacit._util.checks import bad, check_rising, whole
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import (
    STEPS,
    PeerQuery,
    cell_scores,
    count_range,
    influence_of_counts,
    scale_of,
    std_of,
    whole_weights,
    within_ranges,
)
from tacit.learners.peers.peer_model import NoisyTrees, Tree, loss_weights
from tacit.learners.query import CALL, Cost, Estimates, table
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream
from tacit.sums.secure_sum import two_sided_geometric_rows
from tacit.wire import message

_LEAVES_PART = Fraction(1, 2)  # of epsilon, for the leaves; the rest is for the cuts
_MOST_CANDIDATES = 1 << 12  # every node weighs all of them
_DEEPEST = 10  # levels: 1,024 leaves


@message("grow tree")
@dataclass(frozen=True, eq=False)
class GrowTree(PeerQuery):
    """Asks one participant for the next tree: which public candidate each node takes, and the
    leaves' counts.
    """

    cells: Cells
    depth: int
    candidates: tuple[Cut, ...]
    model: NoisyTrees
    menu: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.candidates and all(cut.column < len(self.cells) for cut in self.candidates)):
            raise bad("candidates", "cuts of the attributes", f"{len(self.candidates)} of them")
        if not len(self.candidates) <= _MOST_CANDIDATES:
            raise bad("candidates", f"at most {_MOST_CANDIDATES}", len(self.candidates))
        if not all(cut.column < len(self.cells) for tree in self.model.trees for cut in tree.cuts):
            raise bad("cuts of the model", f"of the {len(self.cells)} attributes", "one beyond")
        if not 1 <= whole("depth", self.depth, 1) <= _DEEPEST:
            raise bad("depth", f"at most {_DEEPEST}", self.depth)
        smallest = check_rising("menu", self.menu)[0]
        scale_of(smallest, self._cuts_part)  # which needs the widest noise

    @property
    def what(self) -> str:
        return "tree"

    @property
    def unsound(self) -> str:
        return "the tree leaves as it is" if isinf(self.menu[-1]) else ""

    @property
    def _cuts_part(self) -> Fraction:
        """Half of epsilon over the levels; and noise twice as wide, as the largest of noisy
        values needs.
        """
        return Fraction(1, 4 * self.depth)

    @property
    def nodes(self) -> int:
        return (1 << self.depth) - 1

    @property
    def width(self) -> int:
        return self.nodes + 2 * (self.nodes + 1)

    @property
    def influence(self) -> str:
        return influence_of_counts(scale_of(self.menu[0], _LEAVES_PART))

    def cost(self, rows: int) -> Cost:
        """Cells and scores of every row, every candidate's side of it, and per node a look at
        all rows, a product over those in it, and noise.
        """
        reading = table(rows, self.cells.schema.dim + len(self.cells), passes=4)
        known = Cost(sum(len(tree.cuts) for tree in self.model.trees) * (4 * CALL + 16 * rows))
        sides = table(rows, 4 * len(self.candidates), passes=1)
        nodes = Cost(self.nodes * (8 * CALL + 8 * rows + 400 * len(self.candidates)))
        gains = Cost(4 * self.depth * rows * len(self.candidates))
        return reading + known + sides + nodes + gains + table(1, self.width, passes=400)

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.width), dtype=np.int64))

    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (len(cohort),))
        rows = [
            self._grow(cohort[i : i + 1], float(each[i]), stream.of(np.array([i])))
            for i in range(len(cohort))
        ]
        return Reports.of(np.stack(rows) if rows else self.blank(0).points)

    def _grow(self, one: Cohort, epsilon: float, stream: Stream) -> IntArray:
        cells = self.cells.read(one.X)
        weights = whole_weights(loss_weights(self.model.score(cells), one.y))
        signed = np.where(one.y == 1, weights, -weights)
        goes_right = self._sides(cells)
        node = np.zeros(len(one.y), dtype=np.int64)
        chosen = np.zeros(self.nodes, dtype=np.int64)
        for number in range(self.nodes):
            here = node == number
            right = signed[here] @ goes_right[here]
            gain = (np.abs(right) + np.abs(signed[here].sum() - right)).astype(np.int64)
            if not isinf(epsilon):
                scale = scale_of(epsilon, self._cuts_part)
                coins = stream.child("node", number)
                gain = gain + two_sided_geometric_rows(1, len(self.candidates), scale, coins)[0]
            chosen[number] = int(np.argmax(gain))
            node[here] = 2 * number + 1 + goes_right[here, chosen[number]]
        place = one.y * (self.nodes + 1) + node - self.nodes
        counts = np.bincount(place, weights, minlength=2 * (self.nodes + 1)).astype(np.int64)
        if not isinf(epsilon):
            scale, coins = scale_of(epsilon, _LEAVES_PART), stream.child("leaves")
            counts = counts + two_sided_geometric_rows(1, len(counts), scale, coins)[0]
        counts = np.clip(counts, *count_range(scale_of(epsilon, _LEAVES_PART)))
        return np.concatenate([chosen, counts])

    def _sides(self, cells: IntArray) -> FloatArray:
        """1 where a candidate sends a row to the right, (rows, candidates)."""
        right = [cut.leaf_of(cells) == 1 for cut in self.candidates]
        return np.stack(right, axis=1).astype(np.float64)

    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        if reports.form != self.blank(0).form:
            return np.zeros(len(reports), dtype=np.bool_)
        chosen = reports.points[:, : self.nodes]
        known = ((chosen >= 0) & (chosen < len(self.candidates))).all(axis=1)
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (len(reports),))
        scales = [scale_of(level, _LEAVES_PART) for level in each.tolist()]
        return np.asarray(known & within_ranges(reports.points[:, self.nodes :], scales))

    def collect(self, reports: Reports, epsilon: float | FloatArray) -> Estimates:
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (len(reports),))
        return Estimates(reports.points.astype(np.float64), each)

    def answer(self, collected: Any) -> Estimates:
        estimates: Estimates = collected
        return estimates

    def tree(self, estimates: Estimates, speaker: int) -> Tree:
        """The tree that one participant's report says."""
        chosen, counts = np.split(estimates.values[0], [self.nodes])
        zeros, ones = counts.reshape(2, -1) / STEPS
        std = std_of(scale_of(float(estimates.epsilons[0]), _LEAVES_PART))
        scores = cell_scores(zeros, ones, std, ordered=False)
        cuts = tuple(self.candidates[int(k)] for k in chosen)
        return Tree(self.round, cuts, tuple(scores.tolist()), speaker)


def all_cuts(cells: Cells, held: tuple[int, ...]) -> tuple[Cut, ...]:
    """Every cut between neighbouring cells of a number, and of every category against the rest."""
    cuts = []
    for column in held:
        size = cells.sizes[column]
        for cell in range(1 if cells.is_ordered[column] else 0, size):
            right = [
                int(other >= cell if cells.is_ordered[column] else other == cell)
                for other in range(size)
            ]
            cuts.append(Cut(column, tuple(right)))
    return tuple(cuts)
