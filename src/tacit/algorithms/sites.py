"""Sites train, the aggregator combines (paper C): one question to every site, one report each.

    f_1 .. f_N = what the sites report                     private models, one or more vectors each
    f_0        = a model of the public rows alone
    f          = combine(f_1 .. f_N, public rows, f_0)     by default never worse than f_0

The generator yields the question and receives `Estimates`; it never sees a site's rows.

Which projection and how much ridge suit private training here is tried before anybody is asked, on
public rows alone: each candidate trains on four fifths of them as a site of that size would, noise
included, and scores the last fifth. All candidates read the same (public, seeded) coins, so that
they differ by themselves and not by luck.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.site_weights import (
    COMBINE,
    Combined,
    PublicOnly,
    PublicTask,
    folds_of,
    public_only,
    without_sites,
)
from tacit.data.cohort import Cohort
from tacit.data.number_target import Range
from tacit.learners.query import Estimates
from tacit.learners.sites.losses import LogisticLoss, Loss, Squared
from tacit.learners.sites.perturbation import LARGEST
from tacit.learners.sites.projection import LinearModel, Projection, fit_projection, winners
from tacit.learners.sites.train import TrainSite, targets_of
from tacit.mechanisms.streams import seeded


@dataclass(frozen=True, eq=False)
class SiteEnsembleModel:
    """What came of it: the combined vectors, those of public rows alone, and those of each site.

    `vectors` is (vectors, dim), `models` (sites, vectors, dim); `combined` and `alone` hold the
    details per vector.
    """

    vectors: FloatArray
    models: FloatArray
    epsilons: FloatArray
    combined: tuple[Combined, ...]
    alone: tuple[PublicOnly, ...]

    @property
    def public_vectors(self) -> FloatArray:
        return np.array([one.f for one in self.alone])

    @property
    def public_scores(self) -> FloatArray:
        """Scores (rows, vectors) of the public rows, each by a public-only model that was not
        trained on it.
        """
        return np.array([one.scores for one in self.alone]).T

    def public_only_score(self, y: IntArray, bounds: tuple[float, float] | None = None) -> float:
        """How well the public rows, with targets y, do alone, each unseen: accuracy, or R^2 of
        numbers between bounds.
        """
        if bounds is None:
            return float(np.mean(winners(self.public_scores) == y))
        ends = Range(*bounds)
        known = ends.numbers(y / Range.STEPS * 2 - 1)
        spread = float(np.sum((known - known.mean()) ** 2))
        missed = float(np.sum((known - ends.numbers(self.public_scores[:, 0])) ** 2))
        return 1 - missed / spread if spread > 0 else 0.0

    def linear(self, query: TrainSite, bounds: tuple[float, float] | None = None) -> LinearModel:
        """What may be published: the combined vectors behind the query's projection."""
        return LinearModel(query.projection, self.vectors, bounds)

    @property
    def unseen_scores(self) -> FloatArray:
        """Scores (rows, vectors) of the public rows, each by a model that was not trained on it.

        Sites were not trained on public rows at all.
        """
        return np.array([one.scores for one in self.combined]).T


def ensemble_of_sites(
    query: TrainSite, X: FloatArray, y: IntArray, combine: str = "guarded"
) -> Generator[TrainSite, Estimates | None, SiteEnsembleModel]:
    """Ask all sites, combine with the public rows X (encoded) and y (as a cohort holds them)."""
    told = yield query
    estimates = told if told is not None else Estimates(np.zeros((0, query.width)), np.zeros(0))
    return combine_sites(query, estimates, X, y, combine)


def combine_sites(
    query: TrainSite,
    estimates: Estimates,
    X: FloatArray,
    y: IntArray,
    combine: str = "guarded",
    alone: tuple[PublicOnly, ...] | None = None,
) -> SiteEnsembleModel:
    """The models of sites that have answered, combined vector by vector; without sites, the
    public rows alone.
    """
    models = estimates.values.reshape(-1, query.vectors, query.projection.dim)
    levels, place = np.unique(estimates.epsilons, return_inverse=True)
    trust = np.array([query.trust(epsilon) for epsilon in levels.tolist()])[place]
    alone = alone or models_of_public(query, X, y)
    made = [
        COMBINE[combine](models[:, vector], trust, task, only)
        if len(models)
        else without_sites(0, only)
        for vector, (task, only) in enumerate(zip(public_tasks(query, X, y), alone, strict=True))
    ]
    vectors = np.array([one.f for one in made])
    return SiteEnsembleModel(vectors, models, estimates.epsilons, tuple(made), alone)


def models_of_public(query: TrainSite, X: FloatArray, y: IntArray) -> tuple[PublicOnly, ...]:
    """The public-only model of each vector. It may look at rows otherwise than sites do: the
    baseline must not suffer from what helps private training.
    """
    looks = looks_at(query.projection, X)
    return tuple(public_only(task, looks) for task in public_tasks(query, X, y))


_STILL = 1e-9  # a column of public rows that spreads less says nothing


def looks_at(projection: Projection, X: FloatArray) -> list[FloatArray]:
    """Other ways to look at rows like X than the projection's own, as matrices (dim, dim) that make
    of what it sees: directions not stretched, where they are; and every column of X in units of
    its own spread, up to a turn, which a ridge does not notice.
    """
    rows, kept = projection.see(X), projection.directions.shape[1]
    spread = X.std(axis=0)
    units = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > _STILL)
    back = np.linalg.pinv(projection.directions) * units
    sizes, turned = np.linalg.eigh(back @ back.T)
    own = np.eye(projection.dim)
    own[:kept, :kept] = (turned * np.sqrt(np.maximum(sizes, 0.0))) @ turned.T
    stretch = projection.stretch
    found = [own] if np.ptp(stretch[:kept]) < 1e-9 else [np.diag(1 / stretch), own]
    return [look * _length(rows) / _length(rows @ look) for look in found]


def _length(rows: FloatArray) -> float:
    """The median length of rows; 1 where that is 0."""
    return float(np.median(np.sqrt((rows**2).sum(axis=1)))) or 1.0


def public_tasks(query: TrainSite, X: FloatArray, y: IntArray) -> list[PublicTask]:
    """What each vector is judged by: logistic loss for classes, as in the paper; squared for
    numbers. Public rows need no bounded slopes.
    """
    loss: Loss = Squared() if query.labels == 0 else LogisticLoss()
    rows = query.projection.see(X)
    return [
        PublicTask(rows, targets_of(y, query.labels, vector), loss)
        for vector in range(query.vectors)
    ]


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
    query = replace(query, projection=projections[0])
    query.check_plans()
    if len(X) < _LEAST_ROWS:
        return query
    every = -(-len(X) // _ROWS)
    some, labels = X[::every], y[::every]
    easings = _EASING if query.ridge is None else (query.easing,)
    candidates = [
        replace(query, projection=projection, easing=easing)
        for projection in projections
        for easing in easings
    ]
    for candidate in candidates:
        candidate.check_plans()
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
        models = query.rehearse(sites, epsilon, seeded(0).child("rehearsal", time))
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
