"""Quantiles of the columns of a table, exactly, without sorting it.

One pass counts how many values of each column fall into each of many equal buckets between -1 and
1, which tells the bucket of every wanted rank; a second pass collects those buckets, and only they
are sorted. Buckets follow the order of the values, so the result does not depend on them; values
that crowd into one bucket only cost time.
"""

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, IntArray

_BUCKETS = 2048  # counters of a column fit the cache, and a bucket holds few values


def quantiles(X: FloatArray, steps: FloatArray) -> FloatArray:
    """`np.quantile(X, steps, axis=0)`, (steps, columns), for finite numbers; quickest where they
    are in [-1, 1].

    >>> quantiles(np.array([[0.1], [0.5], [0.2], [0.4]]), np.array([0.5]))
    array([[0.3]])
    """
    places = steps * (len(X) - 1)
    floors = places.astype(np.int64)
    ranks = np.concatenate([floors, np.minimum(floors + 1, len(X) - 1)])
    low, high = np.split(_values_at(X, ranks), 2)
    part = (places - floors)[:, np.newaxis]
    return np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))


def _values_at(X: FloatArray, ranks: IntArray) -> FloatArray:
    """The values of these ranks (0: the least) in each column, (ranks, columns)."""
    columns = np.arange(X.shape[1])[:, np.newaxis]
    counts = np.zeros((X.shape[1], _BUCKETS), dtype=np.int64)
    _count(X, counts)
    upto = np.cumsum(counts, axis=1)
    bucket = np.array([np.searchsorted(column, ranks, side="right") for column in upto])
    wanted = np.zeros(counts.shape, dtype=np.bool_)
    wanted[columns, bucket] = True
    kept = np.cumsum(counts * wanted, axis=1)
    values = np.full((X.shape[1], int(kept[:, -1].max(initial=0))), np.inf)
    _collect(X, wanted, values)
    values.sort(axis=1)
    return np.asarray(values[columns, ranks - upto[columns, bucket] + kept[columns, bucket]].T)


@kernel
def _count(X: FloatArray, counts: IntArray) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            counts[j, _bucket(X[i, j])] += 1


@kernel
def _collect(X: FloatArray, wanted: BoolArray, values: FloatArray) -> None:
    """The values in wanted buckets, column by column."""
    found = np.zeros(X.shape[1], dtype=np.int64)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if wanted[j, _bucket(X[i, j])]:
                values[j, found[j]] = X[i, j]
                found[j] += 1


@kernel
def _bucket(value: float) -> int:
    """Which bucket; a larger value is never in a lower one. Values beyond [-1, 1] are in the
    outer ones.
    """
    place = (value + 1.0) * (0.5 * _BUCKETS)
    place = place if place > 0.0 else 0.0
    return int(place if place < _BUCKETS - 1.0 else _BUCKETS - 1.0)
