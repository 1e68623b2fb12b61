"""`trust="two servers"` as the estimators have it: promises, refusals, files."""

import re
import tracemalloc
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tacit import PrivateBoosting, PrivateClassifier, SiteEnsemble, load
from tacit.algorithms import wide_features
from tacit.estimators.planning import plan


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Wide maps that are quick."""
    monkeypatch.setattr(wide_features, "WIDE", 150)
    monkeypatch.setattr(wide_features, "COORDINATES", 6)


@cache
def rows():
    X, y = make_classification(3000, 6, n_informative=4, random_state=2)
    return (X[100:], y[100:]), (X[:100], y[:100])


def fitted(kind=PrivateClassifier, *arguments, **options):
    (X, y), public = rows()
    return kind(*arguments, trust="two servers", **options).fit(X, y, public=public)


@cache
def secure():
    return fitted(epsilon=4.0)


def test_the_guarantee_says_whom_to_trust():
    promise = secure().guarantee_
    assert promise.headline == (
        "Each owner's rows are protected by differential privacy with epsilon 4 and delta 1e-06."
    )
    assert "the two servers together see every share" in str(promise)
    assert "up to 6 reports per owner" in str(promise)
    assert "moves the mean of n shares by at most" in promise.influence


def test_a_model_and_its_guarantee_are_saved(tmp_path):
    secure().save(tmp_path / "model.tacit")
    back = load(tmp_path / "model.tacit")
    (X, _), _ = rows()
    assert (back.predict(X[:50]) == secure().predict(X[:50])).all()
    assert (back.guarantee_.delta, back.guarantee_.trust) == (1e-6, "two servers")


def test_pure_epsilon_has_no_delta():
    promise = fitted(epsilon=20.0, delta=0.0, random_state=1).guarantee_
    assert (promise.delta, promise.epsilon) == (0.0, (20.0, 20.0))


def test_trees_and_private_only_run_under_it():
    for options in ({"features": "trees", "rounds": 2}, {"combine": "private"}):
        model = fitted(epsilon=8.0, random_state=1, **options)
        assert model.guarantee_.trust == "two servers"
        assert len(model.report_) >= 1


@pytest.mark.parametrize("learner", ["stump", "centroid", "logistic"])
def test_boosting_asks_everybody_in_every_round(learner):
    model = fitted(PrivateBoosting, learner, epsilon=4.0, rounds=3, random_state=1)
    (X, y), _ = rows()
    assert all(record["owners"] == len(X) for record in model.report_)
    assert "up to 3 reports per owner" in str(model.guarantee_)
    assert model.score(X, y) > 0.7


def test_boosting_may_ask_others_in_each_round():
    model = fitted(
        PrivateBoosting, "centroid", epsilon=4.0, rounds=3, owners_per_round=700, random_state=1
    )
    assert all(record["owners"] == 700 for record in model.report_)
    assert ", one report per owner" in str(model.guarantee_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": "laplace"}, "mechanism must be auto"),
        ({"epsilon": np.full(2900, 1.0)}, "epsilon must be one number"),
        ({"delta": 0.7}, "delta must be 0, or above 0"),
        ({"delta": -1.0}, "delta"),
        ({"delta": 1e-320}, "delta must be 0, or at least 1e-300"),
        ({"delta": 0, "epsilon": 5e-324}, "epsilon of each of 6 sums must be a finite number > 0"),
        ({"rows_per_owner": 10**9}, "rows_per_owner must be at most 10,000"),
        ({"features": "leaves"}, "features must be auto or trees"),
    ],
)
def test_what_sums_do_not_have_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)


@pytest.mark.parametrize(
    "delta", [0, Fraction(1, 1000), Decimal("1e-3"), np.float32(1e-3)], ids=str
)
@pytest.mark.parametrize("kind", [PrivateClassifier, PrivateBoosting])
def test_a_delta_may_be_any_number_and_travels_as_one(kind, delta, tmp_path):
    """Saved with delta=0 a model could not be read any more; with others it could not be saved."""
    model = fitted(kind, epsilon=4.0, delta=delta)
    model.save(tmp_path / "model.tacit")
    assert load(tmp_path / "model.tacit").guarantee_.delta == float(delta)
    assert isinstance(model.guarantee_.delta, float)


def test_owners_with_many_rows_are_planned_for_in_little_memory():
    """Made-up owners were three thousand, whatever each of them had: 22 GB at a thousand rows."""
    _, public = rows()
    tracemalloc.start()
    few, many = (
        plan(*public, owners=300, epsilon=1.0, rows_per_owner=each, trust="two servers")
        for each in (60, 4000)
    )
    assert tracemalloc.get_traced_memory()[1] < 300e6
    tracemalloc.stop()
    assert few.collect
    assert many.collect
    assert many.rise >= few.rise - 0.01


def test_a_plan_has_no_more_owners_than_can_be_counted_with():
    _, public = rows()
    for trust in ("nobody", "two servers"):
        with pytest.raises(ValueError, match="owners must be at most 1,000,000,000,000,000"):
            plan(*public, owners=10**400, epsilon=1.0, trust=trust)


def test_an_unknown_trust_is_refused():
    (X, y), public = rows()
    with pytest.raises(ValueError, match="trust must be one of nobody, two servers"):
        PrivateClassifier(trust="everybody").fit(X, y, public=public)


@cache
def records():
    """A data user with 100 rows, five sites with 3,000 records in all, and rows to test on."""
    X, y = make_classification(
        5100, 8, n_informative=6, n_redundant=0, n_clusters_per_class=2, random_state=5
    )
    names = np.arange(3000) % 5
    return (X[:100], y[:100]), (X[100:3100], y[100:3100], names), (X[3100:], y[3100:])


def test_sites_add_up_over_their_records(tmp_path):
    public, (X, y, names), test = records()
    fitted = [
        SiteEnsemble(epsilon=1.0, trust=trust, random_state=1).fit(
            X, y, owners=names, public=public
        )
        for trust in ("nobody", "two servers")
    ]
    each, summed = fitted
    assert summed.score(*test) > each.score(*test) + 0.02
    assert summed.score(*test) > summed.public_only_score_ + 0.02
    promise = summed.guarantee_
    assert (promise.unit, promise.trust, promise.epsilon) == ("record", "two servers", (1.0, 1.0))
    assert promise.delta == 1e-6
    assert promise.adjacency == "one record of a site replaced, added or removed"
    assert "proven to be that of at most 3000 records: one site, true or not" in promise.influence
    summed.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.predict_proba(test[0]) == summed.predict_proba(test[0])).all()
    assert (summed.predict(test[0]) == (summed.decision_function(test[0]) > 0)).all()


def test_how_records_are_split_over_sites_changes_sums_by_rounding_alone():
    public, (X, y, names), test = records()
    models = [
        SiteEnsemble(epsilon=1.0, trust="two servers", random_state=1).fit(
            X, y, owners=each, public=public
        )
        for each in (names, np.arange(3000) // 100)
    ]
    counts = [[row["owners"] for row in model.report_] for model in models]
    assert counts[0] == counts[1]
    assert all(abs(count - 3000) < 120 for count in counts[0])  # four deviations
    said = [model.decision_function(test[0]) for model in models]
    assert np.asarray(np.corrcoef(said))[0, 1] > 0.99


def test_records_are_asked_only_where_nearly_all_models_would_gain():
    """As few as those of four hospitals promise little; many, much."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 8))
    y = (X[:, :2].sum(axis=1) - X[:, 2] + 1.5 * rng.normal(size=60) > 0).astype(int)
    asked: Any = {"owners": 4, "epsilon": 1.0, "trust": "two servers", "unit": "record"}
    few, many = (plan(X, y, rows_per_owner=records, **asked) for records in (146, 20_000))
    assert (few.collect, many.collect) == (False, True)
    assert few.rise == 0
    assert re.search(
        r"may well add nothing to your own 60 rows .*: in \d+ of 60 models that your rows allow "
        r"accuracy would not rise at all, and sites differ",
        str(few),
    )
    assert "Collect: 80,000 records of sites" in str(many)
    with pytest.raises(ValueError, match="unit must be 'owner' but with trust='two servers'"):
        plan(X, y, owners=4, epsilon=1.0, unit="record")


def test_too_few_records_ask_nobody():
    public, (X, y, names), test = records()
    model = SiteEnsemble(epsilon=0.01, trust="two servers", random_state=1)
    model.fit(X[:200], y[:200], owners=names[:200], public=public)
    assert model.report_ == []
    assert "nobody was asked" in model.ended_
    assert model.guarantee_.headline.startswith("Nobody was asked")
    assert model.score(*test) > 0.6


@pytest.mark.parametrize(
    "changes", [{"combine": "average"}, {"privacy": "output"}, {"epsilon": np.ones(5)}]
)
def test_sites_that_add_up_have_no_models_of_their_own(changes):
    public, (X, y, names), _ = records()
    with pytest.raises(ValueError, match="two servers"):
        SiteEnsemble(trust="two servers", **changes).fit(X, y, owners=names, public=public)


@pytest.mark.parametrize("in_files", [False, True])
def test_too_few_owners_release_nothing_and_keep_the_data_users_model(in_files, tmp_path):
    """Nine owners would be asked, and a sum is opened over ten: nobody is charged."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(470, 3))
    y = (X[:, 0] > 0).astype(int) ^ (rng.random(470) < 0.2)
    public: Any = X[:20], y[:20]
    names = np.arange(450) // 50
    data: tuple[Any, ...] = X[20:], y[20:]
    if in_files:
        table = np.column_stack([X, y, np.append(np.full(20, -1), names)])
        public, data = tmp_path / "public.csv", (tmp_path / "owners.csv", "y")
        for path, part in ((public, table[:20, :4]), (data[0], table[20:])):
            heads = "a,b,c,y,who"[: 7 if part.shape[1] == 4 else 11]
            np.savetxt(path, part, "%.6g", ",", header=heads, comments="")
    who: Any = "who" if in_files else names
    model = PrivateClassifier(epsilon=50.0, trust="two servers", random_state=1)
    model.fit(*data, owners=who, public=public)
    assert model.ended_ == "owners ran out after 0 rounds"
    assert model.guarantee_.epsilon == (0.0, 0.0)
    assert model.report_ == []
    if not in_files:
        assert (model.predict(X) == next(model.staged_predict(X))).all()
    boosted = PrivateBoosting("stump", trust="two servers", random_state=1)
    boosted.fit(*data, owners=who, public=public)
    assert boosted.ended_.startswith("owners ran out after 0 of 10 rounds")
