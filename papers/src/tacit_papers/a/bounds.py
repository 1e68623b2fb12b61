"""What papers A and B say of errors and costs without a table: the bounds of the mean's error, what
a round costs, and the sizes that noise is held against.

A vector of d numbers in [-1, 1] is released by each of H owners through Piecewise; the error is the
largest over coordinates of the mean's distance from the truth, as in the bound
O(sqrt(d log d) / (epsilon sqrt(H))). Cost: processor time, and bytes of a report.
"""

from dataclasses import dataclass
from math import log, sqrt
from time import process_time
from typing import ClassVar

import numpy as np

from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort
from tacit.learners.learner import Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit_papers.datasets.split import Split
from tacit_papers.runner import Cell
from tacit_papers.shared.splits import deal, load_split, public_of

USUAL = (20, 1_000, 1.0)  # dimensions, owners, epsilon: from here one is varied at a time
VARIED: dict[str, tuple[float, ...]] = {
    "dimensions": (10, 40, 160),
    "owners": (250, 1_000, 4_000),
    "epsilon": (0.25, 0.5, 1.0, 2.0),
}
_TIMES = 5  # the least time of so many is taken
SCALES: dict[str, tuple[str, Learner]] = {
    "centroid": ("l2", PublishedCentroid()),
    "stump": ("impurity", PublishedStump()),
    "logistic": ("theta", PublishedLogistic()),
}


@dataclass(frozen=True)
class BoundRow:
    """The mean error of an estimated mean, over runs, and the bound without its constant."""

    varied: str
    dimensions: int
    owners: int
    epsilon: float
    error: float
    bound: float
    runs: int

    @property
    def at(self) -> float:
        return float({"epsilon": self.epsilon}.get(self.varied, getattr(self, self.varied)))


@dataclass(frozen=True)
class RoundCostRow:
    """One round of releases: processor seconds of all owners, and bytes of one report."""

    dimensions: int
    owners: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class ScaleRow:
    """What noise has to stay below, without any: the distance of the classes' centroids ("l2"), the
    mean difference of two features' impurities ("impurity"), the mean size of a coefficient
    ("theta").
    """

    dataset: str
    measure: str
    value: float


@dataclass(frozen=True, kw_only=True)
class BoundCell(Cell):
    """Errors and costs of means of made-up vectors."""

    paper: ClassVar[str] = "a"

    def rows(self) -> list[BoundRow | RoundCostRow]:
        stream = seeded(self.seed).child("paper A", "bounds")
        found: list[BoundRow | RoundCostRow] = []
        for varied, values in VARIED.items():
            for value in values:
                usual = dict(zip(("dimensions", "owners", "epsilon"), USUAL, strict=True))
                at = usual | {varied: value}
                size = int(at["dimensions"]), int(at["owners"]), float(at["epsilon"])
                found.append(self._error(varied, *size, stream.child(varied, str(value))))
        few = 1 if self.quick else 4
        for dimensions, owners in ((20, 10_000), (80, 10_000), (20, 40_000)):
            found.append(_cost(dimensions, few * owners, stream.child("cost")))
        return found

    def _error(self, varied: str, dim: int, owners: int, epsilon: float, coins: Stream) -> BoundRow:
        errors = []
        for run in range(self.runs):
            rng = np.random.default_rng([self.seed, run, dim, owners])
            shares = rng.uniform(-1, 1, (owners, dim))
            mechanism = Piecewise(space=Box(dim=dim), epsilon=epsilon)
            told = mechanism.mean(mechanism.randomize(shares, coins.child("run", run)))
            errors.append(float(np.abs(told - shares.mean(axis=0)).max()))
        return BoundRow(
            varied=varied,
            dimensions=dim,
            owners=owners,
            epsilon=epsilon,
            error=float(np.mean(errors)),
            bound=sqrt(dim * log(dim)) / (epsilon * sqrt(owners)),
            runs=self.runs,
        )


def _cost(dim: int, owners: int, coins: Stream) -> RoundCostRow:
    shares = np.random.default_rng(1).uniform(-1, 1, (owners, dim))
    mechanism = Piecewise(space=Box(dim=dim), epsilon=2.5 * dim)  # every coordinate is released
    seconds = []
    for number in range(_TIMES):
        began = process_time()
        reports = mechanism.randomize(shares, coins.child(number))
        seconds.append(process_time() - began)
    size = -(-mechanism.report_bits // 8)
    return RoundCostRow(dim, len(reports), min(seconds), size)


@dataclass(frozen=True, kw_only=True)
class ScaleCell(Cell):
    """What noise is held against, of one base learner on one data set."""

    paper: ClassVar[str] = "a"

    learner: str
    owners: int
    rows_per_owner: int

    def rows(self) -> list[ScaleRow]:
        split = load_split(self.dataset, self.quick)
        stream = seeded(self.seed).child("paper A", "scales", self.dataset)
        cohort = deal(split, self.owners, self.rows_per_owner, stream)
        measure, learner = SCALES[self.learner]
        share = _mean_share(learner, split, cohort)
        if measure == "l2":
            one, other = share.reshape(2, -1)
            value = float(np.linalg.norm(one - other))
        elif measure == "impurity":
            impurity = np.abs(share.reshape(-1, 2)).sum(axis=1)
            gaps = np.abs(impurity[:, None] - impurity)
            value = float(gaps.sum() / (len(impurity) * (len(impurity) - 1)))
        else:
            value = float(np.abs(share).mean())
        return [ScaleRow(self.dataset, measure, value)]


def _mean_share(learner: Learner, split: Split, cohort: Cohort) -> FloatArray:
    facts = learner.facts(public_of(split))
    terms = ReportTerms("none", (1.0,))
    query = ShareQuery(
        1,
        1,
        len(cohort),
        learner=learner,
        facts=facts,
        ensemble=Ensemble(split.classes),
        terms=terms,
    )
    return np.asarray(learner.share(query, cohort).mean(axis=0))
