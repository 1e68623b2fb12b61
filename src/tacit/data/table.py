"""A user's table in memory, and what a schema reads in it.

Values are compared by what they say, not by how a file happens to store them: the number 3, the
number 3.0 and the text "3" are one category; a text that is no number is a missing number. So the
same rows in CSV or parquet, whole or in pieces, with or without an odd value elsewhere, are the
same rows.
"""

from dataclasses import dataclass, field
from typing import Any, overload
from unicodedata import normalize

import numpy as np

from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.data.schema import Encoded, Number, Schema, has_value


@dataclass(frozen=True, eq=False)
class UserTable:
    """Named columns of equal length: numbers (missing: NaN) or objects (missing: None).

    `left_out` says of columns that are neither numbers nor text what they are. Estimators take it
    like a data frame.

    >>> town = np.array(["n", None], dtype=object)
    >>> table = UserTable({"age": np.array([30.0, 41.0]), "town": town})
    >>> len(table), table.shape, table["town"].tolist(), table[np.array([1])]["age"].tolist()
    (2, (2, 2), ['n', None], [41.0])
    """

    columns: dict[str, AnyArray]
    left_out: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    @overload
    def __getitem__(self, wanted: str) -> AnyArray: ...
    @overload
    def __getitem__(self, wanted: slice | IntArray | BoolArray) -> "UserTable": ...
    def __getitem__(self, wanted: str | slice | IntArray | BoolArray) -> "AnyArray | UserTable":
        """One column by its name, or some rows."""
        if isinstance(wanted, str):
            return self.columns[wanted]
        return UserTable(
            {name: column[wanted] for name, column in self.columns.items()}, self.left_out
        )

    def column(self, name: str) -> AnyArray:
        """One column, or an error that names the columns there are."""
        if name in self.left_out:
            raise ValueError(
                f"column {name!r} cannot be used: it holds {self.left_out[name]}, not numbers "
                "or text; choose another"
            )
        if name not in self.columns:
            raise ValueError(
                f"column {name!r} is not in the table; it has {', '.join(self.columns)}"
            )
        return self.columns[name]

    def without(self, *names: str | None) -> dict[str, AnyArray]:
        """All columns but these."""
        return {name: column for name, column in self.columns.items() if name not in names}

    def __repr__(self) -> str:
        return f"UserTable({', '.join(self.columns)})"


def conform(table: UserTable, schema: Schema, where: str = "the table") -> UserTable:
    """The schema's columns, in its order: numbers as floats, categories as the schema's own values,
    else missing.

    >>> from tacit.data.schema import Category
    >>> schema = Schema((Number("age", 0, 100), Category("code", (1, 2))), ("no", "yes"))
    >>> code, age = (np.array(texts, dtype=object) for texts in (["2", "x"], ["7", "?"]))
    >>> odd = UserTable({"code": code, "age": age})
    >>> {name: column.tolist() for name, column in conform(odd, schema).columns.items()}
    {'age': [7.0, nan], 'code': [2, None]}
    """
    missing = [feature.name for feature in schema.features if feature.name not in table.columns]
    if missing:
        what = "; ".join(
            f"{name!r} ({table.left_out[name]})" if name in table.left_out else repr(name)
            for name in missing
        )
        raise ValueError(
            f"{where} lacks {what}, which the model uses; it has {', '.join(table.columns)}"
        )
    columns: dict[str, AnyArray] = {}
    for feature in schema.features:
        column = table.columns[feature.name]
        columns[feature.name] = (
            _floats(column) if isinstance(feature, Number) else _match(column, feature.values)
        )
    return UserTable(columns)


def conform_labels(labels: AnyArray, schema: Schema) -> AnyArray:
    """Labels as the schema's own classes; None for any other."""
    return _match(labels, schema.classes)


def encode_rows(table: Any, schema: Schema) -> Encoded:
    """Rows in [-1, 1], read by what values say where the table has names."""
    return schema.encode(conform(table, schema) if isinstance(table, UserTable) else table)


def is_known(labels: AnyArray) -> BoolArray:
    """Which labels are there at all: not None, NaN, NaT or pandas' NA."""
    if labels.dtype.kind != "O":
        return np.ones(len(labels), dtype=np.bool_)
    return np.array([has_value(label) for label in labels.tolist()], dtype=np.bool_)


def number_labels(labels: AnyArray, schema: Schema) -> IntArray:
    """Class numbers of labels that equal a class or say the same; -1 for any other.

    >>> number_labels(np.array(["1", "0", "x"]), Schema((Number("age", 0, 9),), (0, 1)))
    array([ 1,  0, -1])
    """
    found = schema.encode_labels(labels)
    other = found < 0
    numbers = all(isinstance(value, int | float) for value in schema.classes)
    if other.any() and not (numbers and labels.dtype.kind in "fiub"):
        found[other] = schema.encode_labels(conform_labels(labels[other], schema))
    return found


def conform_owners(owners: AnyArray) -> tuple[list[str], IntArray]:
    """The names of owners in order, and the number of each row's; rows without a name are of one
    owner, called "".

    Values that say the same number are one owner however a file stores them, up to the precision
    of a float: two owners may become one that way, never one two.

    >>> conform_owners(np.array(["b", None, "a", float("nan"), "17", 17.0], dtype=object))
    (['', '17', 'a', 'b'], array([3, 0, 2, 0, 1, 1]))
    """
    values = [(type(value), value) for value in owners.tolist()]  # True == 1, and says another
    name_of = {key: _owner_name(key[1]) for key in values}
    names, numbers = np.unique([name_of[key] for key in values], return_inverse=True)
    return names.tolist(), numbers.astype(np.int64)


def _owner_name(value: Any) -> str:
    if value is None or value != value:
        return ""
    number = float("nan") if isinstance(value, bool) else _number(value)
    return _plain_text(normalize("NFC", str(value)) if np.isnan(number) else number + 0.0)


def _match(column: AnyArray, values: tuple[Any, ...]) -> AnyArray:
    """Each value as the known one that says the same, or None."""
    said = {_plain_text(value): value for value in values if value is not None}
    read = _number_text if any(isinstance(value, int | float) for value in values) else _plain_text
    # by type, too: True == 1, and no value may change how another is read
    keys = [(type(value), value) for value in column.tolist()]
    same = {key: said.get(read(key[1])) for key in set(keys) if key[1] is not None}
    found = np.empty(len(column), dtype=object)
    found[:] = [same.get(key) for key in keys]
    return found


def _plain_text(value: Any) -> str:
    """What a value says: truth values in lower case, whole numbers without a point, texts
    without blanks around.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


def _number_text(value: Any) -> str:
    """The same where numbers are meant: the text "03" says 3."""
    number = _number(value) if isinstance(value, str) else float("nan")
    return _plain_text(value) if np.isnan(number) else _plain_text(number)


def _floats(column: AnyArray) -> FloatArray:
    """Numbers; what is none is missing."""
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return np.array([_number(value) for value in column.tolist()])


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
