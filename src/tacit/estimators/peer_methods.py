"""The three ways in which peers can learn, behind one interface: who speaks how often, what is
asked, whom they listen to, what participants bring (budgets and rows), and which model comes of it
(`own_models`).
"""

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isinf, nextafter
from typing import Any, NamedTuple

import numpy as np

from tacit._util.checks import bad, one_of, positive
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.peers import (
    Attributes,
    exchange_stumps,
    fair_share,
    learn_among_alike,
    pass_trees,
    speakers,
    take_turns,
    turns_each,
)
from tacit.data.cohort import Cohort
from tacit.data.sample import sort_classes
from tacit.data.schema import Schema
from tacit.estimators.own_models import Scores
from tacit.learners.peers.alike import (
    EVERYBODY,
    LISTENING,
    TOLD,
    Circles,
    part_for,
    served_part,
)
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.own_model import OwnRows, fit_own, vote_own
from tacit.learners.peers.peer_model import (
    Additive,
    NoisyTrees,
    SharedStumps,
)
from tacit.mechanisms.streams import Stream, rational


def two_classes(known: Schema | None) -> Schema:
    """The schema with its classes sorted as scikit-learn keeps them; there must be two."""
    if known is None:
        raise ValueError("a schema or a public sample is needed: bounds and classes must be public")
    schema = sort_classes(known)
    if len(schema.classes) != 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(schema.classes)} classes"
        )
    return schema


DEPTH = 2  # of passed trees


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

    @property
    def most(self) -> Mapping[int, float]:
        """What one answer may cost each at most."""
        return self.each

    def louder(self, factor: float) -> "TurnPlan":
        """As many turns at so many times the price, where records are so many times fewer."""
        return replace(self, each={who: factor * each for who, each in self.each.items()})


class OwnTuning(NamedTuple):
    """How a participant makes its own model: how far it believes others, how firmly it is held."""

    rho: float
    ridge: float


@dataclass(frozen=True)
class Method:
    """`nothing` is what was released before anybody spoke; `own` is a participant's model,
    `served` everybody's.
    """

    nothing: Any
    plan: Callable[[Mapping[int, float], int, int], Any]  # turns of participants with budgets
    algorithm: Callable[..., Generator[Any, Any, Any]]
    served: Callable[[Any], Scores]
    own: Callable[[Cells, Cohort, Any, OwnTuning, int], Scores]


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
    return exchange_stumps(cells, held, plan.rounds, plan.menu, coins, known=known)


def _trees(
    cells: Cells, held: Mapping[int, tuple[int, ...]], plan: TurnPlan, coins: Stream, known: Any
) -> Generator[Any, Any, NoisyTrees]:
    return pass_trees(
        cells, held, speakers(plan.turns, coins), depth=DEPTH, menu=plan.menu, known=known
    )


def _own_turns(cells: Cells, one: Cohort, released: Any, tuning: OwnTuning, me: int) -> Scores:
    return fit_own(OwnRows.of(cells, one), released, me, tuning.rho, tuning.ridge)


def _own_stumps(cells: Cells, one: Cohort, released: Any, tuning: OwnTuning, me: int) -> Scores:
    return vote_own(cells.read(one.X), one.y, released, tuning.rho, me)


def _own_trees(cells: Cells, one: Cohort, released: Any, tuning: OwnTuning, me: int) -> Scores:
    trees: NoisyTrees = released
    return trees


@dataclass(frozen=True, eq=False)
class OwnTask:
    """One participant's own model, to be made wherever there is room: of its rows alone, and of
    what was released.
    """

    method: str
    rows: Cohort
    released: Any
    tuning: OwnTuning
    me: int

    @classmethod
    def of(
        cls, method: str, cohort: Cohort, me: int, released: Any, tuning: OwnTuning
    ) -> "OwnTask":
        one = cohort[me : me + 1]  # its rows where they are, and nobody else's along with them
        return cls(method, Cohort(one.X, one.y, one.offsets), released, tuning=tuning, me=me)


def make_own(cells: Cells, task: OwnTask) -> Scores:
    """The model of a task."""
    own = METHODS[task.method].own
    return own(cells, task.rows, task.released, task.tuning, task.me)


METHODS = {
    "turns": Method(Additive(), _in_turns, _turns, lambda released: released, _own_turns),
    "stumps": Method(
        SharedStumps(), _in_all_rounds, _stumps, lambda shared: shared.model, _own_stumps
    ),
    "trees": Method(NoisyTrees(), _in_turns, _trees, lambda trees: trees, _own_trees),
}


@dataclass(frozen=True)
class AlikePlan:
    """What everybody may spend on being seated and on turns in its circle, which are planned once
    circles are known; prices are `factor` times what they would be.
    """

    method: Method
    rounds: int
    epsilons: Mapping[int, float]
    factor: float = 1.0

    def louder(self, factor: float) -> "AlikePlan":
        return replace(self, factor=factor * self.factor)

    @property
    def turns(self) -> dict[int, int]:
        """How often each is asked at most: once to be seated, then as if it were alone."""
        alone = self.in_circle(self.epsilons, 1).turns
        return {who: 1 + often for who, often in alone.items()}

    @property
    def most(self) -> dict[int, float]:
        return {who: self.factor * epsilon for who, epsilon in self.epsilons.items()}

    @property
    def seating_costs(self) -> dict[int, float]:
        """What it costs each to be seated."""
        return {who: self.factor * fair_share(own, TOLD) for who, own in self.epsilons.items()}

    def in_circle(self, who: Collection[int], size: int) -> TurnPlan:
        """The turns of those who speak in a circle of this size, with what is left to them."""
        left = {number: epsilon_left(self.epsilons[number]) for number in who}
        turns: TurnPlan = self.method.plan(left, self.rounds, size).louder(self.factor)
        return turns


def epsilon_left(epsilon: float) -> float:
    """What is left when it was told who is alike: a float that is not too much with the other part,
    as both are written.

    >>> epsilon_left(1.0), epsilon_left(0.3)
    (0.9, 0.27)
    """
    told = fair_share(epsilon, TOLD)
    left = epsilon if isinf(epsilon) else epsilon - told
    while not isinf(left) and rational(left) + rational(told) > rational(epsilon):
        left = nextafter(left, 0.0)
    return left


def method_of(name: str, listen_to: str = EVERYBODY, columns: tuple[int, ...] = ()) -> Method:
    """A method by its name; with `listen_to` "alike" its circles, each of which learns by it:
    everybody is asked about the attributes `columns`, or about some that are drawn.
    """
    method = METHODS[one_of("method", name, METHODS)]
    if one_of("listen_to", listen_to, LISTENING) == EVERYBODY:
        return method

    def plan(epsilons: Mapping[int, float], rounds: int, participants: int) -> AlikePlan:
        return AlikePlan(method, rounds, epsilons)

    def algorithm(
        cells: Cells, held: Attributes, plan: AlikePlan, coins: Stream, known: Circles
    ) -> Generator[Any, Any, Circles]:
        def speak(
            size: int, held: Attributes, coins: Stream, known: Any
        ) -> Generator[Any, Any, Any]:
            turns = plan.in_circle(held, size)
            asking = method.algorithm(cells, held, turns, coins, known)
            return at_own_price(asking, turns.each)

        return learn_among_alike(
            cells, held, plan.seating_costs, coins, known, nothing=method.nothing, speak=speak
        )

    return Method(
        Circles(columns),
        plan,
        algorithm,
        lambda circles: method.served(served_part(circles, method.nothing)),
        lambda cells, one, circles, tuning, me: method.own(
            cells, one, part_for(circles, me), tuning, me
        ),
    )


def at_own_price(
    asking: Generator[Any, Any, Any], each: Mapping[int, float]
) -> Generator[Any, Any, Any]:
    """The same questions, each offered at the price of whom it is put to alone."""
    try:
        query = next(asking)
        while True:
            told = yield replace(query, menu=(each[query.owners[0]],))
            query = asking.send(told)
    except StopIteration as end:
        return end.value


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
