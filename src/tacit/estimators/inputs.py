"""What every estimator does first: tell owners' rows from the data user's sample, and encode both
by public rules.

Accepted are arrays of numbers, and data frames, which may hold categories and text. The data
user's sample is the only thing that bounds, categories, classes and thresholds are taken from;
where there is none, some owners are set aside as such a sample, and the guarantee says so.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from tacit._util.checks import bad, positive
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.data.cohort import Cohort, Public
from tacit.data.sample import Sample
from tacit.data.schema import Schema
from tacit.data.table import (
    UserTable,
    conform_owners,
    encode_rows,
    is_frame,
    is_known,
    number_labels,
    read_frame,
)
from tacit.data.table_file import TableFile
from tacit.engines.inline import Engine, Inline, Monitor
from tacit.estimators.guarantee import Source
from tacit.mechanisms.streams import Stream, drawing_order
from tacit.sums import HOW
from tacit.sums.secure_sum import SecureSum

if TYPE_CHECKING:
    from tacit.data.owner_blocks import BlockedCohort

INLINE = "inline"  # the engine in this process

_LEAST = 10  # owners to set aside, unless that is more than half


@dataclass(frozen=True, eq=False)
class PublicPart:
    """The data user's sample, which owners it was `taken` from (nobody, when it is the data user's
    own), and what a guarantee says of that.
    """

    sample: Sample
    taken: BoolArray
    source: Source


@dataclass(frozen=True, eq=False)
class Inputs:
    """The data user's sample, how frequent classes are in it, and the cohort of so many owners, an
    epsilon for each or for all; `moved` counts owners' values that do not fit the schema.
    """

    sample: Sample
    frequencies: FloatArray
    source: Source
    cohort: "Cohort | BlockedCohort"
    owners: int
    epsilon: float | FloatArray
    moved: int

    def engine(
        self,
        where: str,
        stream: Stream,
        sums: SecureSum | None = None,
        monitor: Monitor | None = None,
    ) -> Engine:
        """What asks these owners: in this process, or where `where` says."""
        if where == INLINE and isinstance(self.cohort, Cohort):
            return Inline(self.cohort, self.epsilon, stream, sums, monitor)
        from tacit.estimators.at_scale import engine_at

        return engine_at(where, self, stream, sums, monitor)


def read_inputs(
    estimator: Any, X: Any, y: Any, *, owners: Any, public: Any, stream: Stream
) -> Inputs:
    """Checked and encoded input of an estimator with parameters schema, epsilon and
    public_fraction.
    """
    if names_files(X):
        from tacit.estimators.at_scale import read_files

        return read_files(estimator, X, y, owner=owners, public=public)
    table = accept_table(estimator, X, reset=True)
    labels = accept_labels(estimator, table, y, finite=public is None and estimator.schema is None)
    numbers = owner_numbers(owners, len(labels))
    if public is None:
        part = draw_sample(estimator, table, labels, numbers, stream)
    else:
        part = accept_sample(estimator, public, owners=int(numbers.max()) + 1)
    schema = part.sample.schema
    warn_other_type(labels, schema)
    if part.taken.any():
        rest = np.flatnonzero(~part.taken[numbers])
        table, labels, numbers = table[rest], labels[rest], numbers[rest]
    encoded = encode_rows(table, schema)
    cohort = Cohort.of(encoded.X, number_labels(labels, schema), numbers)
    known = part.sample.public
    return Inputs(
        sample=part.sample,
        frequencies=np.bincount(known.y, minlength=known.classes) / len(known.y),
        source=part.source,
        cohort=cohort,
        owners=len(cohort),
        epsilon=epsilon_of(estimator.epsilon, part.taken),
        moved=encoded.moved,
    )


def names_files(X: Any) -> bool:
    """Whether rows are in files: a path, a pattern, a list of `Path`, or an open file."""
    several = isinstance(X, list | tuple) and bool(X) and isinstance(X[0], Path)
    return several or isinstance(X, str | Path | TableFile)


def predict_rows(estimator: Any, X: Any) -> FloatArray:
    """How likely each class is for all rows of files; in memory are these figures and one block."""
    from tacit.estimators.at_scale import predict_files

    check_is_fitted(estimator)
    return np.concatenate(list(predict_files(estimator.content(), X, estimator.engine)))


def accept_sample(estimator: Any, public: Any, owners: int) -> PublicPart:
    """The sample that fit was given as `public`: a pair (X0, y0), or a `Sample`, as files give it.

    Of as many owners as there are nobody was asked for it.
    """
    nobody = np.zeros(owners, dtype=np.bool_)
    if isinstance(public, Sample):
        return PublicPart(public, nobody, Source(len(public.public.y)))
    X, y = accept_pair(estimator, public)
    return PublicPart(make_sample(estimator, X, y), nobody, Source(len(y)))


class PrivacyWarning(UserWarning):
    """Something is less protected than one may think, e.g. rows that become the data user's
    sample.
    """


class DataWarning(UserWarning):
    """Something of a table is not read as one may think: columns left out, labels not known."""


def warn_used_in_clear(taken: BoolArray, unit: str) -> str:
    """The sentence that a headline says of owners or records set aside, after a loud warning."""
    sentence = (
        f"{np.count_nonzero(taken):,} of {len(taken):,} {unit}s, drawn at random, are not "
        "protected at all: they were used in clear as the data user's sample."
    )
    warnings.warn(
        f"fit got no public=(X0, y0). {sentence} Give public= to protect everybody.",
        PrivacyWarning,
        stacklevel=5,
    )
    return sentence


def draw_sample(
    estimator: Any, X: Any, y: AnyArray, owners: IntArray, stream: Stream, unit: str = "owner"
) -> PublicPart:
    """The rows of some owners, drawn at random; `owners` are owner numbers by row."""
    if estimator.schema is None:
        known = is_known(y)
        check_classification_targets(y[known])
        classes = np.full(len(y), -1)
        classes[known] = np.unique(y[known], return_inverse=True)[1]
    else:
        classes = number_labels(y, estimator.schema)
    taken = set_aside(classes, owners, estimator.public_fraction, stream)
    rows = np.flatnonzero(taken[owners])
    drawn = (
        f"{len(rows)} rows of {np.count_nonzero(taken)} owners, drawn at random, became the "
        "data user's sample."
    )
    sample = make_sample(estimator, X[rows], y[rows])
    return PublicPart(sample, taken, Source(len(rows), drawn, warn_used_in_clear(taken, unit)))


def make_sample(estimator: Any, X: Any, y: AnyArray) -> Sample:
    """Public rows by the estimator's schema, or by what they show."""
    if estimator.schema is None:
        known = y[is_known(y)]
        check_classification_targets(known)
        if len(np.unique(known)) < 2:
            raise ValueError(
                "the data user's sample has one class; two or more are needed, or a schema "
                "that names them"
            )
    sample = Sample.of(X, y, estimator.schema)
    warn_notes(sample.notes)
    return sample


def warn_notes(notes: Iterable[str]) -> None:
    """What a reader of a file would be told of its columns."""
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=6)


def warn_other_type(labels: AnyArray, schema: Schema) -> None:
    """Where y is of another type than the classes: types may be told, values may not."""
    numbers = all(isinstance(value, int | float) for value in schema.classes)
    if numbers != (labels.dtype.kind in "fiub"):
        warnings.warn(
            f"y is of type {labels.dtype}, the classes of the data user's sample are "
            f"{schema.classes}: labels are compared by what they say ('1' and 1.0 are 1), and rows "
            "with any other label do not count",
            DataWarning,
            stacklevel=5,
        )


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
    if not positive("public_fraction", fraction) < 1:
        raise bad("public_fraction", "a number between 0 and 1", fraction)
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


def check_trust(crowd: Population, mechanism: str, epsilon: float | FloatArray) -> None:
    """Refuse what sums of two servers do not have: a mechanism at owners, an epsilon of each."""
    if crowd.summed and mechanism != "auto":
        raise bad("mechanism", f'auto with trust="{HOW}": the servers add the noise', mechanism)
    if crowd.summed and np.ndim(epsilon) != 0:
        raise bad("epsilon", f'one number with trust="{HOW}"', f"shape {np.shape(epsilon)}")


def accept_pair(estimator: Any, public: Any) -> tuple[Any, AnyArray]:
    """Public rows and labels, given as a pair (X0, y0)."""
    if not (isinstance(public, tuple | list) and len(public) == 2):
        raise TypeError(f"public must be a pair (X0, y0), got {type(public).__name__}")
    X = accept_table(estimator, public[0], reset=False)
    return X, accept_labels(estimator, X, public[1], finite=estimator.schema is None)


def accept_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as an array of numbers or as named columns; sets or checks names and number of features.

    NaN and infinities pass: the schema has a place for them. An array with text needs a schema, a
    frame does not. Columns of a file, of Arrow and of a mapping are found by name: more than those
    of the schema do not matter.
    """
    if isinstance(X, UserTable) or is_frame(X):
        table = X if isinstance(X, UserTable) else read_frame(X)
        if 0 in (table.shape[0], len(table.columns) + len(table.left_out)):
            raise ValueError(
                f"Found a table with 0 sample(s) or 0 feature(s) (shape={table.shape})"
            )
        if hasattr(X, "iloc") or hasattr(X, "to_arrow"):  # scikit-learn knows their names
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        elif reset:
            estimator.feature_names_in_ = np.array(list(table.columns), dtype=object)
            estimator.n_features_in_ = len(table.columns)
        return table
    dtype = "numeric" if estimator.schema is None else None
    return validate_data(estimator, X, reset=reset, ensure_all_finite=False, dtype=dtype)


def accept_labels(estimator: Any, X: Any, y: Any, *, finite: bool) -> AnyArray:
    """The labels as a vector, one per row of X; `finite`: none may be missing."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    labels: AnyArray = column_or_1d(y, warn=True)
    if finite and labels.dtype.kind != "O":
        assert_all_finite(labels, input_name="y")
    check_consistent_length(X, labels)
    return labels


def owner_numbers(owners: Any, rows: int) -> IntArray:
    """Each row's owner as a place in the sorted order of owners; None: every row is its own
    owner.
    """
    if owners is None:
        return np.arange(rows)
    names = np.asarray(owners)
    if names.shape != (rows,):
        raise ValueError(
            f"owners must name one owner per row, got shape {names.shape} for {rows} rows"
        )
    if names.dtype.kind == "O":
        return conform_owners(names)[1]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def owner_names(owners: Any, rows: int) -> AnyArray:
    """The name of each row's owner, where owners hold many rows; None: all rows are of one."""
    if owners is None:
        return np.zeros(rows, dtype=np.int64)
    names: AnyArray = np.asarray(owners)
    if names.shape != (rows,):
        raise ValueError(
            f"owners must name one owner per row, got shape {names.shape} for {rows} rows"
        )
    if names.dtype.kind == "O" and not is_known(names).all():
        raise ValueError("owners must name an owner for every row: some names are missing")
    return names


def public_pair(public: Any, X_public: Any, y_public: Any) -> Any:
    """The data user's sample, given as one thing or as two, which pipelines can transform."""
    if X_public is None and y_public is None:
        return public
    if public is not None or X_public is None or y_public is None:
        raise ValueError("give public=(X0, y0), or both X_public= and y_public=")
    return X_public, y_public


def epsilon_of(epsilon: Any, left_out: BoolArray) -> float | FloatArray:
    """One number, or one for each owner that takes part; a vector counts all owners, also those
    left out.
    """
    if np.ndim(epsilon) == 0:
        return positive("epsilon", epsilon)
    each = np.asarray(epsilon, dtype=np.float64)
    if each.shape != left_out.shape:
        raise bad(
            "epsilon", f"a number or one for each of {len(left_out)} owners", f"shape {each.shape}"
        )
    return each[~left_out]
