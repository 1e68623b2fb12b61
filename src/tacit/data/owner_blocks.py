"""Owners by the block: more rows than memory holds, read from files a block at a time.

Owners have the numbers that they have in memory: without a column of owners the place of their row
in the table (`table_set` says the order of files), else the place of their name in sorted order.
So whoever reads tapes by owners' numbers draws what it draws in memory, to the bit, whatever the
blocks are.

Without a column of owners a block is a row group, or a CSV file. With one, owners' rows are brought
together on disk first (`bring_together`): names are cut into ranges, rows are written to the range
of their owner, encoded, and each range is sorted by itself. In memory are one batch, or one range.
Ranges are `_RANGE` bytes, more only where the table is beyond 512 of them or where one owner is
larger than that. The folder is the process's own, below TMPDIR, and goes with the cohort: the rows
of owners lie in it as they lie in the files.

Every row is read once before anybody is asked (`survey`): a file that cannot be read is found
then, and the message names file and row group.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from shutil import disk_usage, rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import finalize

import numpy as np
import pyarrow as pa

from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.data.table import UserTable, keep_text, name_owners, user_table
from tacit.data.table_file import TableFile, column_at
from tacit.data.table_set import SetFile, TableSet

# who does a function of each of several tasks: results in the order of tasks
Workers = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
Choice = Callable[[IntArray], BoolArray]  # which of these owners

_NUMBERS = 1 << 22  # numbers of a batch of rows
_RANGE = 1 << 26  # bytes of the rows of a range of owners
_MOST_RANGES = 512  # each is a file of every run
_SAMPLE = 1 << 14  # names by which ranges are cut


class OwnerBlock(ABC):
    """Some owners, whose rows are read when they are asked for; numbers first .. first + owners -
    1 are theirs.
    """

    first: int
    owners: int

    @abstractmethod
    def read(self, chosen: Choice) -> Iterator[tuple[IntArray, Cohort]]:
        """The chosen owners' numbers and rows, a batch at a time, in the order of numbers."""


@dataclass(frozen=True, eq=False)
class BlockedCohort:
    """Owners in blocks, in the order of their numbers.

    `moved` counts values that had to be changed to fit the schema, `ignored` rows whose label it
    does not have: private figures of a simulation. `folder` is where their rows lie while they are
    needed.
    """

    blocks: tuple[OwnerBlock, ...]
    moved: int = 0
    ignored: int = 0
    folder: "ScratchFolder | None" = None

    def __len__(self) -> int:
        return sum(block.owners for block in self.blocks)

    def __repr__(self) -> str:
        return f"BlockedCohort({len(self)} owners)"

    @classmethod
    def of(cls, cohort: Cohort, owners: int) -> "BlockedCohort":
        """A cohort in memory in blocks of so many owners, for workers elsewhere."""
        starts = range(0, len(cohort), owners)
        pieces = (HeldBlock.of(cohort[start : start + owners], start) for start in starts)
        return cls(tuple(pieces), ignored=cohort.ignored)


class ScratchFolder:
    """A folder of this user's alone, below TMPDIR, that goes with whoever holds it."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="tacit-"))
        finalize(self, rmtree, self.path, ignore_errors=True)


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
    """A row group, or a CSV file: each row is an owner."""

    member: SetFile
    group: int | None
    reading: RowReading
    first: int = 0
    owners: int = 0

    @property
    def where(self) -> str:
        """What to call it in messages."""
        part = "" if self.group is None else f", row group {self.group + 1}"
        return f"{self.member.path}{part}"

    def tables(self) -> Iterator[UserTable]:
        """Its rows, so many at a time."""
        yield from map(_as_table, self.batches())

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
                X, y, _ = self.reading.encode(_as_table(kept), self.where)
                yield numbers[which], Cohort.of(X, y)
        if at - self.first != self.owners:
            raise ValueError(f"{self.where} has other rows than it had when the fit began")


@dataclass(frozen=True)
class RangeBlock(OwnerBlock):
    """Owners of a range of names, whose rows were brought together in a folder."""

    folder: Path
    rows: int
    first: int = 0
    owners: int = 0

    def read(self, chosen: Choice) -> Iterator[tuple[IntArray, Cohort]]:
        with _scratch(self.folder):
            X, y = (np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in ("X", "y"))
            ends = np.load(self.folder / "offsets.npy")
        step = max(1, self.owners * self.rows // max(1, len(y)))
        for start in range(0, self.owners, step):
            stop = min(start + step, self.owners)
            numbers = np.arange(self.first + start, self.first + stop)
            which = chosen(numbers)
            if which.any():
                own = slice(int(ends[start]), int(ends[stop]))
                some = Cohort(
                    np.array(X[own]), np.array(y[own]), ends[start : stop + 1] - own.start
                )
                yield numbers[which], some if which.all() else some[which]


class Counted(NamedTuple):
    """A block that was read: how many of its values had to be moved, how many rows count not."""

    block: GroupBlock | RangeBlock
    moved: int
    ignored: int


def survey(table: TableFile, reading: RowReading, workers: Workers = map) -> BlockedCohort:
    """All rows of a table read once; what is left is where they are."""
    table.require(reading.label, reading.owner)
    blocks = list(row_groups(table, reading))
    folder = None
    if reading.owner is None:
        found = list(workers(_count, blocks))
    else:
        folder = ScratchFolder()
        found = list(bring_together(blocks, table.count_rows(), folder.path, workers))
    starts = accumulate((each.block.owners for each in found), initial=0)
    numbered = [
        replace(each.block, first=first) for each, first in zip(found, starts, strict=False)
    ]
    if not sum(block.owners for block in numbered):
        raise ValueError(f"{table.path} has no rows")
    moved, ignored = sum(each.moved for each in found), sum(each.ignored for each in found)
    return BlockedCohort(tuple(numbered), moved, ignored, folder)


def row_groups(table: TableFile, reading: RowReading) -> Iterator[GroupBlock]:
    """Where the rows of a table are, before any of them is read."""
    members = table.members if isinstance(table, TableSet) else (SetFile.of(table, (), table.form),)
    for member in members:
        groups: Sequence[int | None] = range(len(member.groups)) if member.groups else (None,)
        for group in groups:
            yield GroupBlock(replace(member, groups=()), group, reading)  # what travels is small


def _count(block: GroupBlock) -> Counted:
    """A block with its number of owners."""
    rows = moved = ignored = 0
    for raw in block.tables():
        _, y, odd = block.reading.encode(raw, block.where)
        rows, moved, ignored = rows + len(y), moved + odd, ignored + int((y < 0).sum())
    return Counted(replace(block, owners=rows), moved, ignored)


def bring_together(
    blocks: list[GroupBlock], rows: int, folder: Path, workers: Workers
) -> Iterator[Counted]:
    """The rows of each owner in one place: ranges of owners in order.

    Whoever does a part of it again writes elsewhere: what was done halfway is never read.
    """
    reading = blocks[0].reading
    size = 8 * (reading.schema.dim + 2) * rows
    free = disk_usage(folder).free
    if not size <= free:
        raise ValueError(
            f"{folder} has room for {free / 1e9:.1f} GB, and to bring the rows of each owner "
            f"together takes {size / 1e9:.1f} GB: let TMPDIR name a folder of a larger disk"
        )
    ranges = min(_MOST_RANGES, -(-size // _RANGE))
    samples = workers(_sample_names, blocks) if ranges > 1 else ()
    cuts = _cut(samples, ranges)
    runs = [blocks[start : start + _RUN] for start in range(0, len(blocks), _RUN)]
    written = list(workers(_write_ranges, [(run, cuts, folder) for run in runs]))
    moved = sum(odd for _, odd in written)
    tasks = [([place for place, _ in written], each, folder) for each in range(len(cuts) + 1)]
    for number, (place, owners, ignored) in enumerate(workers(_sort_range, tasks)):
        for unsorted, _ in written:
            (unsorted / str(number)).unlink(missing_ok=True)
        if owners:
            yield Counted(RangeBlock(place, reading.rows, owners=owners), moved, ignored)
            moved = 0  # counted once


_RUN = 16  # row groups that are written by one worker


def _sample_names(block: GroupBlock) -> dict[bytes, str]:
    """Names with the smallest digests: a sample of different owners that is the same whatever the
    blocks are.
    """
    found: dict[bytes, str] = {}
    owner = str(block.reading.owner)
    for batch in block.member.read_batches([owner], 16 * block.reading.rows, block.group):
        names = np.unique(name_owners(column_at(block.where, _as_table(batch), owner)))
        found |= {blake2b(name.encode(), digest_size=8).digest(): name for name in names.tolist()}
        found = _smallest(found)
    return found


def _smallest(found: dict[bytes, str]) -> dict[bytes, str]:
    return {key: found[key] for key in sorted(found)[:_SAMPLE]}


def _cut(samples: Iterable[dict[bytes, str]], ranges: int) -> list[str]:
    """Names at which ranges of about equally many owners begin, but for the first."""
    found: dict[bytes, str] = {}
    for sample in samples:
        found = _smallest(found | sample)
    names = sorted(found.values())
    return sorted({names[len(names) * place // ranges] for place in range(1, ranges) if names})


def _write_ranges(task: tuple[list[GroupBlock], list[str], Path]) -> tuple[Path, int]:
    """Encoded rows of some blocks, each in the file of its owner's range; where they are, and how
    many values were moved.
    """
    blocks, cuts, folder = task
    place = folder / uuid4().hex
    with _scratch(folder):
        place.mkdir()
    moved, starts = 0, np.array(cuts, dtype=np.str_)
    for block in blocks:
        for raw in block.tables():
            X, y, odd = block.reading.encode(raw, block.where)
            names = name_owners(column_at(block.where, raw, str(block.reading.owner)))
            moved += odd
            ranges = np.searchsorted(starts, names, side="right") if cuts else np.zeros(len(y), int)
            for each in np.unique(ranges).tolist():
                chosen = np.flatnonzero(ranges == each)
                with _scratch(folder):
                    _append(place / str(each), X[chosen], y[chosen], names[chosen])
    return place, moved


@contextmanager
def _scratch(folder: Path) -> Iterator[None]:
    """What goes wrong with a folder of ours, in words: a disk that is full, somebody who tidies
    up.
    """
    try:
        yield
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        raise ValueError(
            f"{folder}, where the rows of owners are brought together, cannot be used ({why}): "
            "let TMPDIR name a folder that has room and stays; nothing was written"
        ) from None


def _append(file: Path, X: FloatArray, y: IntArray, names: AnyArray) -> None:
    rows = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    named = pa.array(names.astype(object), pa.string())
    batch = pa.RecordBatch.from_arrays([rows, pa.array(y), named], names=["X", "y", "name"])
    with file.open("ab") as out, pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)


def _sort_range(task: tuple[list[Path], int, Path]) -> tuple[Path, int, int]:
    """The rows of a range, by owner: where they are, of how many owners, how many are ignored."""
    places, number, folder = task
    with _scratch(folder):
        parts = [
            part
            for place in places
            if (place / str(number)).exists()
            for part in _read_parts(place / str(number))
        ]
    target = folder / uuid4().hex
    if not parts:
        return target, 0, 0
    X, y, names = (np.concatenate(each) for each in zip(*parts, strict=True))
    del parts
    cohort = Cohort.of(X, y, names)
    with _scratch(folder):
        target.mkdir()
        for name, array in (("X", cohort.X), ("y", cohort.y), ("offsets", cohort.offsets)):
            np.save(target / f"{name}.npy", array)
    return target, len(cohort), cohort.ignored


def _read_parts(file: Path) -> Iterator[tuple[FloatArray, IntArray, AnyArray]]:
    with pa.OSFile(str(file)) as content:
        while content.tell() < content.size():
            with pa.ipc.open_stream(content) as stream:
                batch = stream.read_next_batch()
                # read to its end, where the next one begins
                for _ in stream:
                    pass
            rows, y, names = batch.columns
            X = rows.flatten().to_numpy().reshape(len(y), -1)
            yield X, y.to_numpy(), np.array(names.to_pylist(), dtype=np.str_)


def _as_table(batch: Any) -> UserTable:
    return user_table(pa.Table.from_batches([batch]), keep_text)
