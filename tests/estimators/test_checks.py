"""scikit-learn's own checks, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from tacit.estimators import (
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)

OTHER_WAYS = [
    *(PrivateBoosting(learner) for learner in ("centroid", "logistic")),
    *(PeerEnsemble(method=method) for method in ("stumps", "trees")),
    PrivateClassifier(epsilon=8.0, combine="private"),
    SiteEnsemble(privacy="output", combine="feature"),
]
OF_THE_MODEL = {
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_readonly_memmap_input",
}


@parametrize_with_checks(
    [
        PrivateBoosting(),
        PeerEnsemble(),
        PrivateClassifier(),
        SiteEnsemble(),
        SiteEnsembleRegressor(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def checks_of_the_model():
    """Those whose outcome depends on how a model is found; tags, parameters and refusals are of
    the class, whichever way is taken.
    """
    for way in OTHER_WAYS:
        for estimator, check in estimator_checks_generator(way):
            if check.func.__name__ in OF_THE_MODEL:
                yield pytest.param(estimator, check, id=f"{way}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(checks_of_the_model()))
def test_other_ways_to_a_model_pass_what_depends_on_it(estimator, check):
    check(estimator)


def test_the_checks_are_there_by_these_names():
    found = {check.func.__name__ for _, check in estimator_checks_generator(OTHER_WAYS[0])}
    assert found >= OF_THE_MODEL
