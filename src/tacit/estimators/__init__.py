"""The scikit-learn face: private boosting with fit and predict, and what its guarantee says."""

from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.guarantee import Guarantee

__all__ = ["Guarantee", "PrivateBoosting"]
