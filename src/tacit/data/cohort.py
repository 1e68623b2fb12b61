"""Rows in memory: grouped by owner, which is the private side of the data, and the data user's own.

An owner is a cohort of one. What an owner computes is written for cohorts and is the same, bit for
bit, for an owner alone and for the same owner among millions.

A cohort holds whole numbers as labels, of classes and of numbers alike: a target that is a number
becomes the step of its public range that it is nearest to (`number_target`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tacit._util.kernels import kernel, spread
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.data.schema import NumberScale, Schema

ROWS_IN_BLOCK = 1 << 12  # rows that are worked on at a time
_LATE = 1 << 17  # numbers that are encoded at a time to count what does not fit
_QUIETEST = 1e-300  # unit of loudness: it is divided by, however quiet the published votes are


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


class BlockOwners(NamedTuple):
    """Whose the rows of a block are: offsets[i] .. offsets[i+1]-1 belong to its owner i, who has
    sizes[i] rows in all.
    """

    offsets: IntArray
    sizes: IntArray


class RowBlock(NamedTuple):
    """Some rows of a cohort: those of the numbers `rows`, of the owners of the numbers `owners`."""

    X: FloatArray
    y: IntArray
    rows: slice
    owners: slice
    of: BlockOwners


@dataclass(frozen=True, eq=False)
class LateRows:
    """Rows of numbers as somebody has them, each encoded whenever it is read: to whoever takes some
    of them it is the array of encoded rows, and there is no second table in memory.

    `columns` are a matrix or its columns, one by one; `order` says which of their rows these are.
    """

    columns: AnyArray | tuple[AnyArray, ...]
    scale: NumberScale
    order: IntArray | None = None

    @classmethod
    def of(cls, table: Any, schema: Schema) -> "LateRows | None":
        """Rows of a matrix or of named columns; None where some are no numbers, which take longer
        to read than to keep, or do not fit the schema.
        """
        scale, columns = schema.scale, getattr(table, "columns", None)
        if scale is None:
            return None
        if isinstance(table, np.ndarray) and table.ndim == 2:
            is_fit = table.dtype.kind in "fiub" and table.shape[1] == len(scale.half)
            return cls(table, scale) if is_fit else None
        named = columns if isinstance(columns, dict) else {}
        found = tuple(named.get(feature.name) for feature in schema.features)
        numbers = tuple(each for each in found if each is not None and each.dtype.kind in "fiub")
        is_fit = len(numbers) == len(found) and len({len(each) for each in numbers}) == 1
        return cls(numbers, scale) if is_fit else None

    def __len__(self) -> int:
        first = self.columns if isinstance(self.columns, np.ndarray) else self.columns[0]
        return len(first) if self.order is None else len(self.order)

    def __repr__(self) -> str:
        return f"LateRows({len(self.scale.half)} columns)"  # no rows: tracebacks print this

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.scale.half)

    def taken(self, rows: IntArray) -> "LateRows":
        """Some of them, in this order."""
        return replace(self, order=rows if self.order is None else self.order[rows])

    def __getitem__(self, rows: slice | IntArray) -> FloatArray:
        """Some of them, encoded."""
        return self._read(rows)[0]

    @property
    def moved(self) -> int:
        """How many values do not fit the schema."""
        step = max(1, _LATE // len(self.scale.half))
        parts = [slice(at, at + step) for at in range(0, len(self), step)]
        return sum(spread(lambda part: self._read(part)[1], parts))

    def _read(self, rows: slice | IntArray) -> tuple[FloatArray, int]:
        chosen = rows if self.order is None else self.order[rows]
        if isinstance(self.columns, np.ndarray):
            raw = self.columns[chosen]
        else:
            parts = [column[chosen] for column in self.columns]
            raw = np.empty((len(parts[0]), len(parts)))
            for place, part in enumerate(parts):
                raw[:, place] = part
        out = np.empty(raw.shape)
        return out, int(self.scale.place(raw, out).sum())


class Cohort:
    """Owners and their rows, encoded, with their class numbers.

    `X`, `y` and `offsets` are what a learner needs: the rows of these owners, one owner after the
    other; owner i holds rows offsets[i] .. offsets[i+1]-1. Choosing owners copies nothing, though:
    rows stay in `table` and `labels`, where owner i holds rows spans[i, 0] .. spans[i, 1]-1 and a
    kernel may read them in place. `X` and `y` are copied from there when they are first asked for,
    unless they lie like that already.

    Parameters
    ----------
    X : array of shape (rows, columns), or LateRows
        Rows as numbers, or rows that are encoded when they are read.
    y : array of shape (rows,)
        Their class numbers.
    offsets : array of shape (owners + 1,) or (owners, 2)
        Where owners begin and end: one after the other, or anywhere.
    ignored : int, default=0
        Rows whose label is not in the schema: a private figure of the simulation, never released.

    Examples
    --------
    >>> cohort = Cohort.of(np.zeros((4, 2)), np.array([0, 1, 1, 0]), owners=["b", "a", "b", "b"])
    >>> len(cohort), cohort.sizes.tolist(), cohort[1:2].y.tolist()
    (2, [1, 3], [0, 1, 0])
    """

    def __init__(
        self, X: FloatArray | LateRows, y: IntArray, offsets: IntArray, ignored: int = 0
    ) -> None:
        self._source, self.labels = X, y
        self.spans = offsets if offsets.ndim == 2 else np.stack([offsets[:-1], offsets[1:]], axis=1)
        self.ignored = ignored
        first, last = self.spans[:, 0], self.spans[:, 1]
        if not (len(X.shape) == 2 and y.shape == (len(X),)):
            raise ValueError(
                f"X must be (rows, features) and y (rows,), got {X.shape} and {y.shape}"
            )
        if not ((first >= 0) & (first <= last) & (last <= len(X))).all():
            raise ValueError("offsets must rise and lie within the rows")  # kernels index with them

    @classmethod
    def of(cls, X: Any, y: Any, owners: Any = None) -> "Cohort":
        """Group encoded rows by owner, owners in sorted order, rows of an owner in their order;
        None: each row its own.

        Rows with y = -1 (no such class) are left out and counted; their owner stays, if need be
        with no rows.
        """
        late = X if isinstance(X, LateRows) else None
        rows = np.ascontiguousarray(X, dtype=np.float64) if late is None else late
        labels = np.asarray(y, dtype=np.int64)
        if len(rows.shape) != 2 or labels.shape != (len(rows),):
            raise ValueError(
                f"X must be (rows, features) and y (rows,), got {rows.shape} and {labels.shape}"
            )
        number = np.arange(len(rows)) if owners is None else _numbers(owners, len(rows))
        size = int(number.max()) + 1 if len(number) else 0
        kept = labels >= 0
        if not (kept.all() and (number[1:] >= number[:-1]).all()):
            order = np.flatnonzero(kept)[np.argsort(number[kept], kind="stable")]
            rows = rows[order] if late is None else late.taken(order)
            labels, number = labels[order], number[order]
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(number, minlength=size), out=offsets[1:])
        return cls(rows, labels, offsets, ignored=int(np.count_nonzero(~kept)))

    def __len__(self) -> int:
        return len(self.spans)

    def __repr__(self) -> str:
        # neither rows nor how many: logs and tracebacks print this
        return f"Cohort({len(self)} owners)"

    @property
    def sizes(self) -> IntArray:
        """Rows per owner."""
        return self.spans[:, 1] - self.spans[:, 0]

    @cached_property
    def offsets(self) -> IntArray:
        """Where owners begin in `X` and `y`, and where the last one ends."""
        found = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(self.sizes, out=found[1:])
        return found

    @property
    def table(self) -> FloatArray:
        """The rows of these owners, and perhaps of others."""
        return self._encoded if isinstance(self._source, LateRows) else self._source

    @cached_property
    def _encoded(self) -> FloatArray:
        return self._source[:]

    @property
    def columns(self) -> int:
        """Numbers of a row."""
        return int(self._source.shape[1])

    def settled(self) -> "Cohort":
        """The same owners with an array for `table`; theirs alone, where rows are encoded late."""
        is_late = isinstance(self._source, LateRows)
        return Cohort(self.X, self.y, self.offsets) if is_late else self

    @cached_property
    def X(self) -> FloatArray:
        """The owners' rows, one owner after the other."""
        return self._source[self._rows]

    @cached_property
    def y(self) -> IntArray:
        """The class numbers of `X`."""
        return self.labels[self._rows]

    @property
    def _rows(self) -> slice | IntArray:
        if len(self) and np.array_equal(self.spans[1:, 0], self.spans[:-1, 1]):
            return slice(int(self.spans[0, 0]), int(self.spans[-1, 1]))
        return np.repeat(self.spans[:, 0] - self.offsets[:-1], self.sizes) + np.arange(
            self.offsets[-1]
        )

    def __getitem__(self, owners: slice | IntArray | BoolArray) -> "Cohort":
        """Some owners, in the order given."""
        return Cohort(self._source, self.labels, self.spans[owners])

    def row_blocks(self, most: int = ROWS_IN_BLOCK) -> Iterator[RowBlock]:
        """All rows in order, so many at a time, so that what is made of them needs no more room
        than that. An owner's rows may fall into several blocks.

        >>> cohort = Cohort(np.zeros((5, 1)), np.arange(5), np.array([0, 1, 1, 5]))
        >>> [(block.y.tolist(), block.owners) for block in cohort.row_blocks(3)]
        [([0, 1, 2], slice(0, 3, None)), ([3, 4], slice(2, 3, None))]
        """
        ends = self.offsets
        if len(self) == 1 and 0 < ends[-1] <= most:  # as an owner's own device has them
            rows: slice | IntArray = slice(int(self.spans[0, 0]), int(self.spans[0, 1]))
            whole, of = slice(0, int(ends[-1])), BlockOwners(ends, ends[1:])
            yield RowBlock(self._source[rows], self.labels[rows], whole, slice(0, 1), of)
            return
        for first in range(0, int(ends[-1]), most):
            last = min(first + most, int(ends[-1]))
            owners = slice(
                int(np.searchsorted(ends, first, "right")) - 1,
                int(np.searchsorted(ends, last, "left")),
            )
            offsets = np.clip(ends[owners.start : owners.stop + 1], first, last) - first
            shift = np.repeat(self.spans[owners, 0] - ends[owners], np.diff(offsets))
            rows = shift + np.arange(first, last)
            if (shift == shift[0]).all():  # they lie together: no copy
                rows = slice(int(shift[0]) + first, int(shift[0]) + last)
            of = BlockOwners(offsets, self.sizes[owners])
            yield RowBlock(self._source[rows], self.labels[rows], slice(first, last), owners, of)

    def blocks(self, owners: int) -> Iterator["Cohort"]:
        """The cohort in pieces of so many owners."""
        for start in range(0, len(self), owners):
            yield self[start : start + owners]


@kernel
def add_by_owner(values: FloatArray, of: BlockOwners, sums: FloatArray) -> None:
    """Add the values of a block's rows, (rows, parts), to its owners' sums, (owners, parts)."""
    for owner in range(len(of.sizes)):
        for i in range(of.offsets[owner], of.offsets[owner + 1]):
            for j in range(values.shape[1]):
                sums[owner, j] += values[i, j]


@kernel
def owner_weights(logs: FloatArray, offsets: IntArray, unit: float) -> FloatArray:
    """Every owner's row weights, proportional to exp(logs) and adding up to the owner's load
    (`share_out`).

    No exponent can overflow.
    """
    weights = np.empty_like(logs)
    for owner in range(len(offsets) - 1):
        first, last = offsets[owner], offsets[owner + 1]
        if last > first:
            largest = np.max(logs[first:last])
            for i in range(first, last):
                weights[i] = np.exp(logs[i] - largest)
            share_out(weights[first:last], unit * np.exp(-min(largest, 700.0)))
    return weights


@kernel
def share_out(weights: FloatArray, unit: float) -> None:
    """Scale one owner's row weights, which are all above 0, so that they add up to its load, at
    most 1.

    The load is min(1, mean of the weights / unit) ^ (1 / rows): an owner with one row cannot shift
    weight between rows, so it speaks louder or softer instead; the more rows, the closer the load
    is to 1, which wastes no signal.
    """
    rows, unit = len(weights), max(unit, _QUIETEST)
    total = 0.0
    for i in range(rows):
        total += weights[i]
    load = min(1.0, total / rows / unit) ** (1.0 / rows) if rows > 0 else 0.0
    for i in range(rows):
        weights[i] *= load / total


def _numbers(owners: Any, rows: int) -> IntArray:
    names: AnyArray = np.asarray(owners)
    if names.shape != (rows,):
        raise ValueError(
            f"owners must name one owner per row, got shape {names.shape} for {rows} rows"
        )
    if names.dtype.kind in "iu" and (names[1:] >= names[:-1]).all():  # nothing to sort
        numbers = np.zeros(rows, dtype=np.int64)
        np.cumsum(names[1:] != names[:-1], out=numbers[1:])
        return numbers
    return np.unique(names, return_inverse=True)[1].astype(np.int64)
