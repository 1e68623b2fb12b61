"""Which mechanism for a space and a budget: the one with the smallest worst mean squared error, by formula."""

from typing import NamedTuple

from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.hybrid import Hybrid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.spaces import Space

PRIVATE: tuple[type[Mechanism], ...] = (RandomizedResponse, Duchi, Piecewise, Hybrid, PrivUnit, Laplace)


class Choice(NamedTuple):
    """The chosen mechanism, the reason in one sentence, and every candidate's worst mean squared error."""

    mechanism: Mechanism
    why: str
    risks: dict[str, float]


def choose(space: Space, epsilon: float) -> Choice:
    """The mechanism whose estimate of one share has the least mean squared error, at the worst share of the space.

    Equal errors go to the smaller report.

    >>> from tacit import Ball, choose
    >>> choose(Ball(dim=50), epsilon=1.0).why
    'PrivUnit: least worst-case error over Ball(dim=50, radius=1.0) at epsilon 1, 322; 29.0 times below Piecewise'
    """
    candidates = [kind(epsilon=epsilon, space=space) for kind in PRIVATE]
    ranked = sorted(candidates, key=lambda mechanism: (_round_off(mechanism.risk), mechanism.report_bits))
    best, second = ranked[0], ranked[1]
    why = (
        f"{type(best).__name__}: least worst-case error over {space} at epsilon {epsilon:g}, {best.risk:.3g}; "
        f"{second.risk / best.risk:.1f} times below {type(second).__name__}"
    )
    return Choice(best, why, {type(mechanism).__name__: mechanism.risk for mechanism in ranked})


def _round_off(risk: float) -> float:
    """Nine digits: errors that differ only in rounding are equal."""
    return float(f"{risk:.9g}")
