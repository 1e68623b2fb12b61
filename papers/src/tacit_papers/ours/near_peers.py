"""Paper D's future work: whom to listen to, by a private distance, and what bytes buy.

    everybody            all that is shared is believed (the paper's rho of 2)
    by errors            the paper's rule with a rho that leaves somebody out (eq. 7 and 8): whose
                         shared part fits one's own rows no better than chance
    by private distance  the product's listen_to="alike": a tenth of epsilon tells distributions
                         apart first; circles that are alike learn by themselves, and there by
                         errors, too

In each run all three see the same participants, with the same epsilon in all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.estimators.peer_methods import METHODS, Method, OwnTuning, method_of
from tacit.learners.peers.alike import (
    ALIKE,
    CountClasses,
    circles_of,
    part_for,
    telling_columns,
)
from tacit.learners.peers.own_model import RHO, RIDGE
from tacit.mechanisms.streams import seeded
from tacit_papers.d.edge import overhear
from tacit_papers.d.tasks import Trial, deal, load_task
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
        """All choices; those without circles hear the same."""
        cohort = with_opposite_classes(trial.cohort, WORLDS[self.world])
        together = self._share(trial, cohort, METHODS[self.method])
        columns = telling_columns(trial.cells, Public(trial.X_public, trial.y_public, 2))
        apart = self._share(trial, cohort, method_of(self.method, ALIKE, columns))
        return {
            EVERYBODY: self._judge(trial, cohort, together, inf),
            BY_ERRORS: self._judge(trial, cohort, together, RHO),
            BY_DISTANCE: self._judge(trial, cohort, apart, RHO),
        }

    def _share(self, trial: Trial, cohort: Cohort, kind: Method) -> "_Shared":
        plan = kind.plan(dict.fromkeys(trial.held, self.epsilon), self.rounds, len(cohort))
        most = np.array([plan.most[who] for who in trial.held])
        asked: list[Any] = []
        coins = trial.stream.child("public coins", 0)
        released = Inline(cohort, most, trial.stream).run(
            overhear(kind.algorithm(trial.cells, trial.held, plan, coins, kind.nothing), asked)
        )
        return _Shared(kind, released, asked)

    def _judge(self, trial: Trial, cohort: Cohort, shared: "_Shared", rho: float) -> _Found:
        """What those make of it that are right: what their circle would serve, and their own."""
        kind, tuning = METHODS[self.method], OwnTuning(rho, RIDGE)
        hits = list[tuple[float, float]]()
        for circle in shared.circles(len(cohort)):
            released = part_for(shared.released, circle[0])
            served = kind.served(released).score(trial.test)
            for who in circle:
                truth = self._truth(trial, who)
                if truth is not None:
                    rows = cohort[who : who + 1]
                    own = kind.own(trial.cells, rows, released, tuning, who)
                    hits.append((_hits(own.score(trial.test), truth), _hits(served, truth)))
        own, served = np.mean(hits, axis=0).tolist()
        everybody = tuple(range(len(cohort)))
        told_apart = parted(shared.circles(len(cohort)), WORLDS[self.world], everybody)
        heard = np.mean([shared.bytes_heard(who, len(cohort)) for who in everybody])
        return _Found(own, served, float(heard), told_apart)

    def _truth(self, trial: Trial, who: int) -> IntArray | None:
        """Classes by which a participant is judged; None for one that is not: where the odd ones
        are a minority they are poisoned, where they are half each side has its own truth.
        """
        odd = WORLDS[self.world]
        if who not in odd:
            return trial.y_test
        return 1 - trial.y_test if 2 * len(odd) == len(trial.cohort) else None


@dataclass(frozen=True, eq=False)
class _Shared:
    """What was released by a method, and all that was asked for it."""

    kind: Method
    released: Any
    asked: Sequence[Any]

    def circles(self, participants: int) -> list[Group]:
        return circles_of(self.released, range(participants))

    def bytes_heard(self, who: int, participants: int) -> int:
        """Bytes that a participant hears: how everybody is seated, and all that is said in its
        circle.
        """
        mine = next(circle for circle in self.circles(participants) if who in circle)
        return sum(
            query.blank(1).points.nbytes
            for query in self.asked
            if query.owners[0] != who
            and (isinstance(query, CountClasses) or query.owners[0] in mine)
        )


def cells_of_peers(quick: bool, seed: int, dataset: str) -> list[Cell]:
    """Every world, method and epsilon; where all are alike also with fewer rounds, which cost
    fewer bytes. Quick: one of them, of made-up rows.
    """
    settings = [
        (world, method, epsilon, rounds)
        for method in ("stumps", "turns", "trees")
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
