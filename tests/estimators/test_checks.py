"""scikit-learn's own checks, none expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.estimators import (
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)


@parametrize_with_checks(
    [
        *(PrivateBoosting(learner) for learner in ("stump", "centroid", "logistic")),
        *(PeerEnsemble(method=method) for method in ("turns", "stumps", "trees")),
        PrivateClassifier(),
        PrivateClassifier(epsilon=8.0, combine="private"),
        SiteEnsemble(),
        SiteEnsemble(privacy="output", combine="feature"),
        SiteEnsembleRegressor(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
