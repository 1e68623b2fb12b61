"""Tables of named columns: read from parquet files, encoded by a public schema, dealt into three
parts.

A table is a dict of columns. Missing is NaN among numbers and None among texts, as the schema
understands it.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray
from tacit.data.schema import Schema
from tacit_papers.datasets.files import read
from tacit_papers.datasets.split import Split

Table: TypeAlias = dict[str, AnyArray]


class Places(NamedTuple):
    """Numbers of the rows of each part."""

    train: IntArray
    public: IntArray
    test: IntArray


def read_table(name: str) -> Table:
    """The columns of the parquet file of this name; `DataMissing` where there is none."""
    content = read(name)
    from pyarrow import BufferReader, parquet  # here, because most data sets are no tables

    table = parquet.read_table(BufferReader(content))
    return {column: table.column(column).to_numpy() for column in table.column_names}


def rows_of(table: Table, which: BoolArray | IntArray) -> Table:
    """The table with these rows only."""
    return {name: column[which] for name, column in table.items()}


def is_missing(column: AnyArray) -> BoolArray:
    """Which values are None or NaN.

    >>> is_missing(np.array(["a", None], dtype=object)).tolist()
    [False, True]
    """
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind == "O":
        return np.array(
            [value is None or value != value for value in column.tolist()], dtype=np.bool_
        )
    return np.zeros(len(column), dtype=np.bool_)


def places(rows: int, public: int, test: float, seed: int) -> Places:
    """Shuffled by the seed: `public` rows for the data user, the share `test` (rounded up) for
    tests, the rest to train on.

    >>> [len(part) for part in places(10, public=2, test=0.25, seed=0)]
    [5, 2, 3]
    """
    public, seed = whole("public", public, 1), whole("seed", seed, 0)
    if not 0 < test < 1:
        raise bad("test", "a share between 0 and 1", test)
    shown = math.ceil(rows * test)
    if not public + shown < rows:
        raise bad("public", f"below {rows - shown}, so that rows are left to train on", public)
    order = np.random.default_rng(seed).permutation(rows)
    return Places(order[public + shown :], order[:public], order[public : public + shown])


def deal(name: str, X: FloatArray, y: IntArray, parts: Places) -> Split:
    """The split with these rows in its parts."""
    train, public, test = ((X[part], y[part]) for part in parts)
    return Split.of(name, train, public, test)


def encode_split(
    name: str, table: Table, schema: Schema, label: str, *, public: int, test: float, seed: int
) -> Split:
    """Rows whose label is one of the schema's classes, encoded by the schema and dealt."""
    classes = schema.encode_labels(table[label])
    known = classes >= 0
    X = schema.encode(rows_of(table, known)).X
    return deal(name, X, classes[known], places(len(X), public, test, seed))
