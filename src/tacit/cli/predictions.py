"""Predictions on their way to a file: parquet where its name ends so, CSV otherwise; a block of rows at a time."""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tacit.schema import Schema
from tacit.types import AnyArray, IntArray

Write = Callable[[AnyArray, int], None]


@contextmanager
def predictions(draft: Path, schema: Schema, *, proba: bool, as_parquet: bool) -> Iterator[Write]:
    """How to write a block: how likely each class is, by row, and how many rows were written before.

    The columns are the row's number, the class, and with `proba` how likely each class is. What was written is a whole
    file when this ends, however it ends.
    """
    classes = [str(value).lower() if isinstance(value, bool) else str(value) for value in schema.classes]
    chances = [f"P({name})" for name in classes] if proba else []
    with (_parquet if as_parquet else _csv)(draft, classes, chances) as write:
        yield write


@contextmanager
def _csv(draft: Path, classes: list[str], chances: list[str]) -> Iterator[Write]:
    with draft.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["row", "prediction", *chances])

        def write(likely: AnyArray, first: int) -> None:
            for row, best, each in zip(_rows(likely, first), np.argmax(likely, axis=1), likely, strict=True):
                lines.writerow([row, classes[best], *([f"{chance:.6g}" for chance in each] if chances else [])])

        yield write


@contextmanager
def _parquet(draft: Path, classes: list[str], chances: list[str]) -> Iterator[Write]:
    """One row group per block."""
    kinds = {"row": pa.int64(), "prediction": pa.string(), **dict.fromkeys(chances, pa.float64())}
    with parquet.ParquetWriter(draft, pa.schema(kinds)) as file:

        def write(likely: AnyArray, first: int) -> None:
            said = np.array(classes, dtype=object)[np.argmax(likely, axis=1)]
            columns = [_rows(likely, first), said, *(likely.T if chances else ())]
            file.write_table(pa.table([np.ascontiguousarray(each) for each in columns], pa.schema(kinds)))

        yield write


def _rows(likely: AnyArray, first: int) -> IntArray:
    return np.arange(first + 1, first + 1 + len(likely))
