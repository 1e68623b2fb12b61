"""The scikit-learn face: private classifiers, sites and peers with fit and predict, plans and what
guarantees say. All parties are in one process, by way of `engines`; the service publishes models
that are read here. Only `service`, `cli` and users import it.

Names are imported when they are first used: a saved model is read without scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.estimators.boosting import PrivateBoosting
    from tacit.estimators.budget import Budget, BudgetError
    from tacit.estimators.classifier import PrivateClassifier
    from tacit.estimators.displays import (
        ContributionsDisplay,
        EpsilonCurveDisplay,
        ProgressBar,
        SitesDisplay,
        StagesDisplay,
    )
    from tacit.estimators.explanation import Explanation
    from tacit.estimators.guarantee import Guarantee
    from tacit.estimators.peers import PeerEnsemble
    from tacit.estimators.persistence import load
    from tacit.estimators.planning import Plan, plan
    from tacit.estimators.set_aside import DataWarning, PrivacyWarning
    from tacit.estimators.site_regressor import SiteEnsembleRegressor
    from tacit.estimators.sites import SiteEnsemble

__all__ = [
    "Budget",
    "BudgetError",
    "ContributionsDisplay",
    "DataWarning",
    "EpsilonCurveDisplay",
    "Explanation",
    "Guarantee",
    "PeerEnsemble",
    "Plan",
    "PrivacyWarning",
    "PrivateBoosting",
    "PrivateClassifier",
    "ProgressBar",
    "SiteEnsemble",
    "SiteEnsembleRegressor",
    "SitesDisplay",
    "StagesDisplay",
    "load",
    "plan",
]

_NAMES = {
    "boosting": "PrivateBoosting",
    "budget": "Budget BudgetError",
    "classifier": "PrivateClassifier",
    "displays": "ContributionsDisplay EpsilonCurveDisplay ProgressBar SitesDisplay StagesDisplay",
    "explanation": "Explanation",
    "guarantee": "Guarantee",
    "set_aside": "DataWarning PrivacyWarning",
    "peers": "PeerEnsemble",
    "persistence": "load",
    "planning": "Plan plan",
    "site_regressor": "SiteEnsembleRegressor",
    "sites": "SiteEnsemble",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """A public name, from its file."""
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
