"""Whom a participant listens to: a private distance between distributions, which paper D leaves for
later, and the circles that learn by themselves.

Before anything is learned everybody is asked once how many of its rows of either class are in the
leaves of a few public attributes, for a small part of its epsilon (`CountClasses`). Its contrast is
the lead of class 1 in every leaf, scaled to length 1; the distance of two is 1 - the product of
their contrasts: 0 the same, 1 nothing to do with each other, 2 the same rows with opposite classes,
which is the scale of `own_model.distance`.

Claim: all of it costs the epsilon of that one answer, for one record added to or removed from a
    participant's rows. What one participant says, true or not, counts in a circle as one voice.
Proof: alike.md.
Variance: of a lead, twice that of a count, and the chance in so many rows; beside the others' that
    of a contrast is taken to be 1 at most. `is_far` asks for two standard deviations: of pairs that
    have nothing to do with each other about one in forty is taken for opposite, of alike ones far
    fewer.
Edges: a participant that is silent, has few rows or a small epsilon, or holds none of the
    attributes, is far from nobody: nobody is sent away without reason.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum, sqrt
from typing import TypeAlias

import numpy as np

from tacit._util.types import BoolArray, FloatArray
from tacit.data.cohort import Cohort, Public
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import (
    STEPS,
    LeafQuery,
    count_range,
    draw_noise,
    scale_of,
    within_ranges,
)
from tacit.learners.peers.peer_model import Additive, NoisyTrees, SharedStumps
from tacit.learners.query import Estimates
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream
from tacit.wire import message

ALIKE, EVERYBODY = "alike", "everybody"
LISTENING = (ALIKE, EVERYBODY)  # whom participants can be told to listen to
TOLD = 10  # one part in so many of epsilon pays for telling who is alike
BINS = 4  # leaves of a number: the fewer, the less noise
DRAWN, TELLING = 3, 2  # attributes: by chance, and where public rows say which tell most
_DOUBT = 2  # standard deviations
Released: TypeAlias = Additive | SharedStumps | NoisyTrees  # in one circle


@message("count classes")
@dataclass(frozen=True, eq=False)
class CountClasses(LeafQuery):
    """Asks the named owners for the weight of their rows of each class in the leaves of all cuts:
    nothing is chosen.

    `model` gives the weights; an empty one lets every row count as one. A report is class 0 and
    then class 1 of every leaf, cut by cut.
    """

    cells: Cells
    cuts: tuple[Cut, ...]
    model: Additive
    menu: tuple[float, ...]

    @property
    def what(self) -> str:
        return "contrasts"

    @property
    def width(self) -> int:
        return 2 * sum(cut.size for cut in self.cuts)

    def scales(self, epsilon: float) -> tuple[int, int]:
        """Nothing is chosen; a record is counted once in every cut."""
        return 0, scale_of(epsilon, Fraction(1, len(self.cuts)))

    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        exact = [counts.reshape(len(cohort), -1) for counts in self.counts(cohort)]
        said, each = np.concatenate(exact, axis=1), self._each(epsilon, len(cohort))
        for level in np.unique(each).tolist():
            owners, (_, scale) = np.flatnonzero(each == level), self.scales(level)
            tapes = stream.child("classes").of(owners)
            noisy = said[owners] + draw_noise(len(owners), self.width, scale, tapes)
            said[owners] = np.clip(noisy, *count_range(scale))
        return Reports.of(said)

    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        if reports.form != self.blank(0).form:
            return np.zeros(len(reports), dtype=np.bool_)
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (len(reports),))
        return within_ranges(reports.points, [self.scales(level)[1] for level in each.tolist()])

    def collect(self, reports: Reports, epsilon: float | FloatArray) -> Estimates:
        return Estimates(reports.points / STEPS, self._each(epsilon, len(reports)))

    def tables(self, said: FloatArray) -> list[FloatArray]:
        """One participant's estimates as the weights in the leaves of every cut,
        (classes, leaves).
        """
        ends = np.cumsum([2 * cut.size for cut in self.cuts])[:-1]
        return [part.reshape(2, -1) for part in np.split(said, ends)]


def few_leaves(cells: Cells, column: int) -> Cut:
    """An attribute in few leaves: some neighbouring cells of a number, each value of a category.

    >>> from tacit.data.schema import Number, Schema
    >>> few_leaves(Cells(Schema((Number("age", 0, 100),), (0, 1)), bins=6), 0).leaves
    (0, 0, 1, 2, 2, 3)
    """
    size = cells.sizes[column]
    if not cells.is_ordered[column]:
        return cells.every_cell(column)
    return Cut(column, tuple(cell * min(BINS, size) // size for cell in range(size)))


def draw_columns(cells: Cells, coins: Stream) -> tuple[int, ...]:
    """The attributes that everybody is asked about, drawn with public coins."""
    luck = coins.child("attributes").words(np.arange(len(cells)), 0, 1)[:, 0]
    return tuple(np.argsort(luck, kind="stable")[:DRAWN].tolist())


def telling_columns(cells: Cells, public: Public) -> tuple[int, ...]:
    """The attributes that everybody is asked about, where there are public rows: those whose leads
    stand out most from as much noise in every leaf.
    """
    read, signs = cells.read(public.X), np.where(public.y == 1, 1.0, -1.0)
    said = []
    for column in range(len(cells)):
        cut = few_leaves(cells, column)
        leaf = cut.leaf_of(read)
        there = leaf >= 0
        leads = np.bincount(leaf[there], signs[there], minlength=cut.size)
        said.append(float(leads @ leads - there.sum()) / sqrt(cut.size))
    return tuple(np.argsort(-np.array(said), kind="stable")[:TELLING].tolist())


@message("contrast")
@dataclass(frozen=True)
class Contrast:
    """What participant `who` told of its distribution: leads of class 1 in the leaves of all
    attributes, of length 1 or (where it told nothing) 0, with their variances; and about how many
    rows it has.
    """

    who: int
    leads: tuple[float, ...]
    variances: tuple[float, ...]
    rows: float

    @classmethod
    def of(
        cls, who: int, cuts: Sequence[Cut], told: Mapping[int, FloatArray], noise: float
    ) -> "Contrast":
        """From released weights (classes, leaves) with noise of this variance in each, by
        attribute: those of `cuts` that it holds.
        """
        counts = [
            each
            for cut in cuts
            for each in (told[cut.column].T.tolist() if cut.column in told else [None] * cut.size)
        ]
        leads = [0.0 if each is None else each[1] - each[0] for each in counts]
        size = max(sqrt(fsum(lead * lead for lead in leads)), 1e-9)
        chances = [
            0.0 if each is None else (2 * noise + max(each[0] + each[1], 0.0)) / size**2
            for each in counts
        ]
        most = max(1.0, fsum(chances))  # nobody can make itself out to be vaguer than noise
        rows = fsum(sum(each) for each in counts if each is not None) / max(1, len(told))
        return cls(
            who,
            tuple(lead / size for lead in leads),
            tuple(chance / most for chance in chances),
            max(1.0, rows),
        )

    @property
    def vagueness(self) -> float:
        """0 for one that is known to the last bit, 1 for noise; beyond for one that said
        nothing.
        """
        return fsum(self.variances) if any(self.leads) else 2.0


def distance(one: Contrast, other: Contrast) -> float:
    """Of two distributions, as far as noise lets it be seen: 0 the same, 1 nothing to do with each
    other, 2 the opposite.
    """
    lengths = [sqrt(fsum(lead * lead for lead in each.leads)) for each in (one, other)]
    return 1 - _product(one.leads, other.leads) / max(lengths[0] * lengths[1], 1e-9)


def is_far(one: Contrast, other: Contrast) -> bool:
    """Whether two distributions are more than unrelated, beyond doubt."""
    pairs = zip(one.leads, other.leads, one.variances, other.variances, strict=True)
    spread = fsum(a * a * w + b * b * v - v * w for a, b, v, w in pairs)
    least = _product(one.variances, other.variances)
    product = _product(one.leads, other.leads)
    return product < 0 and product**2 > _DOUBT**2 * max(spread, least)


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return fsum(a * b for a, b in zip(one, other, strict=True))


@message("circle")
@dataclass(frozen=True)
class Circle:
    """Participants that listen to each other, by what they told, and what was released there."""

    members: tuple[Contrast, ...]
    released: Released

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(member.who for member in self.members))

    @property
    def pool(self) -> Contrast:
        """What all of them told: one voice each."""
        every = self.members
        leads = zip(*(member.leads for member in every), strict=True)
        variances = zip(*(member.variances for member in every), strict=True)
        return Contrast(
            every[0].who,
            tuple(map(fsum, leads)),
            tuple(map(fsum, variances)),
            fsum(member.rows for member in every),
        )


@message("circles")
@dataclass(frozen=True)
class Circles:
    """Who listens to whom, by contrasts in the attributes `columns`, and all that was released."""

    columns: tuple[int, ...] = ()
    circles: tuple[Circle, ...] = ()

    def seat(self, newcomers: Iterable[Contrast], nothing: Released) -> "Circles":
        """Whoever comes joins the circle that is nearest, unless that is far, and then begins
        another, in which `nothing` was released yet: the clearest first, and of circles that are
        as near to the largest. Nobody else moves.
        """
        circles = list(self.circles)
        for one in sorted(newcomers, key=lambda each: (each.vagueness, each.who)):
            gaps = [
                (distance(circle.pool, one), -len(circle.members), place)
                for place, circle in enumerate(circles)
            ]
            place = min(gaps)[-1] if gaps else 0
            if not gaps or is_far(circles[place].pool, one):
                circles.append(Circle((one,), nothing))
            else:
                old = circles[place]
                circles[place] = replace(old, members=(*old.members, one))
        return replace(self, circles=tuple(circles))

    def after(self, place: int, released: Released) -> "Circles":
        """The same when more was released in one of the circles."""
        own = replace(self.circles[place], released=released)
        return replace(self, circles=(*self.circles[:place], own, *self.circles[place + 1 :]))

    def without(self, participants: Collection[int]) -> "Circles":
        """Only what others than these participants told and released."""
        left = [
            Circle(
                tuple(member for member in circle.members if member.who not in participants),
                circle.released.without(participants),
            )
            for circle in self.circles
        ]
        return replace(self, circles=tuple(circle for circle in left if circle.members))

    @property
    def largest(self) -> Circle | None:
        """The circle of most participants, whose model is served; of several as large, the one with
        more rows. None: nobody has come.
        """
        return max(self.circles, key=lambda c: (len(c.members), c.pool.rows), default=None)

    def of(self, who: int) -> Circle | None:
        """The circle of a participant."""
        return next((circle for circle in self.circles if who in circle.numbers), None)


def part_for(released: Released | Circles, who: int) -> Released:
    """All that was released to a participant: in its circle, where there are circles."""
    if not isinstance(released, Circles):
        return released
    own = released.of(who)
    if own is None:
        raise LookupError(f"participant {who} has not come, or has left")
    return own.released


def served_part(released: Released | Circles, nothing: Released) -> Released:
    """What may be served is made of this: what was released in the largest circle, where there
    are circles; `nothing` before anybody came.
    """
    if not isinstance(released, Circles):
        return released
    return nothing if released.largest is None else released.largest.released


def circles_of(released: Released | Circles, present: Collection[int]) -> list[tuple[int, ...]]:
    """Who listens to whom, by number: the circle that is served first; without circles, all that
    are present in one.
    """
    if not isinstance(released, Circles):
        return [tuple(present)] if present else []
    first = released.largest
    others = [circle.numbers for circle in released.circles if circle is not first]
    return others if first is None else [first.numbers, *others]
