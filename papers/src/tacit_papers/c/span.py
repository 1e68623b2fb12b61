"""Theorem 1 of paper C, measured: how far the feature method is from f*_span, the best that sites'
models can be combined to, and how far that is from the best linear model of all.

Rows are drawn from a distribution that is known: x uniform in a ball, y by a logistic law. So
expected losses are those of a large sample. Distances are between unit vectors: what a classifier
decides by.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.sites import combine_sites
from tacit.data.cohort import Cohort
from tacit.learners.query import Estimates
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.c.methods import site_query
from tacit_papers.runner import Cell

DIM = 10
_MANY = 40_000  # rows that stand for the distribution
_STRENGTH = 1e-2  # Lambda


@dataclass(frozen=True)
class SpanSetting:
    """N sites of m records, m0 public rows; epsilon None: without privacy."""

    sites: int = 5
    records: int = 400
    public: int = 400
    epsilon: float | None = None


USUAL = SpanSetting()
VARIED = {
    "public": [replace(USUAL, public=count) for count in (50, 200, 800, 3_200)],
    "records": [replace(USUAL, records=count) for count in (50, 200, 800, 3_200)],
    "sites": [replace(USUAL, sites=count, records=50) for count in (2, 5, 10, 20)],
    "epsilon": [replace(USUAL, epsilon=epsilon) for epsilon in (0.1, 0.3, 1.0, 3.0)],
    "records, private": [replace(USUAL, records=count, epsilon=0.3) for count in (200, 800, 3_200)],
}


@dataclass(frozen=True)
class SpanRow:
    """Means over runs: squared distance of the feature method from f*_span (`estimation`), and
    of f*_span from the best linear model f* (`gap`, C_N of the theorem).
    """

    varied: str
    sites: int
    records: int
    public: int
    epsilon: float | None
    estimation: float
    gap: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class SpanCell(Cell):
    """One thing varied."""

    paper: ClassVar[str] = "c"

    varied: str

    def rows(self) -> list[SpanRow]:
        return [self._row(number, at) for number, at in enumerate(VARIED[self.varied])]

    def _row(self, number: int, at: SpanSetting) -> SpanRow:
        found = []
        for run in range(self.runs):
            rng = np.random.default_rng([self.seed, run])
            coins = seeded(self.seed).child("paper C", "span", self.varied, number, run)
            found.append(_measure(at, rng, coins))
        estimation, gap = np.mean(found, axis=0).tolist()
        return SpanRow(
            varied=self.varied,
            sites=at.sites,
            records=at.records,
            public=at.public,
            epsilon=at.epsilon,
            estimation=estimation,
            gap=gap,
            runs=self.runs,
        )


def _measure(at: SpanSetting, rng: np.random.Generator, coins: Stream) -> tuple[float, float]:
    X, y = _draw(rng, _MANY)
    X0, y0 = _draw(rng, at.public)
    rows, labels = _draw(rng, at.sites * at.records)
    sites = Cohort.of(rows, labels, np.arange(len(labels)) // at.records)
    eye = Projection(np.zeros(DIM), np.eye(DIM), float(np.sqrt(DIM)))
    privacy = "none" if at.epsilon is None else "published"
    query = site_query(eye, privacy, at.epsilon or 1.0, 2 * _STRENGTH * at.records)
    answer = _ask(query, sites, at.epsilon or 1.0, coins)
    model = combine_sites(query, answer, X0, y0, combine="feature")
    span = np.array([one[0] for one in model.models])
    best = _best(X, y)
    spanned = span.T @ _best(X @ span.T, y)
    own = np.asarray(model.vectors[0])
    return _apart(own, spanned), _apart(spanned, best)


def _ask(query: TrainSite, sites: Cohort, epsilon: float, coins: Stream) -> Estimates:
    return query.answer(query.collect(query.release(sites, epsilon, coins), epsilon))


def _draw(rng: np.random.Generator, count: int) -> tuple[FloatArray, IntArray]:
    """Rows of length at most 1, more classes apart along the first coordinates."""
    X = rng.normal(size=(count, DIM))
    X *= (rng.uniform(size=count) ** (1 / DIM) / np.linalg.norm(X, axis=1))[:, None]
    slopes = 8.0 / np.arange(1, DIM + 1)
    return X, (rng.logistic(size=count) < X @ slopes).astype(np.int64)


def _best(X: FloatArray, y: IntArray) -> FloatArray:
    """The linear model with the least logistic loss on rows that stand for the distribution."""
    fitted = LogisticRegression(C=1e4, fit_intercept=False, max_iter=300).fit(X, y)
    return np.asarray(fitted.coef_[0])


def _apart(one: FloatArray, other: FloatArray) -> float:
    units = [vector / max(float(np.linalg.norm(vector)), 1e-300) for vector in (one, other)]
    return float(((units[0] - units[1]) ** 2).sum())
