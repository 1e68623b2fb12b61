"""The engine in one process, watched: a monitor hears of every question and may end the asking."""

from typing import Any

import numpy as np
import pytest

from tacit import PeerEnsemble, PrivateBoosting, PrivateClassifier


def data(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


X, Y = data()
PUBLIC: dict[str, Any] = {"public": (X[:200], Y[:200])}


def boosted(rounds, monitor=None):
    model = PrivateBoosting(
        "centroid", epsilon=8.0, rounds=rounds, owners_per_round=300, random_state=1
    )
    return model.fit(X[200:], Y[200:], **PUBLIC, monitor=monitor)


def test_a_monitor_hears_of_every_question_and_changes_nothing():
    heard = []

    def monitor(answered):
        heard.append(answered)
        return False

    watched = boosted(3, monitor)
    assert heard == list(range(len(watched.report_)))
    assert watched.transcript_ == boosted(3).transcript_
    assert watched.ended_ == "all 3 rounds"


@pytest.mark.parametrize("after", [0, 2])
def test_stopping_keeps_the_rounds_before_it(after):
    """The model after two of five rounds is the one that two rounds would have made."""
    stopped = boosted(5, lambda answered: answered == after)
    kept = len(stopped.ensemble_)
    assert len(stopped.report_) == after
    assert stopped.ended_.startswith(f"stopped after {kept} of 5 rounds")
    if kept:
        np.testing.assert_array_equal(stopped.predict_proba(X), boosted(kept).predict_proba(X))


def test_who_was_not_asked_has_spent_nothing():
    model = PeerEnsemble(epsilon=3.0, rounds=8, listen_to="everybody", random_state=1)
    model.fit(
        X[200:],
        Y[200:],
        owners=np.arange(3800) % 4,
        **PUBLIC,
        monitor=lambda answered: answered == 3,
    )
    assert model.ended_ == "stopped after 3 questions"
    assert len(model.released_.parts) == 3
    assert sum(spent > 0 for spent in model.spent_.values()) == 3


def test_a_stopped_classifier_is_the_public_model():
    model = PrivateClassifier(epsilon=8.0, random_state=1)
    model.fit(X[200:], Y[200:], **PUBLIC, monitor=lambda answered: True)
    assert model.ended_ == "stopped after 0 rounds"
    assert len(model.stages_) == 1
