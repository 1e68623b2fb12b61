"""What the rows of a file are: the data user's sample, owners' rows, or rows to test on.

Owners' rows decide nothing: names and types of columns, bounds, categories and classes are those of
the public rows or of a schema file. Every value is read by the schema alone, so that no row of one
owner can change what another's rows mean.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tacit._util.file_checks import some_of
from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.owner_names import note_nameless, read_names
from tacit.data.sample import (
    WIDE,
    ColumnRoles,
    Sample,
    check_first,
    check_names,
    note_unknown,
    sample_of,
)
from tacit.data.schema import Schema
from tacit.data.table import UserTable, keep_text, type_columns, user_table
from tacit.data.table_file import TableFile, column_at


def read_sample(file: TableFile, roles: ColumnRoles) -> Sample:
    """The data user's own file: what it shows, and its rows."""
    file.require(roles.label)
    check_names(file.names, roles)
    others = {roles.label, roles.owner, *roles.leave_out, ""}
    features = [name for name in file.names if name not in others]
    if roles.schema is None and len(features) > WIDE:
        check_first(file.read(features[:WIDE]), len(features))
    table = file.read()
    labels = column_at(str(file.path), table, roles.label)
    return sample_of(table, labels, roles, str(file.path))


@dataclass(frozen=True, eq=False)
class OwnerTable:
    """Rows as a schema reads them, their labels, and the number of each row's owner.

    `names` are the names of owners by their numbers, empty where no column has them; `notes` are
    what a reader should know of the file, `count` is how many owners there are.
    """

    table: UserTable
    labels: AnyArray
    owners: IntArray
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    count: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", int(self.owners.max()) + 1)


def read_owned(
    file: TableFile, roles: ColumnRoles, schema: Schema, *, one_owner: bool = False
) -> OwnerTable:
    """Owners' rows; without a column that names owners each row is one, or all are `one_owner`."""
    file.require(roles.label, roles.owner)
    named = [] if roles.owner is None else [roles.owner]
    wanted = [*(feature.name for feature in schema.features), roles.label, *named]
    raw = file.read_text(wanted, named)
    return _rows_of(raw, file, roles, schema, one_owner=one_owner)


def read_first(file: TableFile, roles: ColumnRoles, schema: Schema, most: int) -> OwnerTable:
    """Of every owner the first so many rows with a known label, and its very first row: an owner
    stays one whatever its labels. Without a column that names owners all rows are one owner's. Of
    the other rows nothing but labels and owners is looked at.
    """
    file.require(roles.label, roles.owner)
    named = [] if roles.owner is None else [roles.owner]
    whose = file.read_text([roles.label, *named], named)
    classes = schema.encode_labels(column_at(str(file.path), whose, roles.label))
    numbers = _number_owners(whose, file, roles.owner, one_owner=True)[1]
    wanted = [*(feature.name for feature in schema.features), roles.label, *named]
    kept = first_rows(classes, numbers, most)
    raw = user_table(file.read_arrow(wanted).take(kept), keep_text, named)
    return _rows_of(raw, file, roles, schema, one_owner=True)


def first_rows(labels: IntArray, owners: IntArray, most: int) -> IntArray:
    """The places of each owner's first rows with a known label, so many at most, and of its very
    first.

    >>> first_rows(np.array([0, 1, 0, -1, -1]), np.array([0, 0, 0, 1, 1]), most=2)
    array([0, 1, 3])
    """
    order = np.argsort(owners, kind="stable")
    known = labels[order] >= 0
    first = np.searchsorted(owners[order], owners[order])  # where each row's owner begins
    before: IntArray = np.cumsum(known) - known
    counts = known & (before - before[first] < most)
    return np.sort(order[counts | (first == np.arange(len(order)))])


def divide(
    file: TableFile, roles: ColumnRoles, rows: int, draw: Callable[[int], IntArray]
) -> tuple[Sample, OwnerTable, str]:
    """A file of owners of whom some give up their rows, `rows` or more in all: a public sample, the
    others' rows, and a sentence that says so.

    Whole owners are taken in the random order that `draw` gives for so many: nobody is half
    protected. When to stop depends on those already drawn alone.
    """
    file.require(roles.label, roles.owner)
    raw = file.read_text(names=() if roles.owner is None else (roles.owner,))
    numbers = _number_owners(raw, file, roles.owner, one_owner=False)[1]
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
    table = type_columns(raw[given_up])
    labels = table.column(roles.label)
    sample = sample_of(table, labels, roles, f"the {public_rows} given up")
    rest = _rows_of(raw[~given_up], file, roles, sample.schema, one_owner=False)
    whose = "one owner" if drawn == 1 else f"{drawn:,} owners"
    source = f"{public_rows} of {whose} were given up as public rows"
    return sample, rest, f"{source}: they are not protected."


def read_labelled(file: TableFile, label: str, schema: Schema) -> tuple[UserTable, IntArray]:
    """Rows to test on, and their class numbers, -1 where a label is not known."""
    table, labels = _read_beside(file, label, schema)
    classes = schema.encode_labels(labels)
    if not (classes >= 0).any():
        known = f"; classes are {some_of([str(each) for each in schema.classes])}"
        raise ValueError(f"{file.path} has no row with a known {label!r}{known}")
    return table, classes


def read_targets(file: TableFile, label: str, schema: Schema) -> tuple[UserTable, FloatArray]:
    """The same where numbers are predicted: targets as they stand there, NaN where one is no
    number.
    """
    table, targets = _read_beside(file, label, schema)
    if not np.isfinite(targets).any():
        raise ValueError(f"{file.path} has no row with a number as {label!r}")
    return table, targets


def _read_beside(file: TableFile, label: str, schema: Schema) -> tuple[UserTable, AnyArray]:
    """Rows, and their labels in the schema's words."""
    file.require(label)
    raw = file.read_text([*(feature.name for feature in schema.features), label])
    labels = schema.conform_labels(column_at(str(file.path), raw, label))
    return schema.conform(raw, str(file.path)), labels


def _rows_of(
    raw: UserTable, file: TableFile, roles: ColumnRoles, schema: Schema, *, one_owner: bool
) -> OwnerTable:
    said = column_at(str(file.path), raw, roles.label)
    if not one_owner:  # who is alone takes part whatever its labels: to refuse would tell of them
        schema.check_label_type(said, f"{roles.label} of {file.path}")
    labels = schema.conform_labels(said)
    names, numbers, notes = _number_owners(raw, file, roles.owner, one_owner=one_owner)
    table = schema.conform(raw, str(file.path))
    if not one_owner:
        unknown = int(np.count_nonzero(schema.encode_labels(said) < 0))
        notes = (*notes, *note_unknown(schema, len(said), unknown, str(file.path)))
    return OwnerTable(table, labels, numbers, names, notes)


def _number_owners(
    table: UserTable, file: TableFile, owner: str | None, *, one_owner: bool
) -> tuple[tuple[str, ...], IntArray, tuple[str, ...]]:
    """Names of owners, their numbers by row, and what is to be known of them; rows that name nobody
    are one owner together.
    """
    if owner is None:
        rows = table.shape[0]
        return (), np.zeros(rows, np.int64) if one_owner else np.arange(rows), ()
    found = read_names(column_at(str(file.path), table, owner)).numbered()
    nobody = note_nameless(str(file.path), owner) if "" in found.names else ()
    return (
        tuple(found.names),
        found.numbers,
        (*nobody, *found.notes),
    )
