"""From files to what an estimator fits: owners' rows, the data user's sample, and the schema that
reads both.

Owners' rows decide nothing here: names and types of columns, bounds, categories and classes are
those of the public rows or of a schema file.

Values of a user's own file that a model cannot take as they are, told by column. Never for owners'
rows.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np

from tacit._util.types import AnyArray, IntArray
from tacit.data import (
    UserTable,
    column_names,
    conform,
    conform_labels,
    conform_owners,
    describe,
    read_rows,
    read_schema,
    read_table,
)
from tacit.data.reading import typed
from tacit.data.sample import Public
from tacit.data.schema import Encoded, Schema
from tacit.mechanisms.streams import Stream

NO_PUBLIC = (
    "--public FILE is missing: rows that you may use freely (your own, or published ones) "
    "give bounds, categories, "
    "classes and the model to start from; or --public-rows 200 gives up 200 rows of {data}: "
    "those are NOT protected"
)


@dataclass(frozen=True)
class Reading:
    """How columns are to be read."""

    label: str
    owner: str | None = None
    schema: Path | None = None
    categories: Collection[str] = ()
    leave_out: Collection[str] = ()


@dataclass(frozen=True, eq=False)
class Sample:
    """Public rows with a class, as a schema reads them, and what the reader should know of them."""

    schema: Schema
    X: UserTable
    y: AnyArray
    notes: tuple[str, ...]

    @property
    def encoded(self) -> Public:
        """The rows as numbers."""
        classes = self.schema.encode_labels(self.y)
        return Public(self.schema.encode(self.X).X, classes, len(self.schema.classes))


@dataclass(frozen=True, eq=False)
class Owned:
    """Owners' rows; `owners` are owner numbers by row; `notes`: what the reader should know of
    the file's columns.
    """

    X: UserTable
    y: AnyArray
    owners: IntArray
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return int(self.owners.max()) + 1


def public_sample(path: Path, reading: Reading) -> Sample:
    """The data user's own rows."""
    _has(path, [reading.label])
    return _sample(read_table(path), reading, str(path))


def owned_rows(path: Path, reading: Reading, schema: Schema, source: str) -> Owned:
    """Owners' rows, read by a schema that came from `source`."""
    names = [feature.name for feature in schema.features]
    _has(path, [reading.label, *_named(reading.owner)])
    missing = sorted(set(names) - set(column_names(path)))
    if missing:
        raise ValueError(
            f"{path} lacks {', '.join(missing)}, which {source} has: add the column, or "
            f"--leave-out {missing[0]}"
        )
    raw = read_rows(path, [*names, reading.label, *_named(reading.owner)])
    labels = conform_labels(raw.column(reading.label), schema)
    owners, notes = _owners(raw, reading.owner, path)
    used = {*names, reading.label, reading.owner, *reading.leave_out, ""}
    if reading.schema is None:
        unknown = [
            name
            for name in column_names(path)
            if name not in used and name not in column_names(source)
        ]
        notes += [
            f"column {name!r} of {path} is left out: {source} does not have it" for name in unknown
        ]
    return Owned(conform(raw, schema, str(path)), labels, owners, tuple(notes))


def divided(path: Path, reading: Reading, rows: int, stream: Stream) -> tuple[Sample, Owned, str]:
    """A file of owners whose rows are given up until they are `rows` or more; those are public from
    now on.

    Whole owners are drawn at random: nobody is half protected. When to stop depends on those
    already drawn alone.
    """
    _has(path, [reading.label, *_named(reading.owner)])
    raw = read_rows(path, column_names(path))
    numbers, notes = _owners(raw, reading.owner, path)
    count = int(numbers.max()) + 1
    order = np.argsort(
        stream.child("public rows").words(np.arange(count), 0, 1)[:, 0], kind="stable"
    )
    held = np.cumsum(np.bincount(numbers)[order])
    drawn = int(np.searchsorted(held, rows)) + 1
    if not drawn < count:
        raise ValueError(
            f"--public-rows {rows} would leave no owner to ask: {path} has {count:,} owners"
        )
    given_up = np.zeros(count, dtype=np.bool_)
    given_up[order[:drawn]] = True
    sample = _sample(
        typed(raw[given_up[numbers]]), reading, f"the {int(held[drawn - 1]):,} rows given up"
    )
    rest = raw[~given_up[numbers]]
    owned = Owned(
        conform(rest, sample.schema, str(path)),
        conform_labels(rest.column(reading.label), sample.schema),
        np.unique(numbers[~given_up[numbers]], return_inverse=True)[1].astype(np.int64),
        tuple(notes),
    )
    told = (
        f"{int(held[drawn - 1]):,} rows of {drawn:,} owners were given up as public rows: they "
        "are not protected."
    )
    return sample, owned, told


def labelled(path: Path, label: str, schema: Schema) -> tuple[UserTable, AnyArray]:
    """Rows to test on, with their labels."""
    _has(path, [label])
    raw = read_rows(path, [*(feature.name for feature in schema.features), label])
    classes = conform_labels(raw.column(label), schema)
    if not any(value is not None for value in classes):
        raise ValueError(f"{path} has no row with a known {label!r}")
    return conform(raw, schema, str(path)), classes


def _sample(table: UserTable, reading: Reading, where: str) -> Sample:
    if reading.schema is None:
        found = describe(
            table,
            reading.label,
            owner=reading.owner,
            leave_out=reading.leave_out,
            categories=reading.categories,
        )
        schema = found.schema
        notes = [f"column {name!r} is left out: it {why}" for name, why in found.left_out.items()]
        notes += [
            f"column {name!r} has {count:,} different whole numbers in {count:,} public rows: "
            "an identifier? "
            f"--leave-out {quote(name)}"
            for name, count in found.identifiers.items()
        ]
    else:
        schema = read_schema(reading.schema)
        known = {feature.name for feature in schema.features} | {reading.label, reading.owner}
        notes = [
            f"column {name!r} is left out: it is not in {reading.schema}"
            for name in table.columns
            if name not in known
        ]
    labels = conform_labels(table.column(reading.label), schema)
    counts = schema.encode_labels(labels) >= 0
    if not counts.any():
        raise ValueError(f"no public row has a label of the schema's classes {schema.classes}")
    if not counts.all():
        missing = f"{int((~counts).sum()):,} of {len(counts):,} public rows"
        notes.append(
            f"{missing} have no {reading.label!r} that is known: they are not learned from"
        )
    return Sample(schema, conform(table, schema, where)[counts], labels[counts], tuple(notes))


def _owners(table: UserTable, owner: str | None, path: Path) -> tuple[IntArray, list[str]]:
    """Owner numbers by row; None: every row is its own owner; rows that name nobody are one
    owner together.
    """
    if owner is None:
        return np.arange(len(table)), []
    names, numbers = conform_owners(table.column(owner))
    return numbers, [
        f"rows of {path} without a {owner} count as one owner together"
    ] if "" in names else []


def _named(owner: str | None) -> list[str]:
    return [] if owner is None else [owner]


def _has(path: Path, wanted: list[str]) -> None:
    names = column_names(path)
    for name in wanted:
        if name not in names:
            raise ValueError(f"column {name!r} is not in {path}; it has {', '.join(names)}")


_SHOWN = 5


def misfits(encoded: Encoded, schema: Schema) -> Counter[str]:
    """How many values of each column were missing, unknown or beyond the bounds; columns without
    any are left out.
    """
    return +Counter(
        {
            feature.name: count
            for feature, count in zip(schema.features, encoded.moved_by, strict=True)
        }
    )


def misfits_line(found: Mapping[str, int], path: Path) -> str:
    """The worst columns in one line; empty where everything fits.

    >>> misfits_line({"age": 1, "town": 1200}, Path("new.csv"))
    'values of new.csv that are missing, unknown to the model or beyond its bounds: town 1,200, age 1'
    """
    if not found:
        return ""
    worst = ", ".join(f"{name} {count:,}" for name, count in Counter(found).most_common(_SHOWN))
    others = len(found) - _SHOWN
    more = f" and {others} more column{'' if others == 1 else 's'}" if others > 0 else ""
    return (
        f"values of {path} that are missing, unknown to the model or beyond its bounds: "
        f"{worst}{more}"
    )
