"""Boosted stumps as a reader of the paper would first write them: Python loops over owners, rows
and features.

The same algorithm as `tacit.learners.owners.stump.Stump` in `tacit.algorithms.boosting`, with the
float Piecewise mechanism. Rows become lists first, which Python reads faster than arrays; weights
of the data user's sample are kept from round to round.
"""

import random
from math import exp, floor, log
from typing import NamedTuple

from tacit.algorithms.boosting import Schedule
from tacit.data.cohort import Cohort, Public

_PER_COORDINATE = 2.5  # epsilon that one sampled coordinate is worth


class PlainStump(NamedTuple):
    """A published stump and its vote."""

    alpha: float
    column: int
    cut: float
    left: int
    right: int


def plain_fit(cohort: Cohort, public: Public, schedule: Schedule, epsilon: float, seed: int) -> int:
    """Boost by schedule with fresh owners, asking others when a round is dropped; answer how many
    spoke.
    """
    rounds, owners = schedule.rounds, schedule.owners
    if owners is None:
        raise ValueError("a schedule for fresh owners says how many speak in a round")
    rng = random.Random(seed)  # noqa: S311 - a benchmark
    waiting = list(range(len(cohort)))
    rng.shuffle(waiting)
    sample, labels = public.X.tolist(), public.y.tolist()
    cuts = [_median([row[column] for row in sample]) for column in range(public.dim)]
    weights = [1 / len(sample)] * len(sample)
    ensemble: list[PlainStump] = []
    asked = 0
    while len(ensemble) < rounds and asked + owners <= len(waiting):
        totals = [0.0] * (2 * len(cuts))
        for owner in waiting[asked : asked + owners]:
            rows = slice(cohort.offsets[owner], cohort.offsets[owner + 1])
            share = _share(cohort.X[rows].tolist(), cohort.y[rows].tolist(), ensemble, cuts)
            for coordinate, estimate in _piecewise(share, epsilon, rng):
                totals[coordinate] += estimate
        asked += owners
        stump = _learn(totals, cuts)
        wrong = [_says(stump, row) != label for row, label in zip(sample, labels, strict=True)]
        error = sum(weight for weight, missed in zip(weights, wrong, strict=True) if missed)
        inside = min(max(error, 1e-6), 1 - 1e-6)
        alpha = log((1 - inside) / inside)
        if alpha > 0:
            ensemble.append(stump._replace(alpha=alpha))
            weights = [
                weight * exp(alpha) if missed else weight
                for weight, missed in zip(weights, wrong, strict=True)
            ]
            whole = sum(weights)
            weights = [weight / whole for weight in weights]
    return asked


def _says(stump: PlainStump, row: list[float]) -> int:
    return stump.left if row[stump.column] < stump.cut else stump.right


def _share(
    rows: list[list[float]], labels: list[int], ensemble: list[PlainStump], cuts: list[float]
) -> list[float]:
    """Per feature the weight of class 1 less that of class 0, left and right of the cut."""
    weights = []
    for row, label in zip(rows, labels, strict=True):
        weight = 1.0
        for stump in ensemble:
            if _says(stump, row) != label:
                weight *= exp(stump.alpha)
        weights.append(weight)
    whole = sum(weights)
    left, right = [0.0] * len(cuts), [0.0] * len(cuts)
    for row, label, weight in zip(rows, labels, weights, strict=True):
        signed = weight / whole if label == 1 else -weight / whole
        for column, cut in enumerate(cuts):
            if row[column] < cut:
                left[column] += signed
            else:
                right[column] += signed
    return [side for pair in zip(left, right, strict=True) for side in pair]


def _piecewise(share: list[float], epsilon: float, rng: random.Random) -> list[tuple[int, float]]:
    """Sampled coordinates, k of them, each with epsilon / k (Wang et al. 2019)."""
    dim = len(share)
    k = max(1, min(dim, floor(epsilon / _PER_COORDINATE)))
    root = exp(epsilon / k / 2)
    edge = (root + 1) / (root - 1)
    told = []
    for coordinate in rng.sample(range(dim), k):
        near = share[coordinate] * ((edge + 1) / 2) - (edge - 1) / 2
        if rng.random() < root / (root + 1):
            value = near + rng.random() * (edge - 1)
        else:
            value = rng.random() * (edge + 1) - edge
            if value >= near:
                value += edge - 1
        told.append((coordinate, value * dim / k))
    return told


def _learn(totals: list[float], cuts: list[float]) -> PlainStump:
    purity = [abs(totals[2 * column]) + abs(totals[2 * column + 1]) for column in range(len(cuts))]
    best = purity.index(max(purity))
    return PlainStump(
        0.0, best, cuts[best], int(totals[2 * best] > 0), int(totals[2 * best + 1] > 0)
    )


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
