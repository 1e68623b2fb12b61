"""Ahead of the papers: one good share per owner against boosting, and against the data user's own
sample, side by side.

In every run all methods see the same owners and the same features. Paper A's best is the best mean
over its three learners, as published (simulated, unsound) and sound, at epsilon 7; ours run at
smaller epsilon, labels protected, pure epsilon-LDP. A cell is one run on one task; `ahead_rows`
makes means and deviations of the runs that are there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tacit.algorithms.boosting import OwnSample, Schedule, boost
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import discriminate, refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import Learner, ReportTerms
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit_papers.ours.tasks import (
    SIZES,
    Task,
    coins_of,
    seconds_of,
    shift_features,
    skew_labels,
    task_for,
)
from tacit_papers.runner import Cell

_ON_DEMAND = ("clusters 1e6", "clusters 1e7", "board 1e5", "board 1e6")  # only when named
DATASETS = tuple(name for name in SIZES if name not in _ON_DEMAND)
EPSILONS = (0.01, 0.5, 1.0)
PAPER_EPSILON = 7.0
OWNERS = ("alike", "labels 0.1", "labels 0.5", "shifted")
RUNS, QUICK_RUNS = 10, 2
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

    `rise` is the mean difference to the data user's own model in the same runs, `rise_error` its
    standard error. `owners_kind` says how rows were dealt: "alike", by Dirichlet skew of labels, or
    with features shifted owner by owner.
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
class AheadRun:
    """Accuracy of one method in one run."""

    dataset: str
    owners_kind: str
    run: int
    method: str
    epsilon: float | None
    public_rows: int
    owners: int
    rows_per_owner: int
    accuracy: float
    unsound: str


@dataclass(frozen=True, kw_only=True)
class AheadCell(Cell):
    """Run number `run` of all methods on one task, with owners of one kind, at these epsilons,
    ours and the papers'.
    """

    paper: ClassVar[str] = "ahead"

    owners_kind: str
    run: int
    epsilons: tuple[float, ...]
    papers: tuple[float, ...]

    def rows(self) -> Iterator[AheadRun]:
        task = task_for(self.dataset, self.quick)
        for method, epsilon, public_rows, accuracy in self._accuracies(task, seeded(self.seed)):
            learner = LEARNERS.get(method.removeprefix("paper A: "))
            unsound = "" if learner is None else learner.unsound
            yield AheadRun(
                dataset=self.dataset,
                owners_kind=self.owners_kind,
                run=self.run,
                method=method,
                epsilon=epsilon,
                public_rows=public_rows,
                owners=task.owners,
                rows_per_owner=task.rows,
                accuracy=accuracy,
                unsound=unsound,
            )

    def _accuracies(
        self, task: Task, stream: Stream
    ) -> Iterator[tuple[str, float | None, int, float]]:
        """Method, epsilon, public rows and accuracy."""
        cohort = _deal(task, self.owners_kind, self.run)
        trial = _Trial(task, cohort, stream, self.run)
        for rows in task.public_rows:
            public = task.public(rows, self.run)
            own = fit_public(public)
            yield "public only", None, rows, task.accuracy(own.model.predict(task.split.X_test))
            for epsilon in self.epsilons:
                for method, accuracy in trial.ours(public, own, epsilon):
                    yield method, epsilon, rows, accuracy
        most = max(task.public_rows)
        for epsilon in self.papers:
            for method, accuracy in trial.papers(task.public(most, self.run), epsilon):
                yield f"paper A: {method}", epsilon, most, accuracy

    @property
    def title(self) -> str:
        return f"{self.dataset}, owners {self.owners_kind}, run {self.run + 1}"


def ahead_cells(quick: bool, seed: int, datasets: Iterable[str]) -> list[Cell]:
    """Ten runs of every task; quick: two of made-up rows."""
    cells: list[Cell] = []
    for name in ["synthetic"] if quick else datasets:
        linear = name.startswith("clusters")  # there the papers' learners have nothing to show
        epsilons = (0.01, 1.0) if quick else (1.0,) if linear else EPSILONS
        kinds = [("alike", epsilons, () if linear else (PAPER_EPSILON,))]
        if name in _SKEWED and not quick:
            kinds += [(kind, (_SKEW_EPSILON,), (_SKEW_EPSILON,)) for kind in OWNERS[1:]]
        for kind, ours, papers in kinds:
            cells += [
                AheadCell(
                    where="ahead",
                    dataset=name,
                    runs=1,
                    seed=seed,
                    quick=quick,
                    cost=seconds_of(name, quick) * (1.0 if kind == "alike" else 0.6),
                    owners_kind=kind,
                    run=run,
                    epsilons=ours,
                    papers=papers,
                )
                for run in range(QUICK_RUNS if quick else RUNS)
            ]
    return cells


def ahead_rows(runs: Iterable[AheadRun]) -> list[AheadRow]:
    """Means over the runs that are there, in their order, run by run beside the data user's own
    model.
    """
    found: dict[tuple[str, str, str, float | None, int], list[AheadRun]] = {}
    for each in sorted(runs, key=lambda each: each.run):
        key = (each.dataset, each.owners_kind, each.method, each.epsilon, each.public_rows)
        found.setdefault(key, []).append(each)
    rows = []
    for (dataset, kind, _, _, public_rows), own in found.items():
        alone = {
            each.run: each.accuracy
            for each in found[dataset, kind, "public only", None, public_rows]
        }
        rows.append(_row(own, [alone[each.run] for each in own]))
    order = {name: place for place, name in enumerate(SIZES)}
    return sorted(
        rows, key=lambda row: (order.get(row.dataset, len(order)), OWNERS.index(row.owners_kind))
    )


def best_of_paper(rows: Iterable[AheadRow], dataset: str) -> AheadRow | None:
    """The best of paper A's learners on a task, sound or not, where rows are dealt alike."""
    own = [
        row
        for row in rows
        if (row.dataset, row.owners_kind) == (dataset, "alike") and row.method.startswith("paper A")
    ]
    return max(own, key=lambda row: row.mean, default=None)


def _deal(task: Task, kind: str, run: int) -> Cohort:
    cohort = task.cohort(run)
    if kind.startswith("labels"):
        return skew_labels(cohort, task.split.classes, float(kind.split()[1]), run)
    return shift_features(cohort, 0.3, run) if kind == "shifted" else cohort


@dataclass(frozen=True, eq=False)
class _Trial:
    """The owners of one run, whom every method asks."""

    task: Task
    cohort: Cohort
    stream: Stream
    run: int

    def ours(self, public: Public, own: PublicModel, epsilon: float) -> Iterator[tuple[str, float]]:
        """Private only, combined, and combined by sums of two servers (delta 1e-6), at one epsilon;
        private only is not asked where rows are many: it is linear.
        """
        crowd = Population(len(self.cohort), epsilon, self.task.rows)
        path = (self.task.name, epsilon, len(public.y), self.run)
        summed = replace(crowd, trust="two servers")
        asks = {
            "combined": refine(public, crowd, "auto", epsilon, own=own),
            "two servers": refine(public, summed, "auto", epsilon, own=own),
        }
        if len(self.cohort) <= 200_000:
            asks["private only"] = discriminate(public, crowd, "auto", epsilon, own)
        for method, generator in asks.items():
            coins = coins_of(self.stream, method, *path)
            refined = Inline(self.cohort, epsilon, coins).run(generator)
            yield method, self.task.accuracy(refined.model.predict(self.task.split.X_test))

    def papers(self, public: Public, epsilon: float) -> Iterator[tuple[str, float]]:
        """Boosting with each of paper A's learners; as published, two classes only."""
        for name, learner in LEARNERS.items():
            if self.task.split.classes == 2 or not learner.unsound:
                yield name, self._boost(name, public, epsilon)

    def _boost(self, name: str, public: Public, epsilon: float) -> float:
        """Accuracy of ten rounds of a tenth of the owners; of the larger class where all fail."""
        learner, split = LEARNERS[name], self.task.split
        facts = learner.facts(public)
        mechanism = "piecewise" if learner.unsound else "auto"
        terms = ReportTerms.of(mechanism, learner.space(facts), epsilon)
        schedule = Schedule(_ROUNDS, len(self.cohort) // _ROUNDS, _ATTEMPTS)
        asks = boost(learner, facts, terms, OwnSample(public), schedule)
        coins = coins_of(self.stream, name, self.task.name, epsilon, self.run)
        boosted = Inline(self.cohort, epsilon, coins).run(asks)
        if not len(boosted.ensemble):
            return self.task.accuracy(np.full(len(split.y_test), np.bincount(public.y).argmax()))
        return self.task.accuracy(boosted.ensemble.predict(split.X_test))


def _row(own: Sequence[AheadRun], alone: Sequence[float]) -> AheadRow:
    first, values = own[0], np.array([each.accuracy for each in own])
    rises = values - np.array(alone)
    spread = float(rises.std(ddof=1)) if len(rises) > 1 else 0.0
    return AheadRow(
        dataset=first.dataset,
        method=first.method,
        owners_kind=first.owners_kind,
        epsilon=first.epsilon,
        public_rows=first.public_rows,
        owners=first.owners,
        rows_per_owner=first.rows_per_owner,
        runs=len(values),
        mean=float(values.mean()),
        std=float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        rise=float(rises.mean()),
        rise_error=spread / float(np.sqrt(len(rises))),
        unsound=first.unsound,
    )
