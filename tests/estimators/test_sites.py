"""Ensembles of sites from outside: what is learned, what is promised, what stays private."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_regression

from tacit import DataWarning, PrivateClassifier, SiteEnsemble, SiteEnsembleRegressor
from tests.estimators.data import people, task


def sited(rows, sites=5):
    return np.arange(rows) % sites


def test_sites_help_where_public_rows_are_few():
    gains = []
    for seed in range(5):
        X, y = task(rows=9_000, seed=seed)
        model = SiteEnsemble(epsilon=2.0, random_state=seed)
        model.fit(X[20:6_000], y[20:6_000], owners=sited(5_980), public=(X[:20], y[:20]))
        alone = (
            model.query_.projection.see(model.schema_.encode(X[6_000:]).X)
            @ model.model_.public_vectors[0]
            > 0
        )
        gains.append(model.score(X[6_000:], y[6_000:]) - np.mean(alone == y[6_000:]))
    assert np.min(gains) > -0.02
    assert np.mean(gains) >= 0


@pytest.mark.parametrize("combine", ["guarded", "feature", "average"])
@pytest.mark.parametrize("privacy", ["objective", "output", "none", "published"])
def test_every_way_learns(combine, privacy):
    X, y = task(rows=4_000)
    model = SiteEnsemble(combine=combine, privacy=privacy, epsilon=4.0, random_state=1)
    model.fit(X[200:3_000], y[200:3_000], owners=sited(2_800), public=(X[:200], y[:200]))
    assert model.score(X[3_000:], y[3_000:]) > 0.85
    assert model.public_only_score_ > 0.85
    assert model.site_models_.shape == (5, 1, model.lens_.dim)


def test_more_classes_and_frames():
    X, y = task(rows=6_000, classes=3)
    names = np.array(["ash", "beech", "cedar"])[y]
    model = SiteEnsemble(epsilon=8.0, random_state=1)
    model.fit(X[500:5_000], names[500:5_000], owners=sited(4_500), public=(X[:500], names[:500]))
    assert model.score(X[5_000:], names[5_000:]) > 0.8
    np.testing.assert_allclose(model.predict_proba(X[:9]).sum(axis=1), 1)
    assert model.decision_function(X[:9]).shape == (9, 3)
    table, label, _ = people()
    frame = pd.DataFrame(table)
    model = SiteEnsemble(epsilon=5.0, random_state=1).fit(frame, label, owners=frame["town"])
    assert model.score(frame, label) > 0.6
    assert model.sites_.tolist() == ["north", "south", "west"]
    assert model.decision_function(frame).shape == (900,)


def test_numbers():
    X, y = make_regression(8_000, n_features=6, noise=10.0, random_state=1)
    model = SiteEnsembleRegressor(epsilon=1.0, random_state=1)
    model.fit(X[200:6_000], y[200:6_000], owners=sited(5_800), public=(X[:200], y[:200]))
    assert model.score(X[6_000:], y[6_000:]) > 0.9
    assert model.public_only_score_ > 0.9
    bounded = clone(model).set_params(target_range=(-10, 10))
    bounded.fit(X[200:], np.where(X[200:, 0] > 2, np.nan, y[200:]), public=(X[:200], y[:200]))
    assert np.abs(bounded.predict(X)).max() <= 10
    free = SiteEnsembleRegressor(privacy="none", loss="squared", random_state=1).fit(
        X, y, owners=sited(8_000)
    )
    assert free.score(X, y) > 0.95


def test_each_site_may_have_its_own_epsilon():
    X, y = task(rows=3_000)
    model = SiteEnsemble(epsilon=[0.1, 1.0, 10.0], random_state=1).fit(X, y, owners=sited(3_000, 3))
    assert [row["epsilon"] for row in model.report_] == [0.1, 1.0, 10.0]
    assert model.report_[0]["ridge"] > model.report_[1]["ridge"] > model.report_[2]["ridge"]
    assert model.guarantee_.epsilon == (0.1, 10.0)


def test_guarantee_says_what_it_must():
    X, y = task(rows=600)
    promise = (
        SiteEnsemble(epsilon=0.5)
        .fit(X[100:], y[100:], owners=sited(500), public=(X[:100], y[:100]))
        .guarantee_
    )
    assert (promise.epsilon, promise.unit, promise.void) == ((0.5, 0.5), "record", "")
    assert promise.adjacency == "one record of a site replaced, added or removed"
    text = str(promise)
    assert text.startswith(
        "Each record of a site is protected by differential privacy with epsilon 0.5."
    )
    assert "objective perturbation, one report per site" in text
    assert "how many records a site has is not" in text
    assert "own sample of 100 rows" in text
    for change, why in (
        ({"random_state": 3}, "random_state"),
        ({"privacy": "none"}, "models leave as they are"),
        ({"privacy": "published"}, "floating point"),
    ):
        void = SiteEnsemble(**change).fit(X[100:], y[100:], public=(X[:100], y[:100])).guarantee_
        assert why in void.void
        assert str(void).startswith("No guarantee")
    assert SiteEnsemble(privacy="none").fit(X, y).guarantee_.epsilon is None


def public_knowledge(model):
    projection, plan = model.lens_, [model.query_.plan(row["epsilon"]) for row in model.report_]
    parts = (
        projection.centre.tolist(),
        projection.directions.tolist(),
        projection.l1_bound,
        plan,
        model.schema_,
        model.public_only_score_,
    )
    return (*parts, model.model_.public_vectors.tolist(), model.query_.easing)


def test_private_rows_touch_no_public_knowledge():
    X, y = task(rows=600)
    sample = (X[:200], y[:200])
    model = SiteEnsemble(random_state=1)
    before = public_knowledge(model.fit(X[200:], y[200:], owners=sited(400), public=sample))
    for other in (1e6 * X[200:], np.full((400, 5), np.nan), np.zeros((400, 5))):
        with pytest.warns(DataWarning, match="no row of X has one of the labels"):
            model.fit(other, 7 - y[200:], owners=sited(400), public=sample)
        assert public_knowledge(model) == before
    few = public_knowledge(model.fit(X[200:205], y[200:205], owners=sited(5), public=sample))
    assert few == before
    assert "rows" not in model.report_[0]


def test_an_odd_site_does_not_stop_the_others():
    X, y = task(rows=3_000)
    rest, labels, names = X[200:].copy(), y[200:].copy(), sited(2_800).astype(object)
    names = np.array([f"site {name}" for name in names])
    rest[names == "site 1"] = np.nan
    labels[names == "site 2"] = 1
    labels[names == "site 3"] = 9  # no class of the schema: the site stays, without rows
    model = SiteEnsemble(epsilon=4.0, random_state=1).fit(
        rest, labels, owners=names, public=(X[:200], y[:200])
    )
    assert len(model.report_) == 5
    assert np.isfinite(model.site_models_).all()
    assert model.score(X, y) > 0.85


def test_seeds_and_clones():
    X, y = task(rows=600)
    first, again, other, fresh = (
        SiteEnsemble(random_state=seed).fit(X, y, owners=sited(600)).site_models_
        for seed in (1, 1, 2, None)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert first.shape == fresh.shape
    assert clone(SiteEnsembleRegressor(epsilon=3.0, target_range=(0, 1))).get_params()[
        "target_range"
    ] == (0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"combine": "vote"}, r"^combine must be one of"),
        ({"privacy": "laplace"}, r"^privacy must be one of"),
        ({"loss": "huber"}, r"^loss must be one of auto, huber_hinge, logistic, got 'huber'"),
        ({"epsilon": -1}, r"^epsilon must be a finite number > 0"),
        ({"epsilon": [1.0, 2.0]}, r"^epsilon must be a number or one for each of 5 sites"),
        ({"ridge": 0}, r"^ridge must be a finite number > 0"),
        ({"epsilon": 1e-6}, r"^epsilon must be between 0.0001"),
    ],
)
def test_bad_parameters(change, message):
    X, y = task(rows=300)
    with pytest.raises(ValueError, match=message):
        SiteEnsemble(**change).fit(X, y, owners=sited(300))


def test_bad_arguments():
    X, y = task(rows=300)
    with pytest.raises(
        ValueError, match=r"^owners must name one owner per row, got shape \(3,\) for 300 rows"
    ):
        SiteEnsemble().fit(X, y, owners=[1, 2, 3])
    with pytest.raises(TypeError, match=r"^public must be a pair"):
        SiteEnsemble().fit(X, y, public=3)
    with pytest.raises(ValueError, match=r"^target_range must be finite with low < high"):
        SiteEnsembleRegressor(target_range=(1, 1)).fit(X, y)
    with pytest.raises(ValueError, match="slopes without bound"):
        SiteEnsembleRegressor(loss="squared").fit(X, y)


@pytest.mark.parametrize("kind", [SiteEnsemble, SiteEnsembleRegressor, PrivateClassifier])
@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        ("x", "epsilon must be a finite number > 0, got 'x'"),
        ([1, 2, 3, 4, "a"], "epsilon must be a finite number > 0, got '1'"),
        ([1, 2, 3, 4, np.nan], "epsilon must be a finite number > 0, got nan"),
        ([1, 2], "epsilon must be a number or one for each of 5 .*, got an array of shape"),
        ({"n": 1}, "epsilon must be a finite number > 0, got {'n': 1}"),
    ],
    ids=["text", "a text among them", "nan", "too few", "dict"],
)
def test_an_epsilon_that_is_none_is_refused_by_its_name(kind, epsilon, said):
    """Sites took their median first, and numpy's words for it were what one read."""
    X, y = task(rows=300)
    target = X[:, 0] if kind is SiteEnsembleRegressor else y
    with pytest.raises(ValueError, match=said):
        kind(epsilon=epsilon).fit(
            X[50:], target[50:], owners=sited(250), public=(X[:50], target[:50])
        )


def test_an_engine_that_is_no_text_is_refused_by_its_name():
    X, y = task(rows=300)
    odd = SiteEnsemble().set_params(engine=3)
    with pytest.raises(ValueError, match='engine must be "inline", "ray" or'):
        odd.fit(X[50:], y[50:], public=(X[:50], y[:50]))
