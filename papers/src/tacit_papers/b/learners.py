"""The learners of paper B where they differ from paper A's, for its figures. Each says why it may
only be simulated.

In paper B weights are normalised over everybody by exact sums, so that they are 1 on average
(`Ensemble.mean_weight`).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import one_of
from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, ShareQuery, Simulated
from tacit.learners.owners import simulate_by_name
from tacit.learners.owners.cross_tables import Cuts, OwnedRows, tabulate_weighted
from tacit.learners.owners.logistic import LogisticModel, centre_of, fit_owners, move_back
from tacit.learners.owners.stump import StumpModel
from tacit.learners.query import Answer
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import Stream
from tacit_papers.a.learners import (
    CENTRES,
    PublishedCentroid,
    make,
    one_cut_per_column,
    sizes_and_centre,
)
from tacit_papers.shared.first_learner import FromShares


def mean_one_weights(query: ShareQuery, cohort: Cohort) -> FloatArray:
    """Weights of rows, 1 on average over everybody."""
    logs = query.ensemble.log_weights(cohort.X, cohort.y)
    return np.asarray(np.exp(np.minimum(logs, 700.0)) / query.ensemble.mean_weight)


@simulate_by_name
@dataclass(frozen=True)
class WeightedCentroid(PublishedCentroid):
    """Section 3.5.1: every row times its weight is perturbed, and sent with its label."""

    name: ClassVar[str] = "centroid, as published in B"
    unsound: ClassVar[str] = (
        "labels and the number of rows leave in clear, sums over all owners are exact, and "
        "rows leave [-1, 1] when "
        "their weight is above 1; only this simulation's clipping keeps the noise enough"
    )

    def perturbed_rows(self, query: ShareQuery, cohort: Cohort) -> tuple[FloatArray, FloatArray]:
        rows = np.clip(cohort.X * self.row_weights(query, cohort)[:, np.newaxis], -1.0, 1.0)
        return rows, np.ones(len(rows))

    def row_weights(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        """1 on average over everybody; the sums of a class's weights are sums over owners, too."""
        return mean_one_weights(query, cohort)


@simulate_by_name
@dataclass(frozen=True)
class MajorityStump(Simulated):
    """Section 3.5.3: the best attribute from perturbed cross tables, then the majority class of
    each side, asked again.

    The answer is the perturbed tables followed by the exact ones. `thresholds` as in
    `PublishedStump`; the median is what the paper's hitting rates ask for (`b/hits.py`).
    """

    name: ClassVar[str] = "stump, as published in B"
    unsound: ClassVar[str] = (
        "owners tell the majority class of each side without noise, and sums over all are exact"
    )

    thresholds: str = "median"

    def __post_init__(self) -> None:
        one_of("thresholds", self.thresholds, ("best", "median"))

    def facts(self, public: Public) -> Facts:
        return one_cut_per_column(public, self.thresholds)

    def space(self, facts: Facts) -> Box:
        return Box(dim=2 * len(facts.values))

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        facts = query.facts
        tables = np.empty((len(cohort), len(facts.values), 2, 1))
        sizes = np.repeat(np.maximum(cohort.sizes, 1), cohort.sizes)
        cuts = Cuts.of(facts.columns, facts.values, facts.dim)
        weights = mean_one_weights(query, cohort) / sizes
        tabulate_weighted(OwnedRows.of(cohort), weights, cuts, tables)
        return np.clip(tables.reshape(len(cohort), -1), -1.0, 1.0)

    def simulate(
        self,
        query: ShareQuery,
        cohort: Cohort,
        mechanism: type[Mechanism],
        epsilon: float | FloatArray,
        stream: Stream,
    ) -> Answer:
        shares = self.share(query, cohort)
        randomiser = make(mechanism, self.space(query.facts), np.broadcast_to(epsilon, len(cohort)))
        perturbed = randomiser.totals(randomiser.randomize(shares, stream)).mean
        mean = np.concatenate([perturbed, shares.mean(axis=0)])
        return Answer(mean, np.zeros(mean.size), len(cohort))

    def learn(self, query: ShareQuery, answer: Answer) -> StumpModel:
        perturbed, exact = answer.mean.reshape(2, -1, 2)
        best = int(np.argmax(np.abs(perturbed).sum(axis=1)))
        left, right = (int(side > 0) for side in exact[best])
        return StumpModel(
            int(query.facts.columns[best]), float(query.facts.values[best]), left, right
        )


@simulate_by_name
@dataclass(frozen=True)
class OneAgainstRest(FromShares):
    """Section 3.5.2 for any number of classes: coefficients for each class, perturbed with all
    of epsilon each. `centre` as in `PublishedLogistic`.
    """

    name: ClassVar[str] = "logistic, as published in B"
    unsound: ClassVar[str] = (
        "each class costs epsilon, coefficients on separable rows are unbounded, and scaling "
        "by a private maximum "
        "leaks it"
    )
    ridge: float = 1e-4
    centre: str = "public"

    def __post_init__(self) -> None:
        one_of("centre", self.centre, CENTRES)

    def facts(self, public: Public) -> Facts:
        return sizes_and_centre(public, self.centre)

    def space(self, facts: Facts) -> Box:
        return Box(dim=facts.dim + 1)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        """(owners, vectors * (dim + 1)): each vector scaled by its largest entry."""
        sizes = np.repeat(np.maximum(cohort.sizes, 1), cohort.sizes)
        weights, centre = mean_one_weights(query, cohort) / sizes, centre_of(query.facts)
        theta = fit_owners(cohort, weights, query.facts.classes, self.ridge, centre)
        largest = np.abs(theta).max(axis=2, keepdims=True)
        return np.asarray(theta / np.where(largest > 0, largest, 1.0)).reshape(len(cohort), -1)

    def answer(
        self,
        query: ShareQuery,
        shares: FloatArray,
        mechanism: type[Mechanism],
        epsilon: float | FloatArray,
        stream: Stream,
    ) -> Answer:
        """The mean of perturbed shares, class by class."""
        space = self.space(query.facts)
        randomiser = make(mechanism, space, np.broadcast_to(epsilon, len(shares)))
        parts = [
            randomiser.totals(
                randomiser.randomize(np.ascontiguousarray(part), stream.child("class", number))
            ).mean
            for number, part in enumerate(np.split(shares, shares.shape[1] // space.dim, axis=1))
        ]
        mean = np.concatenate(parts)
        return Answer(mean, np.zeros(mean.size), len(shares))

    def learn(self, query: ShareQuery, answer: Answer) -> LogisticModel:
        coefficients = answer.mean.reshape(-1, query.facts.dim + 1)
        return move_back(coefficients, centre_of(query.facts))
