"""Public-only: candidates, and those that are given up."""

from typing import Any

import numpy as np

from tacit.algorithms import public_baseline
from tacit.algorithms.public_baseline import fit_public
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
