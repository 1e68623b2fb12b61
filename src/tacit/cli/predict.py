"""Predictions on their way to a file: parquet where its name ends so, CSV otherwise; a block of
rows at a time.

tacit predict: a saved model on new rows.
"""

import csv
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from pyarrow import parquet

from tacit._util.interrupts import stop_on_interrupt
from tacit._util.types import AnyArray, IntArray
from tacit.cli._inputs import misfits, misfits_line
from tacit.cli._options import writable
from tacit.cli._progress import bar
from tacit.cli._screen import Screen
from tacit.data import UserTable, column_names, conform, conform_labels, read_blocks
from tacit.data.reading import is_parquet, row_count
from tacit.data.schema import Schema
from tacit.estimators.loading import load
from tacit.wire import WireError

Write = Callable[[AnyArray, int], None]


@contextmanager
def predictions(draft: Path, schema: Schema, *, proba: bool, as_parquet: bool) -> Iterator[Write]:
    """How to write a block: how likely each class is, by row, and how many rows were written
    before.

    The columns are the row's number, the class, and with `proba` how likely each class is. What was
    written is a whole file when this ends, however it ends.
    """
    classes = [
        str(value).lower() if isinstance(value, bool) else str(value) for value in schema.classes
    ]
    chances = [f"P({name})" for name in classes] if proba else []
    with (_parquet if as_parquet else _csv)(draft, classes, chances) as write:
        yield write


@contextmanager
def _csv(draft: Path, classes: list[str], chances: list[str]) -> Iterator[Write]:
    with draft.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["row", "prediction", *chances])

        def write(likely: AnyArray, first: int) -> None:
            for row, best, each in zip(
                _rows(likely, first), np.argmax(likely, axis=1), likely, strict=True
            ):
                lines.writerow(
                    [row, classes[best], *([f"{chance:.6g}" for chance in each] if chances else [])]
                )

        yield write


@contextmanager
def _parquet(draft: Path, classes: list[str], chances: list[str]) -> Iterator[Write]:
    """One row group per block."""
    kinds = {"row": pa.int64(), "prediction": pa.string(), **dict.fromkeys(chances, pa.float64())}
    with parquet.ParquetWriter(draft, pa.schema(kinds)) as file:

        def write(likely: AnyArray, first: int) -> None:
            said = np.array(classes, dtype=object)[np.argmax(likely, axis=1)]
            columns = [_rows(likely, first), said, *(likely.T if chances else ())]
            file.write_table(
                pa.table([np.ascontiguousarray(each) for each in columns], pa.schema(kinds))
            )

        yield write


def _rows(likely: AnyArray, first: int) -> IntArray:
    return np.arange(first + 1, first + 1 + len(likely))


_BLOCK = 50_000  # rows at once


@dataclass
class _Told:
    """What happened to the rows so far; `moved` counts values that do not fit the model, by
    column.
    """

    rows: int = 0
    moved: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    right: int = 0


def predict(
    model: Annotated[Path, typer.Argument(help="A model that tacit fit wrote.")],
    data: Annotated[Path, typer.Argument(help="New rows, CSV or parquet.")],
    out: Annotated[Path, typer.Option(help="Where to write predictions, CSV or .parquet.")] = Path(
        "predictions.csv"
    ),
    proba: Annotated[bool, typer.Option("--proba", help="Also how likely each class is.")] = False,
    label: Annotated[
        str | None,
        typer.Option(help="Column with the right answer; default: the one that the model learned."),
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Predict new rows, one row of OUT for each in their order, in the memory of a few thousand.

    Columns are found by name. One that the model uses and the file lacks is an error; others are
    ignored. Values that are missing or that the model never heard of count as missing, numbers
    beyond its bounds as the bound. Where the file has the right answers, the accuracy is told.

    Ctrl-C (exit status 130) keeps the predictions that are done in OUT.part: whole rows, from the
    first one on.

    Example:
        tacit predict model.tacit new.csv --out predictions.csv --proba
    """
    began = time.monotonic()
    fitted = _loaded(model)
    names = column_names(data)
    used = [feature.name for feature in fitted.schema_.features]
    missing = [name for name in used if name not in names]
    if missing:
        raise ValueError(
            f"{data} lacks {', '.join(missing)}, which the model uses; it has {', '.join(names)}"
        )
    if label is not None and label not in names:
        raise ValueError(f"column {label!r} is not in {data}; it has {', '.join(names)}")
    learned = getattr(fitted, "label_", "")
    right = label or (learned if learned in names else None)
    ignored = [name for name in names if name not in (*used, right, "")]
    writable("--out", out)
    draft, told = out.with_name(f"{out.name}.part"), _Told()
    try:
        with predictions(draft, fitted.schema_, proba=proba, as_parquet=is_parquet(out)) as write:
            stopped = _all(fitted, data, right, write, told, screen)
        if not told.rows and not stopped:
            raise ValueError(f"{data} has no rows")
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if not stopped:
        os.replace(draft, out)
    _tell(told, data, draft if stopped else out, ignored, right, time.monotonic() - began, screen)
    if stopped:
        screen.stop(f"the first {told.rows:,} predictions are in {draft}")


def _loaded(model: Path) -> Any:
    if not model.is_file():
        raise ValueError(f"{model} is not there: give a model that tacit fit wrote")
    try:
        return load(model)
    except WireError:
        raise ValueError(
            f"{model} is not a tacit model, or a damaged one: give a file that tacit fit wrote"
        ) from None


def _all(
    fitted: Any, data: Path, right: str | None, write: Write, told: _Told, screen: Screen
) -> bool:
    """Predict block by block; whether somebody stopped it between two blocks."""
    schema: Schema = fitted.schema_
    wanted = [*(feature.name for feature in schema.features), *([] if right is None else [right])]
    with (
        stop_on_interrupt(
            "stopping after this block; Ctrl-C again throws the predictions away"
        ) as stop,
        bar(screen) as shown,
    ):
        expected, about = row_count(data), f"predicting {data.name}"
        shown(0, expected, about)
        for table in read_blocks(data, wanted, _BLOCK):
            write(_predicted(fitted, table, right, data, told), told.rows)
            told.rows += len(table)
            shown(told.rows, max(expected, told.rows), about)
            if stop():
                return True
    return False


def _predicted(
    fitted: Any, table: UserTable, label: str | None, data: Path, told: _Told
) -> AnyArray:
    """How likely each class is, for a block of rows; what had to be moved and what was right is
    counted.
    """
    schema: Schema = fitted.schema_
    rows = conform(table, schema, str(data))
    told.moved += misfits(schema.encode(rows), schema)
    chances = np.asarray(fitted.predict_proba(rows))
    if label is not None:
        classes = schema.encode_labels(conform_labels(table.column(label), schema))
        told.judged += int((classes >= 0).sum())
        told.right += int((np.argmax(chances, axis=1) == classes).sum())
    return chances


def _tell(
    told: _Told,
    data: Path,
    out: Path,
    ignored: list[str],
    label: str | None,
    seconds: float,
    screen: Screen,
) -> None:
    accuracy = told.right / told.judged if told.judged else None
    screen.tell(
        rows=told.rows,
        out=out,
        moved_values=told.moved.total(),
        moved_by_column=dict(told.moved.most_common()),
        ignored_columns=ignored,
        label=label,
        judged=told.judged,
        accuracy=accuracy,
        seconds=round(seconds, 1),
    )
    lines = [
        *([f"note: columns that the model does not use: {', '.join(ignored)}"] if ignored else []),
        *([f"note: {misfits_line(told.moved, data)}"] if told.moved else []),
        f"{told.rows:,} predictions: {out}",
    ]
    if accuracy is not None:
        error = 0.5 / told.judged**0.5
        lines.append(
            f"accuracy {accuracy:.3f} (± {error:.3f}) on {told.judged:,} rows with a known {label}"
        )
    elif label is not None:
        lines.append(f"no accuracy: no row has a {label} that the model knows")
    for line in lines:
        screen.say(line)
