"""What becomes of peers when one of them has poisoned labels, comes later, goes, or holds fewer
attributes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.estimators.peer_methods import METHODS, OwnTuning
from tacit.learners.peers.own_model import RHO, RIDGE
from tacit.mechanisms.streams import Stream
from tacit_papers.d.tasks import SurveyTask, Trial, deal

EVENTS = ("nothing", "one is poisoned", "one joins later", "one leaves", "half the attributes each")
EVENT_METHODS = ("turns", "stumps")
_EPSILON = 1.0
_WHO = 3  # the participant that it happens to


@dataclass(frozen=True)
class EventRow:
    """Accuracy of the others' own models and of the served one, mean over runs; `left_out`: share
    of the others that left participant 3 out of their own models (in a round, for stumps).
    """

    dataset: str
    event: str
    method: str
    epsilon: float
    own: float
    served: float
    left_out: float
    runs: int


def event_rows(
    task: SurveyTask, method: str, rounds: int, runs: int, stream: Stream
) -> list[EventRow]:
    """Every event, for one of the methods in which participants select."""
    rows = []
    for event in EVENTS:
        found = np.array(
            [
                _happens(event, method, rounds, deal(task, stream.child("event", run)))
                for run in range(runs)
            ]
        )
        own, served, left_out = found.mean(axis=0).tolist()
        rows.append(
            EventRow(
                dataset=task.name,
                event=event,
                method=method,
                epsilon=_EPSILON,
                own=own,
                served=served,
                left_out=left_out,
                runs=runs,
            )
        )
    return rows


def _happens(event: str, method: str, rounds: int, trial: Trial) -> tuple[float, float, float]:
    cohort, held = trial.cohort, trial.held
    if event == "one is poisoned":
        first, last = cohort.offsets[_WHO], cohort.offsets[_WHO + 1]
        labels = cohort.y.copy()
        labels[first:last] = 1 - labels[first:last]
        cohort = Cohort(cohort.X, labels, cohort.offsets)
    if event == "half the attributes each":
        held = {number: own[number % 2 :: 2] for number, own in held.items()}
        parts = [
            trial.cells.without_others(one.X, held[number])
            for number, one in enumerate(cohort.blocks(1))
        ]
        cohort = Cohort(np.concatenate(parts), cohort.y, cohort.offsets)
    late = (_WHO,) if event == "one joins later" else ()
    released = METHODS[method].nothing
    for group in ([number for number in held if number not in late], late):
        if group:
            speaking = {number: held[number] for number in group}
            setting = _Setting(method, trial, cohort, rounds)
            released = setting.speak(speaking, released)
    if event == "one leaves":
        released = released.without({_WHO})
    return _accuracies(method, trial, cohort, released, event)


@dataclass(frozen=True, eq=False)
class _Setting:
    """Who is there, with which rows, and how they speak."""

    method: str
    trial: Trial
    cohort: Cohort
    rounds: int

    def speak(self, held: Mapping[int, tuple[int, ...]], known: object) -> object:
        """What is released when those that hold these attributes have spoken, after `known`."""
        kind, everybody = METHODS[self.method], len(self.cohort)
        plan = kind.plan(dict.fromkeys(held, _EPSILON), self.rounds, everybody)
        each = np.array([plan.each.get(number, np.inf) for number in range(everybody)])
        coins = self.trial.stream.child("public coins", min(held))
        return Inline(self.cohort, each, self.trial.stream).run(
            kind.algorithm(self.trial.cells, held, plan, coins, known)
        )


def _accuracies(
    method: str, trial: Trial, cohort: Cohort, released: object, event: str
) -> tuple[float, float, float]:
    kind = METHODS[method]
    truth = trial.y_test == 1
    hits, refusals = [], []
    for number, one in enumerate(cohort.blocks(1)):
        if number == _WHO and event in ("one is poisoned", "one leaves"):
            continue
        own = kind.own(trial.cells, one, released, OwnTuning(RHO, RIDGE), number)
        hits.append(np.mean((own.score(trial.test) > 0) == truth))
        refusals.append(_refusal(own))
    return (
        float(np.mean(hits)),
        float(np.mean((kind.served(released).score(trial.test) > 0) == truth)),
        float(np.mean(refusals)),
    )


def _refusal(own: object) -> float:
    """Whether participant 3 was left out; for stumps, in which part of the rounds."""
    left_out = getattr(own, "left_out", ())
    if isinstance(left_out, Mapping):
        return float(left_out.get(_WHO, 0)) / max(len(getattr(own, "rounds", ())), 1)
    return float(_WHO in left_out)
