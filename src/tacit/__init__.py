"""tacit: many owners train one model; each speaks once, in noise it can prove."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.cohort import Cohort
    from tacit.data.schema import Category, Number, Schema
    from tacit.estimators import (
        Budget,
        BudgetError,
        ContributionsDisplay,
        DataWarning,
        EpsilonCurveDisplay,
        Explanation,
        PeerEnsemble,
        PrivacyWarning,
        PrivateBoosting,
        PrivateClassifier,
        ProgressBar,
        SiteEnsemble,
        SiteEnsembleRegressor,
        SitesDisplay,
        StagesDisplay,
        load,
        plan,
    )
    from tacit.learners.learner import Learner
    from tacit.learners.owners import register
    from tacit.mechanisms.base import Mechanism, Reports, Totals
    from tacit.mechanisms.duchi import Duchi
    from tacit.mechanisms.laplace import Laplace
    from tacit.mechanisms.piecewise import Hybrid, Piecewise
    from tacit.mechanisms.privunit import PrivUnit
    from tacit.mechanisms.randomized_response import RandomizedResponse
    from tacit.mechanisms.registry import Choice, NoPrivacy, choose
    from tacit.mechanisms.spaces import Ball, Box, Simplex, Space
    from tacit.mechanisms.streams import Stream, secure, seeded

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Budget",
    "BudgetError",
    "Category",
    "Choice",
    "Cohort",
    "ContributionsDisplay",
    "DataWarning",
    "Duchi",
    "EpsilonCurveDisplay",
    "Explanation",
    "Hybrid",
    "Laplace",
    "Learner",
    "Mechanism",
    "NoPrivacy",
    "Number",
    "PeerEnsemble",
    "Piecewise",
    "PrivUnit",
    "PrivacyWarning",
    "PrivateBoosting",
    "PrivateClassifier",
    "ProgressBar",
    "RandomizedResponse",
    "Reports",
    "Schema",
    "Simplex",
    "SiteEnsemble",
    "SiteEnsembleRegressor",
    "SitesDisplay",
    "Space",
    "StagesDisplay",
    "Stream",
    "Totals",
    "choose",
    "load",
    "plan",
    "register",
    "secure",
    "seeded",
]

_NAMES = {
    "data.cohort": "Cohort",
    "estimators": "Budget BudgetError ContributionsDisplay DataWarning EpsilonCurveDisplay "
    "Explanation PeerEnsemble PrivacyWarning PrivateBoosting PrivateClassifier ProgressBar "
    "SiteEnsemble SiteEnsembleRegressor SitesDisplay StagesDisplay load plan",
    "learners.learner": "Learner",
    "learners.owners": "register",
    "mechanisms.base": "Mechanism Reports Totals",
    "mechanisms.registry": "Choice NoPrivacy choose",
    "mechanisms.duchi": "Duchi",
    "mechanisms.laplace": "Laplace",
    "mechanisms.piecewise": "Hybrid Piecewise",
    "mechanisms.privunit": "PrivUnit",
    "mechanisms.randomized_response": "RandomizedResponse",
    "data.schema": "Category Number Schema",
    "mechanisms.spaces": "Ball Box Simplex Space",
    "mechanisms.streams": "Stream secure seeded",
}
_WHERE = {name: f"tacit.{module}" for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used: a program that says one line need not compile
    mechanisms.
    """
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, also those that are not imported yet."""
    return sorted(__all__)
