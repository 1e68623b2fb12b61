"""The data user's own sample: the only rows that bounds, categories, classes and thresholds are
taken from.

Setting aside owners as the data user's sample, when the data user has none of its own.

What every estimator does first: tell owners' rows from the data user's sample, and encode both by
public rules.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from tacit._util.checks import bad, positive
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.data.cohort import Cohort
from tacit.data.frames import accept_labels, accept_table, categorical, owner_numbers, some_rows
from tacit.data.sample import Public
from tacit.data.schema import Schema
from tacit.estimators.guarantee import Source
from tacit.estimators.parameters import epsilon_of
from tacit.mechanisms.streams import Stream


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with labels, which owners they were taken from (none, when they are the data user's),
    and what a guarantee says of that.
    """

    X: Any
    y: AnyArray
    taken: BoolArray
    source: Source

    def schema(self, known: Schema | None) -> Schema:
        """The schema that is known, with classes sorted as scikit-learn keeps them, or what the
        sample shows.
        """
        if known is not None:
            return replace(known, classes=tuple(sorted(known.classes)))
        check_classification_targets(self.y)
        if len(np.unique(self.y)) < 2:
            raise ValueError(
                "the data user's sample has one class; two or more are needed, or a schema "
                "that names them"
            )
        return Schema.of_public(self.X, self.y, categorical(self.X))

    def encoded(self, schema: Schema) -> Public:
        """The rows whose class is in the schema, as numbers."""
        numbers = schema.encode_labels(self.y)
        if not (numbers >= 0).any():
            raise ValueError("the data user's sample has no row with a class of the schema")
        return Public(
            schema.encode(self.X).X[numbers >= 0], numbers[numbers >= 0], len(schema.classes)
        )


def given_sample(estimator: Any, public: Any, owners: int) -> Sample:
    """The sample that fit was given as `public`, a pair (X0, y0)."""
    if not (isinstance(public, tuple | list) and len(public) == 2):
        raise TypeError(f"public must be a pair (X0, y0), got {type(public).__name__}")
    X = accept_table(estimator, public[0], reset=False)
    y = accept_labels(estimator, X, public[1], finite=estimator.schema is None)
    return Sample(X, y, np.zeros(owners, dtype=np.bool_), Source(len(y)))


def drawn_sample(estimator: Any, X: Any, y: AnyArray, owners: IntArray, stream: Stream) -> Sample:
    """The rows of some owners, drawn at random; `owners` are owner numbers by row."""
    if estimator.schema is None:
        check_classification_targets(y)
        classes = np.unique(y, return_inverse=True)[1]
    else:
        classes = estimator.schema.encode_labels(y)
    taken = set_aside(classes, owners, estimator.public_fraction, stream)
    rows = np.flatnonzero(taken[owners])
    drawn = (
        f"{len(rows)} rows of {np.count_nonzero(taken)} owners, drawn at random, became the "
        "data user's sample."
    )
    return Sample(some_rows(X, rows), y[rows], taken, Source(len(rows), drawn))


_LEAST = 10


def set_aside(classes: IntArray, owners: IntArray, fraction: float, stream: Stream) -> BoolArray:
    """Which owners to set aside: in random order, until there are `fraction` of them and they show
    two classes.

    At least ten owners, or half when there are fewer than twenty. When to stop depends on owners
    already taken (and on the number of all), never on the rows of those that stay: nobody who stays
    has been looked at. `classes` are class numbers by row, -1 for labels that do not count, and
    `owners` owner numbers by row.

    >>> from tacit.mechanisms.streams import seeded
    >>> int(set_aside(np.arange(100) % 2, np.arange(100), 0.2, seeded(1)).sum())
    20
    """
    if not positive("public_fraction", fraction) < 1:
        raise bad("public_fraction", "a number between 0 and 1", fraction)
    size = int(owners.max()) + 1
    if size < 2:
        raise ValueError(
            "one owner (n_samples = 1 or one name) is too few: one is set aside, one is "
            "asked; give public="
        )
    order = np.argsort(stream.child("set aside").words(np.arange(size), 0, 1)[:, 0], kind="stable")
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    counted = classes >= 0
    first = np.full(max(2, int(classes.max()) + 1), size)  # of each class: when it is first seen
    np.minimum.at(first, classes[counted], rank[owners[counted]])
    second_class = int(np.partition(first, 1)[1]) + 1
    if second_class >= size:
        raise ValueError(
            "the rows set aside for the data user have one class, or would leave no owner to ask: "
            "y needs two classes with several owners each, or give public=(X0, y0)"
        )
    taken = np.zeros(size, dtype=np.bool_)
    taken[
        order[: min(size - 1, max(ceil(fraction * size), min(_LEAST, size // 2), second_class))]
    ] = True
    return taken


@dataclass(frozen=True, eq=False)
class Prepared:
    """The data user's sample, the owners, an epsilon for each or for all, and where the sample
    is from.
    """

    public: Public
    cohort: Cohort
    epsilon: float | FloatArray
    source: Source


def prepare(estimator: Any, X: Any, y: Any, owners: Any, public: Any, stream: Stream) -> Prepared:
    """Checked and encoded input; sets the estimator's schema_, classes_, public_frequencies_ and
    the two counts.
    """
    table = accept_table(estimator, X, reset=True)
    labels = accept_labels(estimator, table, y, finite=public is None and estimator.schema is None)
    numbers = owner_numbers(owners, len(labels))
    if public is None:
        sample = drawn_sample(estimator, table, labels, numbers, stream)
    else:
        sample = given_sample(estimator, public, owners=int(numbers.max()) + 1)
    schema = estimator.schema_ = sample.schema(estimator.schema)
    estimator.classes_ = np.array(schema.classes)
    known = sample.encoded(schema)
    estimator.public_frequencies_ = np.bincount(known.y, minlength=known.classes) / len(known.y)

    rest = np.flatnonzero(~sample.taken[numbers])
    encoded = schema.encode(some_rows(table, rest))
    cohort = Cohort.of(encoded.X, schema.encode_labels(labels[rest]), numbers[rest])
    estimator.moved_values_, estimator.ignored_rows_ = encoded.moved, cohort.ignored
    return Prepared(known, cohort, epsilon_of(estimator.epsilon, sample.taken), sample.source)


def baseline_of(public: Public, given: PublicModel | None) -> PublicModel:
    """The data user's own model, fitted unless it is given."""
    if given is None:
        return fit_public(public)
    if given.held_out.shape != (len(public.y), public.classes):
        raise ValueError(
            f"baseline must be fitted to the {len(public.y)} public rows with a known class, "
            f"got one of {len(given.held_out)} rows"
        )
    return given
