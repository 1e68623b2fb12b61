"""What a public table shows: bounds, categories and classes; and which columns are no features."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._util.types import AnyArray
from tacit.data.schema import Category, Number, Schema
from tacit.data.table import UserTable

MOST_VALUES = 100  # different texts of a category, and classes of a label
# a text column with more different values than this part of its rows names things, it does not sort
# them
_NAMES = 0.5

_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.' ]\d{3})+)(,\d+)?")
_FEW = 20  # rows in which ages or counts may well be all different


@dataclass(frozen=True)
class Described:
    """A schema, and of every column that it leaves out, why.

    `identifiers` are features that may be none, whose values are all different whole numbers: how
    many they are.
    """

    schema: Schema
    left_out: dict[str, str]
    identifiers: dict[str, int]


def describe(
    table: UserTable,
    label: str,
    *,
    owner: str | None = None,
    leave_out: Collection[str] = (),
    categories: Collection[str] = (),
) -> Described:
    """The schema of a public table without dates, names and other columns that are no features.

    `categories` are columns of numbers that are codes. Only the public table is looked at.
    """
    classes = _distinct(table.column(label))
    if not 2 <= len(classes) <= MOST_VALUES:
        raise ValueError(
            f"label {label!r} must have 2 to {MOST_VALUES} classes in the public rows, it has "
            f"{len(classes)}: "
            "give rows of several classes, or a column of classes instead of amounts"
        )
    for name in (*leave_out, *categories):
        if name not in table.columns and name not in table.left_out:
            raise ValueError(
                f"column {name!r} is not in the public table; it has {', '.join(table.columns)}"
            )
    left_out = {name: f"holds {what}" for name, what in table.left_out.items()}
    kept = {}
    for name, column in table.without(label, owner, *leave_out).items():
        values = _distinct(column)
        if column.dtype.kind == "O" and len(values) > min(
            MOST_VALUES, max(20, _NAMES * len(column))
        ):
            left_out[name] = (
                f"has {len(values):,} different texts in {len(column):,} public "
                f"rows{_likely(values)}"
            )
        elif not values:
            left_out[name] = "is empty in the public rows"
        else:
            kept[name] = column.astype(object) if name in categories else column
    if not kept:
        raise ValueError(f"the public table has no column to learn {label!r} from")
    identifiers = {name: len(column) for name, column in kept.items() if _identifies(column)}
    return Described(
        schema_of(UserTable({**kept, label: table.column(label)}), label), left_out, identifiers
    )


def schema_of(
    table: UserTable, label: str, *others: str | None, classes: tuple[Any, ...] | None = None
) -> Schema:
    """Bounds, categories and classes as a public table shows them; `others` are columns that are
    no features.
    """
    features: list[Number | Category] = []
    for name, column in table.without(label, *others).items():
        if column.dtype.kind in "fiu":
            finite = column[np.isfinite(column.astype(np.float64))]
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
            features.append(Number(name, low, high if high > low else low + max(1.0, abs(low))))
        else:
            seen = _distinct(column)
            features.append(Category(name, tuple(seen if len(seen) > 1 else [*seen, None])))
    return Schema(
        tuple(features), tuple(_distinct(table.column(label))) if classes is None else classes
    )


def _likely(texts: list[Any]) -> str:
    """What texts look like, where they are no names."""
    numbers = all(isinstance(text, str) and _DECIMAL_COMMA.fullmatch(text) for text in texts)
    return (
        ": they look like numbers with a decimal comma; write 1.5 in place of 1,5 in all files"
        if numbers
        else ""
    )


def _identifies(column: AnyArray) -> bool:
    """Whether the values of a column, too many for chance, are whole numbers of which no two are
    the same.
    """
    if column.dtype.kind not in "fiu" or len(column) < _FEW:
        return False
    whole = np.isfinite(column).all() and (column % 1 == 0).all()
    return bool(whole) and len(np.unique(column)) == len(column)


def _distinct(column: Any) -> list[Any]:
    """Different values that are there, in order; numbers by size."""
    seen = {value for value in column.tolist() if value is not None and value == value}
    return sorted(seen, key=lambda value: (isinstance(value, str), value))
