"""The three ways in which peers can learn, behind one interface: who speaks how often, what is
asked, what is kept.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

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
