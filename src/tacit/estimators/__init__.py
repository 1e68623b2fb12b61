"""The scikit-learn face: private classifiers, sites and peers with fit and predict, plans and what
guarantees say. All parties are in one process, by way of `engines`; the service publishes models
that are read here. Only `service`, `cli` and users import it.
"""

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
