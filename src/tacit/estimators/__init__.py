"""The scikit-learn face: private classifiers, sites and peers with fit and predict, and what
their guarantees say.
"""

from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.classifier import PrivateClassifier
from tacit.estimators.guarantee import Guarantee
from tacit.estimators.loading import load
from tacit.estimators.peers import PeerEnsemble
from tacit.estimators.planning import Plan, plan
from tacit.estimators.sites import SiteEnsemble, SiteEnsembleRegressor

__all__ = [
    "Guarantee",
    "PeerEnsemble",
    "Plan",
    "PrivateBoosting",
    "PrivateClassifier",
    "SiteEnsemble",
    "SiteEnsembleRegressor",
    "load",
    "plan",
]
