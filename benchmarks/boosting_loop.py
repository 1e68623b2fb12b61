"""Boosted stumps as a loop over owners with NumPy for the rows of one owner: the strong rival.

The same algorithm as `tacit.learners.owners.stump.Stump` in `tacit.algorithms.boosting`, with the
float Piecewise mechanism: every owner replays the published stumps on its own rows, fills its cross
tables, and perturbs them. The tables are filled feature by feature (`by_feature`) or for all
features in one product (`at_once`).
"""

from collections.abc import Callable
from math import exp, floor, log
from typing import NamedTuple

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.boosting import Schedule
from tacit.data.cohort import Cohort, Public

_PER_COORDINATE = 2.5  # epsilon that one sampled coordinate is worth


class LoopStump(NamedTuple):
    """A published stump and its vote."""

    alpha: float
    column: int
    cut: float
    left: int
    right: int

    def predict(self, X: FloatArray) -> IntArray:
        return np.where(X[:, self.column] < self.cut, self.left, self.right)


Share = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def loop_fit(
    cohort: Cohort, public: Public, schedule: Schedule, epsilon: float, fill: Share, seed: int
) -> int:
    """Boost by schedule with fresh owners, asking others when a round is dropped; answer how many
    spoke.
    """
    rounds, owners = schedule.rounds, schedule.owners
    if owners is None:
        raise ValueError("a schedule for fresh owners says how many speak in a round")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(cohort)).tolist()
    offsets = cohort.offsets.tolist()
    cuts = np.quantile(public.X, 0.5, axis=0)
    standing = np.full(len(public.y), 1 / len(public.y))
    ensemble: list[LoopStump] = []
    asked = 0
    while len(ensemble) < rounds and asked + owners <= len(order):
        total = np.zeros(2 * len(cuts))
        for owner in order[asked : asked + owners]:
            rows = slice(offsets[owner], offsets[owner + 1])
            X, y = cohort.X[rows], cohort.y[rows]
            share = fill(X, _weights(X, y, ensemble) * (2 * y - 1), cuts)
            _add_piecewise(total, share, epsilon, rng)
        asked += owners
        stump = _learn(total.reshape(-1, 2), cuts)
        wrong = stump.predict(public.X) != public.y
        error = min(max(float(standing @ wrong), 1e-6), 1 - 1e-6)
        alpha = log((1 - error) / error)
        if alpha > 0:
            ensemble.append(stump._replace(alpha=alpha))
            standing = standing * np.exp(alpha * wrong)
            standing = standing / standing.sum()
    return asked


def by_feature(X: FloatArray, signed: FloatArray, cuts: FloatArray) -> FloatArray:
    """Per feature the weight of class 1 less that of class 0, left and right of the cut."""
    whole = signed.sum()
    share = np.empty(2 * len(cuts))
    for column, cut in enumerate(cuts):
        left = signed @ (X[:, column] < cut)
        share[2 * column] = left
        share[2 * column + 1] = whole - left
    return share


def at_once(X: FloatArray, signed: FloatArray, cuts: FloatArray) -> FloatArray:
    """The same for all features in one product."""
    left = signed @ (cuts > X)
    share = np.empty(2 * len(cuts))
    share[::2] = left
    share[1::2] = signed.sum() - left
    return share


def _weights(X: FloatArray, y: IntArray, ensemble: list[LoopStump]) -> FloatArray:
    logs = np.zeros(len(y))
    for stump in ensemble:
        logs += stump.alpha * (stump.predict(X) != y)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _add_piecewise(
    total: FloatArray, share: FloatArray, epsilon: float, rng: np.random.Generator
) -> None:
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
    total[chosen] += told * (dim / k)


def _learn(means: FloatArray, cuts: FloatArray) -> LoopStump:
    best = int(np.argmax(np.abs(means).sum(axis=1)))
    left, right = (means[best] > 0).astype(np.int64).tolist()
    return LoopStump(0.0, best, float(cuts[best]), left, right)
