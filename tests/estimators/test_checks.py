"""scikit-learn's own checks, none expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.estimators import PrivateBoosting


@parametrize_with_checks([PrivateBoosting(learner) for learner in ("stump", "centroid", "logistic")])
def test_scikit_learn_check(estimator, check):
    check(estimator)
