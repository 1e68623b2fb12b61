"""Fitting and predicting."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tacit.estimators import PrivateBoosting
from tacit.learners.owners.stump import Stump
from tests.estimators.data import people, task


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", ["stump", "centroid", "logistic", Stump(cuts=3)])
def test_without_noise_it_learns(learner, classes):
    X, y = task(classes=classes)
    model = PrivateBoosting(learner, mechanism="none", random_state=0).fit(X[:800], y[:800])
    chance = 1 / classes
    assert model.score(X[800:], y[800:]) > chance + 0.1
    assert model.ensemble_.classes == classes


def test_more_epsilon_helps():
    X, y = task(rows=4000)
    weak, strong = (
        PrivateBoosting("centroid", epsilon=size, rounds=3, random_state=0).fit(X, y)
        for size in (0.1, 8.0)
    )
    assert strong.report_[0]["noise"] < 0.2 * weak.report_[0]["noise"]
    assert strong.score(X, y) > 0.8


@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_agree_with_each_other(classes):
    X, y = task(classes=classes)
    model = PrivateBoosting("centroid", epsilon=5.0, rounds=4, random_state=3).fit(X, y)
    parts, stages = model.predict_proba(X), list(model.staged_predict(X))
    assert np.allclose(parts.sum(axis=1), 1)
    assert (parts >= 0).all()
    assert np.array_equal(model.classes_[parts.argmax(axis=1)], model.predict(X))
    assert len(stages) == len(model.ensemble_) > 1
    assert np.array_equal(stages[-1], model.predict(X))
    lead = model.decision_function(X)
    assert lead.shape == ((len(X),) if classes == 2 else (len(X), 3))
    winners = (lead > 0).astype(int) if classes == 2 else lead.argmax(axis=1)
    assert np.array_equal(model.classes_[winners], model.predict(X))


def test_report_has_a_row_for_every_round():
    X, y = task()
    model = PrivateBoosting(epsilon=0.05, rounds=6, owners_per_round=60, random_state=2).fit(X, y)
    fields = {
        "round",
        "attempt",
        "owners",
        "kept",
        "error",
        "error_stderr",
        "alpha",
        "signal",
        "noise",
    }
    assert all(set(row) == fields and row["owners"] == 60 for row in model.report_)
    assert sum(row["kept"] for row in model.report_) == len(model.ensemble_) < len(model.report_)
    assert all(row["kept"] == (row["alpha"] > 0) for row in model.report_)


def test_owners_run_out():
    X, y = task(rows=100)
    model = PrivateBoosting(rounds=10, owners_per_round=50, mechanism="none", random_state=1).fit(
        X, y
    )
    assert "owners ran out after 1 of 10" in model.ended_
    assert len(list(model.staged_predict(X))) == 1


def test_without_base_models_the_most_frequent_class_wins():
    X, y = task(rows=100)
    y = np.where(np.arange(100) % 4 == 0, "rare", "usual")
    model = PrivateBoosting(owners_per_round=1000, random_state=1).fit(X, y)
    assert len(model.ensemble_) == 0
    assert model.report_ == []
    assert "owners ran out" in model.ended_
    assert "most frequent class" in model.ended_
    assert set(model.predict(X)) == {"usual"}
    assert [set(stage) for stage in model.staged_predict(X)] == [{"usual"}]
    assert np.allclose(model.predict_proba(X), model.public_frequencies_)
    assert (model.decision_function(X) > 0).all()


def test_ragged_owners_and_their_epsilon():
    columns, y, owners = people()
    X = np.stack([columns["age"], columns["member"]], axis=1)
    names = np.unique(owners)
    epsilon = np.where(np.arange(len(names)) % 2, 0.5, 4.0)
    model = PrivateBoosting("centroid", epsilon=epsilon, rounds=2, random_state=4).fit(
        X, y, owners=owners
    )
    assert model.guarantee_.epsilon == (0.5, 4.0)
    assert "epsilon 0.5 to 4, as each owner chose" in str(model.guarantee_)
    shuffled = np.random.default_rng(0).permutation(len(y))
    again = PrivateBoosting("centroid", epsilon=epsilon, rounds=2, random_state=4)
    again.fit(X[shuffled], y[shuffled], owners=owners[shuffled])
    assert again.report_[0]["owners"] == model.report_[0]["owners"]
    with pytest.raises(ValueError, match=f"one for each of {len(names)} owners"):
        PrivateBoosting(epsilon=epsilon[1:]).fit(X, y, owners=owners)
    with pytest.raises(ValueError, match="owners must name one owner per row"):
        PrivateBoosting().fit(X, y, owners=owners[1:])


def test_random_state():
    X, y = task(rows=400)
    first, second = (PrivateBoosting(random_state=7).fit(X, y) for _ in range(2))
    assert first.report_ == second.report_
    assert np.array_equal(first.predict(X), second.predict(X))
    assert PrivateBoosting(random_state=8).fit(X, y).report_ != first.report_
    for kind in (np.random.RandomState, np.random.default_rng):
        rows = [PrivateBoosting(random_state=kind(3)).fit(X, y).report_ for _ in range(2)]
        assert rows[0] == rows[1]
    secure = [PrivateBoosting("centroid", rounds=1).fit(X, y) for _ in range(2)]
    assert secure[0].report_[0]["signal"] != secure[1].report_[0]["signal"]
    assert secure[0].guarantee_.stream == "secure"
    assert not secure[0].guarantee_.void


def test_a_fitted_model_can_be_stored():
    X, y = task(rows=400)
    model = PrivateBoosting(random_state=1).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.guarantee_ == model.guarantee_


def test_errors_by_secure_sums():
    X, y = task(rows=3000)
    model = PrivateBoosting(
        "centroid", error="owners", error_epsilon=5.0, mechanism="none", rounds=3, random_state=1
    )
    model.fit(X, y)
    assert model.score(X, y) > 0.8
    spent = model.guarantee_.error_epsilon  # by the sums that there were
    assert spent is not None
    assert 0 < spent <= 5.0
    assert "either of two servers" in model.guarantee_.adversary
    less = PrivateBoosting(
        "centroid", error="owners", error_epsilon=0.5, mechanism="none", rounds=3, random_state=1
    )
    assert less.fit(X, y).report_[0]["error_stderr"] > 9 * model.report_[0]["error_stderr"]
    judged = PrivateBoosting("centroid", error="owners", rounds=3, attempts=1)
    claim = str(judged.fit(X, y).guarantee_)
    whole = len(judged.report_) / 3
    assert f"with epsilon 1 for the report and {whole:g} for all error estimates" in claim


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"learner": "tree"}, "learner must be one of"),
        ({"learner": Stump}, "learner must be one of"),
        ({"epsilon": 0}, "epsilon must be a finite number > 0"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number > 0"),
        ({"mechanism": "magic"}, "mechanism must be one of"),
        ({"error": "nobody"}, "error must be one of"),
        ({"rounds": 0}, "rounds must be a whole number >= 1"),
        ({"rounds": 10**9}, "rounds must be at most 1,000"),
        ({"attempts": 0}, "attempts must be a whole number >= 1"),
        ({"owners_per_round": 0}, "owners_per_round must be a whole number >= 1"),
        ({"public_fraction": 1.0}, "public_fraction must be"),
        ({"error": "owners", "error_epsilon": -1.0}, "error_epsilon must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": "today"}, "random_state must be None, a whole number"),
    ],
)
def test_bad_parameters(wrong, message):
    X, y = task(rows=100)
    with pytest.raises(ValueError, match=message):
        PrivateBoosting(**wrong).fit(X, y)


def test_bad_data():
    X, y = task(rows=100)
    with pytest.raises(ValueError, match="one class"):
        PrivateBoosting().fit(X, np.zeros(100))
    with pytest.raises(ValueError, match="one class"):
        PrivateBoosting().fit(X, y, public=(X[:5], np.zeros(5)))
    with pytest.raises(ValueError, match="one owner"):
        PrivateBoosting().fit(X, y, owners=["me"] * 100)
    with pytest.raises(ValueError, match="X has 3 features, but PrivateBoosting is expecting 5"):
        PrivateBoosting().fit(X, y, public=(X[:, :3], y))
    with pytest.raises(TypeError, match="public must be a pair"):
        PrivateBoosting().fit(X, y, public=X)
    with pytest.raises(ValueError, match="texts that are no numbers"):
        PrivateBoosting().fit(np.full((100, 2), "text", dtype=object), y)
    model = PrivateBoosting(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X has 4 features, but PrivateBoosting is expecting 5"):
        model.predict(X[:, :4])
    with pytest.raises(NotFittedError):
        next(PrivateBoosting().staged_predict(X))
