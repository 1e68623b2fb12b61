"""How often noise leaves one of the k best attributes on top (paper B, Figs. 8 and 9).

The text does not say where attributes are cut in two. Both readings are measured, at the median and
where the data user's sample has the fewest errors; the default is the one whose rates are nearest
on average to those that the paper states, all of training rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.streams import seeded
from tacit_papers.a.learners import PublishedStump
from tacit_papers.b.published import HITS
from tacit_papers.runner import Cell
from tacit_papers.shared.first_learner import Line
from tacit_papers.shared.splits import deal, load_split, public_of
from tacit_papers.shared.textbook_duchi import as_published

READINGS = {
    "as published": PublishedStump(thresholds="median"),
    "as published, best cut": PublishedStump(thresholds="best"),
}
CUTS = {  # in words
    "as published": "at the median",
    "as published, best cut": "where the data user's sample has the fewest errors",
}
_DRAWS = 10  # of coins for each deal of rows: shares are computed once for these
_SOUND_DRAWS = 2  # of the sound learner, which the paper does not have


@dataclass(frozen=True)
class HitRow:
    """The share of runs in which the chosen attribute is the best (`top1`) or one of the three best
    (`top3`).

    `variant` "sample alone": the best attribute of the data user's own rows; it has no epsilon.
    """

    paper: str
    dataset: str
    source: str
    variant: str
    mechanism: str
    epsilon: float | None
    top1: float
    top3: float
    runs: int
    owners: int
    rows_per_owner: int
    unsound: str


@dataclass(frozen=True, kw_only=True)
class HitCell(Cell):
    """One data set; runs are deals of rows times draws of coins."""

    paper: ClassVar[str] = "b"

    owners: int
    rows_per_owner: int
    epsilons: tuple[float, ...]

    def rows(self) -> list[HitRow]:
        split = load_split(self.dataset, self.quick)
        public = public_of(split)
        stream = seeded(self.seed).child("paper B", "hits", self.dataset)
        lines = [
            Line(variant, learner, m, e)
            for variant, learner in READINGS.items()
            for m in ("duchi", "piecewise")
            for e in self.epsilons
        ]
        lines += [Line("sound", Stump(), "auto", epsilon) for epsilon in self.epsilons]
        alone, places = list[int](), [list[int]() for _ in lines]
        for run in range(self.runs // _DRAWS):
            cohort = deal(split, self.owners, self.rows_per_owner, stream.child("owners", run))
            learners: tuple[Learner, ...] = (*READINGS.values(), Stump())
            asked = {learner: _Asked.of(learner, public, cohort) for learner in learners}
            usual = learners[0]
            sample = _shares(usual, public, _one_owner(public))[0]
            alone.append(int(asked[usual].ranks[np.argmax(_purity(sample))]))
            for line, found in zip(lines, places, strict=True):
                shares, ranks = asked[line.learner].shares, asked[line.learner].ranks
                mechanism = _mechanism(_query(public, line, len(cohort)), line.epsilon or 1.0)
                for draw in range(_DRAWS if line.learner.unsound else _SOUND_DRAWS):
                    coins = stream.child(line.variant, line.mechanism, str(line.epsilon), run, draw)
                    mean = mechanism.totals(mechanism.randomize(shares, coins)).mean
                    found.append(int(ranks[np.argmax(_purity(mean))]))
        rows = [
            self._row(line, found, line.learner.unsound)
            for line, found in zip(lines, places, strict=True)
        ]
        return [*rows, self._row(Line("sample alone", Stump(), "none", None), alone, "")]

    def _row(self, line: Line, places: Sequence[int], unsound: str) -> HitRow:
        hits = [float(np.mean([place < k for place in places])) for k in (1, 3)]
        return HitRow(
            paper=self.paper,
            dataset=self.papers_set,
            source=self.dataset,
            variant=line.variant,
            mechanism=line.mechanism,
            epsilon=line.epsilon,
            top1=hits[0],
            top3=hits[1],
            runs=len(places),
            owners=self.owners,
            rows_per_owner=self.rows_per_owner,
            unsound=unsound,
        )


def gaps_of_readings(rows: Iterable[HitRow]) -> dict[str, float]:
    """By reading: how far its rates through Piecewise are from the stated ones, on average over
    those that were measured.
    """
    gaps: dict[str, list[float]] = {}
    for row in rows:
        for k, rate in ((1, row.top1), (3, row.top3)):
            stated = HITS.get((row.dataset, row.epsilon or 0.0, k))
            if stated is not None and row.variant in READINGS and row.mechanism == "piecewise":
                gaps.setdefault(row.variant, []).append(abs(rate - stated))
    return {variant: float(np.mean(found)) for variant, found in gaps.items()}


@dataclass(frozen=True, eq=False)
class _Asked:
    """The shares that a learner asks for in a first round, and how attributes rank in truth: each
    learner has cuts of its own.
    """

    shares: FloatArray
    ranks: IntArray

    @classmethod
    def of(cls, learner: Learner, public: Public, cohort: Cohort) -> "_Asked":
        shares = _shares(learner, public, cohort)
        order = np.argsort(-_purity(shares.mean(axis=0)), kind="stable")
        return cls(shares, np.argsort(order))


def _query(public: Public, line: Line, owners: int) -> ShareQuery:
    facts = line.learner.facts(public)
    terms = ReportTerms.of(line.mechanism, line.learner.space(facts), line.epsilon or 1.0)
    return ShareQuery(
        1,
        1,
        owners,
        learner=line.learner,
        facts=facts,
        ensemble=Ensemble(public.classes),
        terms=terms,
    )


def _mechanism(query: ShareQuery, epsilon: float) -> Mechanism:
    """That of the query; where it is as published, as papers mean it."""
    own = query.mechanism(epsilon)
    if not query.learner.unsound:
        return own
    return as_published(type(own))(space=own.space, epsilon=epsilon)


def _shares(learner: Learner, public: Public, cohort: Cohort) -> FloatArray:
    query = _query(public, Line("", learner, "none", None), len(cohort))
    return learner.share(query, cohort)


def _one_owner(public: Public) -> Cohort:
    return Cohort(public.X, public.y, np.array([0, len(public.y)]))


def _purity(tables: FloatArray) -> FloatArray:
    """|s00 - s01| + |s10 - s11| for every attribute: the larger, the fewer rows are wrong."""
    return np.asarray(np.abs(tables.reshape(-1, 2)).sum(axis=1))
