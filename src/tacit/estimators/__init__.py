"""The scikit-learn face: private boosting and peers with fit and predict, and what their guarantees say."""

from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.guarantee import Guarantee
from tacit.estimators.peers import PeerEnsemble

__all__ = ["Guarantee", "PeerEnsemble", "PrivateBoosting"]
