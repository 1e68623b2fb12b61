"""The data user's sample of a fit: its own rows, or, where it gives none, those of owners that are
set aside at random; and warnings of what is less protected, or read otherwise, than one may think.
"""

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from types import FrameType
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from tacit._util.types import AnyArray, BoolArray, IntArray
from tacit.data.owner_names import conform_owners
from tacit.data.sample import Sample
from tacit.data.table import UserTable, is_known, type_columns
from tacit.estimators.guarantee import Source
from tacit.estimators.parameters import check_fraction
from tacit.mechanisms.streams import Stream, drawing_order

_LEAST = 10  # owners to set aside, unless that is more than half


class PrivacyWarning(UserWarning):
    """Something is less protected than one may think, e.g. rows that become the data user's
    sample.
    """


class DataWarning(UserWarning):
    """Something of a table is not read as one may think: columns left out, labels not known."""


_NOT_THE_USERS = ("tacit", "sklearn", "joblib", "contextlib", "threading", "concurrent")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of whoever called us, by way of whatever library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package_of(frame) in _NOT_THE_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def warn_used_in_clear(taken: BoolArray, unit: str) -> str:
    """The sentence that a headline says of owners or records set aside, after a loud warning."""
    sentence = (
        f"{np.count_nonzero(taken):,} of {len(taken):,} {unit}s, drawn at random, are not "
        "protected at all: they were used in clear as the data user's sample."
    )
    warn_user(
        f"fit got no public=(X0, y0). {sentence} Give public= to protect everybody.",
        PrivacyWarning,
    )
    return sentence


@dataclass(frozen=True, eq=False)
class PublicPart:
    """The data user's sample, which owners it was `taken` from (nobody, when it is the data user's
    own), and what a guarantee says of that.
    """

    sample: Sample
    taken: BoolArray
    source: Source


def draw_sample(
    estimator: Any, X: Any, y: AnyArray, owners: IntArray, stream: Stream, unit: str = "owner"
) -> PublicPart:
    """The rows of some owners, drawn at random; `owners` are owner numbers by row."""
    if estimator.schema is None:
        known = is_known(y)
        classes = np.full(len(y), -1)
        classes[known] = conform_owners(y[known])[1]  # labels that say the same are one
    else:
        classes = estimator.schema.encode_labels(y)
    taken = set_aside(classes, owners, estimator.public_fraction, stream)
    rows = np.flatnonzero(taken[owners])
    drawn = (
        f"{len(rows)} rows of {np.count_nonzero(taken)} owners, drawn at random, became the "
        "data user's sample."
    )
    given = type_columns(X[rows]) if isinstance(X, UserTable) else X[rows]
    sample = make_sample(estimator, given, y[rows])
    return PublicPart(sample, taken, Source(len(rows), drawn, warn_used_in_clear(taken, unit)))


def make_sample(estimator: Any, X: Any, y: AnyArray) -> Sample:
    """Public rows by the estimator's schema, or by what they show."""
    if estimator.schema is None:
        there = y[is_known(y)].tolist()
        if not all(np.isscalar(label) for label in there):
            raise ValueError("labels must be numbers, texts or truth values, one for each row")
        known = np.array(there)  # of the type that its values have
        if known.dtype.kind == "O":
            kinds = ", ".join(sorted({type(label).__name__ for label in there}))
            raise ValueError(
                f"labels of your own rows are of a type that is not read ({kinds}): give them as "
                "texts, [str(label) for label in y], and owners' alike"
            )
        check_classification_targets(known)
        if len(np.unique(known)) < 2:
            raise ValueError(
                f"the data user's sample has {'one class' if len(known) else 'no label'}; two or "
                "more classes are needed, or a schema that names them"
            )
    sample = Sample.of(X, y, estimator.schema)
    warn_notes(sample.notes)
    return sample


def warn_notes(notes: Iterable[str]) -> None:
    """What a reader of a file would be told of its columns."""
    for note in notes:
        warn_user(note, DataWarning)


def set_aside(classes: IntArray, owners: IntArray, fraction: float, stream: Stream) -> BoolArray:
    """Which owners to set aside: in random order, until there are `fraction` of them and they show
    two classes.

    At least ten owners, or half when there are fewer than twenty. When to stop depends on owners
    already taken (and on the number of all), never on the rows of those that stay: nobody who stays
    has been looked at. `classes` are class numbers by row, -1 for labels that do not count, and
    `owners` owner numbers by row.

    >>> from tacit import seeded
    >>> int(set_aside(np.arange(100) % 2, np.arange(100), 0.2, seeded(1)).sum())
    20
    """
    check_fraction(fraction)
    size = int(owners.max()) + 1
    if size < 2:
        raise ValueError(
            "one owner (n_samples = 1 or one name) is too few: one is set aside, one is "
            "asked; give public="
        )
    order = drawing_order(size, stream, "set aside")
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
    number = max(ceil(fraction * size), min(_LEAST, size // 2), second_class)
    taken = np.zeros(size, dtype=np.bool_)
    taken[order[: min(size - 1, number)]] = True
    return taken
