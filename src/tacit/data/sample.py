"""The data user's own sample: the only rows that bounds, categories, classes and thresholds are
taken from.

A public table is described first: which columns are features, between which bounds, with which
values; dates, names and other columns that are no features are left out and named. Or a schema
file says all that. Rows whose class the schema does not know are not learned from.
"""

import json
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._util.types import AnyArray
from tacit.data.cohort import Public
from tacit.data.description import describe, describe_rows, in_order
from tacit.data.frames import is_frame, read_frame
from tacit.data.schema import Category, Number, Schema
from tacit.data.table import (
    UserTable,
    conform,
    conform_labels,
    encode_rows,
    is_known,
    number_labels,
)


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
        rows show. Frames are read as files are; `notes` say what was left out.
        """
        table, labels = read_frame(X) if is_frame(X) else X, np.asarray(y)
        known, notes = (
            schema_of_rows(table, labels) if schema is None else (sort_classes(schema), [])
        )
        numbers = number_labels(labels, known)
        there = numbers >= 0
        if not there.any():
            raise ValueError("the data user's sample has no row with a class of the schema")
        if not there.all():
            missing = f"{int((~there).sum()):,} of {len(there):,} public rows"
            notes.append(f"{missing} have no label that is known: they are not learned from")
        rows = encode_rows(table, known).X[there]
        return cls(known, Public(rows, numbers[there], len(known.classes)), tuple(notes))

    @cached_property
    def digest(self) -> bytes:
        """Of the encoded rows."""
        rows = self.public.X.tobytes() + self.public.y.tobytes()
        return blake2b(rows, digest_size=32).digest()


def schema_of_rows(table: Any, labels: AnyArray) -> tuple[Schema, list[str]]:
    """What rows in memory show, and notes on columns; those of a matrix are all features."""
    if not isinstance(table, UserTable):
        return Schema.of_public(table, labels[is_known(labels)]), []
    found = describe_rows(table, labels)
    return found.schema, found.notes(lambda _: "leave it out of X")


def sort_classes(schema: Schema) -> Schema:
    """The same with its classes in order, numbers before texts."""
    return replace(schema, classes=tuple(in_order(schema.classes)))


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
    return found.schema, found.notes(lambda name: f"--leave-out {quote(name)}")


def _take_schema(table: UserTable, roles: ColumnRoles) -> tuple[Schema, list[str]]:
    """The schema in a file, and notes on columns that it does not have."""
    schema = sort_classes(read_schema(str(roles.schema)))
    known = {feature.name for feature in schema.features} | {roles.label, roles.owner}
    return schema, [
        f"column {name!r} is left out: it is not in {roles.schema}"
        for name in table.columns
        if name not in known
    ]
