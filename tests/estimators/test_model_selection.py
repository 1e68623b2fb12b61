"""Inside scikit-learn's tools."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.data.cohort import Public
from tacit.data.schema import Schema
from tacit.estimators import PrivateBoosting, PrivateClassifier, plan
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tests.estimators.data import task

GRID = {"epsilon": [0.5, 8.0], "learner": ["stump", Logistic(ridge=0.2)]}


def test_clone_keeps_parameters():
    model = PrivateBoosting(
        Stump(cuts=2), epsilon=np.array([1.0, 2.0]), error="owners", random_state=3
    )
    copy = clone(model)
    assert copy.learner == Stump(cuts=2)
    assert copy.epsilon.tolist() == [1.0, 2.0]
    assert copy.error == "owners"
    assert copy.random_state == 3
    assert model.set_params(rounds=3).get_params()["rounds"] == 3


def test_pipeline():
    X, y = task()
    pipeline = make_pipeline(
        StandardScaler(), PrivateBoosting("centroid", mechanism="none", random_state=1)
    )
    assert pipeline.fit(X, y, privateboosting__owners=np.arange(len(y)) // 2).score(X, y) > 0.8
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.75


def test_grid_search_with_owners_and_public():
    X, y = task(rows=1500)
    owners = np.arange(1000) // 5
    search = GridSearchCV(PrivateBoosting(rounds=3, random_state=1), GRID, cv=GroupKFold(2))
    search.fit(X[:1000], y[:1000], groups=owners, owners=owners, public=(X[1000:], y[1000:]))
    best = search.best_estimator_
    assert search.best_score_ > 0.7  # chance: 0.5
    assert "own sample of 500 rows" in best.guarantee_.not_protected[0]
    assert sum(row["owners"] for row in best.report_) in (
        150,
        200,
    )  # 200 owners: three rounds of 50, one in reserve


@pytest.mark.parametrize("asks", [True, False])
def test_grid_search_with_metadata_routing(asks):
    X, y = task(rows=900)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PrivateBoosting(rounds=3, random_state=1).set_fit_request(owners=asks, public=asks)
        search = GridSearchCV(model, {"epsilon": [1.0, 4.0]}, cv=2)
        extra = {"owners": np.arange(600) // 2, "public": (X[600:], y[600:])}
        if asks:
            search.fit(X[:600], y[:600], **extra)
            assert "own sample of 300 rows" in search.best_estimator_.guarantee_.not_protected[0]
        else:
            with pytest.raises(TypeError):
                search.fit(X[:600], y[:600], **extra)


def test_what_is_known_already_can_be_handed_over():
    X, y = task(6000)
    public = Schema.of_public(X[:200], y[:200])
    sample = Public(public.encode(X[:200]).X, y[:200], 2)
    baseline = fit_public(sample)
    outlook = look_ahead(sample, baseline, Population(5800, 4.0))
    made = PrivateClassifier(epsilon=4.0, random_state=1)
    plain = clone(made).fit(X[200:], y[200:], public=(X[:200], y[:200]))
    for known in ({"baseline": baseline}, {"outlook": outlook}, {"outlook": outlook}):  # it stays
        fitted = clone(made).fit(X[200:], y[200:], public=(X[:200], y[:200]), **known)
        np.testing.assert_array_equal(fitted.predict_proba(X), plain.predict_proba(X))
        assert fitted.transcript_ == plain.transcript_
    given = plan(X[:200], y[:200], owners=5800, epsilon=4.0, outlook=outlook)
    assert given == plan(X[:200], y[:200], owners=5800, epsilon=4.0)
    assert given == plan(X[:200], y[:200], owners=5800, epsilon=4.0, baseline=baseline)


def test_a_baseline_of_other_rows_is_refused():
    X, y = task(1000)
    other = fit_public(Public(X[:50], y[:50], 2))
    for kind in (PrivateClassifier, PrivateBoosting):
        with pytest.raises(ValueError, match="baseline must be fitted to the 100 public rows"):
            kind().fit(X[100:], y[100:], public=(X[:100], y[:100]), baseline=other)
