"""Cross tables of owners' rows: per cut and side, the weight of the rows by class.

Weights are given, or replayed from the published stumps. Kernels read rows in place, wherever in a
table an owner's rows lie.

A row is read in order, once from memory: an owner's rows are few enough to stay in the cache while
their weights are replayed and their tables filled. Nothing is computed across owners, so an owner's
table is the same in any cohort.
"""

from typing import NamedTuple

import numpy as np

from tacit._util.kernels import kernel, prefetch
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort, share_out

_LINE = 8  # numbers that memory gives at a time: 64 bytes


class OwnedRows(NamedTuple):
    """A table of rows and classes, and where in it each owner's rows begin and end, (owners, 2)."""

    X: FloatArray
    y: IntArray
    spans: IntArray

    @classmethod
    def of(cls, cohort: Cohort, owners: slice = slice(None)) -> "OwnedRows":
        """The rows of some owners of a cohort, where they lie."""
        return cls(cohort.table, cohort.labels, cohort.spans[owners])


class Cuts(NamedTuple):
    """Candidate cuts x[column] < value, laid out like rows, so that rows are read in order.

    `grid` (layers, dim) holds each column's first cut, its second one, ..., and where it has no
    more, -inf, left of which is nothing. Cut c is grid[layer[c], column[c]].
    """

    grid: FloatArray
    layer: IntArray
    column: IntArray

    @classmethod
    def of(cls, columns: IntArray, values: FloatArray, dim: int) -> "Cuts":
        """Lay out cuts (column, value) of rows with `dim` columns."""
        order = np.argsort(columns, kind="stable")
        ordered = columns[order]
        layer = np.empty_like(columns)
        layer[order] = np.arange(len(columns)) - np.searchsorted(ordered, ordered)
        grid = np.full((int(layer.max(initial=0)) + 1, dim), -np.inf)
        grid[layer, columns] = values
        return cls(grid, layer, columns)


class StumpReplay(NamedTuple):
    """What replaying published stumps needs.

    A row is on a side of stump m, x[column[m]] >= threshold[m], and its weight is multiplied with
    factors[label, m, side]. The last label stands for all that are no class.
    """

    column: IntArray
    threshold: FloatArray
    factors: FloatArray

    @classmethod
    def of(
        cls,
        column: IntArray,
        threshold: FloatArray,
        told: IntArray,
        alpha: FloatArray,
        classes: int,
    ) -> "StumpReplay":
        """Stumps that say told[m, side] with vote alpha[m]: e^alpha for rows of another class, 1
        for the others.
        """
        wrong = told != np.arange(classes + 1)[:, np.newaxis, np.newaxis]
        return cls(column, threshold, np.where(wrong, np.exp(alpha)[:, np.newaxis], 1.0))


@kernel
def tabulate_weighted(rows: OwnedRows, weights: FloatArray, cuts: Cuts, tables: FloatArray) -> None:
    """Fill tables (owners, cuts, sides, codes) from given weights, one owner's after another's."""
    left = np.empty((tables.shape[3], *cuts.grid.shape))
    begin = 0
    for owner in range(len(rows.spans)):
        size = rows.spans[owner, 1] - rows.spans[owner, 0]
        _tabulate(rows, owner, weights[begin : begin + size], cuts, left, table=tables[owner])
        begin += size


@kernel
def tabulate_replayed(
    rows: OwnedRows, replay: StumpReplay, unit: float, cuts: Cuts, tables: FloatArray
) -> None:
    """Fill tables (owners, cuts, sides, codes) by the weights that replaying published stumps
    gives.
    """
    spans = rows.spans
    left = np.empty((tables.shape[3], *cuts.grid.shape))
    weights = np.empty(np.max(spans[:, 1] - spans[:, 0]) if len(spans) else 0)
    for owner in range(len(spans)):
        own = weights[: spans[owner, 1] - spans[owner, 0]]
        _replay(rows.X, rows.y, spans[owner, 0], replay, own)
        share_out(own, unit)
        _tabulate(rows, owner, own, cuts, left, table=tables[owner])


@kernel
def _replay(
    X: FloatArray, y: IntArray, first: int, replay: StumpReplay, weights: FloatArray
) -> None:
    """prod_m factors of the rows from `first` on: exp of `Ensemble.log_weights`, for stumps.

    Looked up, not decided: which side a row is on cannot be guessed, and a wrong guess costs more
    than the rest.
    """
    nothing = len(replay.factors) - 1
    for i in range(len(weights)):
        label = y[first + i] if 0 <= y[first + i] < nothing else nothing
        weight = 1.0
        for m in range(len(replay.column)):
            weight *= replay.factors[
                label, m, int(X[first + i, replay.column[m]] >= replay.threshold[m])
            ]
        weights[i] = weight


@kernel
def _tabulate(
    rows: OwnedRows,
    owner: int,
    weights: FloatArray,
    cuts: Cuts,
    left: FloatArray,
    table: FloatArray,
) -> None:
    """One owner's table (cuts, sides, codes); `left` is room for (codes, layers, dim).

    Only the left side is summed; the right one is what is left of the whole, which is the same for
    every cut. Rows are taken four at a time, and the next owner's are asked from memory meanwhile.
    """
    X, first, codes = rows.X, rows.spans[owner, 0], table.shape[2]
    last, after = first + len(weights) - 1, _after(rows.spans, owner)
    labels = rows.y[first : first + len(weights)]
    whole = np.zeros(codes)
    left[:] = 0.0
    for i in range(0, len(weights), 4):
        _fetch_four(X, after + i)
        four = (
            X[first + i],
            X[min(first + i + 1, last)],
            X[min(first + i + 2, last)],
            X[min(first + i + 3, last)],
        )
        for c in range(codes):
            a = _amount(labels, weights, i, c, codes)
            b = _amount(labels, weights, i + 1, c, codes)
            d = _amount(labels, weights, i + 2, c, codes)
            e = _amount(labels, weights, i + 3, c, codes)
            whole[c] += (a + b) + (d + e)
            if a != 0.0 or b != 0.0 or d != 0.0 or e != 0.0:
                for layer in range(cuts.grid.shape[0]):
                    for j in range(cuts.grid.shape[1]):
                        value = cuts.grid[layer, j]
                        left[c, layer, j] += (
                            (a if four[0][j] < value else 0.0) + (b if four[1][j] < value else 0.0)
                        ) + (
                            (d if four[2][j] < value else 0.0) + (e if four[3][j] < value else 0.0)
                        )
    for cut in range(len(table)):
        for c in range(codes):
            table[cut, 0, c] = left[c, cuts.layer[cut], cuts.column[cut]]
            table[cut, 1, c] = whole[c] - table[cut, 0, c]


@kernel
def _amount(labels: IntArray, weights: FloatArray, i: int, c: int, codes: int) -> float:
    """What the owner's row i adds to a side: for two classes its weight, signed; for more its
    weight, to its class.
    """
    if i >= len(weights):
        return 0.0
    if codes == 1:
        return float(weights[i] if labels[i] == 1 else -weights[i])
    return float(weights[i] if labels[i] == c else 0.0)


@kernel
def _after(spans: IntArray, owner: int) -> int:
    """Where the next owner's rows begin."""
    return int(spans[min(owner + 1, len(spans) - 1), 0])


@kernel
def _fetch_four(X: FloatArray, row: int) -> None:
    """Ask memory for four rows."""
    for k in range(4):
        for j in range(0, X.shape[1], _LINE):
            prefetch(X, row + k, j)
