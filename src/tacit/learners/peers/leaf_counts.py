"""Noisy counts in leaves: what peers release, and the scores that may be made of it.

`CountLeaves` asks which of some public cuts tells most about a participant's rows, and for noisy
class-wise counts in its leaves.

Claim: answering costs epsilon, pure, for one record added to or removed from the participant's
    rows; replacing one record costs twice that. The number of rows is protected too: nothing is
    released but the choice and noisy counts.
Proof: leaf_counts.md. A row enters with a weight of 0 to 1 that depends on the public query and on
    that row alone.
Variance: of a count, that of the two-sided geometric law with scale t = ceil(steps /
    epsilon_counts), in steps^2: about 2 / epsilon_counts^2 rows^2. epsilon_counts is all of epsilon
    where there is one cut, three quarters where there are several.
Edges: a row without the attribute falls in no leaf. A participant without rows reports pure noise.
    epsilon = infinity adds no noise and is marked unsound.

`cell_scores` works on released numbers only, so it costs no privacy: what may be believed of a
table when the size of its noise is known.

    score = 2 (N1 - N0) / (N1 + N0 + 6 std), within [-2, 2]: one Newton step of the loss behind the
            weights, where 6 std keeps leaves that hold hardly more than noise from shouting;
    times   max(0, 1 - leaves / chi2): the James-Stein factor of the table, with chi2 the
            differences' squares in units of their variance. A table of pure noise has chi2 of
            about its number of leaves, and says nothing.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isinf, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad, check_rising
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.peer_model import Additive, NoisyTrees
from tacit.learners.query import Cost, Estimates, Query, in_blocks, table
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream, rational
from tacit.sums.secure_sum import two_sided_geometric_rows, variance
from tacit.wire import message

STEPS = 1 << 16  # a weight of 1, in whole numbers
CHOICE = Fraction(1, 4)  # of epsilon, for the choice among several cuts
_LARGEST_SCALE = 1 << 40  # noise stays far below 2^63
MOST_ROWS = 1 << 24  # that a count may stand for: larger ones are cut
_TAIL = 128  # scales of noise that a report may show
_MOST_LEAVES = 1 << 17  # of all cuts together
_CLIP = 2.0  # of one part's scores
_RIDGE = 6.0  # in standard deviations of a count
_LOUD = 1.5  # standard deviations of its noise that a group of cells must hold, at least


class PeerQuery(Query):
    """A question to participants about their rows in `cells`; `model` is what was released before
    and weights them; an answer costs one of `menu`.
    """

    unit: ClassVar[str] = "record"
    adjacency: ClassVar[str] = "one record added to or removed from a participant's rows"

    cells: Cells
    model: Additive | NoisyTrees
    menu: tuple[float, ...]

    @property
    def how(self) -> str:
        return "counts"

    @property
    def dim(self) -> int:
        return self.cells.schema.dim

    @property
    def classes(self) -> int:
        return 2

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.menu


class LeafQuery(PeerQuery):
    """Asks for the weight of rows of each class in the leaves of `cuts`."""

    cuts: tuple[Cut, ...]
    model: Additive

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.cuts and all(cut.column < len(self.cells) for cut in self.cuts)):
            raise bad("cuts", "one at least, of the attributes", f"{len(self.cuts)} of them")
        leaves = sum(cut.size for cut in self.cuts)
        if not leaves <= _MOST_LEAVES:  # each costs an owner room for its counts
            raise bad("leaves of all cuts", f"at most {_MOST_LEAVES}", leaves)
        self.model.check(len(self.cells))
        self.scales(check_rising("menu", self.menu)[0])  # the smallest needs the widest noise

    @property
    def unsound(self) -> str:
        return "counts leave as they are" if isinf(self.menu[-1]) else ""

    @abstractmethod
    def scales(self, epsilon: float) -> tuple[int, int]:
        """Scales of the noise on gains and on counts."""

    def std(self, epsilon: float) -> float:
        """Standard deviation of the noise in one count of one participant, in rows."""
        return std_of(self.scales(epsilon)[1])

    @property
    def influence(self) -> str:
        return influence_of_counts(self.scales(self.menu[0])[1])

    def cost(self, rows: int) -> Cost:
        """Cells and weights of every row, then every cut in a few passes over the rows."""

        def block(rows: int) -> Cost:
            model = table(rows, len(self.cells), passes=4) + table(1, self.cells.schema.dim * rows)
            weights = table(rows, len(self.model.tables) + 8, passes=4)
            counting = Cost(len(self.cuts) * 32 * rows, 64 * rows, 4 * len(self.cuts))
            return model + weights + counting

        noise = table(len(self.cuts) + self.width, 1, passes=400)
        return in_blocks(block, rows) + noise + table(2, sum(c.size for c in self.cuts), 4)

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.width), dtype=np.int64))

    def counts(self, cohort: Cohort) -> list[IntArray]:
        """Of every cut the exact sums in steps, (participants, classes, leaves): never to be
        released.
        """
        tables = [np.zeros((len(cohort), 2, cut.size), dtype=np.int64) for cut in self.cuts]
        for block in cohort.row_blocks():
            owners = len(block.of.sizes)
            owner = np.repeat(np.arange(owners), np.diff(block.of.offsets))
            cells = self.cells.read(block.X)
            weights = whole_weights(self.model.weights(cells, block.y))
            for cut, counted in zip(self.cuts, tables, strict=True):
                leaf = cut.leaf_of(cells)
                there = (leaf >= 0) & (block.y >= 0) & (block.y < 2)
                place = ((owner * 2 + block.y) * cut.size + leaf)[there]
                sums = np.bincount(place, weights[there], minlength=owners * 2 * cut.size)
                counted[block.owners] += sums.astype(np.int64).reshape(owners, 2, cut.size)
        return tables

    def answer(self, collected: Any) -> Estimates:
        estimates: Estimates = collected
        return estimates

    def _each(self, epsilon: float | FloatArray, n: int) -> FloatArray:
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (n,))
        if not set(each.tolist()) <= set(self.menu):
            raise bad(
                "epsilon", f"one of {self.menu}, as the query offers", sorted(set(each.tolist()))
            )
        return each


@message("count leaves")
@dataclass(frozen=True, eq=False)
class CountLeaves(LeafQuery):
    """Asks the named owners for the cut that tells most, and for the weight of their rows of each
    class in its leaves.

    `model` is what was released before, and gives the weights; an answer costs one of `menu`. A
    report is (number of the cut, class 0 of every leaf, class 1 of every leaf), with zeros where
    the cut has fewer leaves than another.
    """

    cells: Cells
    cuts: tuple[Cut, ...]
    model: Additive
    menu: tuple[float, ...]

    @property
    def what(self) -> str:
        return "leaves"

    @property
    def leaves(self) -> int:
        """The most leaves that one of the cuts has."""
        return max(cut.size for cut in self.cuts)

    @property
    def width(self) -> int:
        return 1 + 2 * self.leaves

    def scales(self, epsilon: float) -> tuple[int, int]:
        """Scales of the noise on gains (twice as wide, as the largest of noisy values needs) and
        on counts.
        """
        if len(self.cuts) == 1:
            return 0, scale_of(epsilon)
        return scale_of(epsilon, CHOICE / 2), scale_of(epsilon, 1 - CHOICE)

    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        exact = self.counts(cohort)
        reports = self.blank(len(cohort))
        each = self._each(epsilon, len(cohort))
        for level in np.unique(each).tolist():
            owners = np.flatnonzero(each == level)
            for_gains, for_counts = self.scales(level)
            gains = [np.abs(table[owners, 1] - table[owners, 0]).sum(axis=1) for table in exact]
            noise = draw_noise(
                len(owners), len(self.cuts), for_gains, stream.child("choice").of(owners)
            )
            chosen = np.argmax(np.stack(gains, axis=1) + noise, axis=1)
            noise = draw_noise(
                len(owners), 2 * self.leaves, for_counts, stream.child("counts").of(owners)
            )
            for cut in np.unique(chosen).tolist():
                takers, size = chosen == cut, self.cuts[cut].size
                said = noise[takers].reshape(-1, 2, self.leaves)
                said[:, :, size:] = 0
                said[:, :, :size] += exact[cut][owners[takers]]
                said = np.clip(said, *count_range(for_counts))
                reports.points[owners[takers], 0] = cut
                reports.points[owners[takers], 1:] = said.reshape(len(said), -1)
        return reports

    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        if reports.form != self.blank(0).form:
            return np.zeros(len(reports), dtype=np.bool_)
        chosen, counts = reports.points[:, 0], reports.points[:, 1:]
        sizes = np.array([cut.size for cut in self.cuts])
        known = (chosen >= 0) & (chosen < len(self.cuts))
        beyond = np.arange(self.leaves) >= sizes[np.where(known, chosen, 0)][:, np.newaxis]
        empty = ~(counts.reshape(-1, 2, self.leaves).any(axis=1) & beyond).any(axis=1)
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (len(counts),))
        scales = [self.scales(level)[1] for level in each.tolist()]
        return np.asarray(known & empty & within_ranges(counts, scales))

    def collect(self, reports: Reports, epsilon: float | FloatArray) -> Estimates:
        said = reports.points.astype(np.float64)
        said[:, 1:] /= STEPS
        return Estimates(said, self._each(epsilon, len(reports)))

    def read(self, said: FloatArray) -> tuple[Cut, FloatArray]:
        """One participant's estimates as the cut it took and the weights in its leaves,
        (classes, leaves).
        """
        cut = self.cuts[int(said[0])]
        return cut, said[1:].reshape(2, -1)[:, : cut.size]


def whole_weights(weights: FloatArray) -> FloatArray:
    """Weights as whole numbers of steps, 0 .. STEPS, whatever they were."""
    return np.asarray(np.rint(np.clip(np.where(np.isnan(weights), 0.0, weights), 0.0, 1.0) * STEPS))


def scale_of(epsilon: float, part: Fraction = Fraction(1)) -> int:
    """The least whole scale t with STEPS / t <= part * epsilon; 0, no noise, for infinity.

    >>> scale_of(0.5), scale_of(0.5, Fraction(1, 2))
    (131072, 262144)
    """
    if not epsilon > 0:
        raise bad("epsilon of one answer", "a number > 0", epsilon)
    scale = 0 if isinf(epsilon) else ceil(Fraction(STEPS) / (part * rational(epsilon)))
    if not scale <= _LARGEST_SCALE:
        raise bad(
            "epsilon of one answer", f"at least {STEPS / _LARGEST_SCALE / float(part):.2g}", epsilon
        )
    return scale


def count_range(scale: int) -> tuple[int, int]:
    """The least and the largest count, in steps, that an honest participant reports: what is beyond
    is cut after the noise, which tells nothing.
    """
    return -_TAIL * scale, MOST_ROWS * STEPS + _TAIL * scale


def within_ranges(counts: IntArray, scales: Sequence[int]) -> BoolArray:
    """Whether all counts of a report, (reports, counts), are such as its noise scale allows."""
    ranges = np.array([count_range(scale) for scale in scales], dtype=np.int64).reshape(-1, 2)
    low, high = ranges[:, :1], ranges[:, 1:]
    return np.asarray(((counts >= low) & (counts <= high)).all(axis=1))


def influence_of_counts(scale: int) -> str:
    """In words, for the widest noise that occurs."""
    rows = count_range(scale)[1] / STEPS
    return f"one report, true or not, counts in each leaf for at most {rows:,.0f} rows"


def std_of(scale: int) -> float:
    """Standard deviation of noise of this scale, in rows."""
    return sqrt(variance(scale)) / STEPS if scale else 0.0


def draw_noise(rows: int, each: int, scale: int, stream: Stream) -> IntArray:
    return (
        two_sided_geometric_rows(rows, each, scale, stream)
        if scale
        else np.zeros((rows, each), dtype=np.int64)
    )


def cell_scores(zeros: FloatArray, ones: FloatArray, std: float, ordered: bool) -> FloatArray:
    """The score of each cell from its noisy weights of class 0 and class 1, each with noise of
    `std`.

    Neighbouring cells of an ordered attribute are first taken together until they hold more than
    noise.

    >>> zeros, ones = np.array([90.0, 10.0, 0.0]), np.array([10.0, 90.0, 0.0])
    >>> cell_scores(zeros, ones, std=1.0, ordered=False).round(2)
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
