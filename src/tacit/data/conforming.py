"""A table as a schema means it: values are compared by what they say, not by how a file happens to
store them.

The number 3, the number 3.0 and the text "3" are one category; a text that is no number is a
missing number. So the same rows in CSV or parquet, whole or in pieces, with or without an odd value
elsewhere, are the same rows.
"""

from typing import Any

import numpy as np

from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.schema import Number, Schema
from tacit.data.table import UserTable


def conform(table: UserTable, schema: Schema, where: str = "the table") -> UserTable:
    """The schema's columns, in its order: numbers as floats, categories as the schema's own values,
    else missing.

    >>> from tacit.data.schema import Category
    >>> schema = Schema((Number("age", 0, 100), Category("code", (1, 2))), ("no", "yes"))
    >>> odd = UserTable({"code": np.array(["2", "x"], dtype=object), "age": np.array(["7", "?"], dtype=object)})
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
            _floats(column) if isinstance(feature, Number) else _known(column, feature.values)
        )
    return UserTable(columns)


def conform_labels(labels: AnyArray, schema: Schema) -> AnyArray:
    """Labels as the schema's own classes; None for any other."""
    return _known(labels, schema.classes)


def conform_owners(owners: AnyArray) -> tuple[list[str], IntArray]:
    """The names of owners in order, and the number of each row's; rows without a name are of one
    owner, called "".

    >>> conform_owners(np.array(["b", None, "a", float("nan")], dtype=object))
    (['', 'a', 'b'], array([2, 0, 1, 0]))
    """
    named = np.array(
        ["" if value is None or value != value else str(value) for value in owners.tolist()]
    )
    names, numbers = np.unique(named, return_inverse=True)
    return names.tolist(), numbers.astype(np.int64)


def _known(column: AnyArray, values: tuple[Any, ...]) -> AnyArray:
    """Each value as the known one that says the same, or None."""
    said = {_said(value): value for value in values if value is not None}
    read = _said_number if any(isinstance(value, int | float) for value in values) else _said
    same = {value: said.get(read(value)) for value in set(column.tolist()) if value is not None}
    found = np.empty(len(column), dtype=object)
    found[:] = [same.get(value) for value in column.tolist()]
    return found


def _said(value: Any) -> str:
    """What a value says: truth values in lower case, whole numbers without a point, texts
    without blanks around.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


def _said_number(value: Any) -> str:
    """The same where numbers are meant: the text "03" says 3."""
    number = _number(value) if isinstance(value, str) else float("nan")
    return _said(value) if np.isnan(number) else _said(number)


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
