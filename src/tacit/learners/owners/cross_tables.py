"""Cross tables of owners' rows: per cut and side, the weight of the rows by class. Kernels that
read rows in place.

A row is read in order, once from memory: an owner's rows are few enough to stay in the cache while
their weights are replayed and their tables filled. Nothing is computed across owners, so an owner's
table is the same in any cohort.
"""

from typing import NamedTuple

import numpy as np

from tacit._util.kernels import kernel, prefetch
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import share_out

_LINE = 8  # numbers that memory gives at a time


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


class Replay(NamedTuple):
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
    ) -> "Replay":
        """Stumps that say told[m, side] with vote alpha[m]: e^alpha for rows of another class, 1
        for the others.
        """
        wrong = told != np.arange(classes + 1)[:, np.newaxis, np.newaxis]
        return cls(column, threshold, np.where(wrong, np.exp(alpha)[:, np.newaxis], 1.0))


@kernel
def weighted_tables(
    X: FloatArray, y: IntArray, spans: IntArray, weights: FloatArray, cuts: Cuts, tables: FloatArray
) -> None:
    """Fill tables (owners, cuts, sides, codes) from given weights, one owner's after the
    other's.
    """
    left = np.empty((tables.shape[3], *cuts.grid.shape))
    begin = 0
    for owner in range(len(spans)):
        first, rows = spans[owner, 0], spans[owner, 1] - spans[owner, 0]
        _tabulate(
            X,
            y,
            first,
            _after(spans, owner),
            weights[begin : begin + rows],
            cuts,
            left,
            tables[owner],
        )
        begin += rows


@kernel
def replayed_tables(
    X: FloatArray,
    y: IntArray,
    spans: IntArray,
    replay: Replay,
    unit: float,
    cuts: Cuts,
    tables: FloatArray,
) -> None:
    """Fill tables (owners, cuts, sides, codes) with the weights that replaying the published
    stumps gives.
    """
    left = np.empty((tables.shape[3], *cuts.grid.shape))
    weights = np.empty(np.max(spans[:, 1] - spans[:, 0]) if len(spans) else 0)
    for owner in range(len(spans)):
        first, rows = spans[owner, 0], spans[owner, 1] - spans[owner, 0]
        _replay(X, y, first, replay, weights[:rows])
        share_out(weights[:rows], unit)
        _tabulate(X, y, first, _after(spans, owner), weights[:rows], cuts, left, tables[owner])


@kernel
def _replay(X: FloatArray, y: IntArray, first: int, replay: Replay, weights: FloatArray) -> None:
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
    X: FloatArray,
    y: IntArray,
    first: int,
    after: int,
    weights: FloatArray,
    cuts: Cuts,
    left: FloatArray,
    table: FloatArray,
) -> None:
    """One owner's table (cuts, sides, codes) from its rows, `first` and on; `left` is room for
    (codes, layers, dim).

    Only the left side is summed; the right one is what is left of the whole, which is the same for
    every cut. Rows are taken four at a time, and the next owner's, `after` and on, are asked from
    memory meanwhile.
    """
    codes, last = table.shape[2], first + len(weights) - 1
    whole = np.zeros(codes)
    left[:] = 0.0
    for i in range(0, len(weights), 4):
        for k in range(4):
            for j in range(0, X.shape[1], _LINE):
                prefetch(X, after + i + k, j)  # type: ignore[call-arg]
        rows = (
            X[first + i],
            X[min(first + i + 1, last)],
            X[min(first + i + 2, last)],
            X[min(first + i + 3, last)],
        )
        for c in range(codes):
            a = _amount(y, first, weights, i, c, codes)
            b = _amount(y, first, weights, i + 1, c, codes)
            d = _amount(y, first, weights, i + 2, c, codes)
            e = _amount(y, first, weights, i + 3, c, codes)
            whole[c] += (a + b) + (d + e)
            if a != 0.0 or b != 0.0 or d != 0.0 or e != 0.0:
                for layer in range(cuts.grid.shape[0]):
                    for j in range(cuts.grid.shape[1]):
                        value = cuts.grid[layer, j]
                        left[c, layer, j] += (
                            (a if rows[0][j] < value else 0.0) + (b if rows[1][j] < value else 0.0)
                        ) + (
                            (d if rows[2][j] < value else 0.0) + (e if rows[3][j] < value else 0.0)
                        )
    for cut in range(len(table)):
        for c in range(codes):
            table[cut, 0, c] = left[c, cuts.layer[cut], cuts.column[cut]]
            table[cut, 1, c] = whole[c] - table[cut, 0, c]


@kernel
def _amount(y: IntArray, first: int, weights: FloatArray, i: int, c: int, codes: int) -> float:
    """What the owner's row i adds to a side: for two classes its weight, signed; for more its
    weight, to its class.
    """
    if i >= len(weights):
        return 0.0
    if codes == 1:
        return float(weights[i] if y[first + i] == 1 else -weights[i])
    return float(weights[i] if y[first + i] == c else 0.0)


@kernel
def _after(spans: IntArray, owner: int) -> int:
    """Where the next owner's rows begin."""
    return int(spans[min(owner + 1, len(spans) - 1), 0])
