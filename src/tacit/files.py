"""Tables of users, from CSV or parquet files: numbers, text and truth values; dates are left out and named."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.schema import Category, Number, Schema
from tacit.types import AnyArray


@dataclass(frozen=True, eq=False)
class UserTable:
    """Named columns of equal length; `left_out` names columns that are neither numbers nor text."""

    columns: dict[str, AnyArray]
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def column(self, name: str) -> AnyArray:
        """One column, or an error that names the columns there are."""
        if name not in self.columns:
            raise ValueError(f"column {name!r} is not in the table; it has {', '.join(self.columns)}")
        return self.columns[name]

    def without(self, *names: str | None) -> dict[str, AnyArray]:
        """All columns but these."""
        return {name: column for name, column in self.columns.items() if name not in names}

    def __repr__(self) -> str:
        return f"UserTable({', '.join(self.columns)})"


def read_table(path: str | Path) -> UserTable:
    """A CSV or parquet file, by its ending; needs the extra `tacit[data]`."""
    file = Path(path)
    try:
        from pyarrow import csv, lib, parquet
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("reading tables needs pyarrow: pip install 'tacit[data]'") from missing
    if not file.is_file():
        raise ValueError(f"{file} is not there: give the name of a CSV or parquet file")
    try:
        table = parquet.read_table(file) if file.suffix in (".parquet", ".pq") else csv.read_csv(file)
    except (lib.ArrowException, OSError) as problem:
        raise ValueError(f"{file} cannot be read as a table: {problem}") from problem
    if not table.num_rows:
        raise ValueError(f"{file} has no rows")
    columns: dict[str, AnyArray] = {}
    left_out = []
    for name in table.column_names:
        values = _values(table[name])
        if values is None:
            left_out.append(name)
        else:
            columns[name] = values
    return UserTable(columns, tuple(left_out))


def schema_of(table: UserTable, label: str, *others: str | None, classes: tuple[Any, ...] | None = None) -> Schema:
    """Bounds, categories and classes as a public table shows them; `others` are columns that are no features."""
    features: list[Number | Category] = []
    for name, column in table.without(label, *others).items():
        if column.dtype.kind in "fiu":
            finite = column[np.isfinite(column.astype(np.float64))]
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
            features.append(Number(name, low, high if high > low else low + max(1.0, abs(low))))
        else:
            seen = sorted({value for value in column.tolist() if value is not None}, key=str)
            features.append(Category(name, tuple(seen if len(seen) > 1 else [*seen, None])))
    known = sorted({value for value in table.column(label).tolist() if value is not None}, key=str)
    return Schema(tuple(features), tuple(known) if classes is None else classes)


def _values(column: Any) -> AnyArray | None:
    """A column as numbers (missing: NaN) or as objects (missing: None); None for dates and nested things."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        kind, column = kind.value_type, column.cast(kind.value_type)
    if types.is_integer(kind) and column.null_count == 0:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return np.asarray(column.cast("float64").to_numpy(), dtype=np.float64)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind):
        return np.array(column.to_pylist(), dtype=object)
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    return None
