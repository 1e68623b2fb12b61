"""The scikit-learn face: private classifiers, sites and peers with fit and predict, plans and what
guarantees say. All parties are in one process, by way of `engines`; the service publishes models
that are read here. Only `service`, `cli` and users import it.

Names are imported when they are first used: a saved model is read without scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.estimators.boosting import PrivateBoosting
    from tacit.estimators.classifier import PrivateClassifier
    from tacit.estimators.guarantee import Guarantee
    from tacit.estimators.inputs import DataWarning, PrivacyWarning
    from tacit.estimators.peers import PeerEnsemble
    from tacit.estimators.persistence import load
    from tacit.estimators.planning import Plan, plan
    from tacit.estimators.site_regressor import SiteEnsembleRegressor
    from tacit.estimators.sites import SiteEnsemble

__all__ = [
    "DataWarning",
    "Guarantee",
    "PeerEnsemble",
    "Plan",
    "PrivacyWarning",
    "PrivateBoosting",
    "PrivateClassifier",
    "SiteEnsemble",
    "SiteEnsembleRegressor",
    "load",
    "plan",
]

_NAMES = {
    "boosting": "PrivateBoosting",
    "classifier": "PrivateClassifier",
    "guarantee": "Guarantee",
    "inputs": "DataWarning PrivacyWarning",
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
