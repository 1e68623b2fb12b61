"""Typed columns of a file or a data frame become numbers, texts and truth values.

Files and frames are read by the same rules. Blanks around texts do not count; the texts in
`MISSING` are missing; text that is numbers throughout is numbers; dates and nested things are left
out and named. No message quotes a value.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit._util.types import AnyArray
from tacit.data.table import UserTable

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A")
_DATES, _MIXED = "dates", "values of several kinds"
_INDEX = "__index_level_"  # how pandas names an index in a parquet file


def is_frame(table: Any) -> bool:
    """Whether this is named columns: a data frame, an Arrow table or a mapping."""
    named = hasattr(table, "columns") or isinstance(table, dict)
    return named and not hasattr(table, "tocsr")  # a sparse matrix may be a mapping of places


def read_frame(frame: Any) -> UserTable:
    """A pandas or polars frame, an Arrow table or a mapping of names to columns, as a file with the
    same rows would be read.

    Columns that a frame declares to be categories stay so, also where their values are numbers.

    >>> table = read_frame({"age": [30, 41], "town": ["n", "?"], "odd": ["1", 2]})
    >>> {name: column.tolist() for name, column in table.columns.items()}
    {'age': [30, 41], 'town': ['n', None], 'odd': [1, 2]}
    """
    if isinstance(frame, UserTable):
        return frame
    columns: dict[str, AnyArray] = {}
    left_out: dict[str, str] = {}
    for name, column in _named_columns(frame):
        if name in columns or name in left_out:
            raise ValueError(f"the table has several columns named {name!r}: rename all but one")
        values = _MIXED if column is None else _read_values(column, type_text)
        if isinstance(values, str):
            left_out[name] = values
        else:
            columns[name] = values.astype(object) if pa.types.is_dictionary(column.type) else values
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must be of one length, got {lengths}")
    return UserTable(columns, left_out)


def _named_columns(frame: Any) -> Iterator[tuple[str, Any]]:
    """Names and Arrow columns."""
    if hasattr(frame, "column_names"):
        yield from zip(frame.column_names, frame.columns, strict=True)
    elif hasattr(frame, "iloc"):
        for place, name in enumerate(frame.columns):
            yield str(name), _arrow_column(frame.iloc[:, place])
    else:
        for name in frame.columns if hasattr(frame, "columns") else frame:
            yield str(name), _arrow_column(frame[name])


def _arrow_column(column: Any) -> Any:
    """One column; numbers, texts and truth values side by side become texts; None: it has
    others.
    """
    if hasattr(column, "to_arrow"):
        return pa.chunked_array([column.to_arrow()])
    try:
        found = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # they quote values
        values = np.asarray(column, dtype=object).tolist()
        if not all(value is None or isinstance(value, str | int | float) for value in values):
            return None
        found = pa.array([None if _is_missing(value) else str(value) for value in values])
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def type_columns(table: UserTable) -> UserTable:
    """What `read` would say of these rows alone, for rows taken from what `read_text` gave."""
    columns: dict[str, AnyArray] = {}
    left_out = dict(table.left_out)
    for name, column in table.columns.items():
        values = type_text(pa.chunked_array([pa.array(column)])) if _is_text(column) else column
        if isinstance(values, str):
            left_out[name] = values
        else:
            columns[name] = values
    return UserTable(columns, left_out)


def user_table(table: Any, of_text: Callable[[Any], AnyArray | str]) -> UserTable:
    """The columns of an Arrow table; `of_text` says what becomes of texts."""
    columns: dict[str, AnyArray] = {}
    left_out: dict[str, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = (
            "a data frame's index" if name.startswith(_INDEX) else _read_values(column, of_text)
        )
        if isinstance(values, str):
            left_out[name] = values
        else:
            columns[name] = values
    return UserTable(columns, left_out)


def _read_values(column: Any, of_text: Callable[[Any], AnyArray | str]) -> AnyArray | str:
    """A column as numbers (missing: NaN) or as objects (missing: None); or what else it is, in a
    word.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind, column = kind.value_type, column.cast(kind.value_type)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind) and column.null_count == 0:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # whole numbers beyond 2^53 are rounded: an error would quote one
        return np.asarray(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
    if pa.types.is_boolean(kind):
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        text = pc.utf8_trim_whitespace(column.cast(pa.string()))
        return of_text(pc.if_else(pc.is_in(text, pa.array(MISSING)), None, text))
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    outer = str(kind).partition("<")[0]  # the names of fields may be values
    return _DATES if pa.types.is_temporal(kind) else f"values of type {outer}"


def type_text(text: Any) -> AnyArray | str:
    """Text that is numbers, truth values or dates throughout is taken for those."""
    if text.null_count == len(text):
        return np.full(len(text), np.nan)
    for kind in (pa.float64(), pa.bool_(), pa.timestamp("us")):
        try:
            cast = text.cast(kind)
        except pa.ArrowException:
            continue
        if pa.types.is_boolean(kind):
            return np.array(cast.to_pylist(), dtype=object)
        if pa.types.is_timestamp(kind):
            return _DATES
        numbers = np.asarray(cast.to_numpy(), dtype=np.float64)
        whole = text.null_count == 0 and bool(
            np.all((np.abs(numbers) < 2**53) & (numbers % 1 == 0))
        )
        return numbers.astype(np.int64) if whole else numbers
    return keep_text(text)


def keep_text(text: Any) -> AnyArray:
    """Text as it is; equal texts are one object."""
    coded = text.combine_chunks().dictionary_encode()
    values = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(
        values[pc.fill_null(coded.indices, len(values) - 1).to_numpy(zero_copy_only=False)]
    )


def _is_text(column: AnyArray) -> bool:
    return column.dtype.kind == "O" and all(
        value is None or isinstance(value, str) for value in column.tolist()
    )
