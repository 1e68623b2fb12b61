"""The data user's own sample: the only rows that bounds, categories, classes and thresholds are taken from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from tacit.estimators.set_aside import set_aside
from tacit.estimators.tables import accept_labels, accept_table, categorical, some_rows
from tacit.learners.base import Public
from tacit.schema import Schema
from tacit.streams import Stream
from tacit.types import AnyArray, BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with labels, which owners they were taken from (none, when they are the data user's), a sentence on that."""

    X: Any
    y: AnyArray
    taken: BoolArray
    source: str

    def schema(self, known: Schema | None) -> Schema:
        """The schema that is known, with classes sorted as scikit-learn keeps them, or what the sample shows."""
        if known is not None:
            return replace(known, classes=tuple(sorted(known.classes)))
        check_classification_targets(self.y)
        if len(np.unique(self.y)) < 2:
            raise ValueError(
                "the data user's sample has one class; two or more are needed, or a schema that names them"
            )
        return Schema.of_public(self.X, self.y, categorical(self.X))

    def encoded(self, schema: Schema) -> Public:
        """The rows whose class is in the schema, as numbers."""
        numbers = schema.encode_labels(self.y)
        if not (numbers >= 0).any():
            raise ValueError("the data user's sample has no row with a class of the schema")
        return Public(schema.encode(self.X).X[numbers >= 0], numbers[numbers >= 0], len(schema.classes))


def given_sample(estimator: Any, public: Any, owners: int) -> Sample:
    """The sample that fit was given as `public`, a pair (X0, y0)."""
    if not (isinstance(public, tuple | list) and len(public) == 2):
        raise TypeError(f"public must be a pair (X0, y0), got {type(public).__name__}")
    X = accept_table(estimator, public[0], reset=False)
    y = accept_labels(estimator, X, public[1], finite=estimator.schema is None)
    source = f"The data user's own sample of {len(y)} rows shows in bounds, thresholds and votes."
    return Sample(X, y, np.zeros(owners, dtype=np.bool_), source)


def drawn_sample(estimator: Any, X: Any, y: AnyArray, owners: IntArray, stream: Stream) -> Sample:
    """The rows of some owners, drawn at random; `owners` are owner numbers by row."""
    if estimator.schema is None:
        check_classification_targets(y)
        classes = np.unique(y, return_inverse=True)[1]
    else:
        classes = estimator.schema.encode_labels(y)
    taken = set_aside(classes, owners, estimator.public_fraction, stream)
    rows = np.flatnonzero(taken[owners])
    source = f"{len(rows)} rows of {np.count_nonzero(taken)} owners, drawn at random, became the data user's sample."
    return Sample(some_rows(X, rows), y[rows], taken, source)
