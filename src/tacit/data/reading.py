"""Files become columns: numbers, text and truth values; dates and nested things are left out and
named.

A CSV file is read as text, so that no odd value far down is an error and no message quotes one.
`read_table` then types each column as a whole, which is how a public table is described;
`read_rows` and `read_blocks` leave text as it is, for `conform` to read by a schema. Blanks around
values do not count; the texts in `MISSING` are missing.

Why a file cannot be read as a table, in words that say what to do. No row is ever quoted.
"""

import csv as plain_csv
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from tacit._util.types import AnyArray
from tacit.data.table import UserTable

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A")
_DELIMITERS = (",", ";", "\t", "|")
_BLOCK = 1 << 22  # bytes of a CSV file at once
_DATES = "dates"
_INDEX = "__index_level_"  # how pandas names an index in a parquet file


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> UserTable:
    """A CSV or parquet file, by its ending, each column typed; `columns`: only those of these
    that it has.
    """
    table = _user_table(_whole(path, columns), _typed)
    if columns is None and "" in column_names(path):
        table.left_out[""] = "values without a name, as a data frame's index"
    return table


def read_rows(path: str | Path, columns: Sequence[str]) -> UserTable:
    """The same, of CSV files the text as it is."""
    return _user_table(_whole(path, columns), _objects)


def read_blocks(path: str | Path, columns: Sequence[str], rows: int) -> Iterator[UserTable]:
    """`read_rows` in pieces of at most so many rows, for files of any length."""
    for batch in _record_batches(_found(path), columns, rows):
        for start in range(0, batch.num_rows, rows):
            yield _user_table(pa.Table.from_batches([batch.slice(start, rows)]), _objects)


def typed(table: UserTable) -> UserTable:
    """What `read_table` would say of these rows alone, for rows taken from what `read_rows`
    gave.
    """
    columns: dict[str, AnyArray] = {}
    left_out = dict(table.left_out)
    for name, column in table.columns.items():
        values = _typed(pa.chunked_array([pa.array(column)])) if _is_text(column) else column
        if isinstance(values, str):
            left_out[name] = values
        else:
            columns[name] = values
    return UserTable(columns, left_out)


def column_names(path: str | Path) -> list[str]:
    """The names of a file's columns, without reading its rows."""
    file = _found(path)
    if not is_parquet(file):
        refuse_other_kinds(file)
        heading = _heading(file)
        return [
            name.strip()
            for name in next(plain_csv.reader([heading], delimiter=_delimiter(heading)), [])
        ]
    try:
        return list(parquet.read_schema(file).names)
    except (pa.ArrowException, OSError) as problem:
        raise unreadable(file, problem) from None


def row_count(path: str | Path) -> int:
    """How many rows a file has; of CSV files an estimate, by line ends."""
    file = _found(path)
    if is_parquet(file):
        try:
            return int(parquet.read_metadata(file).num_rows)
        except (pa.ArrowException, OSError) as problem:
            raise unreadable(file, problem) from None
    with file.open("rb") as content:
        lines = sum(block.count(b"\n") for block in iter(lambda: content.read(_BLOCK), b""))
    return max(1, lines - 1)


def _whole(path: str | Path, columns: Sequence[str] | None) -> Any:
    parts = list(_record_batches(_found(path), columns, rows=None))
    if not sum(part.num_rows for part in parts):
        raise ValueError(f"{path} has no rows")
    return pa.Table.from_batches(parts)


def _found(path: str | Path) -> Path:
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} is not there: give the name of a CSV or parquet file")
    return file


def _record_batches(file: Path, columns: Sequence[str] | None, rows: int | None) -> Iterator[Any]:
    """Pieces of a file: parquet as typed, CSV as text."""
    names = column_names(file)
    double = sorted({name for name in names if name and names.count(name) > 1})
    if double:
        raise ValueError(
            f"{file} has several columns of one name: {', '.join(double)}; rename all but "
            "one of each"
        )
    wanted = [name for name in names if name and (columns is None or name in columns)]
    if not wanted:
        raise ValueError(
            f"{file} has none of the columns {', '.join(columns or ())}; it has {', '.join(names)}"
        )
    try:
        if is_parquet(file):
            yield from parquet.ParquetFile(file).iter_batches(rows or 1 << 20, columns=wanted)
            return
        converting = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=wanted,
            strings_can_be_null=False,
        )
        reading = csv.ReadOptions(column_names=names, skip_rows=1, block_size=_BLOCK)
        parsing = csv.ParseOptions(delimiter=_delimiter(_heading(file)), newlines_in_values=True)
        with csv.open_csv(file, reading, parsing, converting) as batches:
            yield from batches
    except (pa.ArrowException, OSError) as problem:
        raise unreadable(file, problem) from None


def _heading(file: Path) -> str:
    with file.open(encoding="utf-8-sig", errors="replace") as content:
        heading = content.readline()
    if heading.count('"') % 2:
        raise ValueError(
            f"{file} has a column name with a line break in it: write all names in the first line"
        )
    return heading


def _delimiter(heading: str) -> str:
    """What separates values: whichever of the usual signs the heading has most."""
    return max(_DELIMITERS, key=heading.count)


def _user_table(table: Any, of_text: Callable[[Any], AnyArray | str]) -> UserTable:
    columns: dict[str, AnyArray] = {}
    left_out: dict[str, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = "a data frame's index" if name.startswith(_INDEX) else _values(column, of_text)
        if isinstance(values, str):
            left_out[name] = values
        else:
            columns[name] = values
    return UserTable(columns, left_out)


def _values(column: Any, of_text: Callable[[Any], AnyArray | str]) -> AnyArray | str:
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
    return _DATES if pa.types.is_temporal(kind) else f"values of type {kind}"


def _typed(text: Any) -> AnyArray | str:
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
    return _objects(text)


def _objects(text: Any) -> AnyArray:
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


_RAGGED = re.compile(r"(Row #\d+: )?Expected \d+ columns, got \d+")
_FIRST = {  # what files begin with
    b"\x1f\x8b": "it is compressed (gzip): unpack it first",
    b"PK": "it is a workbook or an archive: save it as CSV first",
    b"PAR1": "it is a parquet file: let its name end in .parquet",
    b"\xff\xfe": "it is UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "it is UTF-16 text: save it as UTF-8",
}


def unreadable(file: Path, problem: Exception | None = None) -> ValueError:
    """The library's message may quote a row: only its figures are told."""
    said = str(problem or "")
    ragged = _RAGGED.search(said)
    if ragged:
        why = (
            f"{ragged.group(0).lower()}: every line must have as many values as the first has names"
        )
    elif "UTF8" in said.upper():
        why = "it is not UTF-8 text: save it as UTF-8"
    else:
        why = _other_kind(file) or "is it a CSV (UTF-8 text) or parquet file with a heading?"
    return ValueError(f"{file} cannot be read as a table: {why}")


def refuse_other_kinds(file: Path) -> None:
    """An error for a file that is said to be CSV and is of another kind."""
    if not file.stat().st_size:
        raise ValueError(
            f"{file} is empty: a table needs a line with the names of its columns, and rows"
        )
    if _other_kind(file):
        raise unreadable(file)


def is_parquet(file: Path) -> bool:
    """By the ending of its name."""
    return file.suffix.lower() in (".parquet", ".pq")


def _other_kind(file: Path) -> str:
    """What a file is that is neither CSV nor called parquet, by what it begins with; empty:
    nothing is known.
    """
    with file.open("rb") as content:
        first = content.read(4)
    kinds = (reason for begin, reason in _FIRST.items() if first.startswith(begin))
    return "" if first == b"PAR1" and is_parquet(file) else next(kinds, "")
