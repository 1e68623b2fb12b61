"""Sites train, the aggregator combines (paper C): one question to every site, one report each.

    f_1 .. f_N = what the sites report                     private models, one or more vectors each
    f_0        = a model of the public rows alone
    f          = combine(f_1 .. f_N, public rows, f_0)     by default never worse than f_0

The generator yields the question and receives `Estimates`; it never sees a site's rows.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.site_weights import COMBINE, Combined, PublicOnly, PublicTask, public_only
from tacit.learners.query import Estimates
from tacit.learners.sites.losses import LogisticLoss, Loss, Squared
from tacit.learners.sites.projection import LinearModel
from tacit.learners.sites.train import TrainSite, targets_of


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

    def linear(self, query: TrainSite, bounds: tuple[float, float] | None = None) -> LinearModel:
        """What may be published: the combined vectors behind the query's projection."""
        return LinearModel(query.projection, self.vectors, bounds)

    def unseen_scores(self, query: TrainSite, X: FloatArray) -> FloatArray:
        """Scores (rows, vectors) of the public rows X, each with a public-only model that was not
        trained on it.

        Sites were not trained on public rows at all; only the few weights of the combination have
        seen the row.
        """
        rows = query.projection.see(X)
        each = [
            made.public_weight * only.scores + rows @ (made.weights @ self.models[:, vector])
            for vector, (made, only) in enumerate(zip(self.combined, self.alone, strict=True))
        ]
        return np.array(each).T


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
    trust = np.array([query.trust(epsilon) for epsilon in estimates.epsilons.tolist()])
    alone = alone or models_of_public(query, X, y)
    made = [
        COMBINE[combine](models[:, vector], trust, task, only)
        if len(models)
        else Combined(only.f, np.zeros(0), 1.0)
        for vector, (task, only) in enumerate(zip(public_tasks(query, X, y), alone, strict=True))
    ]
    vectors = np.array([one.f for one in made])
    return SiteEnsembleModel(vectors, models, estimates.epsilons, tuple(made), alone)


def models_of_public(query: TrainSite, X: FloatArray, y: IntArray) -> tuple[PublicOnly, ...]:
    """The public-only model of each vector."""
    return tuple(public_only(task, query.projection.stretch) for task in public_tasks(query, X, y))


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
