"""Before sites are asked: which projection and how much ridge suit private training here? Tried on
public rows alone.

Each candidate trains on four fifths of the public rows as a site of that size would, noise
included, and scores the last fifth. All candidates read the same (public, seeded) coins, so that
they differ by themselves and not by luck.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.site_weights import folds_of
from tacit.data.cohort import Cohort
from tacit.learners.sites.perturbation import LARGEST
from tacit.learners.sites.projection import Projection, fit_projection
from tacit.learners.sites.train import TrainSite, targets_of
from tacit.mechanisms.streams import seeded

_ROWS = 2_000  # public rows, at most, that candidates are tried on
_LEAST_ROWS = 50  # with fewer, the first candidate is taken
_WHITEN = (0.0, 1.0)  # not at all, and fully
_EASING = (1.0, 0.3, 0.1)  # of the usual ridge
_TIMES = 2  # noises that each candidate is tried with


def projections_of(X: FloatArray, components: int | None = None) -> list[Projection]:
    """The projections to try: as the public rows are, and whitened."""
    return [fit_projection(X, components, whiten) for whiten in _WHITEN]


def tune_site(
    query: TrainSite, X: FloatArray, y: IntArray, epsilon: float, projections: Sequence[Projection]
) -> TrainSite:
    """The query with the projection and the easing that did best on public rows; a ridge that was
    given stays.

    Where the best is not better than the first candidate (the first projection, the usual ridge) by
    a standard error, or public rows are too few to tell, it is the first.
    """
    if len(X) < _LEAST_ROWS:
        return replace(query, projection=projections[0])
    every = -(-len(X) // _ROWS)
    some, labels = X[::every], y[::every]
    easings = _EASING if query.ridge is None else (query.easing,)
    candidates = [
        replace(query, projection=projection, easing=easing)
        for projection in projections
        for easing in easings
    ]
    # fewer rows in less noise: the same to a model, up to its size
    alike = min(epsilon * len(X) / len(some), LARGEST)
    agreed = [
        _agreement(replace(candidate, menu=(alike,)), some, labels, alike)
        for candidate in candidates
    ]
    best = int(np.argmax([each.mean() for each in agreed]))
    gains = agreed[best] - agreed[0]
    sure = gains.mean() > gains.std() / np.sqrt(len(gains))
    return candidates[best if sure else 0]


def _agreement(query: TrainSite, X: FloatArray, y: IntArray, epsilon: float) -> FloatArray:
    """Correlations of scores and targets, by noise, vector and fold. A model's length plays no
    part in it.
    """
    folds = folds_of(y.astype(np.float64))
    count = int(folds.max()) + 1
    sites = Cohort.of(
        np.concatenate([X[folds != fold] for fold in range(count)]),
        np.concatenate([y[folds != fold] for fold in range(count)]),
        np.concatenate([np.full(int(np.sum(folds != fold)), fold) for fold in range(count)]),
    )
    rows = query.projection.see(X)
    agreed = []
    for time in range(_TIMES):
        reports = query.release(sites, epsilon, seeded(0).child("rehearsal", time))
        models = query.collect(reports, epsilon).values.reshape(count, query.vectors, -1)
        for vector in range(query.vectors):
            targets = targets_of(y, query.labels, vector)
            agreed += [
                _correlation(rows[folds == fold] @ models[fold, vector], targets[folds == fold])
                for fold in range(count)
            ]
    return np.array(agreed)


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0
