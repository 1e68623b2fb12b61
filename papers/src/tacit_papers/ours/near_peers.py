"""Paper D's future work: whom to listen to, by a private distance, and what bytes buy.

    everybody            all that is shared is believed (the paper's rho of 2)
    by errors            the paper's rule with a rho that leaves somebody out (eq. 7 and 8): whose
                         shared part fits one's own rows no better than chance
    by private distance  a tenth of epsilon tells distributions apart first; groups that are near
                         to each other learn by themselves, and there by errors, too

In each run all three see the same participants, with the same epsilon in all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.estimators.peer_methods import METHODS, OwnTuning
from tacit.learners.peers.own_model import RHO, RIDGE
from tacit.mechanisms.streams import seeded
from tacit_papers.d.edge import overhear
from tacit_papers.d.tasks import Trial, deal, load_task
from tacit_papers.ours.private_distance import DistanceQuestions, groups_of
from tacit_papers.runner import Cell
from tacit_papers.shared.first_learner import mean_and_spread

EVERYBODY, BY_ERRORS, BY_DISTANCE = "everybody", "by errors", "by private distance"
CHOICES = (EVERYBODY, BY_ERRORS, BY_DISTANCE)
WORLDS = {  # participants whose classes are the opposite
    "all alike": (),
    "three of ten with opposite classes": (3, 5, 7),
    "two halves with opposite classes": (1, 3, 5, 7, 9),
}
EPSILONS, ROUNDS, FEWER = (0.3, 1.0), 30, 10
RUNS, QUICK_RUNS = 3, 2
_PART = 0.1  # of epsilon, for the distance
Group = tuple[int, ...]


@dataclass(frozen=True)
class NearRow:
    """Accuracy of those that are right: of their own models, and of what their group serves, means
    over them and runs; `gain` is how much more accurate own models are than by errors in the same
    runs, with its standard error. `heard` is in bytes for one participant. `parted`: of pairs with
    opposite classes, how many did not hear each other.
    """

    dataset: str
    world: str
    method: str
    choice: str
    epsilon: float
    rounds: int
    own: float
    own_std: float
    served: float
    gain: float
    gain_error: float
    heard: float
    parted: float | None
    runs: int


@dataclass(frozen=True)
class _Found:
    own: float
    served: float
    heard: float
    parted: float


@dataclass(frozen=True, eq=False)
class _Shared:
    """What a group released, and the bytes that each of it sent."""

    group: Group
    released: Any
    sent: Mapping[int, int]


@dataclass(frozen=True, kw_only=True)
class NearCell(Cell):
    """All choices in one world, with one method of sharing."""

    paper: ClassVar[str] = "future"

    world: str
    method: str
    epsilon: float
    rounds: int

    def rows(self) -> list[NearRow]:
        task = load_task(self.dataset, self.quick)
        stream = seeded(self.seed).child("near peers", self.dataset)
        trials = [deal(task, stream.child("run", run)) for run in range(self.runs)]
        found = [self._run(trial) for trial in trials]
        return [self._row(choice, found) for choice in CHOICES]

    def _row(self, choice: str, found: Sequence[Mapping[str, _Found]]) -> NearRow:
        own, std = mean_and_spread([each[choice].own for each in found])
        gain, spread = mean_and_spread([each[choice].own - each[BY_ERRORS].own for each in found])
        served, heard, parted = (
            float(np.mean([getattr(each[choice], name) for each in found]))
            for name in ("served", "heard", "parted")
        )
        return NearRow(
            dataset=self.dataset,
            world=self.world,
            method=self.method,
            choice=choice,
            epsilon=self.epsilon,
            rounds=self.rounds,
            own=own,
            own_std=std,
            served=served,
            gain=gain,
            gain_error=spread / float(np.sqrt(self.runs)),
            heard=heard,
            parted=parted if WORLDS[self.world] else None,
            runs=self.runs,
        )

    def _run(self, trial: Trial) -> dict[str, _Found]:
        """All choices; those without groups hear the same."""
        cohort = with_opposite_classes(trial.cohort, WORLDS[self.world])
        shared = [self._share(trial, cohort, tuple(range(len(cohort))), self.epsilon)]
        questions = DistanceQuestions.of(
            trial.cells.schema,
            len(cohort),
            _PART * self.epsilon,
            trial.stream.child("public coins"),
        )
        groups = groups_of(questions.answers(cohort, trial.stream.child("distance")))
        apart = [self._share(trial, cohort, group, (1 - _PART) * self.epsilon) for group in groups]
        asked = questions.sent * (len(cohort) - 1)
        return {
            EVERYBODY: self._judge(trial, cohort, shared, inf),
            BY_ERRORS: self._judge(trial, cohort, shared, RHO),
            BY_DISTANCE: self._judge(trial, cohort, apart, RHO, asked),
        }

    def _share(self, trial: Trial, cohort: Cohort, group: Group, epsilon: float) -> _Shared:
        kind, held = METHODS[self.method], {who: trial.held[who] for who in group}
        plan = kind.plan(dict.fromkeys(held, epsilon), self.rounds, len(group))
        each = np.array([plan.each.get(who, inf) for who in range(len(cohort))])
        coins = trial.stream.child("public coins", group[0])
        asked: list[Any] = []
        released = Inline(cohort, each, trial.stream).run(
            overhear(kind.algorithm(trial.cells, held, plan, coins, kind.nothing), asked)
        )
        sent = dict.fromkeys(group, 0)
        for query in asked:
            sent[query.owners[0]] += query.blank(1).points.nbytes
        return _Shared(group, released, sent)

    def _judge(
        self, trial: Trial, cohort: Cohort, shared: Sequence[_Shared], rho: float, asked: int = 0
    ) -> _Found:
        """What those in the groups make of it; `asked` bytes were heard before."""
        kind, tuning = METHODS[self.method], OwnTuning(rho, RIDGE)
        hits, heard = list[tuple[float, float]](), list[int]()
        for part in shared:
            served = kind.served(part.released).score(trial.test)
            for who in part.group:
                heard.append(asked + sum(part.sent.values()) - part.sent[who])
                truth = self._truth(trial, who)
                if truth is not None:
                    rows = cohort[who : who + 1]
                    own = kind.own(trial.cells, rows, part.released, tuning, who)
                    hits.append((_hits(own.score(trial.test), truth), _hits(served, truth)))
        own, served = np.mean(hits, axis=0).tolist()
        groups = [part.group for part in shared]
        told_apart = parted(groups, WORLDS[self.world], tuple(range(len(cohort))))
        return _Found(own, served, float(np.mean(heard)), told_apart)

    def _truth(self, trial: Trial, who: int) -> IntArray | None:
        """Classes by which a participant is judged; None for one that is not: where the odd ones
        are a minority they are poisoned, where they are half each side has its own truth.
        """
        odd = WORLDS[self.world]
        if who not in odd:
            return trial.y_test
        return 1 - trial.y_test if 2 * len(odd) == len(trial.cohort) else None


def cells_of_peers(quick: bool, seed: int, dataset: str) -> list[Cell]:
    """Every world, method and epsilon; where all are alike also with fewer rounds, which cost
    fewer bytes. Quick: one of them, of made-up rows.
    """
    settings = [
        (world, method, epsilon, rounds)
        for method in ("stumps", "turns")
        for world in WORLDS
        for epsilon in EPSILONS
        for rounds in ((ROUNDS,) if WORLDS[world] else (FEWER, ROUNDS))
    ]
    if quick:
        settings = [(list(WORLDS)[1], "turns", 1.0, FEWER)]
    return [
        NearCell(
            where="conclusion of D",
            dataset=dataset,
            runs=QUICK_RUNS if quick else RUNS,
            seed=seed,
            quick=quick,
            cost=1.0 if quick else 12.0,
            world=world,
            method=method,
            epsilon=epsilon,
            rounds=rounds,
        )
        for world, method, epsilon, rounds in settings
    ]


def with_opposite_classes(cohort: Cohort, who: Sequence[int]) -> Cohort:
    """The same rows, with the classes of some participants turned round."""
    labels = cohort.y.copy()
    for number in who:
        own = slice(cohort.offsets[number], cohort.offsets[number + 1])
        labels[own] = 1 - labels[own]
    return Cohort(cohort.X, labels, cohort.offsets)


def parted(groups: Sequence[Group], against: Sequence[int], everybody: Group) -> float:
    """Of pairs with opposite classes, the share in different groups; 0 where there are none."""
    place = {who: number for number, group in enumerate(groups) for who in group}
    pairs = [place[p] != place[q] for p in against for q in everybody if q not in against]
    return float(np.mean(pairs)) if pairs else 0.0


def _hits(scores: FloatArray, truth: IntArray) -> float:
    return float(np.mean((scores > 0) == (truth == 1)))
