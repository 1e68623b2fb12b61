"""What a public table shows: which columns are features, between which bounds, with which values.

Dates, names and other columns that are no features are left out and named. Only the public table
is looked at.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._util.types import AnyArray
from tacit.data.schema import Category, Number, Schema, has_value
from tacit.data.table import UserTable

MOST_VALUES = 100  # different texts of a category, and classes of a label
# a text column with more different values than this part of its rows names things, it does not sort
# them
_NAMES = 0.5

_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.' ]\d{3})+)(,\d+)?")
_FEW = 20  # rows in which ages or counts may well be all different


@dataclass(frozen=True)
class Description:
    """A schema, and of every column that it leaves out, why.

    `identifiers` are features that may be none, whose values are all different whole numbers: how
    many they are.
    """

    schema: Schema
    left_out: dict[str, str]
    identifiers: dict[str, int]

    def notes(self, leave_out: Callable[[str], str]) -> list[str]:
        """What a reader should know of columns; `leave_out` says how to leave one out."""
        notes = [f"column {name!r} is left out: it {why}" for name, why in self.left_out.items()]
        return notes + [
            f"column {name!r} has {count:,} different whole numbers in {count:,} public rows: "
            f"an identifier? {leave_out(name)}"
            for name, count in self.identifiers.items()
        ]


def describe(
    table: UserTable,
    label: str,
    *,
    owner: str | None = None,
    leave_out: Collection[str] = (),
    categories: Collection[str] = (),
) -> Description:
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
    kept, left_out = _divide(table, (label, owner, *leave_out), categories)
    if not kept:
        raise ValueError(f"the public table has no column to learn {label!r} from")
    return _description(kept, left_out, classes)


def describe_rows(table: UserTable, labels: AnyArray) -> Description:
    """The same for rows in memory, whose labels are apart."""
    kept, left_out = _divide(table, (), ())
    if not kept:
        why = "; ".join(f"{name!r} {reason}" for name, reason in left_out.items())
        raise ValueError(f"the public rows have no column to learn from: {why}")
    return _description(kept, left_out, _distinct(labels))


def _divide(
    table: UserTable, without: Collection[str | None], categories: Collection[str]
) -> tuple[dict[str, AnyArray], dict[str, str]]:
    """Columns that are features, and why others are none."""
    left_out = {name: f"holds {what}" for name, what in table.left_out.items()}
    kept = {}
    for name, column in table.without(*without).items():
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
    return kept, left_out


def _description(
    kept: dict[str, AnyArray], left_out: dict[str, str], classes: list[Any]
) -> Description:
    identifiers = {name: len(column) for name, column in kept.items() if _identifies(column)}
    features = tuple(_feature(name, column) for name, column in kept.items())
    return Description(Schema(features, tuple(classes)), left_out, identifiers)


def _feature(name: str, column: AnyArray) -> Number | Category:
    """Bounds or categories as the public rows show them."""
    if column.dtype.kind in "fiu":
        finite = column[np.isfinite(column.astype(np.float64))]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
        return Number(name, low, high if high > low else low + max(1.0, abs(low)))
    seen = _distinct(column)
    return Category(name, tuple(seen if len(seen) > 1 else [*seen, None]))


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
    return in_order({value for value in column.tolist() if has_value(value)})


def in_order(values: Iterable[Any]) -> list[Any]:
    """Numbers by size, then texts."""
    return sorted(values, key=_place)


def _place(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value
