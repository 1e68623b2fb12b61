"""A user's table in memory: typed columns of a file or a data frame.

Files and frames are read by the same rules. Blanks around texts do not count; the texts in
`MISSING` are missing; text that is numbers throughout is numbers; dates and nested things are left
out and named. No message quotes a value.

Values are compared by what they say, not by how a file happens to store them: the number 3, the
number 3.0 and the text "3" are one category; a text that is no number is a missing number. So the
same rows in CSV or parquet, whole or in pieces, with or without an odd value elsewhere, are the
same rows. A public table is typed column by column (`read_frame`, `type_columns`), which looks at
all of its values; of owners' tables only the types that a frame or file declares are taken, and
every value is read by itself (`keep_frame`).
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit._util.file_checks import listed
from tacit._util.types import AnyArray, BoolArray, IntArray
from tacit.data.values import has_value

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A")
_DATES = "dates"
_OBJECTS = np.dtype(object)
_READ = (str, bytes, int, float, Decimal, np.generic)  # what values of no declared type are read as
_INDEX = "__index_level_"  # how pandas names an index in a parquet file
_NO_TEXT = pa.nulls(1, pa.string())[0]


@dataclass(frozen=True, eq=False)
class UserTable:
    """Named columns of equal length: numbers (missing: NaN) or objects (missing: None).

    `left_out` says of columns that are neither numbers nor text what they are, `categories` which
    ones a frame declares to be categories. Estimators take it like a data frame.

    >>> town = np.array(["n", None], dtype=object)
    >>> table = UserTable({"age": np.array([30.0, 41.0]), "town": town})
    >>> len(table), table.shape, table["town"].tolist(), table[np.array([1])]["age"].tolist()
    (2, (2, 2), ['n', None], [41.0])
    """

    columns: dict[str, AnyArray]
    left_out: dict[str, str] = field(default_factory=dict)
    categories: frozenset[str] = frozenset()
    shape: tuple[int, int] = field(init=False)  # rows and columns

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must be of one length, got {lengths}")
        rows = next(iter(lengths.values()), 0)
        object.__setattr__(self, "shape", (rows, len(lengths)))

    def __len__(self) -> int:
        return self.shape[0]

    @overload
    def __getitem__(self, wanted: str) -> AnyArray: ...
    @overload
    def __getitem__(self, wanted: slice | IntArray | BoolArray) -> "UserTable": ...
    def __getitem__(self, wanted: str | slice | IntArray | BoolArray) -> "AnyArray | UserTable":
        """One column by its name, or some rows."""
        if isinstance(wanted, str):
            return self.columns[wanted]
        rows = {name: column[wanted] for name, column in self.columns.items()}
        return UserTable(rows, self.left_out, self.categories)

    def column(self, name: str) -> AnyArray:
        """One column, or an error that names the columns there are."""
        if name in self.left_out:
            raise ValueError(
                f"column {name!r} cannot be used: it holds {self.left_out[name]}, not numbers "
                "or text; choose another"
            )
        if name not in self.columns:
            raise ValueError(
                f"column {name!r} is not in the table; it has {listed(name, self.columns)}"
            )
        return self.columns[name]

    def __repr__(self) -> str:
        return f"UserTable({', '.join(self.columns)})"


def is_frame(table: Any) -> bool:
    """Whether this is named columns: a table of ours, a data frame, an Arrow table, a mapping, or
    a list of mappings, one for each row.
    """
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):
        raise TypeError("a lazy frame holds no rows yet: give its .collect()")
    named = hasattr(table, "columns") or isinstance(table, dict) or _is_records(table)
    return named and not hasattr(table, "tocsr")  # a sparse matrix may be a mapping of places


def read_frame(frame: Any) -> UserTable:
    """A public table: a pandas or polars frame, an Arrow table, a mapping of names to columns or a
    list of mappings of names to values, as a file with the same rows would be read.

    Columns that a frame declares to be categories stay so, also where their values are numbers.

    >>> table = read_frame({"age": [30, 41], "town": ["n", "?"], "odd": ["1", 2]})
    >>> {name: column.tolist() for name, column in table.columns.items()}
    {'age': [30, 41], 'town': ['n', None], 'odd': [1, 2]}
    """
    if isinstance(frame, UserTable):
        return frame
    table = keep_frame(frame)
    others = {name: _kind_of_others(column) for name, column in _named_columns(frame)}
    odd = {name: kind for name, kind in others.items() if kind}
    kept = {name: column for name, column in table.columns.items() if name not in odd}
    return type_columns(UserTable(kept, table.left_out | odd, table.categories))


def keep_frame(frame: Any) -> UserTable:
    """An owners' table of the same kinds, every value read by itself: what a column holds is what
    the frame declares, never what its values have in common.

    >>> table = keep_frame({"age": [30, 41], "town": ["n", "?"], "odd": ["1", 2]})
    >>> {name: column.tolist() for name, column in table.columns.items()}
    {'age': [30, 41], 'town': ['n', None], 'odd': ['1', 2]}
    """
    if isinstance(frame, UserTable):
        return frame
    columns: dict[str, AnyArray] = {}
    left_out: dict[str, str] = {}
    declared = set()
    for name, column in _named_columns(frame):
        if name in columns or name in left_out:
            raise ValueError(f"the table has several columns named {name!r}: rename all but one")
        found = _declared_column(column)
        values = _each_value(column) if found is None else _read_values(found, keep_text)
        if isinstance(values, str):
            left_out[name] = values
        elif found is not None and pa.types.is_dictionary(found.type):
            columns[name] = values.astype(object)
            declared.add(name)
        else:
            columns[name] = values
    return UserTable(columns, left_out, frozenset(declared))


def _named_columns(frame: Any) -> Iterator[tuple[str, Any]]:
    """Names and columns, as the frame has them."""
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if _is_records(frame):
        names = dict.fromkeys(name for row in frame for name in row)
        frame = {name: [row.get(name) for row in frame] for name in names}
    if hasattr(frame, "column_names"):
        yield from zip(frame.column_names, frame.columns, strict=True)
    elif hasattr(frame, "iloc"):
        for name, column in frame.items():
            yield str(name), column
    else:
        for name in frame.columns if hasattr(frame, "columns") else frame:
            yield str(name), _one_column(str(name), frame[name])


def _one_column(name: str, column: Any) -> Any:
    """`column`, if it has a value for each row."""
    what = f"column {name!r} must be a list or array, got"
    if isinstance(column, Iterator):
        raise TypeError(f"{what} {type(column).__name__}: give list(...) of it")
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise TypeError(f"{what} {type(column).__name__}: one row is a list of one dict")
    if getattr(column, "ndim", 1) != 1:
        raise TypeError(f"{what} one of shape {column.shape}: give each of its columns a name")
    return column


def first_columns(frame: Any, count: int) -> dict[str, Any]:
    """At most so many of its columns, as a mapping."""
    return dict(islice(_named_columns(frame), count))


def _is_records(table: Any) -> bool:
    return isinstance(table, list) and bool(table) and all(isinstance(row, dict) for row in table)


def _declared_column(column: Any) -> Any:
    """A column in Arrow whose type is declared, or which is texts throughout; None: its values may
    be anything.
    """
    if isinstance(column, pa.ChunkedArray):
        return column
    if hasattr(column, "to_arrow"):
        return pa.chunked_array([column.to_arrow()])
    levels = getattr(getattr(column, "cat", None), "categories", None)
    if levels is not None and str(levels.dtype).startswith("interval"):  # as pandas.cut makes them
        column = column.cat.rename_categories([str(level) for level in levels])
    is_open = getattr(column, "dtype", _OBJECTS) == _OBJECTS
    try:
        found = pa.array(column, type=pa.string() if is_open else None, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # they quote values
        return None
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _each_value(column: Any) -> AnyArray:
    """Numbers, truth values and texts as they are; what is missing, or anything else, is None."""
    values = [
        value.item() if isinstance(value, np.generic) else value
        for value in np.asarray(column, dtype=object).tolist()
    ]
    texts = pa.array([_as_text(value) for value in values], pa.string())
    kept = _read_values(pa.chunked_array([texts]), keep_text)
    pairs = zip(values, kept, strict=True)
    return _objects(
        [text if isinstance(value, str | bytes) else _as_number(value) for value, text in pairs]
    )


def _kind_of_others(column: Any) -> str:
    """What values of no declared type are in a word, where none is a number or a text: dates, as
    those of the standard library, or something nested.
    """
    kind = getattr(column, "dtype", _OBJECTS)
    if getattr(kind, "kind", "") == "c":
        return "complex numbers"
    if kind != _OBJECTS or isinstance(column, pa.ChunkedArray):
        return ""
    there = [value for value in column if isinstance(value, np.ndarray) or has_value(value)]
    if not there or any(isinstance(value, _READ) for value in there):
        return ""
    if all(isinstance(value, date) for value in there):
        return _DATES
    return "values of type " + " or ".join(sorted({type(value).__name__ for value in there}))


def _as_text(value: Any) -> str | None:
    """A text whose letters all have bytes; None for anything else."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _as_number(value: Any) -> bool | int | float | None:
    """A number or truth value as it is; None for anything else."""
    if isinstance(value, Decimal):
        value = float(value)
    return value if isinstance(value, int | float) and value == value else None


def type_columns(table: UserTable) -> UserTable:
    """What `read` would say of these rows alone, for rows taken from what `read_text` or
    `keep_frame` gave.
    """
    columns: dict[str, AnyArray] = {}
    left_out = dict(table.left_out)
    for name, column in table.columns.items():
        is_open = column.dtype == _OBJECTS and name not in table.categories
        values = _read_values(_arrow_column(column), type_text) if is_open else column
        if isinstance(values, str):
            left_out[name] = values
        else:
            columns[name] = values
    return UserTable(columns, left_out, table.categories)


def _arrow_column(column: AnyArray) -> Any:
    """Objects as a column of one type; numbers, texts and truth values side by side become
    texts.
    """
    try:
        found = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # they quote values
        found = pa.array([None if value is None else str(value) for value in column.tolist()])
    return pa.chunked_array([found])


def user_table(
    table: Any, of_text: Callable[[Any], AnyArray | str], names: Collection[str | None] = ()
) -> UserTable:
    """The columns of an Arrow table; `of_text` says what becomes of texts. Numbers of columns that
    hold `names` stay whole, which a float rounds beyond 2^53.
    """
    columns: dict[str, AnyArray] = {}
    left_out: dict[str, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        whole = name in names
        values = (
            "a data frame's index"
            if name.startswith(_INDEX)
            else _read_values(column, of_text, whole=whole)
        )
        if isinstance(values, str):
            left_out[name] = values
        else:
            columns[name] = values
    return UserTable(columns, left_out)


def _read_values(
    column: Any, of_text: Callable[[Any], AnyArray | str], *, whole: bool = False
) -> AnyArray | str:
    """A column as numbers (missing: NaN) or as objects (missing: None); or what else it is, in a
    word. `whole`: numbers that a float may round are objects.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        if not isinstance(kind, pa.BaseExtensionType):  # such are neither numbers nor texts
            column = column.cast(kind)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind) and column.null_count == 0:
        return np.asarray(_as_array(column), dtype=np.int64)
    if whole and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return _objects(column.to_pylist())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # whole numbers beyond 2^53 are rounded: an error would quote one
        return np.asarray(_as_array(column.cast("float64", safe=False)), dtype=np.float64)
    if pa.types.is_boolean(kind):
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        text = pc.utf8_trim_whitespace(column.cast(pa.string()))
        return of_text(pc.if_else(pc.is_in(text, _texts(MISSING)), _NO_TEXT, text))
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    return _other_kind(kind)


def _other_kind(kind: Any) -> str:
    """What values of an Arrow type that is neither numbers nor texts are, in a word."""
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return "durations"
    if isinstance(kind, pa.BaseExtensionType):
        named = kind.extension_name.rpartition(".")[2]
        return _DATES if named == "period" else f"values of type {named}"
    outer = str(kind).partition("<")[0]  # the names of fields may be values
    return _DATES if pa.types.is_temporal(kind) else f"values of type {outer}"


def _as_array(column: Any) -> AnyArray:
    """Numbers of a column, NaN where there are none. Where all are there, as in most files, pyarrow
    need not import pandas for it, which takes longer than reading them.
    """
    if column.null_count:
        return np.asarray(column.to_numpy())
    return np.array(np.from_dlpack(column.combine_chunks()))


def _objects(values: list[Any]) -> AnyArray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _texts(values: tuple[str, ...]) -> Any:
    """Texts as Arrow has them, from their bytes: `pyarrow.array` imports pandas where it is."""
    written = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int32)
    buffers = (pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(written)))
    return pa.StringArray.from_buffers(len(values), *buffers)


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
        numbers = np.asarray(_as_array(cast), dtype=np.float64)
        finite = text.null_count == 0 and bool((np.abs(numbers) < 2**53).all())
        whole = finite and bool((numbers % 1 == 0).all())
        return numbers.astype(np.int64) if whole else numbers
    return keep_text(text)


def keep_text(text: Any) -> AnyArray:
    """Text as it is; equal texts are one object."""
    coded = text.combine_chunks().dictionary_encode(null_encoding="encode")
    values = np.array(coded.dictionary.to_pylist(), dtype=object)
    return np.asarray(values[np.from_dlpack(coded.indices)])


def is_known(labels: AnyArray) -> BoolArray:
    """Which labels are there at all: not None, NaN, NaT or pandas' NA."""
    if labels.dtype.kind == "f":
        return np.asarray(~np.isnan(labels))
    if labels.dtype.kind != "O":
        return np.ones(len(labels), dtype=np.bool_)
    return np.array([has_value(label) for label in labels.tolist()], dtype=np.bool_)


def join_parts(parts: list[Any]) -> Any:
    """One Arrow table of batches, whose files may write the values of a column in other ways, as
    whole numbers or decimals, as texts or by a dictionary of them.

    >>> words = pa.array(["n", "s"])
    >>> parts = [pa.record_batch({"town": part}) for part in (words, words.dictionary_encode())]
    >>> join_parts(parts)["town"].to_pylist()
    ['n', 's', 'n', 's']
    """
    tables = [pa.Table.from_batches([part]) for part in parts]
    if any(table.schema != tables[0].schema for table in tables):
        tables = [table.cast(pa.schema(map(_plain_field, table.schema))) for table in tables]
    return pa.concat_tables(tables, promote_options="permissive")


def _plain_field(one: Any) -> Any:
    """A column with the type in which values of its kind can be joined to others."""
    kind = one.type.value_type if pa.types.is_dictionary(one.type) else one.type
    if pa.types.is_string_view(kind):
        return one.with_type(pa.large_string())
    if pa.types.is_float16(kind) or pa.types.is_decimal(kind):
        return one.with_type(pa.float64())
    return one.with_type(kind)
