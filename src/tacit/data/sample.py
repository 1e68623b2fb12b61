"""The data user's own sample: the only rows that bounds, categories, classes and thresholds are
taken from.

A public table is described first: which columns are features, between which bounds, with which
values; dates, names and other columns that are no features are left out and named. Or a schema
file says all that. Rows whose class the schema does not know are not learned from.
"""

import json
import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.schema import Category, Number, Schema
from tacit.data.table import UserTable, conform, conform_labels


def read_schema(path: str | Path) -> Schema:
    """The schema in a TOML file; features in their order there."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ValueError(f"{file} cannot be read as a schema: {problem}") from problem
    features, classes = content.get("features"), content.get("classes")
    if (
        set(content) != {"features", "classes"}
        or not isinstance(features, dict)
        or not isinstance(classes, list)
    ):
        raise ValueError(
            f"{file} must have classes = [...] and a table [features], and nothing else"
        )
    return Schema(
        tuple(_feature(file, name, given) for name, given in features.items()), tuple(classes)
    )


def schema_text(schema: Schema) -> str:
    """The file that `read_schema` reads as this schema.

    >>> features = (Number("age", 0, 120), Category("state", ("n", "s")))
    >>> print(schema_text(Schema(features, ("no", "yes"))))
    classes = ["no", "yes"]
    <BLANKLINE>
    [features]
    "age" = { low = 0.0, high = 120.0 }
    "state" = { values = ["n", "s"] }
    <BLANKLINE>
    """
    lines = [f"classes = {json.dumps(list(schema.classes), ensure_ascii=False)}", "", "[features]"]
    for feature in schema.features:
        if isinstance(feature, Number):
            told = f"low = {feature.low!r}, high = {feature.high!r}"
        else:
            known = [value for value in feature.values if value is not None]
            told = f"values = {json.dumps(known, ensure_ascii=False)}"
        lines.append(f"{json.dumps(feature.name, ensure_ascii=False)} = {{ {told} }}")
    return "\n".join(lines) + "\n"


def _feature(file: Path, name: str, given: Any) -> Number | Category:
    match given:
        case {"low": int() | float() as low, "high": int() | float() as high, **rest} if not rest:
            return Number(name, low, high)
        case {"values": [one], **rest} if not rest:
            return Category(name, (one, None))
        case {"values": list() as values, **rest} if not rest:
            return Category(name, tuple(values))
    raise ValueError(
        f"{file}: feature {name!r} must be {{ low = ..., high = ... }} or {{ values = [...] }}"
    )


if TYPE_CHECKING:  # what learns from samples need not load what reads files
    from tacit.data.table_file import TableFile

MOST_VALUES = 100  # different texts of a category, and classes of a label
# a text column with more different values than this part of its rows names things, it does not sort
# them
_NAMES = 0.5

_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.' ]\d{3})+)(,\d+)?")
_FEW = 20  # rows in which ages or counts may well be all different


@dataclass(frozen=True, eq=False)
class Public:
    """The data user's own sample, encoded. Alphas and thresholds show it: it must be public, or
    its people agree.
    """

    X: FloatArray
    y: IntArray
    classes: int

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of files are: the one to predict, the one that names owners, those of
    numbers that are codes, those that are no features; or a schema file that says it.
    """

    label: str
    owner: str | None = None
    schema: Path | None = None
    categories: Collection[str] = ()
    leave_out: Collection[str] = ()


@dataclass(frozen=True, eq=False)
class Sample:
    """The data user's rows with a known class, encoded by `schema`; `notes` are what a reader
    should know of the columns.
    """

    schema: Schema
    public: Public
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, X: Any, y: Any, schema: Schema | None = None) -> "Sample":
        """From rows in memory: a matrix, a data frame or named columns.

        Classes of a schema that is known are sorted, as scikit-learn keeps them; None: what the
        rows show.
        """
        known = Schema.of_public(X, y) if schema is None else sort_classes(schema)
        numbers = known.encode_labels(y)
        there = numbers >= 0
        if not there.any():
            raise ValueError("the data user's sample has no row with a class of the schema")
        return cls(known, Public(known.encode(X).X[there], numbers[there], len(known.classes)))

    @cached_property
    def digest(self) -> bytes:
        """Of the encoded rows."""
        rows = self.public.X.tobytes() + self.public.y.tobytes()
        return blake2b(rows, digest_size=32).digest()


def sort_classes(schema: Schema) -> Schema:
    """The same with its classes in order, numbers before texts."""
    return replace(schema, classes=tuple(sorted(schema.classes, key=_place)))


def read_sample(file: "TableFile", roles: ColumnRoles) -> Sample:
    """The data user's own file: what it shows, and its rows."""
    file.require(roles.label)
    return sample_of(file.read(), roles, str(file.path))


def sample_of(table: UserTable, roles: ColumnRoles, where: str) -> Sample:
    """The sample in a table of public rows; `where` names it in messages."""
    schema, notes = (
        _infer_schema(table, roles) if roles.schema is None else _take_schema(table, roles)
    )
    labels = conform_labels(table.column(roles.label), schema)
    numbers = schema.encode_labels(labels)
    there = numbers >= 0
    if not there.any():
        raise ValueError(f"no public row has a label of the schema's classes {schema.classes}")
    if not there.all():
        missing = f"{int((~there).sum()):,} of {len(there):,} public rows"
        notes.append(f"{missing} have no {roles.label!r} that is known: they are not learned from")
    rows = schema.encode(conform(table, schema, where)[there]).X
    return Sample(schema, Public(rows, numbers[there], len(schema.classes)), tuple(notes))


def _infer_schema(table: UserTable, roles: ColumnRoles) -> tuple[Schema, list[str]]:
    """The schema that public rows show, and notes on columns."""
    found = describe(
        table,
        roles.label,
        owner=roles.owner,
        leave_out=roles.leave_out,
        categories=roles.categories,
    )
    notes = [f"column {name!r} is left out: it {why}" for name, why in found.left_out.items()]
    notes += [
        f"column {name!r} has {count:,} different whole numbers in {count:,} public rows: "
        f"an identifier? --leave-out {quote(name)}"
        for name, count in found.identifiers.items()
    ]
    return found.schema, notes


def _take_schema(table: UserTable, roles: ColumnRoles) -> tuple[Schema, list[str]]:
    """The schema in a file, and notes on columns that it does not have."""
    schema = sort_classes(read_schema(str(roles.schema)))
    known = {feature.name for feature in schema.features} | {roles.label, roles.owner}
    return schema, [
        f"column {name!r} is left out: it is not in {roles.schema}"
        for name in table.columns
        if name not in known
    ]


@dataclass(frozen=True)
class Description:
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
    return Description(
        _schema_of(UserTable({**kept, label: table.column(label)}), label), left_out, identifiers
    )


def _schema_of(table: UserTable, label: str) -> Schema:
    """Bounds, categories and classes as a public table shows them."""
    features: list[Number | Category] = []
    for name, column in table.without(label).items():
        if column.dtype.kind in "fiu":
            finite = column[np.isfinite(column.astype(np.float64))]
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
            features.append(Number(name, low, high if high > low else low + max(1.0, abs(low))))
        else:
            seen = _distinct(column)
            features.append(Category(name, tuple(seen if len(seen) > 1 else [*seen, None])))
    return Schema(tuple(features), tuple(_distinct(table.column(label))))


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
    return sorted(seen, key=_place)


def _place(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value
