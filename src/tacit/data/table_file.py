"""The one way from a file to columns.

A CSV file is read as text, so that no odd value far down is an error and no message quotes one.
`TableFile.read` then types each column as a whole, which is how a public table is described;
`read_text` and `blocks` leave text as it is, for a schema to read (`Schema.conform`). What columns
become is said in `table`, which reads data frames the same way. Where a file cannot be read as a
table the error says why and what to do. No row is ever quoted. What its rows are, a sample or
owners', is said in `table_rows`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tacit._util.file_checks import (
    PARQUET,
    Heading,
    check_name,
    check_text_form,
    find_ragged,
    is_utf8,
    read_heading,
    require_columns,
    some_of,
    unreadable,
)
from tacit._util.types import AnyArray
from tacit.data.file_bytes import Span
from tacit.data.long_texts import chunks_of, declared_size, memory, open_parquet, read_pieces
from tacit.data.schema import Number, Schema
from tacit.data.table import (
    UserTable,
    join_parts,
    keep_text,
    type_text,
    user_table,
)
from tacit.data.values import float_or_nan

_NUMBER = r"^\s*[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?\s*$"  # with a decimal comma
_BLOCK = 1 << 22  # bytes of a CSV file at once
_ROWS = 1 << 20  # rows of a parquet file at once
_DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)  # what readers of files raise
_FIRST, _ENOUGH = 64, 20  # rows of a CSV file that are looked at first; texts that are many
_VALUE = 16  # bytes of a value in memory, at least: as read, and as typed


@dataclass(frozen=True)
class TextForm:
    """How a text file is written: the sign before decimals, "." or ",", and the encoding.

    A value is read by its own letters alone: with a decimal comma `1.167,5` is 1167.5 and `1.167`
    is 1167 in whatever rows are around it, and a date or a name stays as it is.
    """

    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        check_text_form(self.decimal, self.encoding)

    @property
    def is_utf8(self) -> bool:
        return is_utf8(self.encoding)

    def read(self, column: Any) -> Any:
        """A column of texts with numbers as everywhere else: a point, and no signs between
        thousands.
        """
        if self.decimal == ".":
            return column
        plain = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
        return pc.if_else(pc.match_substring_regex(column, _NUMBER), plain, column)

    def read_batch(self, batch: Any) -> Any:
        """All columns of a batch."""
        columns = [self.read(column) for column in batch.columns]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


PLAIN = TextForm()


@dataclass(frozen=True, eq=False)
class TableFile:
    """A file whose heading was read; its rows are read when they are asked for.

    `names` are those of its columns, in order; an index without a name is called "".
    """

    path: Path
    names: tuple[str, ...]
    _delimiter: str = ""
    _parquet: Any = None
    _form: TextForm = PLAIN
    _loaded: Any = None

    @classmethod
    def open(
        cls, path: str | Path, form: TextForm = PLAIN, heading: Heading | None = None
    ) -> "TableFile":
        """Read the heading of a CSV or parquet file, which it is by its ending, unless it was read
        already.
        """
        file = Path(path)
        if not file.is_file():
            raise ValueError(f"{file} is not there: give the name of a CSV or parquet file")
        check_name(file)
        if file.suffix.lower() in PARQUET:
            try:
                content = open_parquet(file)
            except _DAMAGE as problem:
                raise unreadable(file, problem) from None
            return cls(file, tuple(content.schema_arrow.names), _parquet=content)
        heading = heading or read_heading(file, form.encoding)
        return cls(file, heading.names, heading.delimiter, _form=form)

    def in_memory(self) -> "TableFile":
        """The same, read as a whole: what is asked of it afterwards reads no file."""
        return replace(self, _loaded=self.read_arrow(None))

    def require(self, *columns: str | None) -> None:
        """An error that names the columns there are, unless these are among them."""
        require_columns(self.path, self.names, *columns)

    def require_numbers(self, schema: Schema) -> None:
        """An error, if this is a CSV file that has many texts and no number where the schema has
        numbers: they would all count as missing, in silence. One odd value decides nothing. For who
        holds the table of all owners; an owner's own file is never refused by its values.
        """
        if self._parquet is not None:
            return
        odd = {each.name for each in schema.features if isinstance(each, Number)} & {*self.names}
        texts = dict.fromkeys(odd, 0)
        for rows in (_FIRST, _BLOCK):  # a few rows tell, unless they have no number
            for block in self.blocks(sorted(odd), rows) if odd else ():
                for name, column in block.columns.items():
                    said = [value for value in column.tolist() if value is not None]
                    texts[name] = max(texts[name], len(said))
                    if not all(np.isnan(float_or_nan(value)) for value in said):
                        odd.discard(name)
                if rows == _FIRST or not odd:
                    break
        wrong = sorted(name for name in odd if texts[name] >= _ENOUGH)
        if wrong:
            raise ValueError(
                f"{self.path} has no number in column {wrong[0]!r}, where the public rows have "
                "numbers: correct the file, or leave it or the column out (decimals with a "
                "comma: --decimal ,)"
            )

    def read(self, columns: Sequence[str] | None = None) -> UserTable:
        """All rows, each column typed; `columns`: only those of these that the file has."""
        table = user_table(self.read_arrow(columns), type_text)
        if columns is None and "" in self.names:
            table.left_out[""] = "values without a name, as a data frame's index"
        return table

    def read_text(
        self, columns: Sequence[str] | None = None, names: Sequence[str] = ()
    ) -> UserTable:
        """The same, of CSV files the text as it is; columns of `names` keep every digit."""
        return user_table(self.read_arrow(columns), keep_text, names)

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[UserTable]:
        """`read_text` in pieces of at most so many rows, for files of any length."""
        for batch in self.read_batches(columns, rows):
            for start in range(0, batch.num_rows, rows):
                yield user_table(pa.Table.from_batches([batch.slice(start, rows)]), keep_text)

    def count_rows(self) -> int:
        """How many rows the file has; of CSV files an estimate, by line ends."""
        if self._parquet is not None:
            return int(self._parquet.metadata.num_rows)
        with self.path.open("rb") as content:
            lines = sum(block.count(b"\n") for block in iter(lambda: content.read(_BLOCK), b""))
        return max(1, lines - 1)

    def is_within(self, values: int) -> bool:
        """Whether the file has at most so many values; text of no more bytes is not counted."""
        if not self.groups and self.path.is_file() and self.path.stat().st_size <= values:
            return True
        return self.count_rows() * len(self.names) <= values

    def read_arrow(self, columns: Sequence[str] | None) -> Any:
        """All rows as Arrow has them: parquet as typed, CSV as text."""
        self._check_size(columns)
        parts = list(self.read_batches(columns, _ROWS))
        if not sum(part.num_rows for part in parts):
            raise ValueError(f"{self.path} has no rows")
        return join_parts(parts)

    def _check_size(self, columns: Sequence[str] | None) -> None:
        """Refuse a parquet file that says it has more values than memory: a few bytes of it may
        mean billions.
        """
        if not self.groups:
            return
        read = [name for name in self.names if columns is None or name in columns]
        size = self.count_rows() * len(read) * _VALUE
        if self._parquet is not None:
            size = max(size, declared_size(self._parquet, read))
        if not size <= memory():
            raise ValueError(
                f"{self.path} has {self.count_rows():,} rows of {len(read)} columns, more than "
                f"this machine's memory of {memory() >> 30} GB holds: give a part of it"
            )

    @property
    def form(self) -> TextForm:
        """How a CSV file is written."""
        return self._form

    @property
    def groups(self) -> tuple[int, ...]:
        """How many rows each row group of a parquet file has; empty: it has none, as CSV."""
        if self._parquet is None:
            return ()
        known = self._parquet.metadata
        return tuple(known.row_group(group).num_rows for group in range(known.num_row_groups))

    def spans(self, columns: Sequence[str], group: int | None) -> list[Span]:
        """Where some columns lie in a row group of a parquet file; in any other file, all of it."""
        if self._parquet is None or group is None:
            return [(0, self.path.stat().st_size)]
        chunks = chunks_of(self._parquet, columns, group)
        return [(_begin(chunk), chunk.total_compressed_size) for chunk in chunks]

    @property
    def types(self) -> dict[str, Any]:
        """What the columns of a parquet file hold, by name; of CSV files nothing is known."""
        kinds = () if self._parquet is None else self._parquet.schema_arrow
        return {field.name: field.type for field in kinds}

    def read_batches(
        self, columns: Sequence[str] | None, rows: int, group: int | None = None
    ) -> Iterator[Any]:
        """Pieces of the file, or of one row group of it: parquet as typed, CSV as text."""
        wanted = self._choose(columns)
        if self._loaded is not None:
            yield from self._loaded.select(wanted).to_batches(rows)
            return
        try:
            if self._parquet is None:
                yield from self._read_text(wanted)
            else:
                yield from self._read_parquet(wanted, rows, group)
        except _DAMAGE as problem:
            why = (
                self._find_damaged(wanted)
                if self._parquet
                else find_ragged(self.path, self._delimiter, self._form.encoding)
            )
            raise unreadable(self.path, problem, why) from None

    def _choose(self, columns: Sequence[str] | None) -> list[str]:
        """Which of its columns to read; None: all that have a name."""
        names = self.names
        double = sorted(name for name, times in Counter(names).items() if name and times > 1)
        if double:
            raise ValueError(
                f"{self.path} has several columns of one name: {some_of(double)}; rename all but "
                "one of each"
            )
        asked = set(names if columns is None else columns)
        wanted = [name for name in names if name and name in asked]
        if not wanted:
            raise ValueError(
                f"{self.path} has none of the columns {some_of(columns or ())}; "
                f"it has {some_of(names)}"
            )
        return wanted

    def _read_parquet(self, columns: list[str], rows: int, group: int | None) -> Iterator[Any]:
        """Columns of a parquet file or of one row group; damage may leave texts that are none,
        which readers of values would quote.
        """
        for batch in read_pieces(self.path, self._parquet, columns, rows, group):
            batch.validate(full=True)
            yield batch

    def _read_text(self, columns: list[str]) -> Iterator[Any]:
        """The columns of a CSV file, every value a text, decimals with a point."""
        converting = csv.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.string()),
            include_columns=columns,
            strings_can_be_null=False,
        )
        encoding = "utf8" if self._form.is_utf8 else self._form.encoding
        reading = csv.ReadOptions(
            column_names=list(self.names), skip_rows=1, block_size=_BLOCK, encoding=encoding
        )
        parsing = csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        with csv.open_csv(self.path, reading, parsing, converting) as batches:
            plain = self._form.decimal == "."
            yield from batches if plain else map(self._form.read_batch, batches)

    def _find_damaged(self, columns: list[str]) -> str:
        """Which row group is the first that cannot be read."""
        for group in range(len(self.groups)):
            try:
                for _ in self._read_parquet(columns, _ROWS, group):
                    pass
            except _DAMAGE:
                return (
                    f"row group {group + 1} of {len(self.groups)} is damaged: write the file "
                    "again, or leave it out"
                )
        return ""


def _begin(chunk: Any) -> int:
    """Where a part of a column begins: with its different values, if it has such a list."""
    first = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    return int(chunk.data_page_offset if first is None else min(first, chunk.data_page_offset))


def open_rows(
    path: str | Path,
    decimal: str = ".",
    encoding: str = "utf-8",
    heading: Heading | None = None,
) -> TableFile:
    """A file, or several as one: a folder of files, or those that a pattern matches; texts are
    written in this way (`TextForm`). The heading of a CSV file, where it was read already.
    """
    form = TextForm(decimal, encoding)
    if Path(path).is_file():
        return TableFile.open(path, form, heading)
    from tacit.data.table_set import TableSet

    return TableSet.open_all(path, form)


def column_at(where: str, raw: UserTable, name: str) -> AnyArray:
    """One column of rows that are from somewhere, which an error names."""
    try:
        return raw.column(name)
    except ValueError as problem:
        raise ValueError(f"{where}: {problem}") from None
