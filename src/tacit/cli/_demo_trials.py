"""The demonstration's people and trials: what owners add, by the default with either trust, and by
boosting.

The people are GENERATED: no row is a person. Both problems (one in numbers, one a table like those
that users have) are drawn with public seeds; they need no file and no network. Methods see the same
owners, the same public rows and the same tests in every run. The data user's rows alone and all
rows in one place, without any privacy, are the levels to compare with.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from os import cpu_count
from pathlib import Path
from typing import TypeAlias

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.algorithms.boosting import OwnSample, Schedule, boost
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.estimators.measures import Figure, Measures, measure
from tacit.learners.learner import ReportTerms
from tacit.learners.owners.centroid import Centroid
from tacit.mechanisms.streams import Stream
from tacit.sums import HOW, NOBODY

Chances: TypeAlias = Callable[[FloatArray], FloatArray]  # of classes, for encoded rows
FEATURES, INFORMATIVE = 20, 10  # columns, and those that say something
_PROBLEM = 83  # of `make_classification`, whose problems differ widely: neither easy nor hopeless
_TEST_ROWS = 10_000  # half a point of accuracy is seen
LABEL = "income"
FILES = {"people.csv": (2, 40_000), "mine.csv": (3, 60), "test.csv": (4, 5_000)}  # seed, rows
FILES |= {"north.csv": (5, 5_000), "south.csv": (6, 5_000), "west.csv": (7, 5_000)}
CAMPAIGN = f"""\
kind = "sites"             # thousands of people or devices: leave it out, and say owners = 20000
name = "Who earns more"
sample = "mine.csv"        # the data user's own rows
label = "{LABEL}"
epsilon = 2.0
start = 3                  # the question is put when so many have enrolled
"""
_TOWNS = ("Arden", "Brook", "Crest", "Dale", "Elm", "Ford")
_SCHOOLS = ("none", "primary", "secondary", "college")
_WORK = ("farm", "factory", "office", "shop", "care")


@dataclass(frozen=True, eq=False)
class MadeUpRows:
    """Rows of owners, of the data user, and to test on: features in [-1, 1] by the public rows."""

    X: FloatArray
    y: IntArray
    X_public: FloatArray
    y_public: IntArray
    X_test: FloatArray
    y_test: IntArray

    def cohort(self, owners: int, rows: int, run: int) -> Cohort:
        """Owners of equal size with rows dealt out at random."""
        order = np.random.default_rng([run, 2]).permutation(len(self.y))[: owners * rows]
        return Cohort(self.X[order], self.y[order], np.arange(owners + 1) * rows)

    def public(self, rows: int, run: int) -> Public:
        """So many of the data user's rows, drawn anew for each run."""
        order = np.random.default_rng([run, 1]).permutation(len(self.y_public))[:rows]
        return Public(self.X_public[order], self.y_public[order], 2)


def population(owned_rows: int, public_rows: int) -> MadeUpRows:
    """Two classes around corners of a cube, with rows for everybody."""
    public = max(public_rows, 2_000)
    X, y = make_classification(
        owned_rows + public + _TEST_ROWS,
        n_features=FEATURES,
        n_informative=INFORMATIVE,
        n_redundant=FEATURES - INFORMATIVE,
        random_state=_PROBLEM,
    )
    low, high = X[:public].min(axis=0), X[:public].max(axis=0)
    X = np.clip(2 * (X - low) / (high - low) - 1, -1, 1)
    y = y.astype(np.int64)
    test = public + _TEST_ROWS
    return MadeUpRows(
        X[test:],
        y[test:],
        X[:public],
        y_public=y[:public],
        X_test=X[public:test],
        y_test=y[public:test],
    )


def people(rows: int, seed: int) -> dict[str, AnyArray]:
    """Columns of a small survey: numbers, texts, truth values, gaps; income depends on most of
    them.
    """
    rng = np.random.default_rng([seed, _PROBLEM])
    age = rng.integers(18, 80, rows)
    town = rng.integers(0, len(_TOWNS), rows)
    school = np.clip(rng.normal(1.9 - (age - 45) / 60, 0.9, rows).round(), 0, 3).astype(int)
    work = rng.integers(0, len(_WORK), rows)
    hours = np.clip(rng.normal(38, 9, rows), 0, 80).round()
    married = rng.random(rows) < 0.35 + 0.005 * (age - 18)
    level = 0.05 * (hours - 38) + 0.9 * (school - 1.6) - (age - 50.0) ** 2 / 700 + 0.3 * married
    level += np.array([0.4, -0.3, 0.0, 0.2, -0.5, 0.1])[town]
    level += np.array([-0.9, 0.0, 0.6, -0.2, -0.1])[work] + 0.7
    high = rng.logistic(0, 0.8, rows) < level
    told = np.where(rng.random(rows) < 0.03, "", hours.astype(int).astype(str))  # some do not say
    return {
        "age": age,
        "town": np.array(_TOWNS)[town],
        "school": np.array(_SCHOOLS)[school],
        "work": np.array(_WORK)[work],
        "hours": told,
        "married": married,
        LABEL: np.where(high, "above", "below"),
    }


def write_files(folder: Path) -> None:
    """people.csv (each row an owner), mine.csv (public), test.csv, and new.csv without incomes; of
    three sites their tables, and a campaign that asks them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, (seed, rows) in FILES.items():
        columns = people(rows, seed)
        _write_csv(folder / name, columns)
        if name == "test.csv":
            known = {key: values for key, values in columns.items() if key != LABEL}
            _write_csv(folder / "new.csv", known)
    (folder / "campaign.toml").write_text(CAMPAIGN, encoding="utf-8")


def _write_csv(path: Path, columns: Mapping[str, AnyArray]) -> None:
    values = (column.tolist() for column in columns.values())
    rows: Iterable[tuple[object, ...]] = zip(*values, strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(columns)
        lines.writerows(rows)


OURS, SUMMED, BOOSTED = "tacit", "tacit, two servers", "boosted centroids"
PUBLIC, TOGETHER = "public rows alone", "all rows in one place, no privacy"
METHODS = (OURS, SUMMED, PUBLIC, BOOSTED, TOGETHER)
_SUMMED = (
    2  # budgets, the smallest, at which two servers are tried, in the first run: it takes long
)
_ROUNDS, _ATTEMPTS = 10, 10  # of boosting


@dataclass(frozen=True)
class DemoSetting:
    """How many owners of how many rows, the data user's rows, the budgets, the runs."""

    owners: int = 20_000
    rows: int = 4
    public_rows: int = 200
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    runs: int = 3

    @property
    def trials(self) -> int:
        """How many accuracies there will be."""
        return self.runs * (1 + 2 * len(self.epsilons)) + len(self.epsilons[:_SUMMED]) + 1

    def attempts(self, run: int) -> Iterator[tuple[str, float]]:
        """Methods and budgets of a run, those that take longest first."""
        if run == 0:
            yield from ((SUMMED, epsilon) for epsilon in self.epsilons[:_SUMMED])
        yield from product((OURS, BOOSTED), self.epsilons)


@dataclass(frozen=True)
class Trial:
    """One method in one run, measured on the test rows."""

    run: int
    method: str
    epsilon: float | None
    measures: Measures

    @property
    def accuracy(self) -> float:
        return self.measures["accuracy"].value


@dataclass(frozen=True)
class DemoRow:
    """Accuracy of a method at an epsilon (None: it needs none), mean and spread over runs; all
    that people measure, in the first of them.
    """

    method: str
    epsilon: float | None
    mean: float
    std: float
    runs: int
    owners: int
    rows_per_owner: int
    public_rows: int
    first: Measures


@dataclass(frozen=True, eq=False)
class _Run:
    """What all methods of one run have in common."""

    number: int
    setting: DemoSetting
    everybody: MadeUpRows
    cohort: Cohort
    public: Public
    own: PublicModel


def trials(setting: DemoSetting, everybody: MadeUpRows, stream: Stream) -> Iterator[Trial]:
    """Every accuracy as soon as it is known, run by run, on all cores."""
    with ThreadPoolExecutor(cpu_count()) as pool:
        for number in range(setting.runs):
            public = everybody.public(setting.public_rows, number)
            cohort = everybody.cohort(setting.owners, setting.rows, number)
            run = _Run(
                number, setting, everybody, cohort=cohort, public=public, own=fit_public(public)
            )
            yield Trial(number, PUBLIC, None, _measure(everybody, run.own.model.probabilities))
            waiting = [
                pool.submit(_try, run, name, epsilon, stream)
                for name, epsilon in setting.attempts(number)
            ]
            try:
                for done in as_completed(waiting):
                    yield done.result()
            finally:
                for each in waiting:
                    each.cancel()
        rows = setting.owners * setting.rows
        pooled = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
        pooled.fit(everybody.X[:rows], everybody.y[:rows])
        yield Trial(0, TOGETHER, None, _measure(everybody, pooled.predict_proba))


def summarise(setting: DemoSetting, found: Iterable[Trial]) -> list[DemoRow]:
    """Means and spreads of what was found so far, method by method."""
    grouped: dict[tuple[str, float | None], list[Trial]] = {}
    for trial in sorted(found, key=lambda each: (each.run, each.epsilon or 0.0)):
        grouped.setdefault((trial.method, trial.epsilon), []).append(trial)
    order = sorted(grouped, key=lambda key: (METHODS.index(key[0]), key[1] or 0))
    return [_row(setting, *key, grouped[key]) for key in order]


def _row(setting: DemoSetting, method: str, epsilon: float | None, found: list[Trial]) -> DemoRow:
    values = [trial.accuracy for trial in found]
    return DemoRow(
        method=method,
        epsilon=epsilon,
        mean=float(np.mean(values)),
        std=float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        runs=len(values),
        owners=setting.owners,
        rows_per_owner=setting.rows,
        public_rows=setting.public_rows,
        first=found[0].measures,
    )


def _try(run: _Run, method: str, epsilon: float, stream: Stream) -> Trial:
    coins = stream.child("demo", method, str(epsilon), run.number)
    chances = (
        _boost(run, epsilon, coins) if method == BOOSTED else _refine(run, method, epsilon, coins)
    )
    return Trial(run.number, method, epsilon, _measure(run.everybody, chances))


def _refine(run: _Run, method: str, epsilon: float, stream: Stream) -> Chances:
    """The default: the data user's own model, refined by what all owners say, each in noise of its
    own, or added up by two servers.
    """
    trust = HOW if method == SUMMED else NOBODY
    crowd = Population(run.setting.owners, epsilon, run.setting.rows, trust)
    asks = refine(run.public, crowd, "auto", epsilon, own=run.own)
    return Inline(run.cohort, epsilon, stream).run(asks).model.probabilities


def _boost(run: _Run, epsilon: float, stream: Stream) -> Chances:
    """Ten rounds of boosted centroids, made sound, each of a tenth of the owners."""
    learner = Centroid()
    facts = learner.facts(run.public)
    terms = ReportTerms.of("auto", learner.space(facts), epsilon)
    schedule = Schedule(_ROUNDS, run.setting.owners // _ROUNDS, _ATTEMPTS)
    asks = boost(learner, facts, terms, OwnSample(run.public), schedule)
    ensemble = Inline(run.cohort, epsilon, stream).run(asks).ensemble
    frequencies = np.bincount(run.public.y, minlength=2) / len(run.public.y)
    return lambda X: ensemble.parts(ensemble.votes(X), frequencies)


def _measure(everybody: MadeUpRows, chances: Chances) -> Measures:
    found = measure(chances(everybody.X_test), everybody.y_test)
    # threads of the linear algebra add up in any order: the last digits differ between runs
    figures = (
        Figure(each.name, round(each.value, 9), round(each.error, 9)) for each in found.figures
    )
    return Measures(found.rows, tuple(figures))
