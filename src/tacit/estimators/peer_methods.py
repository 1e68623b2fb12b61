"""The three ways in which peers can learn, behind one interface: who speaks how often, what is
asked, what is kept; and what participants bring, budgets and rows.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tacit._util.checks import bad, positive
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.peers import (
    exchange_stumps,
    fair_share,
    pass_trees,
    speakers,
    take_turns,
    turns_each,
)
from tacit.data.cohort import Cohort
from tacit.estimators.peer_models import Scores
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.own_model import OwnRows, fit_own, vote_own
from tacit.learners.peers.peer_model import Additive, NoisyTrees
from tacit.learners.peers.random_stump import SharedStumps
from tacit.mechanisms.streams import Stream

_DEPTH = 2  # of passed trees


@dataclass(frozen=True)
class TurnPlan:
    """How often each participant speaks, and what one answer costs it; `rounds` as they were
    asked for.
    """

    rounds: int
    turns: Mapping[int, int]
    each: Mapping[int, float]

    @property
    def menu(self) -> tuple[float, ...]:
        """What one answer may cost."""
        return tuple(sorted(set(self.each.values())))

    @classmethod
    def of(cls, rounds: int, turns: Mapping[int, int], epsilons: Mapping[int, float]) -> "TurnPlan":
        return cls(
            rounds,
            turns,
            {who: fair_share(epsilon, turns[who]) for who, epsilon in epsilons.items()},
        )


@dataclass(frozen=True)
class Method:
    """`nothing` is what was released before anybody spoke; `own` is a participant's model,
    `served` everybody's.
    """

    nothing: Any
    plan: Callable[[Mapping[int, float], int, int], TurnPlan]
    algorithm: Callable[..., Generator[Any, Any, Any]]
    served: Callable[[Any], Scores]
    own: Callable[[Cells, Cohort, Any, float, float, int], Scores]


def _in_turns(epsilons: Mapping[int, float], rounds: int, participants: int) -> TurnPlan:
    turns = {who: turns_each(rounds, participants, epsilon) for who, epsilon in epsilons.items()}
    return TurnPlan.of(rounds, turns, epsilons)


def _in_all_rounds(epsilons: Mapping[int, float], rounds: int, participants: int) -> TurnPlan:
    return TurnPlan.of(rounds, dict.fromkeys(epsilons, rounds), epsilons)


def _turns(
    cells: Cells, held: Mapping[int, tuple[int, ...]], plan: TurnPlan, coins: Stream, known: Any
) -> Generator[Any, Any, Additive]:
    return take_turns(cells, held, speakers(plan.turns, coins), plan.menu, known)


def _stumps(
    cells: Cells, held: Mapping[int, tuple[int, ...]], plan: TurnPlan, coins: Stream, known: Any
) -> Generator[Any, Any, SharedStumps]:
    return exchange_stumps(cells, held, plan.rounds, plan.menu, coins, known)


def _trees(
    cells: Cells, held: Mapping[int, tuple[int, ...]], plan: TurnPlan, coins: Stream, known: Any
) -> Generator[Any, Any, NoisyTrees]:
    return pass_trees(cells, held, speakers(plan.turns, coins), _DEPTH, plan.menu, known)


def _own_turns(
    cells: Cells, one: Cohort, released: Any, rho: float, ridge: float, me: int
) -> Scores:
    return fit_own(OwnRows.of(cells, one), released, me, rho, ridge)


def _own_stumps(
    cells: Cells, one: Cohort, released: Any, rho: float, ridge: float, me: int
) -> Scores:
    return vote_own(cells.read(one.X), one.y, released, rho, me)


def _own_trees(
    cells: Cells, one: Cohort, released: Any, rho: float, ridge: float, me: int
) -> Scores:
    trees: NoisyTrees = released
    return trees


METHODS = {
    "turns": Method(Additive(), _in_turns, _turns, lambda released: released, _own_turns),
    "stumps": Method(
        SharedStumps(), _in_all_rounds, _stumps, lambda shared: shared.model, _own_stumps
    ),
    "trees": Method(NoisyTrees(), _in_turns, _trees, lambda trees: trees, _own_trees),
}


def budgets_of(given: Any, participants: list[Any]) -> list[float]:
    """What each participant may spend: one number for all, or one for each name."""
    if not isinstance(given, Mapping):
        return [budget_of(given)] * len(participants)
    check_names("epsilon", given, participants)
    missing = [name for name in participants if name not in given]
    if missing:
        raise ValueError(f"epsilon must be given for every participant; missing are {missing}")
    return [budget_of(given[name]) for name in participants]


def budget_of(epsilon: Any) -> float:
    """A number above zero; infinity is allowed, and says that there is no privacy."""
    if isinstance(epsilon, float) and np.isposinf(epsilon):
        return float(epsilon)
    try:
        return positive("epsilon", epsilon)
    except ValueError as problem:
        raise bad("epsilon", "a number > 0, or infinity for no privacy", epsilon) from problem


def check_names(what: str, given: Mapping[Any, Any] | None, participants: list[Any]) -> None:
    """Refuse names that no participant has."""
    unknown = [name for name in given or {} if name not in participants]
    if unknown:
        raise ValueError(f"{what} must be for participants, got {unknown}")


def group_rows(
    cells: Cells, held: Mapping[int, tuple[int, ...]], X: FloatArray, y: IntArray, numbers: IntArray
) -> Cohort:
    """Rows by participant, with absent attributes taken out; one without usable rows stays."""
    kept = np.flatnonzero(y >= 0)
    order = kept[np.argsort(numbers[kept], kind="stable")]
    offsets = np.append(0, np.cumsum(np.bincount(numbers[order], minlength=len(held))))
    parts = [
        cells.without_others(X[order[first:last]], held[number])
        for number, (first, last) in enumerate(pairwise(offsets.tolist()))
    ]
    return Cohort(
        np.concatenate(parts), y[order], offsets.astype(np.int64), ignored=len(y) - len(kept)
    )
