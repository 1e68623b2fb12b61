"""Public-only: candidates, and those that are given up."""

from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from tacit.algorithms import public_baseline
from tacit.algorithms.public_baseline import fit_public, folds_of
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
    """Rows of noise: on each fold the candidate counts that is best on the others, by
    scikit-learn's own cross-validation. By the rows that chose it the best looks better than that.
    """
    names = ["logistic regression", "linear discriminants"]
    better = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 6)), rng.integers(0, 2, 60)
        own = fit_public(Public(X, y, 2), names)
        folds = folds_of(y)
        hits = [
            cross_val_predict(public_baseline.CANDIDATES[name](), X, y, cv=PredefinedSplit(folds))
            == y
            for name in names
        ]
        judged = 0
        for fold in range(public_baseline.FOLDS):
            out = folds == fold
            rest = [int(each[~out].sum()) for each in hits]
            judged += int(hits[rest.index(max(rest))][out].sum())
        assert own.expected == judged / 60
        better.append((own.accuracy or 0.0) - own.expected)
    assert sum(better) > 0


def test_of_one_candidate_its_accuracy_is_expected():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 3))
    public = Public(X, (X[:, 0] + rng.normal(size=40) > 0).astype(int), 2)
    own = fit_public(public, ["logistic regression"])
    assert own.expected == own.accuracy
    few = fit_public(Public(X[:5], public.y[:5], 2))
    assert few.expected is None
