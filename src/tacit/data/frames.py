"""What fit and predict accept: arrays of numbers, or data frames, which may hold categories and
text.
"""

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import check_consistent_length, validate_data

from tacit._util.types import AnyArray, IntArray
from tacit.data.table import UserTable


def accept_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as an array of numbers or the frame it is; sets or checks names and number of features.

    NaN and infinities pass: the schema has a place for them. An array with text needs a schema, a
    frame does not.
    """
    if isinstance(X, UserTable):
        return _accept_user_table(estimator, X, reset)
    if hasattr(X, "columns"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if 0 in X.shape:
            raise ValueError(
                f"Found a data frame with 0 sample(s) or 0 feature(s) (shape={tuple(X.shape)})"
            )
        return X
    dtype = "numeric" if estimator.schema is None else None
    return validate_data(estimator, X, reset=reset, ensure_all_finite=False, dtype=dtype)


def _accept_user_table(estimator: Any, X: UserTable, reset: bool) -> UserTable:
    """A table of a file: its columns are found by name, more than those of the schema do not
    matter.
    """
    if 0 in X.shape:
        raise ValueError(f"Found a table with 0 sample(s) or 0 feature(s) (shape={X.shape})")
    if reset:
        estimator.feature_names_in_ = np.array(list(X.columns), dtype=object)
        estimator.n_features_in_ = len(X.columns)
    return X


def accept_labels(estimator: Any, X: Any, y: Any, *, finite: bool) -> AnyArray:
    """The labels as a vector, one per row of X; `finite`: none may be missing."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    labels: AnyArray = column_or_1d(y, warn=True)
    if finite:
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
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def some_rows(table: Any, rows: IntArray) -> Any:
    """Some rows of an array, a pandas or a polars frame."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def categorical(table: Any) -> list[Any]:
    """Columns that a frame declares as categories, whatever their values look like."""
    return [name for name in getattr(table, "columns", []) if str(table[name].dtype) == "category"]
