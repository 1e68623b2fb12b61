"""PeerEnsemble: what it promises, who may come and go, and odd participants."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tacit
from tacit import Category, Number, Schema
from tacit.estimators import PeerEnsemble
from tacit.estimators.own_models import PeerModel
from tacit.wire import encode

SCHEMA = Schema(
    (Number("age", 0, 100), Category("town", ("n", "s", "w")), Number("noise", -3, 3)),
    ("no", "yes"),
)


def people(n, seed=1):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(0, 100, n),
            "town": rng.choice(["n", "s", "w"], n),
            "noise": rng.normal(size=n),
        }
    )
    chance = 0.1 + 0.5 * (table["age"] > 50) + 0.35 * (table["town"] == "n")
    return table, np.where(rng.uniform(size=n) < chance, "yes", "no")


def names(n, parts=4):
    return np.array([f"p{k % parts}" for k in range(n)])


X, Y = people(4000)
WHO = names(4000)
TEST = people(2000, seed=2)


@pytest.fixture(scope="module")
def fitted():
    return fresh().fit(X, Y, owners=WHO)


def fresh(**parameters):
    """Peers that listen to everybody; those that listen to alike ones are below."""
    usual: dict[str, Any] = {"epsilon": 1.0, "schema": SCHEMA, "random_state": 1}
    return PeerEnsemble(**(usual | {"listen_to": "everybody"} | parameters))


@pytest.mark.parametrize("method", ["turns", "stumps", "trees"])
def test_served_and_own_models_beat_the_majority(method):
    model = fresh(method=method, rounds=12).fit(X, Y, owners=WHO)
    majority = max(np.mean(TEST[1] == "yes"), np.mean(TEST[1] == "no"))
    assert model.score(*TEST) > majority + 0.08
    assert set(model.models_) == {"p0", "p1", "p2", "p3"}
    assert min(own.score(*TEST) for own in model.models_.values()) > majority + 0.05


def test_nobody_spends_more_than_its_epsilon():
    for method in ("turns", "stumps", "trees"):
        model = fresh(method=method, epsilon=0.7, rounds=12).fit(X[:400], Y[:400], owners=WHO[:400])
        assert model.spent_ == pytest.approx(
            dict.fromkeys(model.spent_, 0.7), rel=1e-12
        )  # exactly: test_turns_are_...


def test_what_is_served_is_made_of_released_numbers_alone(fitted):
    again = PeerModel(fitted.cells_, fitted.released_)
    assert (again.decision_function(TEST[0]) == fitted.decision_function(TEST[0])).all()
    assert encode(fitted.served_.inner) == encode(fitted.released_)


def test_chances_and_classes_agree(fitted):
    chances = fitted.predict_proba(TEST[0])
    assert chances.shape == (2000, 2)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert (fitted.classes_[chances.argmax(axis=1)] == fitted.predict(TEST[0])).all()
    own = fitted.models_["p1"]
    assert (own.classes_[own.predict_proba(TEST[0]).argmax(axis=1)] == own.predict(TEST[0])).all()


def test_frames_arrays_and_other_orders_are_the_same(fitted):
    expected = fitted.decision_function(TEST[0])
    assert (fitted.served_.decision_function(TEST[0].to_numpy(dtype=object)) == expected).all()
    assert (fitted.served_.decision_function(pl.from_pandas(TEST[0])) == expected).all()
    shuffled = np.random.default_rng(1).permutation(4000)
    other = fresh().fit(X.iloc[shuffled], Y[shuffled], owners=WHO[shuffled])
    assert encode(other.released_) == encode(fitted.released_)


def test_a_seed_says_everything_and_none_is_private():
    runs = [
        fresh(random_state=seed).fit(X, Y, owners=WHO).released_ for seed in (1, 1, 2, None, None)
    ]
    assert runs[0] == runs[1]
    assert len({encode(run) for run in runs[1:]}) == 4


def test_the_guarantee_names_unit_adjacency_and_what_is_not_protected(fitted):
    assert "reproducible, not private" in fitted.guarantee_.void
    promise = fresh(random_state=None).fit(X, Y, owners=WHO).guarantee_
    assert promise.void == ""
    assert promise.epsilon == (1.0, 1.0)
    text = str(promise)
    assert text.startswith(
        "Each record of a participant is protected by differential privacy, over all rounds"
    )
    assert "adjacency: one record added to or removed from a participant's rows" in text
    assert "twice epsilon" in text
    open_ = fresh(epsilon=inf, random_state=None).fit(X, Y, owners=WHO).guarantee_
    assert "infinite" in open_.void
    assert open_.epsilon is None
    drawn = PeerEnsemble(random_state=1).fit(X[["age", "noise"]], Y, owners=WHO).guarantee_
    assert drawn.not_protected[0].startswith("800 rows")


def test_budgets_of_participants_may_differ():
    budgets = {"p0": 0.1, "p1": 1.0, "p2": 2.0, "p3": 0.5}
    model = fresh(epsilon=budgets).fit(X, Y, owners=WHO)
    assert model.spent_ == pytest.approx(budgets)
    assert model.guarantee_.epsilon == (0.1, 2.0)
    with pytest.raises(ValueError, match="missing are"):
        fresh(epsilon={"p0": 1.0}).fit(X, Y, owners=WHO)
    with pytest.raises(ValueError, match="epsilon must be for participants"):
        fresh(epsilon={"p9": 1.0} | budgets).fit(X, Y, owners=WHO)


@pytest.mark.parametrize("method", ["turns", "stumps", "trees"])
def test_joining_changes_nothing_that_others_released(method):
    first = WHO != "p3"
    model = fresh(method=method, rounds=8).fit(X[first], Y[first], owners=WHO[first])
    before, served = model.released_, model.score(*TEST)
    spent = dict(model.spent_)
    model.join(X[~first], Y[~first], name="p3")

    def parts(released):
        inner = getattr(released, "model", released)
        return getattr(inner, "parts", getattr(inner, "trees", None))

    assert parts(model.released_)[: len(parts(before))] == parts(before)
    assert len(parts(model.released_)) > len(parts(before))
    assert {name: model.spent_[name] for name in spent} == spent
    assert set(model.models_) == {"p0", "p1", "p2", "p3"}
    assert model.score(*TEST) > served - 0.03
    assert model.models_["p3"].score(*TEST) > 0.6


def test_leaving_takes_parts_and_model_along(fitted):
    model = fresh().fit(X, Y, owners=WHO).leave("p2")
    assert set(model.models_) == {"p0", "p1", "p3"}
    gone = [part for part in fitted.released_.parts if part.speaker == 2]
    assert gone
    assert set(model.released_.parts) == set(fitted.released_.parts) - set(gone)
    assert model.score(*TEST) > 0.65
    with pytest.raises(ValueError, match="name must be that of a participant"):
        model.leave("p2")
    with pytest.raises(ValueError, match="has spent its budget"):
        model.join(X[:10], Y[:10], name="p2")
    assert model.join(X[:300], Y[:300], name="new").spent_["new"] <= 1.0


def test_a_poisoned_participant_is_left_out_by_the_others():
    labels = np.where(WHO == "p1", np.where(Y == "yes", "no", "yes"), Y)
    model = fresh(epsilon=2.0).fit(X, labels, owners=WHO)
    assert all(1 in model.models_[name].inner.left_out for name in ("p0", "p2", "p3"))
    honest = fresh(epsilon=2.0).fit(X, Y, owners=WHO)
    assert all(own.inner.left_out == () for own in honest.models_.values())
    kept = fresh(epsilon=2.0, rho=10.0).fit(X, labels, owners=WHO)
    assert all(own.inner.left_out == () for own in kept.models_.values())


def test_attributes_are_declared_not_read():
    held = {"p0": ["age", "noise"], "p1": ["town"]}
    model = fresh().fit(X, Y, owners=WHO, attributes=held)
    assert {part.column for part in model.released_.parts if part.speaker == 0} <= {0, 2}
    assert {part.column for part in model.released_.parts if part.speaker == 1} == {1}
    wild = X.copy()
    wild.loc[WHO == "p0", "town"] = "nowhere"
    wild.loc[WHO == "p1", ["age", "noise"]] = np.nan
    assert encode(fresh().fit(wild, Y, owners=WHO, attributes=held).released_) == encode(
        model.released_
    )
    assert np.isfinite(model.models_["p1"].decision_function(TEST[0][["town"]])).all()
    with pytest.raises(ValueError, match="attributes must be some of"):
        fresh().fit(X, Y, owners=WHO, attributes={"p0": ["height"]})
    with pytest.raises(ValueError, match="attributes must be for participants"):
        fresh().fit(X, Y, owners=WHO, attributes={"p9": ["age"]})


def odd():
    """One class only, constant columns, missing values, a single row, labels nobody knows."""
    X, y = people(1000, seed=3)
    who = np.array(
        ["good"] * 700
        + ["one class"] * 100
        + ["constant"] * 100
        + ["missing"] * 98
        + ["single", "unknown"]
    )
    y[700:800] = "yes"
    X.loc[800:899, ["age", "noise"]] = 7.0
    X.loc[900:997, "age"] = np.nan
    X.loc[900:997, "town"] = None
    y[-1] = "perhaps"
    return X, y, who


@pytest.mark.parametrize("method", ["turns", "stumps", "trees"])
@pytest.mark.parametrize("epsilon", [1e-5, 1.0, inf])
def test_odd_participants_stop_nobody(method, epsilon):
    X, y, who = odd()
    model = fresh(method=method, epsilon=epsilon, rounds=6).fit(X, y, owners=who)
    assert set(model.models_) == set(who)
    for each in (model, *model.models_.values()):
        assert np.isfinite(each.decision_function(TEST[0])).all()
    if epsilon == 1.0 and method == "turns":
        assert model.models_["good"].score(*TEST) > 0.65


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a number > 0, or infinity"),
        ({"epsilon": float("nan")}, "epsilon must be a number > 0, or infinity"),
        ({"epsilon": 1e-12}, "epsilon of one answer must be at least"),
        ({"method": "gossip"}, "method must be one of"),
        ({"rounds": 0}, "rounds must be"),
        ({"rho": 0}, "rho must be"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"bins": 1}, "bins must be"),
        ({"schema": replace(SCHEMA, classes=("a", "b", "c"))}, "Only binary classification"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        fresh(**parameters).fit(X[:100], Y[:100], owners=WHO[:100])


def test_names_must_fit_the_rows():
    with pytest.raises(ValueError, match="owners must name one owner per row"):
        fresh().fit(X, Y, owners=WHO[:-1])


def test_a_public_sample_gives_bounds_and_classes():
    model = PeerEnsemble(random_state=1).fit(X, Y, owners=WHO, public=(X[:300], Y[:300]))
    assert model.score(*TEST) > 0.65
    assert model.schema_.classes == ("no", "yes")
    assert "300 rows" in model.guarantee_.not_protected[0]


def turned_round(y, who, names):
    """Classes of some participants are the opposite of what they were."""
    return np.where(np.isin(who, names), 1 - np.asarray(y), y)


@pytest.mark.parametrize("method", ["turns", "stumps", "trees"])
def test_opposite_participants_do_not_spoil_what_is_served(method):
    """Three of seven; one more that is like them comes later and sits with them."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (16_000, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=len(X)) > 0).astype(np.int64)
    who = np.arange(14_000) % 7
    said = turned_round(y[:14_000], who, [1, 3, 5])
    public = X[14_000:14_500], y[14_000:14_500]
    made = {}
    for whom in ("everybody", "alike"):
        model = PeerEnsemble(epsilon=4.0, method=method, rounds=14, listen_to=whom, random_state=1)
        made[whom] = model.fit(X[:14_000], said, owners=who, public=public)
    served = {whom: model.score(X[15_000:], y[15_000:]) for whom, model in made.items()}
    assert served["alike"] > max(0.8, served["everybody"] + 0.01)
    alike = made["alike"]
    assert alike.circles_ == [[0, 2, 4, 6], [1, 3, 5]]
    assert made["everybody"].circles_ == [list(range(7))]
    released = alike.released_
    alike.join(X[14_500:15_000], 1 - y[14_500:15_000], name=7)
    assert alike.circles_[1] == [1, 3, 5, 7]
    assert alike.released_.circles[0].released == released.circles[0].released
    assert alike.models_[7].score(X[15_000:], 1 - y[15_000:]) > 0.8
    alike.leave(2)
    assert alike.circles_ == [[1, 3, 5, 7], [0, 4, 6]]
    assert max(alike.spent_.values()) <= 4.0 + 1e-9
    assert "one part in 10 of epsilon" in str(alike.guarantee_)
    assert "one voice" in alike.guarantee_.influence


def test_budgets_that_differ_are_kept_in_circles():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (3_000, 3))
    y = (X[:, 0] > 0).astype(np.int64)
    budgets = {0: 0.5, 1: 1.0, 2: 3.0}
    for method in ("turns", "stumps"):
        model = PeerEnsemble(epsilon=budgets, method=method, rounds=6, random_state=1)
        model.fit(X, y, owners=np.arange(3_000) % 3, public=(X[:200], y[:200]))
        for name, budget in budgets.items():
            assert 0.99 * budget < model.spent_[name] <= budget + 1e-9


def test_circles_are_saved(tmp_path):
    X, y = np.random.default_rng(5).uniform(-1, 1, (900, 3)), np.arange(900) % 2
    model = PeerEnsemble(epsilon=1.0, rounds=3, random_state=1)
    model.fit(X, y, owners=np.arange(900) % 3, public=(X[:100], y[:100]))
    model.save(tmp_path / "m.tacit")
    again = tacit.load(tmp_path / "m.tacit")
    assert again.released_ == model.released_
    assert again.circles_ == model.circles_
    assert again.listen_to == model.listen_to
