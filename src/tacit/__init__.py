"""tacit: many owners train one model; each speaks once, in noise it can prove."""

from typing import TYPE_CHECKING, Any

from tacit.cohort import Cohort
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.choose import Choice, choose
from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.hybrid import Hybrid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.no_privacy import NoPrivacy
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.reports import Reports, Totals
from tacit.schema import Category, Number, Schema
from tacit.spaces import Ball, Box, Simplex, Space
from tacit.streams import Stream, secure, seeded

if TYPE_CHECKING:
    from tacit.estimators import (
        PeerEnsemble,
        PrivateBoosting,
        PrivateClassifier,
        SiteEnsemble,
        SiteEnsembleRegressor,
        load,
        plan,
    )

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Category",
    "Choice",
    "Cohort",
    "Duchi",
    "Hybrid",
    "Laplace",
    "Mechanism",
    "NoPrivacy",
    "Number",
    "PeerEnsemble",
    "Piecewise",
    "PrivUnit",
    "PrivateBoosting",
    "PrivateClassifier",
    "RandomizedResponse",
    "Reports",
    "Schema",
    "Simplex",
    "SiteEnsemble",
    "SiteEnsembleRegressor",
    "Space",
    "Stream",
    "Totals",
    "choose",
    "load",
    "plan",
    "secure",
    "seeded",
]

_FACE = (
    "PeerEnsemble",
    "PrivateBoosting",
    "PrivateClassifier",
    "SiteEnsemble",
    "SiteEnsembleRegressor",
    "load",
    "plan",
)


def __getattr__(name: str) -> Any:
    """The scikit-learn face is imported when it is first used: owners and servers do not need it."""
    if name in (*_FACE, "load", "plan"):
        from tacit import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")
