"""The demonstration's trials: what owners add, by tacit's default and by boosting, by epsilon.

Methods see the same owners, the same public rows and the same tests in every run. The data user's
rows alone and all rows in one place, without any privacy, are the levels to compare with.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from os import cpu_count

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from tacit.algorithms.boosting import OwnSample, Schedule, boost
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.cli._demo_people import MadeUpRows
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import ReportTerms
from tacit.learners.owners.centroid import Centroid
from tacit.mechanisms.streams import Stream

OURS, BOOSTED = "tacit", "boosted centroids"
PUBLIC, TOGETHER = "public rows alone", "all rows in one place, no privacy"
METHODS = (OURS, PUBLIC, BOOSTED, TOGETHER)
_ROUNDS, _ATTEMPTS = 10, 10


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
        return self.runs * (1 + 2 * len(self.epsilons)) + 1


@dataclass(frozen=True)
class Trial:
    """Accuracy of one method in one run."""

    run: int
    method: str
    epsilon: float | None
    accuracy: float


@dataclass(frozen=True)
class DemoRow:
    """Accuracy of a method at an epsilon (None: it needs none), mean and spread over runs."""

    method: str
    epsilon: float | None
    mean: float
    std: float
    runs: int
    owners: int
    rows_per_owner: int
    public_rows: int


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
            run = _Run(number, setting, everybody, cohort, public, fit_public(public))
            yield Trial(number, PUBLIC, None, _accuracy(everybody, run.own.model.predict))
            waiting = [
                pool.submit(try_out, run, epsilon, stream.child("demo", name, str(epsilon), number))
                for name, try_out in ((OURS, _refine), (BOOSTED, _boost))
                for epsilon in setting.epsilons
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
        yield Trial(0, TOGETHER, None, _accuracy(everybody, pooled.predict))


def summarise(setting: DemoSetting, found: Iterable[Trial]) -> list[DemoRow]:
    """Means and spreads of what was found so far, method by method."""
    accuracies: dict[tuple[str, float | None], list[float]] = {}
    for trial in sorted(found, key=lambda each: (each.run, each.epsilon or 0.0)):
        accuracies.setdefault((trial.method, trial.epsilon), []).append(trial.accuracy)
    order = sorted(accuracies, key=lambda key: (METHODS.index(key[0]), key[1] or 0))
    return [_row(setting, *key, accuracies[key]) for key in order]


def _row(setting: DemoSetting, method: str, epsilon: float | None, values: list[float]) -> DemoRow:
    return DemoRow(
        method=method,
        epsilon=epsilon,
        mean=float(np.mean(values)),
        std=float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        runs=len(values),
        owners=setting.owners,
        rows_per_owner=setting.rows,
        public_rows=setting.public_rows,
    )


def _refine(run: _Run, epsilon: float, stream: Stream) -> Trial:
    """The default: the data user's own model, refined by one share of every owner."""
    crowd = Population(run.setting.owners, epsilon, run.setting.rows)
    asks = refine(run.public, crowd, "auto", epsilon, own=run.own)
    refined = Inline(run.cohort, epsilon, stream).run(asks)
    return Trial(run.number, OURS, epsilon, _accuracy(run.everybody, refined.model.predict))


def _boost(run: _Run, epsilon: float, stream: Stream) -> Trial:
    """Ten rounds of boosted centroids, made sound, each of a tenth of the owners."""
    learner = Centroid()
    facts = learner.facts(run.public)
    terms = ReportTerms.of("auto", learner.space(facts), epsilon)
    schedule = Schedule(_ROUNDS, run.setting.owners // _ROUNDS, _ATTEMPTS)
    asks = boost(learner, facts, terms, OwnSample(run.public), schedule)
    ensemble = Inline(run.cohort, epsilon, stream).run(asks).ensemble
    most = int(np.bincount(run.public.y).argmax())
    predict = ensemble.predict if len(ensemble) else lambda X: np.full(len(X), most)
    return Trial(run.number, BOOSTED, epsilon, _accuracy(run.everybody, predict))


def _accuracy(everybody: MadeUpRows, predict: Callable[..., object]) -> float:
    return float(np.mean(predict(everybody.X_test) == everybody.y_test))
