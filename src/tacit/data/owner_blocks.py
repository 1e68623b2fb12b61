"""Owners by the block: more rows than memory holds, read from files a block at a time.

Owners have the numbers that they have in memory: without a column of owners the place of their row
in the table (`table_set` says the order of files), else the place of their name in the order of
names (`owner_names`). So whoever reads tapes by owners' numbers draws what it draws in memory, to
the bit, whatever the blocks are.

Without a column of owners a block is a row group, or a CSV file; with one, a range of owners whose
rows were brought together (`owner_ranges`). Every row is read once before anybody is asked
(`survey`). A row group that is read again must have the bytes that it had.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.data.file_bytes import changed
from tacit.data.owner_names import note_nameless, tell_respelled
from tacit.data.sample import note_unknown
from tacit.data.schema import Schema
from tacit.data.table import UserTable, keep_text, user_table
from tacit.data.table_file import TableFile, column_at
from tacit.data.table_set import SetFile, TableSet

if TYPE_CHECKING:
    from tacit.data.scratch import ScratchFolder

# who does a function of each of several tasks: results in the order of tasks
Workers = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
Choice = Callable[[IntArray], BoolArray]  # which of these owners

_NUMBERS = 1 << 22  # numbers of a batch of rows


class OwnerBlock(ABC):
    """Some owners, whose rows are read when they are asked for; numbers first .. first + owners -
    1 are theirs.
    """

    first: int
    owners: int

    @abstractmethod
    def read(self, chosen: Choice) -> Iterator[tuple[IntArray, Cohort]]:
        """The chosen owners' numbers and rows, a batch at a time, in the order of numbers."""


@dataclass(frozen=True)
class RowCounts:
    """What is counted when rows are read first: `rows`; values that had to be `moved` to fit the
    schema; rows that are `ignored`, since it does not have their label; owners whose names are
    written in several ways (`respelled`); whether rows name nobody. Private figures of a
    simulation.
    """

    rows: int = 0
    moved: int = 0
    ignored: int = 0
    respelled: int = 0
    nameless: bool = False

    def __add__(self, more: "RowCounts") -> "RowCounts":
        return RowCounts(
            self.rows + more.rows,
            self.moved + more.moved,
            self.ignored + more.ignored,
            self.respelled + more.respelled,
            self.nameless or more.nameless,
        )

    def notes(self, reading: "RowReading", where: str) -> tuple[str, ...]:
        """What whoever holds the rows should know of them."""
        return (
            *note_unknown(reading.schema, self.rows, self.ignored, where),
            *(note_nameless(where, reading.owner) if self.nameless else ()),
            *tell_respelled(self.respelled),
        )


@dataclass(frozen=True, eq=False)
class BlockedCohort:
    """Owners in blocks, in the order of their numbers. `folder` is where their rows lie while they
    are needed.
    """

    blocks: tuple[OwnerBlock, ...]
    counts: RowCounts = RowCounts()
    folder: "ScratchFolder | None" = None

    @property
    def moved(self) -> int:
        """Values that had to be changed."""
        return self.counts.moved

    @property
    def ignored(self) -> int:
        """Rows whose label is not known."""
        return self.counts.ignored

    def __len__(self) -> int:
        return sum(block.owners for block in self.blocks)

    def __repr__(self) -> str:
        return f"BlockedCohort({len(self)} owners)"

    @classmethod
    def of(cls, cohort: Cohort, owners: int) -> "BlockedCohort":
        """A cohort in memory in blocks of so many owners, for workers elsewhere."""
        starts = range(0, len(cohort), owners)
        pieces = (HeldBlock.of(cohort[start : start + owners], start) for start in starts)
        return cls(tuple(pieces), RowCounts(ignored=cohort.ignored))


@dataclass(frozen=True, eq=False)
class HeldBlock(OwnerBlock):
    """Owners whose rows are in memory."""

    cohort: Cohort
    first: int
    owners: int

    @classmethod
    def of(cls, some: Cohort, first: int) -> "HeldBlock":
        """With its own rows alone, so that no others travel along."""
        own = Cohort(np.ascontiguousarray(some.X), np.ascontiguousarray(some.y), some.offsets)
        return cls(own, first, len(own))

    def read(self, chosen: Choice) -> Iterator[tuple[IntArray, Cohort]]:
        numbers = np.arange(self.first, self.first + self.owners)
        which = chosen(numbers)
        if which.any():
            yield numbers[which], self.cohort if which.all() else self.cohort[which]


@dataclass(frozen=True)
class RowReading:
    """How rows of files are read: by a schema, perhaps with columns of labels and of owners."""

    schema: Schema
    label: str | None = None
    owner: str | None = None

    @property
    def columns(self) -> list[str]:
        names = (*(feature.name for feature in self.schema.features), self.label, self.owner)
        return [name for name in names if name is not None]

    @property
    def rows(self) -> int:
        """How many to read at a time."""
        return max(1, _NUMBERS // (self.schema.dim + len(self.columns)))

    def encode(self, raw: UserTable, where: str) -> tuple[FloatArray, IntArray, int]:
        """Rows as numbers, their class numbers, and how many values had to be moved."""
        encoded, labels = self.schema.encode(raw, where), column_at(where, raw, str(self.label))
        self.schema.check_label_type(labels, f"{self.label} of {where}")
        return encoded.X, self.schema.encode_labels(labels), encoded.moved


@dataclass(frozen=True)
class GroupBlock(OwnerBlock):
    """A row group, or a CSV file: each row is an owner. Once its rows were counted, `bytes` is a
    checksum of what lies there.
    """

    member: SetFile
    group: int | None
    reading: RowReading
    first: int = 0
    owners: int = 0
    bytes: int | None = None

    @property
    def where(self) -> str:
        """What to call it in messages."""
        part = "" if self.group is None else f", row group {self.group + 1}"
        return f"{self.member.path}{part}"

    def tables(self) -> Iterator[UserTable]:
        """Its rows, so many at a time."""
        yield from map(self.as_table, self.batches())

    def as_table(self, batch: Any) -> UserTable:
        """A batch as columns, names of owners whole."""
        named = (self.reading.owner,)
        return user_table(pa.Table.from_batches([batch]), keep_text, named)

    def batches(self) -> Iterator[Any]:
        """Its rows as they are stored."""
        rows = self.reading.rows
        for batch in self.member.read_batches(self.reading.columns, rows, self.group):
            for start in range(0, batch.num_rows, rows):  # those of CSV files are by bytes
                yield batch.slice(start, rows)

    def read(self, chosen: Choice) -> Iterator[tuple[IntArray, Cohort]]:
        at = self.first
        for batch in self.batches():
            numbers = np.arange(at, at + batch.num_rows)
            at += batch.num_rows
            which = chosen(numbers)
            if which.any():
                kept = batch if which.all() else batch.filter(pa.array(which))
                X, y, _ = self.reading.encode(self.as_table(kept), self.where)
                yield numbers[which], Cohort.of(X, y)
        if at - self.first != self.owners or self.checksum() != self.bytes:
            raise changed(self.member.path)

    def checksum(self) -> int:
        """Of what lies there now."""
        return self.member.checksum(self.reading.columns, self.group)

    def counted(self) -> "Counted":
        """The same with its number of owners. Bytes come first: rows that are other ones already
        when they are read are found by the next who reads.
        """
        known, counts = self.checksum(), RowCounts()
        for raw in self.tables():
            _, y, moved = self.reading.encode(raw, self.where)
            counts += RowCounts(len(y), moved, int((y < 0).sum()))
        return Counted(replace(self, owners=counts.rows, bytes=known), counts)


class Counted(NamedTuple):
    """A block that was read, and what was counted."""

    block: OwnerBlock
    counts: RowCounts


def row_groups(table: TableFile, reading: RowReading) -> Iterator[GroupBlock]:
    """Where the rows of a table are, before any of them is read."""
    members = table.members if isinstance(table, TableSet) else (SetFile.of(table, (), table.form),)
    for member in members:
        groups: Sequence[int | None] = range(len(member.groups)) if member.groups else (None,)
        for group in groups:
            yield GroupBlock(replace(member, groups=()), group, reading)  # what travels is small
