"""The first base learner: what noise does to it, over mechanisms and epsilon (papers A and B).

Owners of a run are the same for every line, so that shares are computed once for each learner;
coins never are.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.learner import Learner, ReportTerms, ShareQuery, Simulated
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.query import Answer
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.registry import MECHANISMS as MECHANISM_OF
from tacit.mechanisms.registry import NoPrivacy
from tacit.mechanisms.spaces import Space
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.datasets.split import Split
from tacit_papers.runner import Cell
from tacit_papers.shared.splits import (
    accuracy,
    accuracy_alone,
    deal,
    load_split,
    our_accuracy,
    ours_in,
    public_of,
)
from tacit_papers.shared.textbook_duchi import as_published

MECHANISMS = ("laplace", "duchi", "piecewise")
_MOST = 1 << 26  # numbers of shares that are kept


@dataclass(frozen=True)
class FirstRow:
    """Test accuracy of a first base learner, mean and spread over runs, and the error that noise
    makes in what it is built from (`measure`; None where there is no such thing).

    `variant` is "as published", "sound", "ours" (the data user's model refined with the same
    owners) or "sample alone". `epsilon` None: no privacy. `dataset` is the paper's, `source` the
    rows that stand for it here.
    """

    paper: str
    where: str
    dataset: str
    source: str
    learner: str
    variant: str
    mechanism: str
    epsilon: float | None
    owners: int
    rows_per_owner: int
    mean: float
    std: float
    measure: str
    error: float | None
    error_std: float
    runs: int
    unsound: str


@dataclass(frozen=True)
class Line:
    """One line of a picture: a learner through a mechanism; epsilon None: without privacy."""

    variant: str
    learner: Learner
    mechanism: str
    epsilon: float | None


@dataclass(frozen=True, eq=False)
class Learned:
    """What came of a line in one run: test accuracy, the mean share that the data user was told,
    and the exact one.

    `exact` is None where owners are so many that shares are not kept.
    """

    accuracy: float
    told: FloatArray
    exact: FloatArray | None


class FromShares(Simulated):
    """A simulated learner whose answer depends on shares alone, so that they can be kept."""

    @abstractmethod
    def answer(
        self,
        query: ShareQuery,
        shares: FloatArray,
        mechanism: type[Mechanism],
        epsilon: float | FloatArray,
        stream: Stream,
    ) -> Answer:
        """What the data user is told when owners have these shares."""

    def simulate(
        self,
        query: ShareQuery,
        cohort: Cohort,
        mechanism: type[Mechanism],
        epsilon: float | FloatArray,
        stream: Stream,
    ) -> Answer:
        return self.answer(query, self.share(query, cohort), mechanism, epsilon, stream)


@dataclass(frozen=True, kw_only=True)
class FirstCell(Cell):
    """The first base learner on one data set, for every mechanism and epsilon; ours beside it."""

    learner: str
    owners: int
    rows_per_owner: int
    epsilons: tuple[float, ...]
    mechanisms: tuple[str, ...] = MECHANISMS
    sound_mechanism: str = "auto"

    @abstractmethod
    def learners(self) -> tuple[Learner, Learner]:
        """As published, and sound."""

    @abstractmethod
    def measures(self, learned: Learned) -> Mapping[str, float]:
        """How far what was told is from what is true, by one or more measures; nothing where
        that is not known.
        """

    def table(
        self, source: str, lines: Sequence[Line], found: Sequence[Sequence[Learned]]
    ) -> list[Any]:
        """Further rows of what was found in all runs, line by line."""
        return []

    def lines(self) -> list[Line]:
        """As published through every mechanism, sound through one, by default the best, and both
        without privacy.
        """
        as_published, sound = self.learners()
        lines = [
            Line("as published", as_published, m, e) for m in self.mechanisms for e in self.epsilons
        ]
        lines += [Line("sound", sound, self.sound_mechanism, epsilon) for epsilon in self.epsilons]
        return [
            *lines,
            Line("as published", as_published, "none", None),
            Line("sound", sound, "none", None),
        ]

    def rows(self) -> list[Any]:
        split, lines = load_split(self.dataset, self.quick), self.lines()
        stream = seeded(self.seed).child(
            "paper", self.paper, self.learner, self.dataset, self.owners
        )
        found: list[list[Learned]] = []
        ours: dict[float, list[float]] = {epsilon: [] for epsilon in self.epsilons}
        for run in range(self.runs):
            cohort = deal(split, self.owners, self.rows_per_owner, stream.child("owners", run))
            found.append(list(learn_first(split, lines, cohort, stream.child("coins", run))))
            for epsilon, hits in ours.items() if ours_in(split, run) else ():
                hits.append(
                    our_accuracy(split, cohort, epsilon, stream.child("ours", str(epsilon), run))
                )
        by_line = list(zip(*found, strict=True))
        rows = self.table(self.source(split), lines, by_line)
        rows += [
            self._line(split, line, learned) for line, learned in zip(lines, by_line, strict=True)
        ]
        for epsilon, each in ours.items():
            rows += [self._row(split, "ours", "auto", epsilon, each)] if each else []
        return [*rows, self._row(split, "sample alone", "none", None, [accuracy_alone(split)])]

    def source(self, split: Split) -> str:
        """The rows that stand for the paper's."""
        return split.name

    def _line(self, split: Split, line: Line, learned: Sequence[Learned]) -> FirstRow:
        """A row of a learner, with the first of its measures where there is one."""
        hits = [each.accuracy for each in learned]
        row = self._row(split, line.variant, line.mechanism, line.epsilon, hits)
        row = replace(row, unsound=line.learner.unsound)
        errors = [self.measures(each) for each in learned]
        if not errors[0]:
            return row
        measure = next(iter(errors[0]))
        error, spread = mean_and_spread([each[measure] for each in errors])
        return replace(row, measure=measure, error=error, error_std=spread)

    def _row(
        self,
        split: Split,
        variant: str,
        mechanism: str,
        epsilon: float | None,
        accuracies: Sequence[float],
    ) -> FirstRow:
        mean, std = mean_and_spread(accuracies)
        return FirstRow(
            paper=self.paper,
            where=self.where,
            dataset=self.papers_set,
            source=self.source(split),
            learner=self.learner,
            variant=variant,
            mechanism=mechanism,
            epsilon=epsilon,
            owners=self.owners,
            rows_per_owner=self.rows_per_owner,
            mean=mean,
            std=std,
            measure="",
            error=None,
            error_std=0.0,
            runs=len(accuracies),
            unsound="",
        )


def learn_first(
    split: Split, lines: Sequence[Line], cohort: Cohort, stream: Stream
) -> Iterator[Learned]:
    """The first base learner of every line, from the same owners."""
    shares: dict[Learner, FloatArray | None] = {}
    public = public_of(split)
    for line in lines:
        learner, epsilon = line.learner, line.epsilon or 1.0
        facts = learner.facts(public)
        terms = ReportTerms.of(line.mechanism, learner.space(facts), epsilon)
        query = ShareQuery(
            1,
            1,
            len(cohort),
            learner=learner,
            facts=facts,
            ensemble=Ensemble(split.classes),
            terms=terms,
        )
        if learner not in shares:
            small = isinstance(learner, Simulated) or len(cohort) * query.width <= _MOST
            shares[learner] = learner.share(query, cohort) if small else None
        known = shares[learner]
        coins = stream.child(learner.name, line.mechanism, str(line.epsilon))
        answer = _answer(query, cohort, known, epsilon, coins)
        exact = None if known is None else known.mean(axis=0)
        yield Learned(accuracy(learner.learn(query, answer), split), answer.mean, exact)


def _answer(
    query: ShareQuery, cohort: Cohort, shares: FloatArray | None, epsilon: float, coins: Stream
) -> Answer:
    """What the engine answers, without computing shares again where they are known."""
    if shares is not None and isinstance(query.learner, FromShares):
        mechanism = MECHANISM_OF[query.terms.mechanism]
        return query.learner.answer(query, shares, mechanism, epsilon, coins)
    if shares is not None and query.learner.unsound and not isinstance(query.learner, Simulated):
        space = query.learner.space(query.facts)
        mean = published_mean(query.terms.mechanism, space, epsilon, shares, coins)
        return Answer(mean, np.zeros(mean.size), len(shares))
    if shares is not None and not isinstance(query.learner, Simulated):
        return query.answer(
            query.collect(query.mechanism(epsilon).randomize(shares, coins), epsilon)
        )
    answer = Inline(cohort, epsilon, coins).ask(query)
    if not isinstance(answer, Answer):
        raise ValueError(f"a round of {query.owners} owners needs as many, got {len(cohort)}")
    return answer


def published_mean(
    mechanism: str, space: Space, epsilon: float, shares: FloatArray, coins: Stream
) -> FloatArray:
    """The mean of shares through a mechanism as papers mean it."""
    kind = as_published(MECHANISM_OF[mechanism])
    made = NoPrivacy(space=space) if kind is NoPrivacy else kind(space=space, epsilon=epsilon)
    return np.asarray(made.totals(made.randomize(shares, coins)).mean)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation over runs; one run has no spread.

    >>> mean_and_spread([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
