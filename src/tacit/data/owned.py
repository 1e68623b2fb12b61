"""Owners' rows: from a file, read by a schema that is public.

Owners' rows decide nothing here: names and types of columns, bounds, categories and classes are
those of the public rows or of a schema file. Every value is read by the schema alone, so that no
row of one owner can change what another's rows mean.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit._util.types import AnyArray, IntArray
from tacit.data.frames import type_columns
from tacit.data.sample import ColumnRoles, Sample, sample_of
from tacit.data.schema import Schema
from tacit.data.table import UserTable, conform, conform_labels, conform_owners
from tacit.data.table_file import TableFile


@dataclass(frozen=True, eq=False)
class OwnerTable:
    """Rows as a schema reads them, their labels, and the number of each row's owner.

    `names` are the names of owners by their numbers, empty where no column has them; `notes` what
    a reader should know of the file.
    """

    table: UserTable
    labels: AnyArray
    owners: IntArray
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many owners there are."""
        return int(self.owners.max()) + 1


def read_owned(
    file: TableFile, roles: ColumnRoles, schema: Schema, *, one_owner: bool = False
) -> OwnerTable:
    """Owners' rows; without a column that names owners each row is one, or all are `one_owner`."""
    file.require(roles.label, roles.owner)
    named = [] if roles.owner is None else [roles.owner]
    raw = file.read_text([*(feature.name for feature in schema.features), roles.label, *named])
    return _rows_of(raw, file, roles, schema, one_owner=one_owner)


def divide(
    file: TableFile, roles: ColumnRoles, rows: int, draw: Callable[[int], IntArray]
) -> tuple[Sample, OwnerTable, str]:
    """A file of owners of whom some give up their rows, `rows` or more in all: a public sample, the
    others' rows, and a sentence that says so.

    Whole owners are taken in the random order that `draw` gives for so many: nobody is half
    protected. When to stop depends on those already drawn alone.
    """
    file.require(roles.label, roles.owner)
    raw = file.read_text()
    numbers = _number_owners(raw, roles.owner, one_owner=False)[1]
    count = int(numbers.max()) + 1
    order = draw(count)
    held = np.cumsum(np.bincount(numbers)[order])
    drawn = int(np.searchsorted(held, rows)) + 1
    if not drawn < count:
        raise ValueError(
            f"--public-rows {rows} would leave no owner to ask: {file.path} has {count:,} owners"
        )
    given_up = np.isin(numbers, order[:drawn])
    public_rows = f"{int(held[drawn - 1]):,} rows"
    sample = sample_of(type_columns(raw[given_up]), roles, f"the {public_rows} given up")
    rest = _rows_of(raw[~given_up], file, roles, sample.schema, one_owner=False)
    source = f"{public_rows} of {drawn:,} owners were given up as public rows"
    return sample, rest, f"{source}: they are not protected."


def read_labelled(file: TableFile, label: str, schema: Schema) -> tuple[UserTable, IntArray]:
    """Rows to test on, and their class numbers, -1 where a label is not known."""
    file.require(label)
    raw = file.read_text([*(feature.name for feature in schema.features), label])
    classes = schema.encode_labels(conform_labels(raw.column(label), schema))
    if not (classes >= 0).any():
        raise ValueError(f"{file.path} has no row with a known {label!r}")
    return conform(raw, schema, str(file.path)), classes


def _rows_of(
    raw: UserTable, file: TableFile, roles: ColumnRoles, schema: Schema, *, one_owner: bool
) -> OwnerTable:
    labels = conform_labels(raw.column(roles.label), schema)
    names, numbers = _number_owners(raw, roles.owner, one_owner=one_owner)
    nobody = f"rows of {file.path} without a {roles.owner} count as one owner together"
    table = conform(raw, schema, str(file.path))
    return OwnerTable(table, labels, numbers, names, (nobody,) if "" in names else ())


def _number_owners(
    table: UserTable, owner: str | None, *, one_owner: bool
) -> tuple[tuple[str, ...], IntArray]:
    """Names of owners and their numbers by row; rows that name nobody are one owner together."""
    if owner is None:
        return (), np.zeros(len(table), np.int64) if one_owner else np.arange(len(table))
    names, numbers = conform_owners(table.column(owner))
    return tuple(names), numbers
