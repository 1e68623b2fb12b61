"""The scikit-learn face: private classifiers and peers with fit and predict, and what their guarantees say."""

from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.classifier import PrivateClassifier
from tacit.estimators.guarantee import Guarantee
from tacit.estimators.loading import load
from tacit.estimators.peers import PeerEnsemble
from tacit.estimators.planning import Plan, plan

__all__ = ["Guarantee", "PeerEnsemble", "Plan", "PrivateBoosting", "PrivateClassifier", "load", "plan"]
