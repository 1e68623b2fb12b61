"""The public cut of every attribute into cells, from the schema alone: what peers count in.

A number's range becomes cells of equal width; a category has one cell per value, and one for values
that nobody declared where the encoding keeps them apart (three values or more). An attribute that a
participant does not hold is NaN in its encoded rows and has no cell, -1: which attributes a
participant holds is declared, never read from its rows.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.schema import Number, Schema
from tacit.wire import message

ABSENT = -1  # the cell of an attribute that a participant does not hold
_MOST_LEAVES = 1 << 16  # of one cut: finer than any attribute that is worth counting


def number_of_bins(value: object) -> int:
    """`value` as a number of cells that a number's range is cut into."""
    if not 2 <= whole("bins", value, 2) <= _MOST_LEAVES:
        raise bad("bins", f"at most {_MOST_LEAVES}", value)
    return whole("bins", value, 2)


@message("cells")
@dataclass(frozen=True)
class Cells:
    """Cells of the attributes of a schema; `bins` of them for a number.

    >>> from tacit.data.schema import Category, Number, Schema
    >>> features = Number("age", 0, 100), Category("state", ("n", "s", "w"))
    >>> cells = Cells(Schema(features, ("no", "yes")), bins=4)
    >>> cells.sizes
    (4, 4)
    >>> cells.read(cells.schema.encode({"age": [10, 100], "state": ["n", "?"]}).X)
    array([[0, 0],
           [3, 3]])
    """

    schema: Schema
    bins: int = 16

    def __post_init__(self) -> None:
        number_of_bins(self.bins)

    def __len__(self) -> int:
        return len(self.schema.features)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each attribute."""
        return tuple(
            self.bins if isinstance(feature, Number) else feature.width + 1
            for feature in self.schema.features
        )

    @cached_property
    def is_ordered(self) -> tuple[bool, ...]:
        """Whether an attribute's cells have an order."""
        return tuple(isinstance(feature, Number) for feature in self.schema.features)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first encoded column of each attribute, and one beyond the last."""
        return (0, *np.cumsum([feature.width for feature in self.schema.features]).tolist())

    def columns_of(self, names: Collection[Any] | None) -> tuple[int, ...]:
        """Attributes by number; None: all of them."""
        known = tuple(str(feature.name) for feature in self.schema.features)
        asked = set(known) if names is None else {str(name) for name in names}
        if not asked or not asked <= set(known):
            raise ValueError(f"attributes must be some of {known}, got {sorted(asked)}")
        return tuple(number for number, name in enumerate(known) if name in asked)

    def encode(self, table: Any) -> FloatArray:
        """Rows as the schema encodes them. A table with names may lack columns: they are absent,
        NaN.
        """
        names = [
            str(name)
            for name in getattr(table, "columns", table if isinstance(table, dict) else [])
        ]
        there = [
            number
            for number, feature in enumerate(self.schema.features)
            if str(feature.name) in names
        ]
        if not names or len(there) in (0, len(self)):
            return self.schema.encode(table).X
        features = tuple(self.schema.features[number] for number in there)
        part = Schema(features, self.schema.classes).encode(table).X
        rows = np.full((len(part), self.schema.dim), np.nan)
        rows[
            :, [c for number in there for c in range(self.starts[number], self.starts[number + 1])]
        ] = part
        return rows

    def without_others(self, X: FloatArray, held: Collection[int]) -> FloatArray:
        """Encoded rows in which attributes other than `held` are absent."""
        kept = X.copy()
        for number, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            if number not in held:
                kept[:, start:end] = np.nan
        return kept

    def read(self, X: FloatArray) -> IntArray:
        """The cell of each attribute of encoded rows, (rows, attributes); -1 where it is absent.
        Total.
        """
        return read_cells(X, np.array(self.starts), np.array(self.is_ordered), self.bins)

    def every_cell(self, column: int) -> "Cut":
        """The finest cut of an attribute."""
        return Cut(column, tuple(range(self.sizes[column])))


@message("cut")
@dataclass(frozen=True)
class Cut:
    """One attribute in leaves: `leaves[c]` is the leaf of cell c."""

    column: int
    leaves: tuple[int, ...]

    def __post_init__(self) -> None:
        whole("column", self.column, 0)
        if not (self.leaves and min(self.leaves) >= 0 and max(self.leaves) < _MOST_LEAVES):
            raise bad(
                "leaves",
                f"numbers from 0 to {_MOST_LEAVES - 1}, one per cell",
                f"{len(self.leaves)} of them",
            )

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return max(self.leaves) + 1

    def leaf_of(self, cells: IntArray) -> IntArray:
        """Each row's leaf, -1 where the attribute is absent and for cells that the cut does not
        know.
        """
        leaf = np.array([*self.leaves, -1], dtype=np.int64)
        return leaf[np.minimum(cells[:, self.column], len(self.leaves))]


@kernel
def read_cells(X: FloatArray, starts: IntArray, ordered: BoolArray, bins: int) -> IntArray:
    """Cells of encoded rows: the part of a number's range, the last value that is hot, or one
    beyond for none.
    """
    cells = np.empty((len(X), len(ordered)), dtype=np.int64)
    for i in range(len(X)):
        for number in range(len(ordered)):
            start, end = starts[number], starts[number + 1]
            first = X[i, start]
            if first != first:
                cell = ABSENT
            elif ordered[number]:
                cell = min(int((min(max(first, -1.0), 1.0) + 1) / 2 * bins), bins - 1)
            elif end == start + 1:
                cell = int(first > 0)
            else:
                cell = end - start
                for column in range(start, end):
                    if X[i, column] > 0:
                        cell = column - start
            cells[i, number] = cell
    return cells


def at_cells(values: FloatArray, cell: IntArray) -> FloatArray:
    """The value of each row's cell; 0 where the attribute is absent and for cells beyond the table.

    >>> at_cells(np.array([5.0, 7.0]), np.array([1, -1, 0, 2]))
    array([7., 0., 5., 0.])
    """
    return np.asarray(np.append(values, 0.0)[np.minimum(cell, len(values))])  # -1 is the last, too
