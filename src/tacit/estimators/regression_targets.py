"""Targets that are numbers: their public range, and the public sample of rows with such targets."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.data.frames import categorical, some_rows
from tacit.data.schema import Schema
from tacit.estimators.guarantee import Source
from tacit.estimators.inputs import given_sample, set_aside
from tacit.learners.sites.train import LEVELS
from tacit.mechanisms.streams import Stream


@dataclass(frozen=True)
class Range:
    """Public bounds of a target. A cohort holds targets in whole steps, a model scores them in [-1,
    1].

    >>> bounds = Range(0.0, 10.0)
    >>> bounds.levels(np.array([0.0, 20.0, np.nan])).tolist(), bounds.numbers(np.array([0.0, 3.0])).tolist()
    ([0, 1048576, -1], [5.0, 10.0])
    """

    STEPS: ClassVar[int] = LEVELS

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise bad("target_range", "finite with low < high", (self.low, self.high))

    def levels(self, y: AnyArray) -> IntArray:
        """Whole steps; -1 for what is not a number."""
        given = np.asarray(y, dtype=np.float64)
        placed = np.clip((given - self.low) / (self.high - self.low), 0.0, 1.0)
        return np.where(np.isnan(placed), -1, np.rint(np.nan_to_num(placed) * self.STEPS)).astype(
            np.int64
        )

    def numbers(self, scores: FloatArray) -> FloatArray:
        """Targets of scores in [-1, 1]; beyond becomes the bound."""
        return np.asarray(self.low + (np.clip(scores, -1.0, 1.0) + 1) / 2 * (self.high - self.low))


@dataclass(frozen=True, eq=False)
class NumberSample:
    """Public rows with targets, which rows of the sites they were taken from, and what a
    guarantee says of that.
    """

    X: Any
    y: AnyArray
    taken: BoolArray
    source: Source

    def schema(self, known: Schema | None) -> Schema:
        """The schema that is known, or what the sample shows; its classes play no part."""
        return known or Schema.of_public(self.X, [0, 1], categorical(self.X))

    def range(self, known: Any) -> Range:
        """Bounds that are known, or the least and the largest target of the sample."""
        if known is not None:
            return Range(*(float(bound) for bound in known))
        finite = np.asarray(self.y, dtype=np.float64)[
            np.isfinite(np.asarray(self.y, dtype=np.float64))
        ]
        if not finite.size:
            raise ValueError("the public rows have no target that is a number")
        low, high = float(finite.min()), float(finite.max())
        return Range(low, high if high > low else low + max(1.0, abs(low)))

    def encoded(self, schema: Schema, bounds: Range) -> tuple[FloatArray, IntArray]:
        """The rows that have a target, as numbers."""
        levels = bounds.levels(self.y)
        return schema.encode(self.X).X[levels >= 0], levels[levels >= 0]


def given_numbers(estimator: Any, public: Any, rows: int) -> NumberSample:
    """The sample that fit was given as `public`, a pair (X0, y0)."""
    sample = given_sample(estimator, public, owners=rows)
    return NumberSample(sample.X, sample.y, sample.taken, sample.source)


def drawn_numbers(estimator: Any, X: Any, y: AnyArray, stream: Stream) -> NumberSample:
    """Rows set aside at random."""
    every = np.arange(len(y))
    taken = set_aside(every % 2, every, estimator.public_fraction, stream)
    rows = np.flatnonzero(taken)
    drawn = f"{len(rows)} rows, drawn at random, became the data user's sample."
    return NumberSample(some_rows(X, rows), np.asarray(y)[rows], taken, Source(len(rows), drawn))
