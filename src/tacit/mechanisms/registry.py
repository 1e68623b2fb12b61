"""Mechanisms by name, none at all among them; which of them suits a space and a budget, the one
with the smallest worst mean squared error by formula; and own ones, of other packages, which must
show an exact table before they are known.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from inspect import isabstract
from typing import Any, NamedTuple, Protocol

import numpy as np

from tacit._util.checks import bad, one_of
from tacit._util.types import AnyArray, BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism, Reports
from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.piecewise import Hybrid, Piecewise
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.spaces import Ball, Blocks, Box, Space
from tacit.mechanisms.streams import exp_below
from tacit.wire.codec import OUTSIDE, MissingError, load_plugins, outside_name

_STEPS = 1 << 40  # of the grid, in the radius


@dataclass(frozen=True, eq=False, kw_only=True)
class NoPrivacy(Mechanism):
    """Reports shares as they are, clipped to the space, on a fine grid: for baselines; a gate never
    accepts it. Claim: none. Variance: 0, up to rounding to 2^-40 of the radius.

    Parameters
    ----------
    space : Space
        Where shares live.
    epsilon : float, default infinity
        Left out: there is no budget.
    menu : None
        Left out, too.

    >>> from tacit import Box, NoPrivacy, seeded
    >>> mechanism = NoPrivacy(space=Box(dim=2))
    >>> mechanism.estimate(mechanism.randomize([[0.5, -3.0]], seeded(1)))
    array([[ 0.5, -1. ]])
    """

    epsilon: float | FloatArray = math.inf

    @classmethod
    def over(cls, space: Space, epsilon: float | FloatArray, menu: FloatArray) -> "NoPrivacy":
        return cls(space=space)

    def _accept(self, epsilon: object) -> float:
        if epsilon != math.inf:
            raise bad("epsilon", "left out: this mechanism gives no privacy", epsilon)
        return math.inf

    def _prepare(self) -> None:
        return

    @property
    def report_bits(self) -> int:
        return self.space.dim * (2 * _STEPS).bit_length()

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.space.dim), dtype=np.int64))

    def _words(self, level: int) -> int:
        return 1

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        out.points[...] = np.rint(shares / self.space.radius_inf * _STEPS)
        return np.ones(len(shares), dtype=np.bool_)

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        return np.asarray(self._scales[level] * reports.points)

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        squares = np.square(reports.points >> 20).sum(axis=0, keepdims=True)
        return reports.points.sum(axis=0, keepdims=True), squares.astype(object) << 40

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        return np.asarray(((reports.points >= -_STEPS) & (reports.points <= _STEPS)).all(axis=1))

    @property
    def _scales(self) -> FloatArray:
        return np.array([self.space.radius_inf / _STEPS])

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        return np.zeros_like(x)

    @property
    def risks(self) -> FloatArray:
        return np.zeros(1)

    @property
    def spans(self) -> FloatArray:
        return np.array([2 * self.space.dim**0.5 * self.space.radius_inf])


# by the names that queries, policies and parameters use
MECHANISMS: dict[str, type[Mechanism]] = {
    "laplace": Laplace,
    "duchi": Duchi,
    "piecewise": Piecewise,
    "hybrid": Hybrid,
    "privunit": PrivUnit,
    "randomized_response": RandomizedResponse,
    "none": NoPrivacy,
}
NAMES = {kind: name for name, kind in MECHANISMS.items()}
PRIVATE: tuple[type[Mechanism], ...] = (
    RandomizedResponse,
    Duchi,
    Piecewise,
    Hybrid,
    PrivUnit,
    Laplace,
)
PRIVATE_NAMES = tuple(name for name in MECHANISMS if name != "none")  # ours alone


class Choice(NamedTuple):
    """What `choose` answers.

    Parameters
    ----------
    mechanism : Mechanism
        The one with the least error.
    why : str
        The reason, in one sentence.
    risks : dict of str to float
        Every candidate's worst mean squared error.
    """

    mechanism: Mechanism
    why: str
    risks: dict[str, float]


def choose(space: Space, epsilon: float) -> Choice:
    """The mechanism whose estimate of one share has the least mean squared error, at the worst
    share of the space. Equal errors go to the smaller report.

    Parameters
    ----------
    space : Space
        Where shares live.
    epsilon : float
        The budget of one report.

    >>> from tacit import Ball, choose
    >>> choose(Ball(dim=50), epsilon=1.0).why.partition(";")[0]
    'PrivUnit: least worst-case error over Ball(dim=50, radius=1.0) at epsilon 1, 322'
    """
    candidates = [kind(epsilon=epsilon, space=space) for kind in PRIVATE]
    best, second, *_ = ranked = sorted(
        candidates, key=lambda mechanism: (_round_off(mechanism.risk), mechanism.report_bits)
    )
    why = (
        f"{type(best).__name__}: least worst-case error over {space} at epsilon {epsilon:g}, "
        f"{best.risk:.3g}; {second.risk / best.risk:.1f} times below {type(second).__name__}"
    )
    return Choice(best, why, {type(mechanism).__name__: mechanism.risk for mechanism in ranked})


def best_mechanism(space: Space, epsilon: float) -> Mechanism:
    """The mechanism that `choose` chooses.

    Where PrivUnit is known to be best nothing else is looked at. On a ball that is wherever epsilon
    is at most twice the dimension, and at most 16, by a factor of 1.19 or more. In blocks, of which
    the ball around them has a squared radius of five or more, and two to five times as many
    dimensions, it is wherever epsilon is at most 16, by a factor of 1.06 or more.
    """
    known = False
    if isinstance(space, Ball):
        known = space.dim >= 2 and epsilon <= 2 * space.dim
    elif isinstance(space, Blocks):
        spread = round(space.radius_2**2)
        known = spread >= 5 and 2 * spread <= space.dim <= 5 * spread
    if known and 0 < epsilon <= 16:
        return PrivUnit(epsilon=epsilon, space=space)
    return choose(space, epsilon).mechanism


def _round_off(risk: float) -> float:
    """Nine digits: errors that differ only in rounding are equal."""
    return float(f"{risk:.9g}")


@dataclass(frozen=True)
class ExactVerdict:
    """The worst ratio of two probabilities of one output, and whether it is at most e^epsilon."""

    claimed: float
    ratio: Fraction

    @property
    def holds(self) -> bool:
        return self.ratio <= exp_below(self.claimed)

    @property
    def epsilon(self) -> float:
        """The logarithm of the ratio: what is really used."""
        return math.log(self.ratio)


class Law(Protocol):
    """A randomiser as a table: for every input the whole-number weights of all outputs."""

    @property
    def inputs(self) -> Iterable[Any]: ...

    @property
    def total(self) -> int: ...

    def weights(self, given: Any, /) -> Sequence[int] | Mapping[Any, int]: ...


def enumerate_law(law: Law, epsilon: float) -> ExactVerdict:
    """Go through the whole table: every input, every output. For small grids."""
    largest: dict[Any, int] = {}
    smallest: dict[Any, int] = {}
    for given in law.inputs:
        weights = law.weights(given)
        items = list(weights.items() if isinstance(weights, Mapping) else enumerate(weights))
        if sum(weight for _, weight in items) != law.total:
            raise ValueError(
                f"the weights of input {given!r} do not add up to {law.total}: no common "
                "denominator"
            )
        for output, weight in items:
            largest[output] = max(weight, largest.get(output, weight))
            smallest[output] = min(weight, smallest.get(output, weight))
    if min(smallest.values()) <= 0:
        raise ValueError("an output is impossible for some input: no epsilon covers that")
    return ExactVerdict(
        epsilon, max(Fraction(largest[output], smallest[output]) for output in largest)
    )


_TRIALS = (0.5, 1.0, 3.0)  # values of epsilon that an own mechanism's table is shown at


def known_mechanism(name: object, also: tuple[str, ...] = ()) -> str:
    """The name by which a mechanism travels: ours as it is; one of another package, given by its
    own name or as "package:Class", as the latter.
    """
    if isinstance(name, str) and (name in MECHANISMS or name in also):
        return name
    for full, kind in MECHANISMS.items():
        if name in (full, getattr(kind, "name", full)):
            return full
    if isinstance(name, str) and OUTSIDE.fullmatch(name):
        raise MissingError(name)
    return one_of("mechanism", name, {*also, *MECHANISMS})


def mechanism_by_name(name: object, also: tuple[str, ...] = ()) -> str:
    """The same of a name that somebody wrote here, for whom installed packages are asked, too."""
    if isinstance(name, str) and name not in (*MECHANISMS, *also):
        load_plugins()
    return known_mechanism(name, also)


def own_mechanisms() -> list[type[Mechanism]]:
    """Those of other packages that were registered."""
    return [kind for full, kind in MECHANISMS.items() if ":" in full]


def register_mechanism(kind: type[Mechanism]) -> None:
    """Make a mechanism of another package known by its `name`, if its table is exactly private.

    It is asked for by name only: what "auto" chooses does not depend on what is installed.
    """
    full, name = outside_name(kind), getattr(kind, "name", None)
    check_own_name(kind, name, (*PRIVATE_NAMES, "none"))
    taken = [key for key, other in MECHANISMS.items() if getattr(other, "name", key) == name]
    if any(key != full for key in taken):
        raise ValueError(f"the name {name!r} is taken by {taken[0]}")
    if "claim" not in (kind.__doc__ or "").lower():
        raise ValueError(f"{full}: its docstring must say 'Claim:' and why that holds")
    shown = 0
    for space in (Box(dim=1), Box(dim=4), Ball(dim=4)):
        for epsilon in _TRIALS:
            try:
                mechanism = kind(epsilon=epsilon, space=space)
            except ValueError:  # not a space of its own
                continue
            check_law(mechanism)
            shown += 1
    if not shown:
        raise ValueError(
            f"{full} must take a Box of 1 or 4 numbers, or a Ball of 4, at epsilon "
            f"{', '.join(map(str, _TRIALS))}: it refused all of them"
        )
    MECHANISMS[full] = kind


def check_law(mechanism: Any) -> ExactVerdict:
    """The verdict of an own mechanism's table at its largest epsilon; refuses one that fails."""
    claim, full = float(np.max(mechanism.epsilon)), outside_name(type(mechanism))
    laws: Sequence[Law] = getattr(mechanism, "laws", [])
    if not len(laws) == len(mechanism.levels):
        raise ValueError(f"{full}: laws must have one table for each of its levels")
    try:
        verdict = enumerate_law(laws[-1], claim)
    except (AttributeError, ValueError) as problem:
        raise ValueError(f"{full}, at epsilon {claim:g}: {problem}") from None
    if not verdict.holds:
        raise ValueError(
            f"{full}, at epsilon {claim:g}: two inputs give one output with probabilities in ratio "
            f"{float(verdict.ratio):.6g}, more than e^epsilon = {math.exp(claim):.6g}"
        )
    return verdict


def check_own_name(kind: type, name: object, ours: Iterable[str]) -> None:
    """Refuse a class that cannot be registered: not a whole, frozen dataclass, or of no name of
    its own.
    """
    full = outside_name(kind)
    if isabstract(kind):
        missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
        raise TypeError(f"{full} must define {missing}")
    if not (is_dataclass(kind) and getattr(kind, "__dataclass_params__").frozen):  # noqa: B009
        raise TypeError(f"{full} must be a frozen dataclass")
    if not (isinstance(name, str) and name and name not in {*ours, "auto"}):
        raise bad(f"name of {full}", "a text that is no name of ours", name)
