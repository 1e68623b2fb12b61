"""What every estimator does first: tell owners' rows from the data user's sample, and encode both
by public rules.

Accepted are arrays of numbers, and data frames, which may hold categories and text. The data
user's sample is the only thing that bounds, categories, classes and thresholds are taken from;
where there is none, some owners are set aside as such a sample, and the guarantee says so. No
message quotes a value.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from tacit._util.checks import positive
from tacit._util.file_checks import some_of
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.data.cohort import Cohort, LateRows, Public
from tacit.data.number_target import NumberSchema
from tacit.data.owner_names import NOBODY, note_nameless, read_names
from tacit.data.sample import WIDE, Sample, check_first, first_notes, note_unknown
from tacit.data.schema import Schema
from tacit.data.table import (
    UserTable,
    first_columns,
    is_frame,
    is_known,
    keep_frame,
    read_frame,
)
from tacit.data.table_file import TableFile
from tacit.data.values import as_floats
from tacit.estimators.guarantee import Source
from tacit.estimators.parameters import check_schema
from tacit.estimators.set_aside import (
    DataWarning,
    PublicPart,
    draw_sample,
    make_sample,
    warn_notes,
    warn_user,
)
from tacit.mechanisms.streams import Stream

if TYPE_CHECKING:  # a fit without files does without
    from tacit.data.owner_blocks import BlockedCohort


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


def read_inputs(
    estimator: Any, X: Any, y: Any, *, owners: Any, public: Any, stream: Stream
) -> Inputs:
    """Checked and encoded input of an estimator with parameters schema, epsilon and
    public_fraction.
    """
    if names_files(X):
        from tacit.estimators.at_scale import read_files

        return read_files(estimator, X, y, owner=owners, public=public)
    table = accept_rows(estimator, X, public)
    labels = accept_labels(estimator, table, y, finite=public is None and estimator.schema is None)
    numbers = owner_numbers(owners, len(labels))
    if public is None:
        part = draw_sample(estimator, table, labels, numbers, stream)
    else:
        part = accept_sample(estimator, public, owners=int(numbers.max()) + 1)
    schema, rest = part.sample.schema, None
    if part.taken.any():
        rest = np.flatnonzero(~part.taken[numbers])
        labels, numbers = labels[rest], numbers[rest]
    epsilon, classes = epsilon_of(estimator.epsilon, part.taken), label_numbers(labels, schema)
    rows, moved = encode_rows(table, schema, rest)
    cohort = Cohort.of(rows, classes, numbers)
    known = part.sample.public
    return Inputs(
        sample=part.sample,
        frequencies=np.bincount(known.y, minlength=known.classes) / len(known.y),
        source=part.source,
        cohort=cohort,
        owners=len(cohort),
        epsilon=epsilon,
        moved=moved,
    )


def encode_rows(
    table: Any, schema: Schema, chosen: IntArray | None
) -> tuple[FloatArray | LateRows, int]:
    """Rows of a table (None: all), if they are numbers to be encoded when they are read, and how
    many values do not fit.
    """
    late = LateRows.of(table, schema)
    if late is not None:
        late = late if chosen is None else late.taken(chosen)
        return late, late.moved
    encoded = schema.encode(table if chosen is None else table[chosen])
    return encoded.X, encoded.moved


def names_files(X: Any) -> bool:
    """Whether rows are in files: a path, a pattern, a list of `Path`, or an open file."""
    several = isinstance(X, list | tuple) and bool(X) and isinstance(X[0], Path)
    return several or isinstance(X, str | Path | TableFile)


def rows_of_files(
    estimator: Any, X: Any, y: Any, *, owners: Any, public: Any, numbers: bool = False
) -> tuple[Any, Any, Any, Any]:
    """X, y, owners and public as `fit` takes them in memory, where they are in files and names of
    their columns; else as they are.
    """
    if not names_files(X):
        return X, y, owners, public
    from tacit.estimators.at_scale import hold_files

    return hold_files(estimator, X, y, owner=owners, public=public, numbers=numbers)


def predict_rows(estimator: Any, X: Any) -> FloatArray:
    """How likely each class is for all rows of files, or the predicted numbers, (rows, 1); these
    figures and one block are in memory.
    """
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


def label_numbers(labels: AnyArray, schema: Schema) -> IntArray:
    """What labels say, as class numbers or steps of a range; -1 where they say neither. Where y is
    of another type than that, it is told: types may be, values may not.
    """
    ends, kind = isinstance(schema, NumberSchema), labels.dtype.kind
    numbers = all(isinstance(value, int | float) for value in schema.classes)
    # the type of objects, as lists are read, would tell of values
    if kind != "O" and numbers != (kind in "fiub"):
        known = "the target is a number between" if ends else "the classes of the sample are"
        schema.check_label_type(labels, "y")
        warn_user(
            f"y is of type {labels.dtype}, {known} {schema.classes}: labels are compared by what "
            "they say ('1' and 1.0 are 1), and rows with any other label do not count",
            DataWarning,
        )
    found = schema.encode_labels(labels)
    warn_notes(note_unknown(schema, len(found), int(np.count_nonzero(found < 0)), "X"))
    return found


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


def accept_pair(estimator: Any, public: Any) -> tuple[Any, AnyArray]:
    """Public rows and labels, given as a pair (X0, y0). Named columns need not be in the order of
    owners', who must have all of them, unless a schema says which ones count.
    """
    if not (isinstance(public, tuple | list) and len(public) == 2):
        raise TypeError(f"public must be a pair (X0, y0), got {type(public).__name__}")
    if not is_frame(public[0]):
        named = getattr(estimator, "feature_names_in_", ())
        if estimator.schema is None and len(named):
            raise ValueError(
                f"X has columns with names ({', '.join(map(str, named[:3]))}, ...), public is an "
                "array without: give both as data frames, or both as arrays"
            )
        with _of_public_rows():
            X = accept_table(estimator, public[0], reset=False)
            return X, _finite(accept_labels(estimator, X, public[1], finite=False))
    with _of_public_rows():
        table = _of_some_size(read_frame(public[0]))
        labels = _finite(accept_labels(estimator, table, public[1], finite=False))
    theirs = getattr(estimator, "feature_names_in_", None)
    if estimator.schema is None and theirs is not None:
        there = set(theirs)
        lacking = [name for name in table.columns if name not in there]
        if lacking:
            raise ValueError(
                f"X lacks {some_of(lacking)}, which public has: add the column, or take it out "
                "of public"
            )
        known = {*table.columns, *table.left_out}
        more = [
            f"column {name!r} of X is left out: public does not have it"
            for name in theirs
            if name not in known
        ]
        warn_notes(first_notes(more, "columns of X are left out"))
    return table, labels


@contextmanager
def _of_public_rows() -> Iterator[None]:
    """Errors say that it is not owners' rows that are wrong."""
    try:
        yield
    except (TypeError, ValueError) as problem:
        kind = TypeError if isinstance(problem, TypeError) else ValueError
        raise kind(f"public: {problem}") from None


def accept_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as an array of numbers or as named columns; sets or checks names and number of features.

    NaN and infinities pass: the schema has a place for them. An array with text needs a schema, a
    frame does not. Columns of a file, of Arrow and of a mapping are found by name: more than those
    of the schema do not matter. Every value is read by itself.
    """
    check_schema(estimator.schema)
    if is_frame(X):
        table = _of_some_size(keep_frame(X))
        if hasattr(X, "iloc") or hasattr(X, "to_arrow"):  # scikit-learn knows their names
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        elif reset:
            estimator.feature_names_in_ = np.array(list(table.columns), dtype=object)
            estimator.n_features_in_ = len(table.columns)
        return table
    dtype = "numeric" if estimator.schema is None else None
    # of a list with one text NumPy would make texts of all values
    kind = object if dtype is None and isinstance(X, list | tuple) else None
    rows = X if hasattr(X, "tocsr") else _array_of(X, kind)
    if not hasattr(X, "tocsr"):
        check_array_kind(rows, of_numbers=dtype is not None)
    return validate_data(estimator, rows, reset=reset, ensure_all_finite=False, dtype=dtype)


def _array_of(X: Any, kind: Any) -> AnyArray:
    """Rows as an array, unless they are none."""
    if X is None or isinstance(X, bytes | Iterator):
        given = "nothing" if X is None else type(X).__name__
        raise ValueError(
            f"Expected 2D array, got {given} instead: X must be rows of numbers, a data frame, a "
            "dict of columns or the path of a file"
        )
    if hasattr(X, "to_frame"):  # a column of pandas or polars, which has no reshape
        raise ValueError("Expected 2D array, got 1D array instead: give one column as X.to_frame()")
    try:
        return np.asarray(X, dtype=kind)
    except ValueError:
        raise ValueError(
            f"X, a {type(X).__name__}, is no table: all rows must have the same number of values"
        ) from None


def _of_some_size(table: UserTable) -> UserTable:
    """Named columns, if there are rows and some of them."""
    if table.left_out and not table.columns:
        why = "; ".join(f"{name!r} holds {what}" for name, what in table.left_out.items())
        raise ValueError(f"X has no column to learn from: {why}")
    if 0 in (table.shape[0], len(table.columns) + len(table.left_out)):
        raise ValueError(f"Found a table with 0 sample(s) or 0 feature(s) (shape={table.shape})")
    return table


def check_array_kind(rows: AnyArray, *, of_numbers: bool) -> None:
    """Refuse what scikit-learn would refuse as well, quoting the rows."""
    if rows.dtype.names is not None:
        raise ValueError(
            "X is a structured array: give a dict of its columns, {name: X[name] for name in "
            "X.dtype.names}"
        )
    if rows.ndim == 0 and isinstance(rows.item(), str | Path):
        raise ValueError(
            "Expected 2D array, got the name of a file instead: rows in files are taken by fit, "
            "predict and predict_proba"
        )
    if rows.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {rows.ndim}D array instead. Reshape your data: "
            "X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row"
        )
    if rows.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if of_numbers and rows.dtype.kind in "OUS":
        try:
            rows.astype(np.float64)
        except ValueError:
            raise ValueError(
                "X has texts that are no numbers: give a data frame or a dict of columns, or a "
                "schema= that names their categories"
            ) from None


def accept_rows(estimator: Any, X: Any, public: Any) -> Any:
    """Owners' rows, to be fitted. Where public rows say what columns hold, what is no number in an
    array of numbers is missing: no row stops a fit. Without them scikit-learn's rules are kept.
    """
    if isinstance(public, tuple | list) and len(public) == 2 and estimator.schema is None:
        _check_columns(public[0])
    numbers = public is not None and estimator.schema is None and not is_frame(X)
    if numbers and isinstance(X, list | tuple | np.ndarray):
        values = np.array(X, dtype=object) if isinstance(X, list | tuple) else X
        if values.ndim == 2 and values.dtype.kind in "OUS":
            X = as_floats(values.ravel()).reshape(values.shape)
    return accept_table(estimator, X, reset=True)


def _check_columns(frame: Any) -> None:
    """Refuse a frame with more columns than a model learns from before all of them are read."""
    if not is_frame(frame):
        return
    named = getattr(frame, "column_names", getattr(frame, "columns", ()))
    names = frame if isinstance(frame, dict) else named
    if len(names) > WIDE:
        check_first(read_frame(first_columns(frame, WIDE)), len(names))


def accept_labels(estimator: Any, X: Any, y: Any, *, finite: bool) -> AnyArray:
    """The labels as a vector, one per row of X; `finite`: none may be missing."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    if isinstance(y, str):
        raise TypeError(f"y must have one label for each row: of a frame give X[{y!r}]")
    if isinstance(y, dict | set | frozenset | Iterator):
        raise TypeError(
            f"y must have one label for each row, in their order, got a {type(y).__name__}: give "
            "a list, an array or a column"
        )
    # of a list NumPy would make texts if one is a text, or numbers of truth values if one is one
    given = np.array(y, dtype=object) if isinstance(y, list | tuple) else _without_masks(y)
    if getattr(getattr(given, "dtype", None), "kind", "") == "c":  # scikit-learn would quote them
        raise ValueError("Complex data not supported: y must be classes or numbers")
    labels: AnyArray = column_or_1d(given, warn=True)
    if finite and labels.dtype.kind != "O":
        assert_all_finite(labels, input_name="y")
    check_consistent_length(X, labels)
    return labels


def _finite(labels: AnyArray) -> AnyArray:
    """Labels of the data user's own rows, which may be missing, but not infinite."""
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("y must be finite where it is known, and some labels are infinite")
    return labels


def _without_masks(y: Any) -> Any:
    """Labels of pandas' types with a mask as NumPy has them: whole numbers stay whole numbers,
    truth values truth values.
    """
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if kind is None or not hasattr(y, "isna"):
        return y
    return y.to_numpy(object, na_value=None) if y.isna().any() else y.to_numpy(kind)


def check_monitor(monitor: Any) -> None:
    """Refuse what cannot be called, before anybody is asked."""
    if not (monitor is None or callable(monitor)):
        raise TypeError(f"monitor must be a function of a number of rounds, got {monitor!r}")


def owner_numbers(owners: Any, rows: int) -> IntArray:
    """Each row's owner as a place in the sorted order of owners; None: every row is its own
    owner.
    """
    if owners is None:
        return np.arange(rows)
    names = _names_of_rows(_as_given(owners), rows)
    if names.dtype.kind not in "OU":
        found, numbers = np.unique(names, return_inverse=True)
        last = len(found) - 1
        if found.dtype.kind == "f" and last >= 0 and np.isnan(found[last]):  # nobody comes first
            warn_notes(note_nameless("X", "name in owners"))
            numbers = (numbers + 1) % (last + 1)
        return numbers.astype(np.int64)
    named = read_names(names).numbered()
    warn_notes(note_nameless("X", "name in owners") if NOBODY in named.names else ())
    warn_notes(named.notes)
    return named.numbers


def _names_of_rows(owners: Any, rows: int) -> AnyArray:
    """Names as an array, one for each row."""
    if isinstance(owners, str):
        raise TypeError(
            f"owners must name one owner per row: of a frame give X[{owners!r}], and take it out "
            "of X"
        )
    if isinstance(owners, dict | set | frozenset | Iterator):
        raise TypeError(
            f"owners must name one owner per row, in their order, got a {type(owners).__name__}: "
            "give a list, an array or a column"
        )
    names: AnyArray = np.asarray(owners)
    if names.shape != (rows,):
        several = ": of several columns make one name" if names.ndim == 2 else ""
        raise ValueError(
            f"owners must name one owner per row, got shape {names.shape} for {rows} rows{several}"
        )
    return names


def _as_given(owners: Any) -> Any:
    """Names of which NumPy makes no others: it would make floats of a column with missing values
    and of some whole numbers in a list, and texts of numbers beside a text.
    """
    if hasattr(owners, "to_arrow"):
        owners = owners.to_arrow()
    if getattr(owners, "null_count", 0) and hasattr(owners, "to_pylist"):
        owners = owners.to_pylist()
    if isinstance(owners, list | tuple) and np.asarray(owners).dtype.kind in "fU":
        return np.array(owners, dtype=object)
    return owners


def owner_names(owners: Any, rows: int) -> AnyArray:
    """The name of each row's owner, where owners hold many rows; None: all rows are of one."""
    if owners is None:
        return np.zeros(rows, dtype=np.int64)
    names = _names_of_rows(owners, rows)
    if not is_known(names).all():
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
    return epsilons_of(epsilon, len(left_out), "owners")[~left_out]


def epsilons_of(epsilon: Any, count: int, whose: str) -> FloatArray:
    """One epsilon for each of so many owners, or sites, of one for all or one for each."""
    if np.ndim(epsilon) == 0:
        return np.full(count, positive("epsilon", epsilon))
    given = np.asarray(epsilon)
    if given.shape != (count,):
        rule = f"a number or one for each of {count:,} {whose}"
        raise ValueError(f"epsilon must be {rule}, got an array of shape {given.shape}")
    return np.array([positive("epsilon", each) for each in given.tolist()])


INSTEAD = {
    "sample_weight": "a row that counts tenfold is ten rows of one owner and needs tenfold noise. "
    "Instead, name the owner of each row (owners=): each has one report, however many rows it "
    "holds; epsilon may differ by owner",
    "class_weight": "how rare a class is among owners is a statistic that nobody paid for. "
    "Instead, balance your own sample (public=), where the model begins, and move the threshold: "
    "predict_proba(X)[:, 1] > 0.2, by what mistakes cost you",
}


def no_such_argument(where: str, name: str, *_more: str) -> TypeError:
    """What an estimator or its `fit` raises for an argument it does not take: why it takes no
    weights, and what to do instead. scikit-learn sees that there is no such parameter.
    """
    known = f"takes no {name}: {INSTEAD[name]}" if name in INSTEAD else ""
    return TypeError(f"{where} {known or f'got an unexpected keyword argument {name!r}'}")
