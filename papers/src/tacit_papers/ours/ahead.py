"""Ahead of the papers: one good share per owner against boosting, and against the data user's own
sample, side by side.

In every run all methods see the same owners and the same features. Paper A's best is the best mean
over its three learners, as published (simulated, unsound) and sound, at epsilon 7; ours run at
smaller epsilon, labels protected: pure epsilon-LDP where owners trust nobody, delta 1e-6 where
they trust that one of two servers is honest. A cell is one run on one task with one size of the
data user's sample; `ahead_rows` makes means and deviations of the runs that are there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.algorithms.boosting import OwnSample, Schedule, boost
from tacit.algorithms.outlook import Outlook, look_ahead
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import discriminate, refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import Learner, ReportTerms
from tacit.learners.models.scores import ScoreModel
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import Stream, seeded
from tacit.sums import HOW, NOBODY
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit_papers.ours.tasks import (
    QUICK_PUBLIC_ROWS,
    SIZES,
    Task,
    coins_of,
    public_sizes,
    seconds_of,
    shift_features,
    skew_labels,
    task_for,
)
from tacit_papers.runner import Cell

_ON_DEMAND = ("clusters 1e6", "clusters 1e7", "board 1e5", "board 1e6")  # only when named
DATASETS = tuple(name for name in SIZES if name not in _ON_DEMAND)
EPSILONS = (0.5, 1.0, 2.0)
METHODS = {"combined": NOBODY, "two servers": HOW}  # whom owners trust
PAPER_EPSILON = 7.0
OWNERS = ("alike", "labels 0.1", "labels 0.5", "shifted")
RUNS, QUICK_RUNS = 10, 2
_SKEW_EPSILON = 1.0
_SKEWED = ("mnist 4 or 9", "synthetic")
_ROUNDS, _ATTEMPTS = 10, 10
_LINEAR = 200_000  # owners up to whom private only is asked: it is linear
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
    """Accuracy of one method in one run; `foreseen` is the rise that the plan promised before
    anybody was asked, 0 where it said not to collect.
    """

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
    foreseen: float | None = None


@dataclass(frozen=True, kw_only=True)
class AheadCell(Cell):
    """Run number `run` of all methods on one task, with owners of one kind and so many public
    rows, at these epsilons, ours and the papers'.
    """

    paper: ClassVar[str] = "ahead"

    owners_kind: str
    public_rows: int
    run: int
    epsilons: tuple[float, ...]
    papers: tuple[float, ...]

    def rows(self) -> Iterator[AheadRun]:
        task = task_for(self.dataset, self.quick)
        public = task.public(self.public_rows, self.run)
        cohort = _deal(task, self.owners_kind, self.run)
        trial = _Trial(task, cohort, public, seeded(self.seed), self.run)
        for method, epsilon, accuracy, foreseen in self._accuracies(trial):
            learner = LEARNERS.get(method.removeprefix("paper A: "))
            yield AheadRun(
                dataset=self.dataset,
                owners_kind=self.owners_kind,
                run=self.run,
                method=method,
                epsilon=epsilon,
                public_rows=self.public_rows,
                owners=task.owners,
                rows_per_owner=task.rows,
                accuracy=accuracy,
                unsound="" if learner is None else learner.unsound,
                foreseen=foreseen,
            )

    def _accuracies(
        self, trial: "_Trial"
    ) -> Iterator[tuple[str, float | None, float, float | None]]:
        """Method, epsilon, accuracy, and what the plan foresaw."""
        own = fit_public(trial.public)
        yield "public only", None, trial.accuracy_of(own.model), None
        for method, trust in METHODS.items():
            look: Outlook | None = None
            for epsilon in self.epsilons:
                crowd = Population(len(trial.cohort), epsilon, trial.task.rows, trust)
                look = (  # of sums the start is the same for all
                    look_ahead(trial.public, own, crowd) if look is None else look.among(crowd)
                )
                yield method, epsilon, *trial.refine(method, look)
        if len(trial.cohort) <= _LINEAR:
            for epsilon in self.epsilons:
                yield "private only", epsilon, trial.discriminate(own, epsilon), None
        for epsilon in self.papers:
            for name, learner in LEARNERS.items():  # as published, two classes only
                if trial.task.split.classes == 2 or not learner.unsound:
                    yield f"paper A: {name}", epsilon, trial.boost(name, epsilon), None

    @property
    def title(self) -> str:
        rows = f"{self.public_rows:,} public rows"
        return f"{self.dataset}, owners {self.owners_kind}, {rows}, run {self.run + 1}"


def ahead_cells(quick: bool, seed: int, datasets: Iterable[str]) -> list[Cell]:
    """Ten runs of every task with every size of the data user's sample, the first runs of all
    tasks first; quick: two of made-up rows. Skewed owners with most public rows only.
    """
    cells: list[Cell] = []
    for run in range(QUICK_RUNS if quick else RUNS):
        for name in ["synthetic"] if quick else datasets:
            sizes = QUICK_PUBLIC_ROWS if quick else public_sizes(name)
            most = max(sizes)
            papers = () if name.startswith("clusters") else (PAPER_EPSILON,)  # linear: no use there
            epsilons = (0.01, 1.0) if quick else EPSILONS
            kinds: list[tuple[str, int, tuple[float, ...], tuple[float, ...]]] = [
                ("alike", size, epsilons, papers if size == most else ()) for size in sizes
            ]
            if name in _SKEWED and not quick:
                skewed = (_SKEW_EPSILON,)
                kinds += [(kind, most, skewed, skewed) for kind in OWNERS[1:]]
            cells += [
                AheadCell(
                    where="ahead",
                    dataset=name,
                    runs=1,
                    seed=seed,
                    quick=quick,
                    cost=seconds_of(name, quick) * len(ours) / len(epsilons),
                    owners_kind=kind,
                    public_rows=size,
                    run=run,
                    epsilons=ours,
                    papers=theirs,
                )
                for kind, size, ours, theirs in kinds
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
    """The owners of one run, whom every method asks, and the data user's sample."""

    task: Task
    cohort: Cohort
    public: Public
    stream: Stream
    run: int

    def accuracy_of(self, model: ScoreModel) -> float:
        return self.task.accuracy(model.predict(self.task.split.X_test))

    def refine(self, method: str, look: Outlook) -> tuple[float, float]:
        """Accuracy of the combination, and what the plan foresaw."""
        crowd = look.combination.population
        asks = refine(self.public, crowd, "auto", crowd.epsilon, outlook=look)
        refined = Inline(self.cohort, crowd.epsilon, self._coins(method, crowd.epsilon)).run(asks)
        return self.accuracy_of(refined.model), look.promised

    def discriminate(self, own: PublicModel, epsilon: float) -> float:
        """Private only: a linear model."""
        crowd = Population(len(self.cohort), epsilon, self.task.rows)
        asks = discriminate(self.public, crowd, "auto", epsilon, own)
        coins = self._coins("private only", epsilon)
        return self.accuracy_of(Inline(self.cohort, epsilon, coins).run(asks).model)

    def boost(self, name: str, epsilon: float) -> float:
        """Accuracy of ten rounds of a tenth of the owners; of the larger class where all fail."""
        learner, split, public = LEARNERS[name], self.task.split, self.public
        facts = learner.facts(public)
        mechanism = "piecewise" if learner.unsound else "auto"
        terms = ReportTerms.of(mechanism, learner.space(facts), epsilon)
        schedule = Schedule(_ROUNDS, len(self.cohort) // _ROUNDS, _ATTEMPTS)
        asks = boost(learner, facts, terms, OwnSample(public), schedule)
        boosted = Inline(self.cohort, epsilon, self._coins(name, epsilon)).run(asks)
        if not len(boosted.ensemble):
            return self.task.accuracy(np.full(len(split.y_test), np.bincount(public.y).argmax()))
        return self.task.accuracy(boosted.ensemble.predict(split.X_test))

    def _coins(self, method: str, epsilon: float) -> Stream:
        path = (self.task.name, epsilon, len(self.public.y), self.run)
        return coins_of(self.stream, method, *path)


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
