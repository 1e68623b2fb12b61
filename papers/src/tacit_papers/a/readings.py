"""How paper A is read: where its text leaves something open, every reading beside its own figures.

The rule: on rows that are neither the data user's nor the test's, the mean distance of a reading's
errors (after the first and after ten base learners, at each epsilon) to those that the paper
states, over all its data sets. The reading with the least is the default, in all tables and figures
alike.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tacit.learners.learner import Learner
from tacit.mechanisms.streams import seeded
from tacit_papers.a.curves import BoostingCell
from tacit_papers.a.learners import PublishedCentroid, PublishedStump
from tacit_papers.a.published import CURVES
from tacit_papers.datasets.split import Split
from tacit_papers.shared.curves import staged_errors
from tacit_papers.shared.first_learner import Line
from tacit_papers.shared.splits import deal, load_split

READINGS: dict[str, dict[str, Learner]] = {
    "stump": {
        "best cut, signs of the sums": PublishedStump(),
        "best cut, fixed polarity": PublishedStump(polarity="fixed"),
        "median, signs of the sums": PublishedStump(thresholds="median"),
        "median, fixed polarity": PublishedStump(thresholds="median", polarity="fixed"),
    },
    "centroid": {
        "divided by weights": PublishedCentroid(),
        "divided by rows": PublishedCentroid(divide="rows"),
    },
}
DEFAULTS = {learner: next(iter(readings)) for learner, readings in READINGS.items()}
_HELD_OUT = 2_000  # training rows on which readings are compared


@dataclass(frozen=True)
class ReadingRow:
    """Errors of one reading after the first and the last base learner, means over runs.

    `first`, `last`: on test rows. `held_first`, `held_last`: on rows held out of training. `gap`:
    the mean distance of the latter to the errors that the paper states (None: it states none).
    """

    dataset: str
    learner: str
    reading: str
    epsilon: float | None
    first: float
    last: float
    held_first: float
    held_last: float
    gap: float | None
    runs: int


@dataclass(frozen=True, kw_only=True)
class ReadingCell(BoostingCell):
    """All readings of one base learner on one data set; the same owners for each."""

    def rows(self) -> list[ReadingRow]:  # type: ignore[override]
        split, held = hold_out(load_split(self.dataset, self.quick))
        stream = seeded(self.seed).child("paper A", "readings", self.dataset, self.learner)
        errors: dict[tuple[str, float | None], list[list[float]]] = {}
        for run in range(self.runs):
            owners = self.spare * self.rounds * self.owners
            cohort = deal(split, owners, self.rows_per_owner, stream.child("owners", run))
            for reading, learner in READINGS[self.learner].items():
                for epsilon in (None, *self.epsilons):
                    mechanism = "none" if epsilon is None else "piecewise"
                    coins = stream.child(reading, str(epsilon), run)
                    line = Line("as published", learner, mechanism, epsilon)
                    ensemble = self.boost(split, cohort, line, coins).ensemble
                    staged = [staged_errors(ensemble, part, self.rounds) for part in (split, held)]
                    ends = [float(each[place]) for each in staged for place in (0, -1)]
                    errors.setdefault((reading, epsilon), []).append(ends)
        return [
            self._row(reading, epsilon, np.mean(ends, axis=0).tolist())
            for (reading, epsilon), ends in errors.items()
        ]

    def _row(self, reading: str, epsilon: float | None, ends: list[float]) -> ReadingRow:
        stated = CURVES.get((self.dataset, self.learner, epsilon))
        gap = None if stated is None else float(np.abs(np.subtract(ends[2:], stated)).mean())
        return ReadingRow(
            dataset=self.papers_set,
            learner=self.learner,
            reading=reading,
            epsilon=epsilon,
            first=ends[0],
            last=ends[1],
            held_first=ends[2],
            held_last=ends[3],
            gap=gap,
            runs=self.runs,
        )


def hold_out(split: Split) -> tuple[Split, Split]:
    """The split without its last training rows, and with these to test on."""
    rest = replace(split, X_train=split.X_train[:-_HELD_OUT], y_train=split.y_train[:-_HELD_OUT])
    held = replace(rest, X_test=split.X_train[-_HELD_OUT:], y_test=split.y_train[-_HELD_OUT:])
    return rest, held


def mean_gaps(rows: Iterable[ReadingRow]) -> dict[tuple[str, str], float]:
    """By base learner and reading: the mean gap over data sets and epsilon."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.gap is not None:
            found.setdefault((row.learner, row.reading), []).append(row.gap)
    return {key: float(np.mean(gaps)) for key, gaps in found.items()}
