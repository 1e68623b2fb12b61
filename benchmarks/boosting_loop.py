"""Boosted stumps as one would write them first: a Python loop over owners, NumPy for the rows of one owner.

The same algorithm as `tacit.learners.stump.Stump` in `tacit.ensembles.boosting`, with the float Piecewise mechanism:
every owner replays the published stumps on its own rows, fills its cross tables feature by feature, and perturbs them.
"""

from math import exp, floor, log
from typing import NamedTuple

import numpy as np

from tacit.cohort import Cohort
from tacit.learners.base import Public
from tacit.types import FloatArray, IntArray

_PER_COORDINATE = 2.5


class LoopStump(NamedTuple):
    """A published stump and its vote."""

    alpha: float
    column: int
    cut: float
    left: int
    right: int

    def predict(self, X: FloatArray) -> IntArray:
        return np.where(X[:, self.column] < self.cut, self.left, self.right)


def loop_fit(cohort: Cohort, public: Public, rounds: int, owners: int, epsilon: float, seed: int) -> list[LoopStump]:
    """`rounds` rounds of `owners` fresh owners each; a round no better than chance adds nothing."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(cohort))
    cuts = np.quantile(public.X, 0.5, axis=0)
    ensemble: list[LoopStump] = []
    for number in range(rounds):
        total = np.zeros(2 * len(cuts))
        for owner in order[number * owners : (number + 1) * owners].tolist():
            rows = slice(cohort.offsets[owner], cohort.offsets[owner + 1])
            share = _share(cohort.X[rows], cohort.y[rows], ensemble, cuts)
            total += _piecewise(share, epsilon, rng)
        stump = _learn(total.reshape(-1, 2) / owners, cuts)
        alpha = _vote(stump, ensemble, public)
        if alpha > 0:
            ensemble.append(stump._replace(alpha=alpha))
    return ensemble


def _weights(X: FloatArray, y: IntArray, ensemble: list[LoopStump]) -> FloatArray:
    logs = np.zeros(len(y))
    for stump in ensemble:
        logs += stump.alpha * (stump.predict(X) != y)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _share(X: FloatArray, y: IntArray, ensemble: list[LoopStump], cuts: FloatArray) -> FloatArray:
    """Per feature the weight of class 1 less that of class 0, left and right of the cut."""
    signed = _weights(X, y, ensemble) * (2 * y - 1)
    whole = signed.sum()
    share = np.empty(2 * len(cuts))
    for column, cut in enumerate(cuts):
        left = signed @ (X[:, column] < cut)
        share[2 * column] = left
        share[2 * column + 1] = whole - left
    return share


def _piecewise(share: FloatArray, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Sampled coordinates, k of them, each with epsilon / k (Wang et al. 2019)."""
    dim = len(share)
    k = max(1, min(dim, floor(epsilon / _PER_COORDINATE)))
    chosen = rng.choice(dim, k, replace=False)
    root = exp(epsilon / k / 2)
    edge = (root + 1) / (root - 1)
    near = share[chosen] * ((edge + 1) / 2) - (edge - 1) / 2
    far = rng.random(k) * (edge + 1) - edge
    far = np.where(far >= near, far + (edge - 1), far)
    told = np.where(rng.random(k) < root / (root + 1), near + rng.random(k) * (edge - 1), far)
    estimate = np.zeros(dim)
    estimate[chosen] = told * (dim / k)
    return estimate


def _learn(means: FloatArray, cuts: FloatArray) -> LoopStump:
    best = int(np.argmax(np.abs(means).sum(axis=1)))
    left, right = (means[best] > 0).astype(np.int64).tolist()
    return LoopStump(0.0, best, float(cuts[best]), left, right)


def _vote(stump: LoopStump, ensemble: list[LoopStump], public: Public) -> float:
    wrong = stump.predict(public.X) != public.y
    error = float(_weights(public.X, public.y, ensemble) @ wrong)
    inside = min(max(error, 1e-6), 1 - 1e-6)
    return log((1 - inside) / inside)
