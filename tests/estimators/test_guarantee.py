"""What is protected: private rows stay out of public knowledge, and the guarantee says what it
must.
"""

from typing import ClassVar

import numpy as np
import pytest

from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Public
from tacit.estimators import (
    DataWarning,
    PrivacyWarning,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    load,
)
from tacit.estimators.set_aside import set_aside
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import seeded
from tests.estimators.data import task


def facts(model):
    parts = model.facts_
    known = (model.schema_, model.public_only_score_, model.public_frequencies_.tolist())
    return (*known, parts.dim, parts.classes, parts.values.tolist(), parts.columns.tolist())


def test_private_rows_touch_no_public_knowledge():
    X, y = task(rows=600)
    sample = (X[:200], y[:200])
    model = PrivateBoosting(Stump(cuts=3), random_state=1)
    before = facts(model.fit(X[200:], y[200:], public=sample))
    for other in (1e6 * X[200:], np.full((400, 5), np.nan), np.zeros((400, 5))):
        with pytest.warns(DataWarning, match="no row of X has one of the labels"):
            assert facts(model.fit(other, 7 - y[200:], public=sample)) == before
    assert facts(model.fit(X[200:203], y[200:203], public=sample)) == before


def test_rows_that_stay_touch_no_public_knowledge_either():
    X, y = task(rows=600)
    owners = np.arange(600) // 4
    model = PrivateBoosting(Stump(cuts=3), random_state=1)
    before = facts(model.fit(X, y, owners=owners))
    stay = ~set_aside(y, owners, 0.2, seeded(1))[owners]
    X[stay], y[stay] = 1e6, 0
    assert stay.sum() == 480
    assert facts(model.fit(X, y, owners=owners)) == before


def test_setting_aside_goes_on_until_there_are_two_classes():
    classes, owners = np.zeros(1000, dtype=np.int64), np.arange(1000)
    classes[-5:] = 1
    for seed in range(20):
        taken = set_aside(classes, owners, 0.01, seeded(seed))
        assert set(classes[taken]) == {0, 1}
        assert taken.sum() >= 10
    sizes = [
        set_aside(np.arange(n) % 2, np.arange(n), 0.2, seeded(2)).sum() for n in (10, 20, 40, 100)
    ]
    assert sizes == [5, 10, 10, 20]


def test_guarantee_with_secure_coins():
    X, y = task(rows=300)
    promise = PrivateBoosting(epsilon=0.5).fit(X[50:], y[50:], public=(X[:50], y[:50])).guarantee_
    assert (promise.epsilon, promise.unit, promise.stream, promise.void) == (
        (0.5, 0.5),
        "owner",
        "secure",
        "",
    )
    assert promise.adjacency == "any two sets of rows of one owner"
    assert "data user included" in promise.adversary
    assert "own sample of 50 rows" in promise.not_protected[0]
    text = str(promise)
    assert text.startswith(
        "Each owner's rows are protected by local differential privacy with epsilon 0.5."
    )
    assert all(sentence in text for sentence in promise.not_protected)
    with pytest.raises(AttributeError):
        promise.epsilon = None  # type: ignore[misc]


def test_guarantee_names_those_set_aside():
    X, y = task(rows=300)
    owners = np.arange(300) // 3
    promise = PrivateBoosting().fit(X, y, owners=owners).guarantee_
    assert promise.not_protected[0].startswith("60 rows of 20 owners, drawn at random")


def test_a_seed_voids_the_guarantee():
    X, y = task(rows=300)
    promise = PrivateBoosting(random_state=1).fit(X, y).guarantee_
    assert promise.stream == "reproducible, not private"
    assert promise.epsilon == (1.0, 1.0)
    assert str(promise).startswith(
        "No guarantee: the coins came from random_state (reproducible, not private)."
    )
    assert "with secure coins would give local differential privacy with epsilon 1" in str(promise)


@pytest.mark.parametrize("seed", [None, 1])
def test_where_nobody_is_asked_no_epsilon_is_claimed_or_spent(seed, tmp_path):
    X, y = task(rows=300)
    few = PrivateClassifier(epsilon=0.01, random_state=seed).fit(
        X[200:], y[200:], public=(X[:200], y[:200])
    )
    assert few.ended_.startswith("nobody was asked: the log loss would fall by ")
    few.save(tmp_path / "m.tacit")
    for promise in (few.guarantee_, load(tmp_path / "m.tacit").guarantee_):
        assert (promise.epsilon, promise.reports, promise.void) == ((0.0, 0.0), "no report", "")
        assert (
            promise.headline
            == "Nobody was asked: no owner made a report, and no epsilon was spent."
        )
        assert "0.01" not in str(promise)
        assert "own sample of 200 rows" in str(promise)  # what is not protected stays so


def test_whoever_is_asked_gets_the_guarantee(monkeypatch):
    monkeypatch.setattr("tacit.algorithms.outlook.Outlook.why_not", "")
    X, y = task(rows=300)
    asked = (
        PrivateClassifier(epsilon=0.01).fit(X[200:], y[200:], public=(X[:200], y[:200])).guarantee_
    )
    assert (asked.epsilon, asked.reports) == ((0.01, 0.01), "one report")


class Leaky(Stump):
    unsound: ClassVar[str] = "it tells everything"


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"learner": Leaky()}, "it tells everything"),
        ({"mechanism": "none"}, "reported as they are"),
    ],
)
def test_no_epsilon_where_none_holds(parameters, reason):
    X, y = task(rows=300)
    promise = PrivateBoosting(**parameters).fit(X, y).guarantee_
    assert promise.epsilon is None
    assert reason in promise.void
    assert str(promise).startswith("No guarantee")
    assert "would give" not in str(promise)


def test_the_mechanism_is_named():
    X, y = task(rows=300)
    chosen = PrivateBoosting("logistic", random_state=1).fit(X, y).guarantee_.mechanism
    assert chosen == "privunit"
    assert (
        PrivateBoosting(mechanism="duchi", random_state=1).fit(X, y).guarantee_.mechanism == "duchi"
    )


def test_public_only_score():
    X, y = task(rows=200, classes=3)
    score = PrivateBoosting(random_state=1).fit(X, y, public=(X, y)).public_only_score_
    assert score is not None
    assert 0.6 < score <= 1.0
    assert (
        PrivateBoosting(random_state=1).fit(X, y, public=(X[:9], y[:9])).public_only_score_ is None
    )
    rows = np.linspace(-1, 1, 30)[:, np.newaxis]
    lonely = np.where(np.arange(30) == 29, 2, np.arange(30) // 15)
    assert fit_public(Public(rows, np.zeros(30, dtype=np.int64), 2)).accuracy is None
    score = fit_public(Public(rows, lonely, 3)).accuracy
    assert score is not None
    assert 0.8 < score < 1.0


@pytest.mark.parametrize(
    ("make", "named", "words"),
    [
        (PrivateClassifier, {}, "60 of 300 owners, drawn at random, are not protected at all"),
        (PrivateBoosting, {}, "60 of 300 owners, drawn at random, are not protected at all"),
        (
            SiteEnsemble,
            {"owners": [row % 3 for row in range(300)]},
            "60 of 300 records, drawn at random, are not protected at all",
        ),
    ],
)
def test_without_a_public_sample_fit_warns_once_and_the_headline_says_so(make, named, words):
    X, y = task(rows=300)
    with pytest.warns(PrivacyWarning, match=words) as heard:
        model = make().fit(X, y, **named)
    assert len(heard) == 1
    assert words in model.guarantee_.headline
    told = "How many records there are in all is public: it shows in how many were drawn."
    assert (told in model.guarantee_.not_protected) == ("records" in words)
    assert words not in make().fit(X, y, public=(X[:50], y[:50]), **named).guarantee_.headline


def test_the_guarantee_says_what_one_report_can_do():
    X, y = task(rows=300)
    model = PrivateBoosting(Stump(cuts=3), random_state=1).fit(X, y, public=(X[:50], y[:50]))
    assert "one report, true or not, moves the mean of n shares by at most" in str(model.guarantee_)
    sites = [row % 3 for row in range(300)]
    found = SiteEnsemble().fit(X, y, owners=sites, public=(X[:50], y[:50])).guarantee_
    assert "one report, true or not, is read as models of length" in found.influence
