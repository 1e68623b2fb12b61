"""What is measured of paper A.

Tables II, III and IV with Figs. 2, 6 and 9: what the noise of a first round does to centroids,
impurities and coefficients, and to the accuracy of the first base learner. Fig. 3: the same against
the number of owners. Tables measure the learners as they were published.

Boosting (Figs. 4, 5, 7, 8), votes from the data user's sample: as published, sound, without
privacy. Beside the curves, what the data user gets from its own sample alone: without that line
nobody knows what the owners added.

Where the paper's text leaves something open, every reading stands beside its own figures. The rule:
on rows that are neither the data user's nor the test's, the mean distance of a reading's errors
(after the first and after ten base learners, at each epsilon) to those that the paper states, over
all its data sets. The reading with the least is the default, in all tables and figures alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from tacit._util.types import FloatArray
from tacit.algorithms import boosting
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.learner import Learner, ReportTerms
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit_papers.a.published import CURVES, EPSILONS, FIRST_ERRORS, TABLES, Published
from tacit_papers.datasets.split import Split
from tacit_papers.runner import Cell
from tacit_papers.shared.curves import CurveCell, staged_errors
from tacit_papers.shared.first_learner import MECHANISMS, FirstCell, Learned, Line
from tacit_papers.shared.splits import accuracy_alone, deal, load_split, public_of

LEARNERS: dict[str, tuple[Learner, Learner]] = {  # as published, and sound
    "centroid": (PublishedCentroid(), Centroid()),
    "stump": (PublishedStump(), Stump()),
    "logistic": (PublishedLogistic(), Logistic()),
}
TABLE_OF = {"centroid": "II", "stump": "III", "logistic": "IV"}
_SURE = 2.0  # standard errors

Measured = Mapping[str, float]  # what was measured in one run, by name of the measure


@dataclass(frozen=True)
class TableRow:
    """One cell of a table: measured over `runs` runs, beside what was published (None where the
    paper has nothing).

    `dataset` is the paper's, `source` the rows that stand for it here. `holds`: against every other
    mechanism the order is as published, wherever the published difference is more than two standard
    errors; and in Table II for synthetic rows the error is at most the published one, or within two
    standard errors of it.
    """

    table: str
    dataset: str
    source: str
    measure: str
    mechanism: str
    epsilon: float
    owners: int
    rows_per_owner: int
    mean: float
    std: float
    runs: int
    published_mean: float | None
    published_std: float | None
    holds: bool
    unsound: str


@dataclass(frozen=True, kw_only=True)
class TableCell(FirstCell):
    """One data set of a table, and of the figure that belongs to it; or a point of Fig. 3."""

    paper: ClassVar[str] = "a"

    def learners(self) -> tuple[Learner, Learner]:
        return LEARNERS[self.learner]

    def measures(self, learned: Learned) -> Measured:
        """The paper's measure. For Table IV the one it names, RMSE, and MSE, which is what it has:
        its numbers fall with 1 / epsilon^2.
        """
        if learned.exact is None:
            return {}
        gap = learned.told - learned.exact
        if self.learner == "centroid":
            return {"l2": float(np.sqrt((gap.reshape(2, -1) ** 2).sum(axis=1)).mean())}
        if self.learner == "stump":
            impurities = [
                np.abs(means.reshape(-1, 2)).sum(axis=1) for means in (learned.told, learned.exact)
            ]
            return {"square": float(((impurities[0] - impurities[1]) ** 2).mean())}
        square = float((gap**2).mean())
        return {"mse": square, "rmse": square**0.5}

    def table(
        self, source: str, lines: Sequence[Line], found: Sequence[Sequence[Learned]]
    ) -> list[Any]:
        """Cells of the table; those of a part of the mechanisms are a figure's alone."""
        if self.mechanisms != MECHANISMS:
            return []
        values = {
            (line.mechanism, line.epsilon): [self.measures(each) for each in learned]
            for line, learned in zip(lines, found, strict=True)
            if line.variant == "as published" and line.epsilon is not None
        }
        return _compare(self, source, values)


def _compare(
    cell: TableCell, source: str, found: Mapping[tuple[str, float], Sequence[Measured]]
) -> list[TableRow]:
    rows, table = [], TABLE_OF[cell.learner]
    for measure in next(iter(found.values()))[0]:
        values = {place: np.array([run[measure] for run in runs]) for place, runs in found.items()}
        for (mechanism, epsilon), own in values.items():
            paper = published_cell(table, cell.dataset, mechanism, epsilon)
            others = [other for other in MECHANISMS if other != mechanism]
            holds = all(
                _stands_as_published(cell, epsilon, values, mechanism, other) for other in others
            )
            if table == "II" and cell.dataset == "synthetic" and paper is not None:
                holds = holds and _at_most(own, paper)
            rows.append(
                TableRow(
                    table=table,
                    dataset=cell.dataset,
                    source=source,
                    measure=measure,
                    mechanism=mechanism,
                    epsilon=epsilon,
                    owners=cell.owners,
                    rows_per_owner=cell.rows_per_owner,
                    mean=float(own.mean()),
                    std=_spread(own),
                    runs=cell.runs,
                    published_mean=None if paper is None else paper.mean,
                    published_std=None if paper is None else paper.std,
                    holds=holds,
                    unsound=LEARNERS[cell.learner][0].unsound,
                )
            )
    return rows


def _stands_as_published(
    cell: TableCell,
    epsilon: float,
    values: Mapping[tuple[str, float], FloatArray],
    one: str,
    other: str,
) -> bool:
    """Whether two mechanisms stand as published, where the paper's runs can tell them apart."""
    papers = [
        published_cell(TABLE_OF[cell.learner], cell.dataset, mechanism, epsilon)
        for mechanism in (one, other)
    ]
    if papers[0] is None or papers[1] is None:
        return True
    gap = papers[0].mean - papers[1].mean
    if abs(gap) <= _SURE * float(np.hypot(papers[0].std, papers[1].std)) / 10**0.5:
        return True
    return bool(gap * (values[one, epsilon].mean() - values[other, epsilon].mean()) > 0)


def _at_most(own: FloatArray, paper: Published) -> bool:
    error = float(np.hypot(_spread(own) / len(own) ** 0.5, paper.std / 10**0.5))
    return bool(own.mean() <= paper.mean + _SURE * error)


def _spread(values: FloatArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def published_cell(table: str, dataset: str, mechanism: str, epsilon: float) -> Published | None:
    """A cell of a table; None where the paper has none.

    >>> published_cell("II", "synthetic", "piecewise", 7.0)
    Published(mean=0.372, std=0.042)
    """
    cells = TABLES[table].get((dataset, mechanism))
    return (
        None
        if cells is None or epsilon not in EPSILONS
        else Published(*cells[EPSILONS.index(epsilon)])
    )


_ATTEMPTS = 10  # dropped rounds in a row


@dataclass(frozen=True)
class PublicRow:
    """Test error of a model fitted to the data user's sample alone."""

    dataset: str
    model: str
    rows: int
    error: float


@dataclass(frozen=True, kw_only=True)
class PublicCell(Cell):
    """The data user's sample alone: two linear models, and the best of three kinds by
    cross-validation.
    """

    paper: ClassVar[str] = "a"

    def rows(self) -> list[PublicRow]:
        split = load_split(self.dataset, self.quick)
        models = {
            "logistic regression": LogisticRegression(max_iter=1000),
            "LDA": LinearDiscriminantAnalysis(),
        }
        errors = {"chosen by cross-validation": 1 - accuracy_alone(split)}
        for name, model in models.items():
            guesses = model.fit(split.X_public, split.y_public).predict(split.X_test)
            errors[name] = float((guesses != split.y_test).mean())
        return [
            PublicRow(self.dataset, name, len(split.y_public), error)
            for name, error in errors.items()
        ]


@dataclass(frozen=True, kw_only=True)
class BoostingCell(CurveCell):
    """The curves of one base learner on one data set."""

    paper: ClassVar[str] = "a"
    spare: ClassVar[int] = 2

    def lines(self) -> list[Line]:
        """As published (Piecewise), sound (Piecewise and the chosen mechanism), and both without
        privacy.
        """
        as_published, sound = LEARNERS[self.learner]
        lines = [
            Line("as published", as_published, "none", None),
            Line("sound", sound, "none", None),
        ]
        for epsilon in self.epsilons:
            lines.append(Line("as published", as_published, "piecewise", epsilon))
            lines += [
                Line("sound", sound, mechanism, epsilon) for mechanism in ("piecewise", "auto")
            ]
        return lines

    def published_ends(self, line: Line) -> tuple[float, float] | None:
        return CURVES.get((self.dataset, self.learner, line.epsilon))

    def boost(self, split: Split, cohort: Cohort, line: Line, coins: Stream) -> boosting.Boosted:
        public = public_of(split)
        epsilon = line.epsilon or 1.0
        facts = line.learner.facts(public)
        terms = ReportTerms.of(line.mechanism, line.learner.space(facts), epsilon)
        schedule = boosting.Schedule(self.rounds, self.owners, _ATTEMPTS)
        judge = boosting.OwnSample(public)
        algorithm = boosting.boost(line.learner, facts, terms, judge, schedule)
        return Inline(cohort, epsilon, coins).run(algorithm)


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
    "logistic": {
        "rows less the public mean": PublishedLogistic(),
        "rows as they are": PublishedLogistic(centre="none"),
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
        stated = stated_errors(self.dataset, self.learner, epsilon)
        distances = [abs(own - paper) for own, paper in zip(ends[2:], stated, strict=False)]
        gap = float(np.mean(distances)) if distances else None
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


def stated_errors(dataset: str, learner: str, epsilon: float | None) -> tuple[float, ...]:
    """What the paper states of the first base learner, and of ten; nothing where it is silent."""
    first = FIRST_ERRORS.get((dataset, learner, epsilon or 0.0))
    return CURVES.get((dataset, learner, epsilon), () if first is None else (first,))


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
