"""The demonstration: a population of owners on paper A's own made-up set, its boosting and ours, epsilon by epsilon.

Methods see the same owners, the same public rows and the same tests in every run. Paper A's boosted centroids run as
published (simulated, unsound) and made sound; ours asks for one good share. The data user's rows alone and all rows in
one place, without any privacy, are the levels to compare with.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from os import cpu_count

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from tacit.cohort import Cohort
from tacit.datasets.synthetic import synthetic
from tacit.engines.inline import Inline
from tacit.ensembles.boosting import OwnSample, boost
from tacit.ensembles.combination import Crowd
from tacit.ensembles.public_model import PublicModel, fit_public
from tacit.ensembles.refine import refine
from tacit.experiments.ahead_tasks import Task
from tacit.learners.base import Learner, Public, Terms
from tacit.learners.centroid import Centroid
from tacit.learners.published import PublishedCentroid
from tacit.streams import Stream

OURS, PUBLIC, TOGETHER = "tacit", "public rows alone", "all rows in one place, no privacy"
PAPER: dict[str, tuple[Learner, str]] = {
    "paper A as published": (PublishedCentroid(), "piecewise"),
    "paper A made sound": (Centroid(), "auto"),
}
_ROUNDS, _ATTEMPTS, _TEST_ROWS = 10, 10, 10_000


@dataclass(frozen=True)
class DemoSetting:
    """How many owners of how many rows, the data user's rows, the budgets, and how often everything is run."""

    owners: int = 20_000
    rows: int = 4
    public_rows: int = 200
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    runs: int = 3

    @property
    def trials(self) -> int:
        """How many accuracies there will be."""
        return self.runs * (1 + len(self.epsilons) * (1 + len(PAPER))) + 1


@dataclass(frozen=True)
class Trial:
    """Accuracy of one method in one run."""

    run: int
    method: str
    epsilon: float | None
    accuracy: float


@dataclass(frozen=True)
class DemoRow:
    """Accuracy of a method at an epsilon (None: it needs none), mean and standard deviation over runs."""

    method: str
    epsilon: float | None
    mean: float
    std: float
    runs: int
    owners: int
    rows_per_owner: int
    public_rows: int
    unsound: str


def demo_task(setting: DemoSetting) -> Task:
    """Paper A's made-up set, as many rows as the owners need."""
    split = synthetic(n=max(60_000, 2 * setting.owners * setting.rows))
    return Task("synthetic", split, setting.owners, setting.rows, (setting.public_rows,))


def trials(setting: DemoSetting, task: Task, stream: Stream) -> Iterator[Trial]:
    """Every accuracy as soon as it is known, run by run, on all cores."""
    with ThreadPoolExecutor(cpu_count()) as pool:
        for run in range(setting.runs):
            public, cohort = task.public(setting.public_rows, run), task.cohort(run)
            own = fit_public(public)
            yield Trial(run, PUBLIC, None, _accuracy(task, own.model.predict))
            jobs = [(OURS, epsilon) for epsilon in setting.epsilons]
            jobs += [(method, epsilon) for method in PAPER for epsilon in setting.epsilons]
            waiting = [pool.submit(_trial, task, run, job, public, own, cohort, stream) for job in jobs]
            try:
                for done in as_completed(waiting):
                    yield done.result()
            finally:
                for each in waiting:
                    each.cancel()
        rows = setting.owners * setting.rows
        everything = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
        everything.fit(task.split.X_train[:rows], task.split.y_train[:rows])
        yield Trial(0, TOGETHER, None, _accuracy(task, everything.predict))


def rows_of(setting: DemoSetting, found: Iterable[Trial]) -> list[DemoRow]:
    """Means and spreads of what was found so far, method by method."""
    kept: dict[tuple[str, float | None], list[float]] = {}
    for trial in sorted(found, key=lambda each: (each.run, each.epsilon or 0.0)):
        kept.setdefault((trial.method, trial.epsilon), []).append(trial.accuracy)
    order = (OURS, PUBLIC, *PAPER, TOGETHER)
    return [
        DemoRow(
            method=method,
            epsilon=epsilon,
            mean=float(np.mean(values)),
            std=float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
            runs=len(values),
            owners=setting.owners,
            rows_per_owner=setting.rows,
            public_rows=setting.public_rows,
            unsound=PAPER[method][0].unsound if method in PAPER else "",
        )
        for (method, epsilon), values in sorted(
            kept.items(), key=lambda item: (order.index(item[0][0]), item[0][1] or 0)
        )
    ]


def _trial(
    task: Task, run: int, job: tuple[str, float], public: Public, own: PublicModel, cohort: Cohort, stream: Stream
) -> Trial:
    method, epsilon = job
    engine = Inline(cohort, epsilon, stream.child("demo", method, str(epsilon), run))
    if method == OURS:
        refined = engine.run(refine(public, Crowd(task.owners, epsilon, task.rows), "auto", epsilon, own=own))
        return Trial(run, method, epsilon, _accuracy(task, refined.model.predict))
    learner, mechanism = PAPER[method]
    facts = learner.facts(public)
    terms = Terms.of(mechanism, learner.space(facts), epsilon)
    asks = boost(learner, facts, terms, OwnSample(public), _ROUNDS, task.owners // _ROUNDS, _ATTEMPTS)
    ensemble = engine.run(asks).ensemble
    most = int(np.bincount(public.y).argmax())
    return Trial(
        run, method, epsilon, _accuracy(task, ensemble.predict if len(ensemble) else lambda X: np.full(len(X), most))
    )


def _accuracy(task: Task, predict: Callable[..., object]) -> float:
    """Share of the first tests that are right."""
    return float(np.mean(predict(task.split.X_test[:_TEST_ROWS]) == task.split.y_test[:_TEST_ROWS]))
