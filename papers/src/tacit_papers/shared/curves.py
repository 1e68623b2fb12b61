"""Misclassification after 1 .. M base learners, and their votes: what papers A and B plot of
boosting.

Beside the papers' lines, the data user's model refined by as many owners, once each.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import ClassVar

import numpy as np

from tacit._util.types import FloatArray
from tacit.algorithms.boosting import Boosted
from tacit.data.cohort import Cohort
from tacit.learners.models.ensemble import Ensemble
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.datasets.split import Split
from tacit_papers.runner import Cell
from tacit_papers.shared.first_learner import Line, mean_and_spread
from tacit_papers.shared.splits import (
    MOST_OWNERS,
    accuracy_alone,
    deal,
    load_split,
    our_accuracy,
    ours_in,
)


@dataclass(frozen=True)
class CurveRow:
    """Test error of the ensemble after `learners` base learners, mean and spread over runs.

    A run that ended early (owners ran out, or too many rounds were dropped in a row) stays at its
    last error; one half if it has no learner at all. `reached` is the share of runs that have so
    many learners; `error` and `alpha` are the means over those of the weighted error that the judge
    found and of the vote (None: no run has so many). `epsilon` None: no privacy.
    """

    paper: str
    dataset: str
    source: str
    learner: str
    variant: str
    mechanism: str
    epsilon: float | None
    learners: int
    mean: float
    std: float
    reached: float
    error: float | None
    alpha: float | None
    runs: int
    owners: int
    rows_per_owner: int
    published: float | None
    unsound: str


@dataclass(frozen=True)
class OursRow:
    """Test error of the data user's model refined by as many owners as all rounds of boosting ask,
    up to `MOST_OWNERS`.

    `alone` is its error before that.
    """

    paper: str
    dataset: str
    learner: str
    epsilon: float
    mean: float
    std: float
    runs: int
    owners: int
    rows_per_owner: int
    public_rows: int
    alone: float


@dataclass(frozen=True, kw_only=True)
class CurveCell(Cell):
    """The curves of one base learner on one data set, and ours with as many owners."""

    spare: ClassVar[int]  # owners in all, in times of what all rounds need when none is dropped

    learner: str
    owners: int
    rows_per_owner: int
    epsilons: tuple[float, ...]
    rounds: int

    @abstractmethod
    def lines(self) -> list[Line]:
        """The lines of the picture; the published end points belong to any that is as published."""

    @abstractmethod
    def boost(self, split: Split, cohort: Cohort, line: Line, coins: Stream) -> Boosted:
        """One line in one run."""

    def published_ends(self, line: Line) -> tuple[float, float] | None:
        """The errors after the first and the tenth base learner that the paper states."""
        return None

    def rows(self) -> list[CurveRow | OursRow]:
        split, lines = load_split(self.dataset, self.quick), self.lines()
        stream = seeded(self.seed).child("paper", self.paper, "curves", self.dataset, self.learner)
        boosted: list[list[Boosted]] = [[] for _ in lines]
        ours: dict[float, list[float]] = {epsilon: [] for epsilon in self.epsilons}
        for run in range(self.runs):
            dealt = stream.child("owners", run)
            cohort = deal(split, self.spare * self.rounds * self.owners, self.rows_per_owner, dealt)
            for line, found in zip(lines, boosted, strict=True):
                coins = stream.child(line.variant, line.mechanism, str(line.epsilon), run)
                found.append(self.boost(split, cohort, line, coins))
            for epsilon, errors in ours.items() if ours_in(split, run) else ():
                crowd = cohort[: self.rounds * self.owners]
                errors.append(
                    1 - our_accuracy(split, crowd, epsilon, stream.child("ours", str(epsilon), run))
                )
        rows: list[CurveRow | OursRow] = []
        for line, runs in zip(lines, boosted, strict=True):
            rows += self._line(split, line, runs)
        return [
            *rows,
            *(self._ours(split, epsilon, each) for epsilon, each in ours.items() if each),
        ]

    def _ours(self, split: Split, epsilon: float, errors: Sequence[float]) -> OursRow:
        mean, std = mean_and_spread(errors)
        return OursRow(
            paper=self.paper,
            dataset=self.papers_set,
            learner=self.learner,
            epsilon=epsilon,
            mean=mean,
            std=std,
            runs=len(errors),
            owners=min(MOST_OWNERS, self.owners * self.rounds),
            rows_per_owner=self.rows_per_owner,
            public_rows=len(split.y_public),
            alone=1 - accuracy_alone(split),
        )

    def _line(self, split: Split, line: Line, runs: Sequence[Boosted]) -> list[CurveRow]:
        errors = np.array([staged_errors(each.ensemble, split, self.rounds) for each in runs])
        kept = [[record for record in each.records if record.kept] for each in runs]
        stated = self.published_ends(line)
        ends = {0: 0, 9: 1}  # the text states the first error and the tenth
        rows = []
        for place in range(self.rounds):
            there = [records[place] for records in kept if len(records) > place]
            mean, std = mean_and_spread(errors[:, place].tolist())
            rows.append(
                CurveRow(
                    paper=self.paper,
                    dataset=self.papers_set,
                    source=split.name if self.dataset == self.papers_set else self.dataset,
                    learner=self.learner,
                    variant=line.variant,
                    mechanism=line.mechanism,
                    epsilon=line.epsilon,
                    learners=place + 1,
                    mean=mean,
                    std=std,
                    reached=len(there) / len(runs),
                    error=float(np.mean([record.error for record in there])) if there else None,
                    alpha=float(np.mean([record.alpha for record in there])) if there else None,
                    runs=self.runs,
                    owners=self.owners,
                    rows_per_owner=self.rows_per_owner,
                    published=None if stated is None or place not in ends else stated[ends[place]],
                    unsound=line.learner.unsound,
                )
            )
        return rows


def errs_less(one: CurveRow, other: CurveRow) -> bool:
    """Whether one error is below another by more than two standard errors of their difference,
    taken as if runs were independent, which they are not: on the safe side.
    """
    error = hypot(one.std, other.std) / sqrt(one.runs)
    return other.mean - one.mean > 2 * error


def staged_errors(ensemble: Ensemble, split: Split, rounds: int) -> FloatArray:
    """Test error after each round; the last one stays, and chance is where there is none."""
    errors = np.full(rounds, 1 - 1 / split.classes)
    for number, votes in enumerate(ensemble.staged_votes(split.X_test)):
        errors[number:] = float((np.argmax(votes, axis=1) != split.y_test).mean())
    return errors
