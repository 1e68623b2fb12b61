"""Public-only: candidates, and those that are given up."""

from typing import Any

import numpy as np

from tacit.algorithms import public_baseline
from tacit.algorithms.public_baseline import _judge_choice, fit_public, folds_of
from tacit.data.cohort import Public


def test_a_candidate_far_behind_is_given_up(monkeypatch):
    """Columns of noise around a line: trees lose at once, and are not fitted to the other folds."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 30))
    y = (X @ rng.normal(size=30) > 0).astype(int)
    fits: list[int] = []
    make = public_baseline.CANDIDATES["boosted trees"]

    def count() -> Any:
        fits.append(1)
        return make()

    monkeypatch.setitem(public_baseline.CANDIDATES, "boosted trees", count)
    own = fit_public(Public(X, y, 2))
    assert own.name != "boosted trees"
    assert own.accuracy is not None
    assert own.candidates["boosted trees"] < own.accuracy - 0.05
    assert len(fits) == 1
    rings = (np.abs(X[:, 0]) > 0.67).astype(int)
    assert fit_public(Public(X, rings, 2)).name == "boosted trees"
    assert len(fits) == 1 + 5 + 1


def test_what_is_expected_of_the_best_is_not_what_chose_it():
    """Three candidates that guess, on 60 rows each: the best of them is right in 55 of 100, by
    the rows that chose it. Of 2,000 draws the mean has a standard error of 0.0015; false alarms
    below one in 10,000.
    """
    rng = np.random.default_rng(5)
    folds = folds_of(np.arange(60) % 2)
    best, expected = [], []
    for _ in range(2_000):
        right = rng.random((3, 60)) < 0.5
        best.append(right.mean(axis=1).max())
        expected.append(_judge_choice(list(right), folds))
    assert abs(np.mean(expected) - 0.5) < 0.006
    assert np.mean(best) > 0.54


def test_of_one_candidate_its_accuracy_is_expected():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 3))
    public = Public(X, (X[:, 0] + rng.normal(size=40) > 0).astype(int), 2)
    own = fit_public(public, ["logistic regression"])
    assert own.expected == own.accuracy
    few = fit_public(Public(X[:5], public.y[:5], 2))
    assert few.expected is None
