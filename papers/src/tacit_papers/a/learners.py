"""The learners of paper A as they were published, for its tables. Each says why it may only be
simulated.

They are binary, as in the paper, and share models with the sound learners. What the text leaves
open is a parameter; the default is the reading that comes closest to the paper's own figures.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import one_of
from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, ShareQuery, Simulated
from tacit.learners.owners import simulate_by_name
from tacit.learners.owners.centroid import CentroidModel
from tacit.learners.owners.cross_tables import Cuts, OwnedRows, tabulate_weighted
from tacit.learners.owners.logistic import Logistic, centre_of, fit_owners
from tacit.learners.owners.stump import Stump, StumpModel, best_thresholds
from tacit.learners.query import Answer
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.registry import NoPrivacy
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import Stream
from tacit_papers.shared.textbook_duchi import as_published

_BLOCK = 1 << 21  # numbers of a block of estimates
CENTRES = ("public", "none")  # what is taken off rows before a regression


def raw_weights(query: ShareQuery, cohort: Cohort) -> FloatArray:
    """Weights as in Algorithm 4: 1 / N at each owner, multiplied round after round, never
    normalised again.
    """
    sizes = np.repeat(np.maximum(cohort.sizes, 1), cohort.sizes)
    logs = query.ensemble.log_weights(cohort.X, cohort.y)
    return np.asarray(np.exp(np.minimum(logs, 700.0)) / sizes)


@simulate_by_name
@dataclass(frozen=True)
class PublishedCentroid(Simulated):
    """Algorithm 5: every row is perturbed with epsilon / N, and sent with its label and its
    weight.

    `divide`: by what the data user divides a class's weighted sum of perturbed rows. "weights": by
    the sum of their weights, which makes a weighted mean. "rows": by the number of rows, as the
    formula has it when weights begin at 1; centroids then grow with the weights, and rounds fail.
    Both are the same in a first round.
    """

    name: ClassVar[str] = "centroid, as published"
    unsound: ClassVar[str] = (
        "labels and the number of rows leave in clear, and weights are multiplied after the "
        "noise, so that a malicious ensemble can read rows from them"
    )
    divide: str = "weights"

    def __post_init__(self) -> None:
        one_of("divide", self.divide, ("weights", "rows"))

    def space(self, facts: Facts) -> Box:
        return Box(dim=facts.dim)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        """The exact centroid of the cohort's classes, for measuring what the noise did: the same
        for every owner.
        """
        rows, weights = self.perturbed_rows(query, cohort)
        hot = np.eye(query.facts.classes)[cohort.y]
        sums = (hot * weights[:, np.newaxis]).T @ rows
        centroids = sums / self.divisors(query, cohort)[:, np.newaxis]
        return np.broadcast_to(centroids.ravel(), (len(cohort), centroids.size))

    def simulate(
        self,
        query: ShareQuery,
        cohort: Cohort,
        mechanism: type[Mechanism],
        epsilon: float | FloatArray,
        stream: Stream,
    ) -> Answer:
        sizes = np.repeat(np.maximum(cohort.sizes, 1), cohort.sizes)
        owner = np.repeat(np.arange(len(cohort)), cohort.sizes)
        row = np.arange(len(cohort.y)) - np.repeat(cohort.offsets[:-1], cohort.sizes)
        each = (epsilon if isinstance(epsilon, float) else epsilon[owner]) / sizes
        rows, weights = self.perturbed_rows(query, cohort)
        sums = np.zeros((query.facts.classes, query.facts.dim))
        for number in np.unique(
            row
        ):  # the n-th row of every owner that has one: a tape of its own for each
            for part in np.array_split(
                np.flatnonzero(row == number), max(1, len(cohort) * query.facts.dim // _BLOCK)
            ):
                coins = stream.child("row", int(number)).of(owner[part])
                randomiser = make(mechanism, Box(dim=query.facts.dim), each[part])
                estimates = randomiser.estimate(randomiser.randomize(rows[part], coins))
                np.add.at(sums, cohort.y[part], estimates * weights[part][:, np.newaxis])
        mean = sums / self.divisors(query, cohort)[:, np.newaxis]
        return Answer(mean.ravel(), np.zeros(mean.size), len(cohort))

    def learn(self, query: ShareQuery, answer: Answer) -> CentroidModel:
        return CentroidModel(answer.mean.reshape(query.facts.classes, -1))

    def perturbed_rows(self, query: ShareQuery, cohort: Cohort) -> tuple[FloatArray, FloatArray]:
        """What is perturbed, and what the data user multiplies it with."""
        return cohort.X, self.row_weights(query, cohort)

    def row_weights(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        """Weights of rows, which begin at 1: Table II is in units of unweighted centroids."""
        logs = query.ensemble.log_weights(cohort.X, cohort.y)
        return np.asarray(np.exp(np.minimum(logs, 700.0)))

    def divisors(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        """What makes centroids of the classes' sums."""
        weights = self.row_weights(query, cohort) if self.divide == "weights" else None
        found = np.bincount(cohort.y, weights, minlength=query.facts.classes).astype(np.float64)
        return np.where(found > 0, found, 1.0)


@simulate_by_name
@dataclass(frozen=True)
class PublishedStump(Stump):
    """Algorithm 6: cross-table differences with weights that are never normalised.

    `thresholds`: what the data user computes beforehand of its own data. "best": the cut of each
    column with the fewest errors; "median". `polarity`: which class is on which side. "sums": by
    the signs of the perturbed sums; "fixed": class 0 on the left, whatever the sums say, so that a
    stump the wrong way round wastes its round.
    """

    name: ClassVar[str] = "stump, as published"
    unsound: ClassVar[str] = (
        "weights leave [-1, 1] after a few rounds; only this simulation's clipping keeps the "
        "noise enough"
    )
    thresholds: str = "best"
    polarity: str = "sums"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("thresholds", self.thresholds, ("best", "median"))
        one_of("polarity", self.polarity, ("sums", "fixed"))

    def facts(self, public: Public) -> Facts:
        return one_cut_per_column(public, self.thresholds)

    def space(self, facts: Facts) -> Box:  # type: ignore[override]
        return Box(dim=2 * len(facts.values))

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        facts = query.facts
        tables = np.empty((len(cohort), len(facts.values), 2, 1))
        cuts = Cuts.of(facts.columns, facts.values, facts.dim)
        weights = raw_weights(query, cohort)
        tabulate_weighted(OwnedRows.of(cohort), weights, cuts, tables)
        return tables.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> StumpModel:
        impurity = np.abs(answer.mean.reshape(-1, 2)).sum(axis=1)
        best = int(np.argmax(impurity))
        sums = answer.mean.reshape(-1, 2)[best]
        left, right = (0, 1) if self.polarity == "fixed" else (int(side > 0) for side in sums)
        return StumpModel(
            int(query.facts.columns[best]), float(query.facts.values[best]), left, right
        )


def one_cut_per_column(public: Public, thresholds: str) -> Facts:
    """The best cut of each column in the data user's sample, or its median."""
    values = best_thresholds(public) if thresholds == "best" else np.median(public.X, axis=0)
    return Facts(public.dim, public.classes, values, np.arange(public.dim))


@simulate_by_name
@dataclass(frozen=True)
class PublishedLogistic(Logistic):
    """Algorithm 7: hardly any ridge, and coefficients scaled to [-1, 1] by the owner's own
    largest.

    `centre`: what is taken off rows before an owner fits them. "public": the mean of the data
    user's sample; "none".
    """

    name: ClassVar[str] = "logistic, as published"
    unsound: ClassVar[str] = (
        "coefficients on separable rows are unbounded, and scaling by a private maximum leaks it"
    )
    ridge: float = 1e-4
    centre: str = "public"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("centre", self.centre, CENTRES)

    def facts(self, public: Public) -> Facts:
        return sizes_and_centre(public, self.centre)

    def space(self, facts: Facts) -> Box:  # type: ignore[override]
        return Box(dim=facts.dim + 1)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        weights, centre = raw_weights(query, cohort), centre_of(query.facts)
        theta = fit_owners(cohort, weights, query.facts.classes, self.ridge, centre)[:, 0]
        largest = np.abs(theta).max(axis=1, keepdims=True)
        return np.asarray(theta / np.where(largest > 0, largest, 1.0))


def sizes_and_centre(public: Public, centre: str) -> Facts:
    """The mean of the data user's sample, if that is what rows are moved by."""
    return Logistic().facts(public) if centre == "public" else Facts(public.dim, public.classes)


def make(mechanism: type[Mechanism], space: Box, epsilon: FloatArray) -> Mechanism:
    """A mechanism as papers mean it, for one epsilon per row; nothing but the row where there is
    no privacy.
    """
    if mechanism is NoPrivacy:
        return NoPrivacy(space=space)
    same = bool((epsilon == epsilon[:1]).all())
    kind = as_published(mechanism)
    return kind(space=space, epsilon=float(epsilon[0]) if same else epsilon)
