"""Mechanisms by the names that queries, policies and parameters use."""

import numpy as np

from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.choose import choose
from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.hybrid import Hybrid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.no_privacy import NoPrivacy
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.spaces import Space
from tacit.types import FloatArray

MECHANISMS: dict[str, type[Mechanism]] = {
    "laplace": Laplace,
    "duchi": Duchi,
    "piecewise": Piecewise,
    "hybrid": Hybrid,
    "privunit": PrivUnit,
    "randomized_response": RandomizedResponse,
    "none": NoPrivacy,
}


def best_name(space: Space, epsilon: float | FloatArray) -> str:
    """The name of the mechanism with the least error over the space, at the median epsilon.

    >>> from tacit import Ball
    >>> best_name(Ball(dim=50), 1.0)
    'privunit'
    """
    best = type(choose(space, float(np.median(epsilon))).mechanism)
    return next(name for name, kind in MECHANISMS.items() if kind is best)


def mechanism_for(name: str, space: Space, epsilon: float | FloatArray, menu: FloatArray | None = None) -> Mechanism:
    """The mechanism of that name, for one epsilon or for one per owner out of `menu`."""
    if name not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(sorted(MECHANISMS))}, got {name!r}")
    if name == "none":
        return NoPrivacy(space=space)
    return MECHANISMS[name](space=space, epsilon=epsilon, menu=None if isinstance(epsilon, float) else menu)
