"""Paper D again: accuracy of peers against epsilon and rounds, beside everything it should be
measured against.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np

from tacit._util.types import FloatArray
from tacit.algorithms.peers import exchange_stumps
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.sites import ensemble_of_sites, projections_of, tune_site
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.estimators.peer_methods import METHODS, OwnTuning
from tacit.learners.peers.own_model import RHO, RIDGE, OwnModel, OwnRows, fit_own
from tacit.learners.peers.peer_model import Additive
from tacit.mechanisms.streams import seeded
from tacit_papers.c.methods import site_query
from tacit_papers.d.edge import EdgeCell
from tacit_papers.d.events import EVENT_METHODS, EventRow, event_rows
from tacit_papers.d.learners import UNSOUND, simulate_published
from tacit_papers.d.tasks import DATASETS, PUBLIC, Trial, deal, load_task
from tacit_papers.runner import Cell

EPSILONS = (0.1, 0.3, 0.5, 1.0, 2.0, 4.0)
ROUNDS = {"adult": 30, "gss": 20}  # as the paper found best
_QUICK_ROUNDS = 10
READINGS = {  # other leaves of the published stumps
    "values": "random stumps, as published, a leaf per category",
    "halves": "random stumps, as published, two leaves",
}
ALONE = "random stumps alone, as published"
SOUND, SOUND_HALVES = "random stumps, sound", "random stumps, sound, two leaves"
_FEWER = {"adult": (10, 20), "gss": (5, 10)}


@dataclass(frozen=True)
class PeerRow:
    """Test accuracy, mean and spread over runs.

    `own` is the mean over participants of the models they hold for themselves, `served` that of the
    model that may be published (None: there is none). `epsilon` None: no privacy, or nothing was
    asked. `unsound` says why a method may only be simulated. `smallest` is the mean of what the
    participant with the fewest rows holds, `fewest` how many these are on average.
    """

    dataset: str
    method: str
    epsilon: float | None
    rounds: int
    own: float | None
    own_std: float
    served: float | None
    served_std: float
    runs: int
    participants: int
    unsound: str = ""
    smallest: float | None = None
    fewest: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """Accuracy of the participants' own models, on average, and of the served one; and of what the
    participant with the fewest rows holds.
    """

    own: float | None
    served: float | None
    smallest: float | None = None

    @classmethod
    def of(cls, trial: Trial, own: list[FloatArray], served: float | None) -> "Outcome":
        least = own[int(np.argmin(trial.cohort.sizes))]
        return cls(_mean_accuracy(trial, own), served, _mean_accuracy(trial, [least]))


@dataclass(frozen=True)
class Contestant:
    """A method: what it gets in one trial, whether epsilon matters to it, why it may only be
    simulated.
    """

    name: str
    run: Callable[[Trial, float, int], Outcome]
    private: bool = True
    unsound: str = ""


def _peers(method: str) -> Callable[[Trial, float, int], Outcome]:
    def run(trial: Trial, epsilon: float, rounds: int) -> Outcome:
        kind, held = METHODS[method], trial.held
        plan = kind.plan(dict.fromkeys(held, epsilon), rounds, len(held))
        each = np.array([plan.each[number] for number in held])
        coins = trial.stream.child("public coins")
        released = Inline(trial.cohort, each, trial.stream).run(
            kind.algorithm(trial.cells, held, plan, coins, kind.nothing)
        )
        own = [
            kind.own(trial.cells, one, released, OwnTuning(RHO, RIDGE), number).score(trial.test)
            for number, one in enumerate(trial.cohort.blocks(1))
        ]
        return Outcome.of(
            trial, own, _mean_accuracy(trial, [kind.served(released).score(trial.test)])
        )

    return run


def _sound_halves(trial: Trial, epsilon: float, rounds: int) -> Outcome:
    """The sound stumps with another cut: two leaves of every attribute."""
    kind, held = METHODS["stumps"], trial.held
    plan = kind.plan(dict.fromkeys(held, epsilon), rounds, len(held))
    each = np.array([plan.each[number] for number in held])
    coins = trial.stream.child("public coins")
    asked = exchange_stumps(
        trial.cells, held, rounds, plan.menu, coins, known=kind.nothing, leaves="halves"
    )
    released = Inline(trial.cohort, each, trial.stream).run(asked)
    return Outcome(None, _mean_accuracy(trial, [kind.served(released).score(trial.test)]))


def _sites(combine: str) -> Callable[[Trial, float, int], Outcome]:
    """Paper C on the same split: every participant trains one private linear model, an
    aggregator combines them.
    """

    def run(trial: Trial, epsilon: float, rounds: int) -> Outcome:
        X0, y0 = trial.X_public, trial.y_public
        projections, privacy = projections_of(X0), "none" if epsilon == inf else "objective"
        charged = 1.0 if epsilon == inf else epsilon
        query = site_query(projections[0], privacy, charged)
        if not query.unsound:
            query = tune_site(query, X0, y0, charged, projections)
        model = Inline(trial.cohort, charged, trial.stream).run(
            ensemble_of_sites(query, X0, y0, combine)
        )
        scores = query.projection.see(trial.X_test) @ model.vectors[0]
        return Outcome(None, _mean_accuracy(trial, [scores]))

    return run


def _public(trial: Trial, epsilon: float, rounds: int) -> Outcome:
    own = fit_public(Public(trial.X_public, trial.y_public, 2))
    return Outcome(None, float(np.mean(own.model.predict(trial.X_test) == trial.y_test)))


def _stumps_as_published(leaves: str) -> Callable[[Trial, float, int], Outcome]:
    def run(trial: Trial, epsilon: float, rounds: int) -> Outcome:
        models = simulate_published(
            trial.cohort,
            trial.cells,
            trial.held,
            rounds,
            epsilon,
            leaves=leaves,
            coins=trial.stream.child("public coins"),
            stream=trial.stream,
        )
        return Outcome.of(trial, [model.score(trial.test) for model in models], None)

    return run


def _stumps_that_nobody_shares(trial: Trial, epsilon: float, rounds: int) -> Outcome:
    """The published scheme among one: what the others' stumps are held against."""
    scores = []
    for number in range(len(trial.cohort)):
        (model,) = simulate_published(
            trial.cohort[number : number + 1],
            trial.cells,
            {0: trial.held[number]},
            rounds,
            epsilon,
            coins=trial.stream.child("public coins", number),
            stream=trial.stream.child("alone", number),
        )
        scores.append(model.score(trial.test))
    return Outcome.of(trial, scores, None)


def _fit_alone(trial: Trial, rows: Cohort, number: int) -> OwnModel:
    """What exact rows give without anybody's help."""
    return fit_own(OwnRows.of(trial.cells, rows), Additive(), me=number)


def _alone(trial: Trial, epsilon: float, rounds: int) -> Outcome:
    scores = []
    for number, one in enumerate(trial.cohort.blocks(1)):
        scores.append(_fit_alone(trial, one, number).score(trial.test))
    return Outcome.of(trial, scores, None)


def _together(trial: Trial, epsilon: float, rounds: int) -> Outcome:
    model = _fit_alone(trial, trial.cohort, 0)
    return Outcome(None, _mean_accuracy(trial, [model.score(trial.test)]))


def _majority(trial: Trial, epsilon: float, rounds: int) -> Outcome:
    side = 2 * float(trial.cohort.y.mean() > 0.5) - 1
    return Outcome(None, _mean_accuracy(trial, [np.full(len(trial.y_test), side)]))


# A further method is one more line here.
CONTESTANTS = (
    Contestant("majority class", _majority, private=False),
    Contestant("all rows together, no privacy", _together, private=False),
    Contestant("each participant alone", _alone, private=False),
    Contestant(f"{PUBLIC} public rows alone", _public, private=False),
    Contestant("peers in turns", _peers("turns")),
    Contestant(SOUND, _peers("stumps")),
    Contestant(SOUND_HALVES, _sound_halves),
    Contestant("passed trees (InPriv)", _peers("trees")),
    Contestant("sites and an aggregator, guarded", _sites("guarded")),
    Contestant("sites and an aggregator, feature method", _sites("feature")),
    Contestant("random stumps, as published", _stumps_as_published("cells"), unsound=UNSOUND),
    *(
        Contestant(reading, _stumps_as_published(leaves), unsound=UNSOUND)
        for leaves, reading in READINGS.items()
    ),
    Contestant(ALONE, _stumps_that_nobody_shares, unsound=UNSOUND),
)
_NAMED = {contestant.name: contestant for contestant in CONTESTANTS}
_OVER_ROUNDS = ("peers in turns", SOUND, "random stumps, as published")
_ONE_ROUND = ("random stumps, as published", ALONE)  # the base model of an iteration


@dataclass(frozen=True, kw_only=True)
class PeerCell(Cell):
    """One method at one epsilon (None: no privacy) after so many rounds."""

    paper: ClassVar[str] = "d"

    method: str
    epsilon: float | None
    rounds: int

    def rows(self) -> list[PeerRow]:
        task, contestant = load_task(self.dataset, self.quick), _NAMED[self.method]
        stream = seeded(self.seed).child("paper D").child(self.dataset)
        trials = [deal(task, stream.child("run", run)) for run in range(self.runs)]
        epsilon = inf if self.epsilon is None else self.epsilon
        outcomes = [contestant.run(trial, epsilon, self.rounds) for trial in trials]
        own, own_std = _summary([outcome.own for outcome in outcomes])
        served, served_std = _summary([outcome.served for outcome in outcomes])
        smallest, _ = _summary([outcome.smallest for outcome in outcomes])
        row = PeerRow(
            dataset=task.name,
            method=contestant.name,
            epsilon=self.epsilon,
            rounds=self.rounds,
            own=own,
            own_std=own_std,
            served=served,
            served_std=served_std,
            runs=self.runs,
            participants=len(trials[0].cohort),
            unsound=contestant.unsound,
            smallest=smallest,
            fewest=float(np.mean([trial.cohort.sizes.min() for trial in trials])),
        )
        return [row]


@dataclass(frozen=True, kw_only=True)
class EventCell(Cell):
    """What happens when a participant comes, goes, is poisoned or holds less, for one method."""

    paper: ClassVar[str] = "d"

    method: str
    rounds: int

    def rows(self) -> list[EventRow]:
        stream = seeded(self.seed).child("paper D").child(self.dataset)
        return event_rows(
            load_task(self.dataset, self.quick), self.method, self.rounds, self.runs, stream
        )


def cells_d(quick: bool, seed: int = 1) -> list[Cell]:
    """All methods over epsilon (Figs. 5 and 6), some over rounds (Figs. 3 and 4), and events.

    Full: 5 runs. Quick: 2 runs on made-up rows, once, with fewer epsilons and rounds.
    """
    cells = list[Cell]()
    for name in DATASETS[: 1 if quick else None]:
        cells += _cells_of(name, quick, seed)
    return cells


def _cells_of(dataset: str, quick: bool, seed: int) -> Iterator[Cell]:
    epsilons = (0.3, 4.0) if quick else EPSILONS
    most = _QUICK_ROUNDS if quick else ROUNDS[dataset]
    fewer = (_QUICK_ROUNDS // 2,) if quick else _FEWER[dataset]
    place, runs = DATASETS.index(dataset), 2 if quick else 5
    peer = partial(PeerCell, dataset=dataset, runs=runs, seed=seed, quick=quick)
    for contestant in CONTESTANTS:
        for epsilon in (*epsilons, None) if contestant.private else (None,):
            yield peer(
                where=f"Fig. {5 + place}", method=contestant.name, epsilon=epsilon, rounds=most
            )
        for rounds in fewer if contestant.name in _OVER_ROUNDS else ():
            for epsilon in epsilons:
                yield peer(
                    where=f"Fig. {3 + place}",
                    method=contestant.name,
                    epsilon=epsilon,
                    rounds=rounds,
                )
        for epsilon in (*epsilons, None) if contestant.name in _ONE_ROUND else ():
            yield peer(where="section 5", method=contestant.name, epsilon=epsilon, rounds=1)
    event = partial(EventCell, where="events", dataset=dataset, runs=runs, seed=seed, quick=quick)
    for method in EVENT_METHODS:
        yield event(method=method, rounds=most)
    yield EdgeCell(
        where="section 5",
        dataset=dataset,
        runs=1,
        seed=seed,
        quick=quick,
        cost=2.0 if quick else 20.0,
        rounds=most,
    )


def _summary(values: list[float | None]) -> tuple[float | None, float]:
    there = [value for value in values if value is not None]
    spread = float(np.std(there, ddof=1)) if len(there) > 1 else 0.0
    return (float(np.mean(there)), spread) if there else (None, 0.0)


def _mean_accuracy(trial: Trial, scores: list[FloatArray]) -> float:
    return float(np.mean([np.mean((score > 0) == (trial.y_test == 1)) for score in scores]))
