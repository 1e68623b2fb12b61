"""What estimators do where rows are in files, or owners are asked on a cluster. It is loaded where
it is needed alone.

Rows in files have the data user's sample apart: `public=` is a pair (X0, y0), a `Sample`, or a file
with the same columns. Everything else is as it is in memory, and so is the model, to the bit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit._util.checks import positive
from tacit._util.types import AnyArray, FloatArray
from tacit.data.owner_blocks import (
    BlockedCohort,
    GroupBlock,
    RowReading,
    row_groups,
)
from tacit.data.sample import ColumnRoles, Sample
from tacit.data.schema import Schema
from tacit.data.survey import survey
from tacit.data.table import UserTable
from tacit.data.table_file import TableFile, column_at
from tacit.data.table_rows import read_sample
from tacit.data.table_set import is_location, open_table
from tacit.engines.by_block import workers_at
from tacit.estimators.guarantee import Source
from tacit.estimators.inputs import Inputs, accept_pair, epsilon_of
from tacit.estimators.persistence import SavedModel
from tacit.estimators.set_aside import make_sample, warn_notes


def read_files(estimator: Any, X: Any, y: Any, *, owner: Any, public: Any) -> Inputs:
    """Owners in files, every row of which was read once, and the data user's sample."""
    _check_columns(y, owner)
    if public is None:
        raise _no_sample()
    table = X if isinstance(X, TableFile) else open_table(X)
    others = [name for name in table.names if name not in (y, owner)]
    estimator.feature_names_in_ = np.array(others, dtype=object)
    sample = _sample_of(estimator, public, y, owner)
    names = [feature.name for feature in sample.schema.features]
    estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.n_features_in_ = len(names)
    cohort = table.cohort if isinstance(table, Surveyed) else None
    if cohort is None:
        table.require(*names)
        table.require_numbers(sample.schema)
        reading = RowReading(sample.schema, y, owner)
        cohort = survey(table, reading, workers_at(estimator.engine))
        warn_notes(cohort.counts.notes(reading, str(table.path)))
    known = sample.public
    epsilon: float | FloatArray = (
        positive("epsilon", estimator.epsilon)
        if np.ndim(estimator.epsilon) == 0
        else epsilon_of(estimator.epsilon, np.zeros(len(cohort), dtype=np.bool_))
    )
    return Inputs(
        sample=sample,
        frequencies=np.bincount(known.y, minlength=known.classes) / len(known.y),
        source=Source(len(known.y)),
        cohort=cohort,
        owners=len(cohort),
        epsilon=epsilon,
        moved=cohort.moved,
    )


def _check_columns(y: Any, owner: Any) -> None:
    if not (isinstance(y, str) and isinstance(owner, str | None)):
        raise TypeError(
            "of rows in files, y must be the name of the column with their classes, and owners "
            f"that of the column that names owners or None, got {type(y).__name__} and "
            f"{type(owner).__name__}"
        )


def _no_sample() -> ValueError:
    return ValueError(
        "rows in files need public=, the data user's own sample: a pair (X0, y0) or a file"
    )


def _sample_of(estimator: Any, public: Any, label: str, owner: str | None) -> Sample:
    if isinstance(public, Sample):
        return public
    if is_location(public):
        return sample_at(public, ColumnRoles(label, owner), estimator.schema)
    return make_sample(estimator, *accept_pair(estimator, public))


def sample_at(location: Any, roles: ColumnRoles, schema: Schema | None) -> Sample:
    """The data user's own rows in files, by what they show or by a schema."""
    if schema is None:
        return read_sample(open_table(location), roles)
    rows = open_table(location).read()
    return Sample.of(rows, rows.column(roles.label), schema)


class HeldRows(NamedTuple):
    """What `fit` takes of rows in memory."""

    X: UserTable
    y: AnyArray
    owners: AnyArray | None
    public: Any


def hold_files(
    estimator: Any, X: Any, y: Any, *, owner: Any, public: Any, numbers: bool = False
) -> HeldRows:
    """Rows in files whose owners hold many each: read at once, since a site's own model is trained
    on all of its rows. Every value is read by itself; what columns are public rows say, or a
    schema. `numbers`: the target is one.
    """
    _check_columns(y, owner)
    if public is None and estimator.schema is None:
        raise _no_sample()
    table, given = X if isinstance(X, TableFile) else open_table(X), public
    if is_location(public):
        given = sample_at(public, ColumnRoles(y, owner, numbers=numbers), estimator.schema)
    schema = given.schema if isinstance(given, Sample) else estimator.schema
    names = [name for name in table.names if name and name not in (y, owner)]
    if schema is not None:
        names = [feature.name for feature in schema.features]
        table.require_numbers(schema)
    table.require(y, owner, *names)
    named = [] if owner is None else [owner]
    raw = table.read_text([*names, y, *named], named)
    where = str(table.path)
    kept = UserTable(
        {name: raw.columns[name] for name in names if name in raw.columns},
        {name: what for name, what in raw.left_out.items() if name in names},
    )
    owners = None if owner is None else column_at(where, raw, owner)
    return HeldRows(kept, column_at(where, raw, y), owners, given)


@dataclass(frozen=True, eq=False)
class Surveyed(TableFile):
    """Files all rows of which were read once: their owners are known."""

    cohort: BlockedCohort | None = None


@dataclass(frozen=True, eq=False)
class FileOwners:
    """Owners in files as `fit` takes them: the files, the columns of classes and of owners; how
    many owners there are, and what a reader should know of the files.
    """

    table: Surveyed
    labels: str
    owners: str | None
    count: int
    notes: tuple[str, ...] = ()


def read_owners(table: TableFile, roles: ColumnRoles, schema: Schema, where: str) -> FileOwners:
    """Read all rows of files once, to know their owners."""
    table.require(roles.label, roles.owner, *(feature.name for feature in schema.features))
    reading = RowReading(schema, roles.label, roles.owner)
    cohort = survey(table, reading, workers_at(where))
    known = Surveyed(table.path, table.names, cohort=cohort)
    notes = cohort.counts.notes(reading, str(table.path))
    return FileOwners(known, roles.label, roles.owner, len(cohort), notes)


@dataclass(frozen=True, eq=False)
class PredictionTask:
    """A block of rows, and the model to predict them with."""

    block: GroupBlock
    model: SavedModel


def predict_block(task: PredictionTask) -> FloatArray:
    """How likely each class is, (rows, classes), or the predicted numbers, (rows, 1)."""
    model, schema = task.model, task.block.reading.schema
    rows = (schema.encode(raw, task.block.where).X for raw in task.block.tables())
    if not model.schema.labels:
        return np.concatenate([np.zeros((0, 1)), *(model.numbers(X)[:, None] for X in rows)])
    none = np.zeros((0, len(model.schema.classes)))
    return np.concatenate([none, *(model.probabilities(X) for X in rows)])


def predict_files(model: SavedModel, location: Any, where: str) -> Iterator[FloatArray]:
    """How likely each class is for all rows of a table, or the predicted numbers, a row group at a
    time, in their order.
    """
    table = location if isinstance(location, TableFile) else open_table(location)
    table.require(*(feature.name for feature in model.schema.features))
    blocks = row_groups(table, RowReading(model.schema))
    yield from workers_at(where)(predict_block, [PredictionTask(block, model) for block in blocks])
