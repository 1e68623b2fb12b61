"""What ensembles of sites are given: rows with their site, parameters by name, and targets that are
numbers, in a public range.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad, one_of, positive
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.data.schema import Schema
from tacit.estimators.guarantee import Source
from tacit.estimators.inputs import accept_pair, set_aside, some_rows, warn_used_in_clear
from tacit.learners.sites.losses import LOSSES, Loss
from tacit.learners.sites.train import LEVELS
from tacit.mechanisms.streams import Stream


@dataclass(frozen=True, eq=False)
class SiteInputs:
    """Encoded rows X of sites with targets y (class numbers, or levels of a range) and the `names`
    of their sites; the public ones X0, y0, and what a guarantee says of them.

    `classes` is 0 for targets that are numbers, which lie between `bounds`.
    """

    X: FloatArray
    y: IntArray
    names: AnyArray
    X0: FloatArray
    y0: IntArray
    classes: int
    source: Source
    bounds: tuple[float, float] | None = None


def loss_of(name: Any, *, numbers: bool) -> Loss:
    """A loss by name; "auto" is the Huber hinge for classes and the Huber loss for numbers."""
    fitting = [known for known, loss in LOSSES.items() if loss.of_numbers == numbers]
    chosen = one_of("loss", name, ["auto", *fitting])
    return LOSSES[("huber" if numbers else "huber_hinge") if chosen == "auto" else chosen]


def ridge_of(ridge: Any) -> float | None:
    """A ridge that is given, or None for "auto"."""
    return None if isinstance(ridge, str) and ridge == "auto" else positive("ridge", ridge)


def site_names(sites: Any, rows: int) -> AnyArray:
    """The site of each row; None: all rows are of one site."""
    if sites is None:
        return np.zeros(rows, dtype=np.int64)
    names: AnyArray = np.asarray(sites)
    if names.shape != (rows,):
        raise ValueError(
            f"sites must name one site per row, got shape {names.shape} for {rows} rows"
        )
    return names


def site_epsilons(epsilon: Any, sites: int) -> FloatArray:
    """One epsilon per site."""
    if np.ndim(epsilon) == 0:
        return np.full(sites, positive("epsilon", epsilon))
    each = np.asarray(epsilon, dtype=np.float64)
    if each.shape != (sites,):
        raise bad("epsilon", f"a number or one for each of {sites} sites", f"shape {each.shape}")
    return each


@dataclass(frozen=True)
class Range:
    """Public bounds of a target. A cohort holds targets in whole steps, a model scores them in [-1,
    1].

    >>> bounds = Range(0.0, 10.0)
    >>> bounds.levels(np.array([0.0, 20.0, np.nan])).tolist()
    [0, 1048576, -1]
    >>> bounds.numbers(np.array([0.0, 3.0])).tolist()
    [5.0, 10.0]
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
    y: FloatArray
    taken: BoolArray
    source: Source

    def schema(self, known: Schema | None) -> Schema:
        """The schema that is known, or what the sample shows; its classes play no part."""
        return known or Schema.of_public(self.X, [0, 1])

    def range(self, known: Any) -> Range:
        """Bounds that are known, or the least and the largest target of the sample."""
        if known is not None:
            return Range(*(float(bound) for bound in known))
        finite = self.y[np.isfinite(self.y)]
        if not finite.size:
            raise ValueError("the public rows have no target that is a number")
        low, high = float(finite.min()), float(finite.max())
        return Range(low, high if high > low else low + max(1.0, abs(low)))

    def encode(self, schema: Schema, bounds: Range) -> tuple[FloatArray, IntArray]:
        """The rows that have a target, as numbers."""
        levels = bounds.levels(self.y)
        return schema.encode(self.X).X[levels >= 0], levels[levels >= 0]


def accept_numbers(estimator: Any, public: Any, rows: int) -> NumberSample:
    """The sample that fit was given as `public`, a pair (X0, y0)."""
    X, y = accept_pair(estimator, public)
    nobody = np.zeros(rows, dtype=np.bool_)
    return NumberSample(X, np.asarray(y, dtype=np.float64), nobody, Source(len(y)))


def draw_numbers(estimator: Any, X: Any, y: AnyArray, stream: Stream) -> NumberSample:
    """Rows set aside at random."""
    every = np.arange(len(y))
    taken = set_aside(every % 2, every, estimator.public_fraction, stream)
    rows = np.flatnonzero(taken)
    drawn = f"{len(rows)} rows, drawn at random, became the data user's sample."
    targets = np.asarray(y, dtype=np.float64)[rows]
    source = Source(len(rows), drawn, warn_used_in_clear(taken, "record"))
    return NumberSample(some_rows(X, rows), targets, taken, source)
