"""Ahead of the papers: one good share per owner against boosting, and against the data user's own sample, side by side.

In every run all methods see the same owners and the same features. Paper A's best is the best mean over its three
learners, as published (simulated, unsound) and sound, at epsilon 7; ours run at smaller epsilon, labels protected, pure
epsilon-LDP.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count

import numpy as np

from tacit.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.ensembles.boosting import OwnSample, boost
from tacit.ensembles.combination import Crowd
from tacit.ensembles.public_model import PublicModel, fit_public
from tacit.ensembles.refine import discriminate, refine
from tacit.experiments.ahead_tasks import SIZES, Task, coins_of, quick_task, shifted, skewed, task_of
from tacit.learners.base import Learner, Public, Terms
from tacit.learners.centroid import Centroid
from tacit.learners.invitation import report_size
from tacit.learners.logistic import Logistic
from tacit.learners.published import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit.learners.stump import Stump
from tacit.streams import Stream, seeded

Progress = Callable[[int, int, str], None]  # steps done, steps in all, what was done

_ON_DEMAND = ("clusters 1e6", "clusters 1e7", "board 1e5", "board 1e6")  # only when named
DATASETS = tuple(name for name in SIZES if name not in _ON_DEMAND)
EPSILONS = (0.01, 0.5, 1.0)
PAPER_EPSILON = 7.0
OWNERS = ("alike", "labels 0.1", "labels 0.5", "shifted")
_SKEW_EPSILON = 1.0
_SKEWED = ("mnist 4 or 9", "synthetic")
_ROUNDS, _ATTEMPTS = 10, 10
LEARNERS: dict[str, Learner] = {
    "centroid, as published": PublishedCentroid(),
    "stump, as published": PublishedStump(),
    "logistic, as published": PublishedLogistic(),
    "centroid": Centroid(),
    "stump": Stump(),
    "logistic": Logistic(),
}


@dataclass(frozen=True)
class AheadRow:
    """Accuracy of one method on one task, mean and standard deviation over runs.

    `rise` is the mean difference to the data user's own model in the same runs, `rise_error` its standard error.
    `owners_kind` says how rows were dealt: "alike", by Dirichlet skew of labels, or with features shifted owner by
    owner.
    """

    dataset: str
    method: str
    owners_kind: str
    epsilon: float | None
    public_rows: int
    owners: int
    rows_per_owner: int
    runs: int
    mean: float
    std: float
    rise: float
    rise_error: float
    unsound: str


@dataclass(frozen=True)
class _Job:
    task: Task
    owners_kind: str
    epsilons: tuple[float, ...]
    papers: tuple[float, ...]
    runs: int


def reproduce_ahead(
    quick: bool,
    seed: int = 1,
    datasets: Iterable[str] = DATASETS,
    progress: Progress = lambda done, total, what: None,
) -> Iterator[AheadRow]:
    """Rows of all tasks; quick: two runs on made-up rows. `progress` hears of every run."""
    names = list(datasets)
    runs = 2 if quick else 10
    kinds = 1 if quick else sum(len(OWNERS) if name in _SKEWED else 1 for name in names)
    done, total = 0, kinds * runs

    def tick(what: str) -> None:
        nonlocal done
        done += 1
        progress(done, total, what)

    stream = seeded(seed)
    if quick:
        yield from _rows(_Job(quick_task(), "alike", (0.01, 1.0), (PAPER_EPSILON,), runs), stream, tick)
        return
    for name in names:
        task = task_of(name)
        epsilons, papers = (EPSILONS, (PAPER_EPSILON,)) if not name.startswith("clusters") else ((1.0,), ())
        yield from _rows(_Job(task, "alike", epsilons, papers, runs), stream, tick)
        for kind in OWNERS[1:] if name in _SKEWED else ():
            yield from _rows(_Job(task, kind, (_SKEW_EPSILON,), (_SKEW_EPSILON,), runs), stream, tick)


def best_of_paper(rows: Iterable[AheadRow], dataset: str) -> AheadRow | None:
    """The best of paper A's learners on a task, sound or not, where rows are dealt alike."""
    own = [
        row for row in rows if (row.dataset, row.owners_kind) == (dataset, "alike") and row.method.startswith("paper A")
    ]
    return max(own, key=lambda row: row.mean, default=None)


def bytes_of(task: Task) -> int:
    """What one owner sends when combining, header included."""
    public = task.public(max(task.public_rows), 0)
    asks = refine(public, Crowd(10_000_000, 1.0, task.rows), "auto", 1.0)
    return report_size(next(asks))


def _rows(job: _Job, stream: Stream, tick: Callable[[str], None]) -> list[AheadRow]:
    task = job.task
    found: dict[tuple[str, float | None, int], list[float]] = {}
    for run in range(job.runs):
        cohort = _dealt(task, job.owners_kind, run)
        for rows in task.public_rows:
            public = task.public(rows, run)
            own = fit_public(public)
            alone = task.accuracy(own.model.predict(task.split.X_test))
            found.setdefault(("public only", None, rows), []).append(alone)
            for epsilon in job.epsilons:
                for method, accuracy in _ours(task, public, own, cohort, epsilon, stream, run):
                    found.setdefault((method, epsilon, rows), []).append(accuracy)
        most = max(task.public_rows)
        for epsilon in job.papers:
            for method, accuracy in _papers(task, task.public(most, run), cohort, epsilon, stream, run):
                found.setdefault((f"paper A: {method}", epsilon, most), []).append(accuracy)
        tick(f"{task.name}, owners {job.owners_kind}, run {run + 1}")
    return [_row(job, *key, values, found[("public only", None, key[2])]) for key, values in found.items()]


def _dealt(task: Task, kind: str, run: int) -> Cohort:
    cohort = task.cohort(run)
    if kind.startswith("labels"):
        return skewed(cohort, task.split.classes, float(kind.split()[1]), run)
    return shifted(cohort, 0.3, run) if kind == "shifted" else cohort


def _ours(
    task: Task, public: Public, own: PublicModel, cohort: Cohort, epsilon: float, stream: Stream, run: int
) -> Iterator[tuple[str, float]]:
    """Private only and combined, at one epsilon; private only is not asked where rows are many: it is linear."""
    crowd = Crowd(len(cohort), epsilon, task.rows)
    path = (task.name, epsilon, len(public.y), run)
    asks = {"combined": refine(public, crowd, "auto", epsilon, own=own)}
    if len(cohort) <= 200_000:
        asks["private only"] = discriminate(public, crowd, "auto", epsilon, own)
    for method, generator in asks.items():
        refined = Inline(cohort, epsilon, coins_of(stream, method, *path)).run(generator)
        yield method, task.accuracy(refined.model.predict(task.split.X_test))


def _papers(
    task: Task, public: Public, cohort: Cohort, epsilon: float, stream: Stream, run: int
) -> Iterator[tuple[str, float]]:
    """Boosting with each of paper A's learners: ten rounds of a tenth of the owners; as published, two classes only."""

    def accuracy(name: str) -> float:
        learner = LEARNERS[name]
        facts = learner.facts(public)
        mechanism = "piecewise" if learner.unsound else "auto"
        terms = Terms.of(mechanism, learner.space(facts), epsilon)
        asks = boost(learner, facts, terms, OwnSample(public), _ROUNDS, len(cohort) // _ROUNDS, _ATTEMPTS)
        boosted = Inline(cohort, epsilon, coins_of(stream, name, task.name, epsilon, run)).run(asks)
        if not len(boosted.ensemble):
            return task.accuracy(np.full(len(task.split.y_test), np.bincount(public.y).argmax()))
        return task.accuracy(boosted.ensemble.predict(task.split.X_test))

    names = [name for name, learner in LEARNERS.items() if task.split.classes == 2 or not learner.unsound]
    with ThreadPoolExecutor(cpu_count()) as pool:
        yield from zip(names, pool.map(accuracy, names), strict=True)


def _row(
    job: _Job, method: str, epsilon: float | None, public_rows: int, values: list[float], alone: list[float]
) -> AheadRow:
    rises = np.array(values) - np.array(alone)
    spread = float(rises.std(ddof=1)) if len(rises) > 1 else 0.0
    learner = LEARNERS.get(method.removeprefix("paper A: "))
    return AheadRow(
        dataset=job.task.name,
        method=method,
        owners_kind=job.owners_kind,
        epsilon=epsilon,
        public_rows=public_rows,
        owners=job.task.owners,
        rows_per_owner=job.task.rows,
        runs=len(values),
        mean=float(np.mean(values)),
        std=float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        rise=float(rises.mean()),
        rise_error=spread / float(np.sqrt(len(rises))),
        unsound="" if learner is None else learner.unsound,
    )
