"""The rows of each owner in one place, for tables in which they lie anywhere.

Names are cut into ranges; rows are written to the range of their owner, encoded, and each range is
sorted by itself. In memory are one batch, or one range. Ranges are `_RANGE` bytes, more only where
the table is beyond 512 of them or where one owner is larger than that. The folder (`scratch`) goes
with the cohort.

Each row of the table is read once and never again, so what becomes of the files later changes
nothing.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from shutil import disk_usage
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.data.owner_blocks import Choice, Counted, GroupBlock, OwnerBlock, RowCounts, Workers
from tacit.data.owner_names import NOBODY, OwnerNames, count_respelled, read_names
from tacit.data.scratch import using
from tacit.data.table_file import column_at

_RANGE = 1 << 26  # bytes of the rows of a range of owners
_MOST_RANGES = 512  # each is a file of every run
_RUN = 16  # row groups that are written by one worker
_SAMPLE = 1 << 14  # names by which ranges are cut


@dataclass(frozen=True)
class RangeBlock(OwnerBlock):
    """Owners of a range of names, whose rows were brought together in a folder."""

    folder: Path
    rows: int
    first: int = 0
    owners: int = 0

    def read(self, chosen: Choice) -> Iterator[tuple[IntArray, Cohort]]:
        with using(self.folder):
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


def bring_together(
    blocks: list[GroupBlock], rows: int, folder: Path, workers: Workers
) -> Iterator[Counted]:
    """The rows of each owner in one place: ranges of owners in order.

    Whoever does a part of it again writes elsewhere: what was done halfway is never read.
    """
    reading = blocks[0].reading
    size = 8 * (reading.schema.dim + 3) * rows
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
    moved = RowCounts(moved=sum(odd for _, odd in written))  # counted once
    tasks = [([place for place, _ in written], each, folder) for each in range(len(cuts) + 1)]
    for number, (place, owners, counts) in enumerate(workers(_sort_range, tasks)):
        for unsorted, _ in written:
            (unsorted / str(number)).unlink(missing_ok=True)
        if owners:
            yield Counted(RangeBlock(place, reading.rows, owners=owners), counts + moved)
            moved = RowCounts()


def _sample_names(block: GroupBlock) -> dict[bytes, str]:
    """Owners with the smallest digests: a sample of different ones that is the same whatever the
    blocks are.
    """
    found: dict[bytes, str] = {}
    owner = str(block.reading.owner)
    for batch in block.member.read_batches([owner], 16 * block.reading.rows, block.group):
        keys = set(_names_in(block, batch).keys)
        found |= {blake2b(key.encode(), digest_size=8).digest(): key for key in keys}
        found = _smallest(found)
    return found


def _names_in(block: GroupBlock, batch: Any) -> OwnerNames:
    """Whose the rows of a batch are."""
    return read_names(column_at(block.where, block.as_table(batch), str(block.reading.owner)))


def _smallest(found: dict[bytes, str]) -> dict[bytes, str]:
    return {digest: found[digest] for digest in sorted(found)[:_SAMPLE]}


def _cut(samples: Iterable[dict[bytes, str]], ranges: int) -> list[str]:
    """Keys of names at which ranges of about equally many owners begin, but for the first."""
    found: dict[bytes, str] = {}
    for sample in samples:
        found = _smallest(found | sample)
    keys = sorted(found.values())
    return sorted({keys[len(keys) * place // ranges] for place in range(1, ranges) if keys})


def _write_ranges(task: tuple[list[GroupBlock], list[str], Path]) -> tuple[Path, int]:
    """Encoded rows of some blocks, each in the file of its owner's range; where they are, and how
    many values were moved.
    """
    blocks, cuts, folder = task
    place = folder / uuid4().hex
    with using(folder):
        place.mkdir()
    moved = 0
    for block in blocks:
        for batch in block.batches():
            raw = block.as_table(batch)
            X, y, odd = block.reading.encode(raw, block.where)
            names = read_names(column_at(block.where, raw, str(block.reading.owner)))
            moved += odd
            ranges = np.array([bisect_right(cuts, key) for key in names.keys])[names.rows]
            for each in np.unique(ranges).tolist():
                chosen = np.flatnonzero(ranges == each)
                with using(folder):
                    _append(place / str(each), X[chosen], y[chosen], names, chosen)
    return place, moved


def _append(file: Path, X: FloatArray, y: IntArray, names: OwnerNames, chosen: IntArray) -> None:
    which = names.rows[chosen]
    rows = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    keys = pa.array(names.keys, pa.large_string()).take(pa.array(which))
    spelling = pa.array(names.spelling[which])
    columns = {"X": rows, "y": pa.array(y), "key": keys, "spelling": spelling}
    batch = pa.RecordBatch.from_pydict(columns)
    with file.open("ab") as out, pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)


def _sort_range(task: tuple[list[Path], int, Path]) -> tuple[Path, int, RowCounts]:
    """The rows of a range, by owner: where they are, of how many owners, and what was counted."""
    places, number, folder = task
    with using(folder):
        parts = [
            part
            for place in places
            if (place / str(number)).exists()
            for part in _read_parts(place / str(number))
        ]
    target = folder / uuid4().hex
    if not parts:
        return target, 0, RowCounts()
    X, y = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    rows = pa.chunked_array([part[2] for part in parts]).dictionary_encode().combine_chunks()
    keys = rows.dictionary.to_pylist()
    place_of = {key: place for place, key in enumerate(sorted(keys))}
    numbers = np.array([place_of[key] for key in keys])[np.from_dlpack(rows.indices)]
    respelled = count_respelled(numbers, np.concatenate([part[3] for part in parts]))
    del parts
    cohort = Cohort.of(X, y, numbers)
    with using(folder):
        target.mkdir()
        for name, array in (("X", cohort.X), ("y", cohort.y), ("offsets", cohort.offsets)):
            np.save(target / f"{name}.npy", array)
    counts = RowCounts(
        len(y), ignored=cohort.ignored, respelled=respelled, nameless=NOBODY in place_of
    )
    return target, len(cohort), counts


def _read_parts(file: Path) -> Iterator[tuple[FloatArray, IntArray, Any, AnyArray]]:
    with pa.OSFile(str(file)) as content:
        while content.tell() < content.size():
            with pa.ipc.open_stream(content) as stream:
                batch = stream.read_next_batch()
                # read to its end, where the next one begins
                for _ in stream:
                    pass
            rows, y, keys, spelling = batch.columns
            X = rows.flatten().to_numpy().reshape(len(y), -1)
            yield X, y.to_numpy(), keys, spelling.to_numpy()
