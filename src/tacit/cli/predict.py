"""tacit predict: a saved model on new rows, a block at a time on its way from file to file."""

import csv
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tacit._util.checks import check_engine
from tacit._util.file_checks import (
    PARQUET,
    check_file,
    check_table,
    check_writable,
    listed,
    some_of,
)
from tacit._util.stopping import on_interrupt
from tacit.cli._options import Decimal, Encoding, optional_key
from tacit.cli._output import Screen, bar

if TYPE_CHECKING:  # a wrong option or a missing file is told before any of it is loaded
    from tacit._util.types import AnyArray, IntArray
    from tacit.data.owner_blocks import GroupBlock
    from tacit.data.schema import Schema
    from tacit.data.table import UserTable
    from tacit.data.table_file import TableFile
    from tacit.estimators.measures import Measures

Write = Callable[["AnyArray", int], None]


@contextmanager
def predictions(draft: Path, schema: "Schema", *, proba: bool, as_parquet: bool) -> Iterator[Write]:
    """How to write a block: how likely each class is, by row, or the predicted number, (rows, 1);
    and how many rows were written before.

    The columns are the row's number, the class or number, and with `proba` how likely each class
    is. What was written is a whole file when this ends, however it ends.
    """
    classes = [
        str(value).lower() if isinstance(value, bool) else str(value)
        for value in (schema.classes if schema.labels else ())
    ]
    chances = [f"P({name})" for name in classes] if proba else []
    with (_parquet if as_parquet else _csv)(draft, classes, chances) as write:
        yield write


@contextmanager
def _csv(draft: Path, classes: list[str], chances: list[str]) -> Iterator[Write]:
    import numpy as np

    with draft.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["row", "prediction", *chances])

        def write(likely: "AnyArray", first: int) -> None:
            for row, best, each in zip(
                _rows(likely, first), np.argmax(likely, axis=1), likely, strict=True
            ):
                said = classes[best] if classes else f"{each[0]:.9g}"
                lines.writerow(
                    [row, said, *([f"{chance:.6g}" for chance in each] if chances else [])]
                )

        yield write


@contextmanager
def _parquet(draft: Path, classes: list[str], chances: list[str]) -> Iterator[Write]:
    """One row group per block."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    said_as = pa.string() if classes else pa.float64()
    kinds = {"row": pa.int64(), "prediction": said_as, **dict.fromkeys(chances, pa.float64())}
    with parquet.ParquetWriter(draft, pa.schema(kinds)) as file:

        def write(likely: "AnyArray", first: int) -> None:
            said = likely[:, 0]
            if classes:
                said = np.array(classes, dtype=object)[np.argmax(likely, axis=1)]
            columns = [_rows(likely, first), said, *(likely.T if chances else ())]
            file.write_table(
                pa.table([np.ascontiguousarray(each) for each in columns], pa.schema(kinds))
            )

        yield write


def _rows(likely: "AnyArray", first: int) -> "IntArray":
    import numpy as np

    return np.arange(first + 1, first + 1 + len(likely))


_NOT_WRITTEN = (".xlsx", ".xls", ".ods", ".json", ".html", ".gz", ".zip", ".feather")
_BLOCK = 50_000  # rows at once
_STEPS = 1 << 18  # of a loop, in less time than it takes to load a compiler
_MEASURED = 200_000  # rows whose chances are kept, for measures of them together


@dataclass
class _Tally:
    """What happened to the rows so far, of about `expected`; `moved` counts values that do not fit
    the model, by column, and `right` the predictions that are what the column `label` says, where
    that is a class; `is_number`: it is a number.
    """

    label: str | None
    is_number: bool
    ignored: list[str] = field(default_factory=list)
    expected: int = 0
    rows: int = 0
    moved: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    right: int = 0
    seen: list[tuple[Any, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, fitted: Any, file: "TableFile", label: str | None) -> "_Tally":
        """Before the first row: columns that the model uses must be there, and one with right
        answers may be.
        """
        used, there = [feature.name for feature in fitted.schema.features], set(file.names)
        missing = [name for name in used if name not in there]
        if missing:
            raise ValueError(
                f"{file.path} lacks {some_of(missing)}, which the model uses; it has "
                f"{listed(missing[0], file.names)}"
            )
        file.require(label)
        learned = getattr(fitted, "label", "")
        right = label or (learned if learned in there else None)
        known = {*used, right, ""}
        ignored = [name for name in file.names if name not in known]
        return cls(right, fitted.schema.labels == 0, ignored)

    def take(self, said: "_Said") -> None:
        """Count what happened to one more block."""
        self.moved.update(said.moved)
        if said.classes is not None:
            self.judged += int(_known(said.classes).sum())
            if not self.is_number:
                self.right += int((said.chances.argmax(axis=1) == said.classes).sum())
            if self.rows < _MEASURED:
                self.seen.append((said.chances, said.classes))
        self.rows += len(said.chances)


def _known(labels: "AnyArray") -> "AnyArray":
    """Which class numbers, or which numbers, are known."""
    import numpy as np

    return np.isfinite(labels) if labels.dtype.kind == "f" else labels >= 0


def predict(
    model: Annotated[Path, typer.Argument(help="A model that tacit fit wrote.")],
    data: Annotated[
        Path, typer.Argument(help="New rows, CSV or parquet: a file, a folder or a pattern.")
    ],
    out: Annotated[Path, typer.Option(help="Where to write predictions, CSV or .parquet.")] = Path(
        "predictions.csv"
    ),
    proba: Annotated[bool, typer.Option("--proba", help="Also how likely each class is.")] = False,
    label: Annotated[
        str | None,
        typer.Option(help="Column with the right answer; default: the one that the model learned."),
    ] = None,
    campaign_key: Annotated[
        str | None,
        typer.Option(help="Key (hex) of the campaign that must have signed the model."),
    ] = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    engine: Annotated[
        str, typer.Option(help="Where rows are predicted: inline, ray, or ray://host:port.")
    ] = "inline",
    *,
    screen: Screen,
) -> None:
    """Predict new rows, one row of OUT for each in their order, in the memory of a few thousand.

    Columns are found by name. One that the model uses and the file lacks is an error; others are
    ignored. Values that are missing or that the model never heard of count as missing, numbers
    beyond its bounds as the bound. Where the file has the right answers, the accuracy is told.

    Ctrl-C (exit status 130) keeps the predictions that are done in OUT.part: whole rows, from the
    first one on; so does a file that cannot be read to its end. With --engine ray row groups are
    tasks of a cluster, whose nodes have the files at the same paths; OUT has the same rows.

    Example:
        tacit predict model.tacit new.csv --out predictions.csv --proba
    """
    began = time.monotonic()
    check_file(model, "a model that tacit fit wrote")
    heading = check_table(data, written=(decimal, encoding))
    if out.suffix.lower() in _NOT_WRITTEN:
        raise ValueError(f"--out {out} would not be what its name says: give .csv or .parquet")
    check_writable("--out", out, model, data)
    check_engine(engine)
    with on_interrupt():
        from tacit._util.kernels import interpreted
        from tacit.data.table_file import open_rows
        from tacit.estimators.persistence import read_model

    fitted, signer = read_model(model, optional_key(campaign_key))
    if proba and not fitted.schema.labels:
        raise ValueError(f"--proba goes with classes, and {model} predicts numbers: leave it out")
    screen.tell(signed_by=signer)
    if signer is not None and campaign_key is None:
        screen.say(f"note: signed by the campaign {signer}; --campaign-key checks that it is yours")
    file = open_rows(data, decimal, encoding, heading)
    tally = _Tally.of(fitted, file, label)
    said = _say_here(fitted, file, tally.label)
    if engine != "inline":
        said = _say_elsewhere(engine, fitted, file, tally.label)
    draft = out.with_name(f"{out.name}.part")
    try:
        with predictions(
            draft, fitted.schema, proba=proba, as_parquet=out.suffix.lower() in PARQUET
        ) as write:
            tally.expected = file.count_rows()
            steps = (tally.expected + len(fitted.schema.classes)) * model.stat().st_size // 8
            with nullcontext() if steps > _STEPS else interpreted():
                stopped = _write_all(said, f"predicting {file.path.name}", write, tally, screen)
            # where no row is left, it was the last block after which it was to stop
            is_whole = not stopped or (tally.rows >= tally.expected and next(said, None) is None)
        if not tally.rows and not stopped:
            raise ValueError(f"{data} has no rows")
    except BaseException as problem:
        if tally.rows and isinstance(problem, ValueError):
            kept = f"the first {tally.rows:,} predictions are in {draft}"
            raise ValueError(f"{problem}; {kept}") from None
        draft.unlink(missing_ok=True)
        if isinstance(problem, OSError):  # those of reading are told as values
            why = os.strerror(problem.errno) if problem.errno else type(problem).__name__
            raise ValueError(
                f"{draft} cannot be written to its end ({why}): make room, or choose another "
                "--out; nothing was kept"
            ) from None
        raise
    if is_whole:
        os.replace(draft, out)
    _tell(tally, data, out if is_whole else draft, time.monotonic() - began, screen)
    if stopped:
        which = "all" if is_whole else "the first"
        screen.stop(f"{which} {tally.rows:,} predictions are in {out if is_whole else draft}")


class _Said(NamedTuple):
    """Of a block of rows: how likely each class is, or the predicted numbers, (rows, 1); how many
    values had to be moved, by column; and the right classes or numbers, where they are known.
    """

    chances: "AnyArray"
    moved: dict[str, int]
    classes: "AnyArray | None"


def _say(fitted: Any, table: "UserTable", where: str, label: str | None) -> _Said:
    from tacit.data.table_file import column_at

    schema: Schema = fitted.schema
    rows, classes = schema.encode(table, where), None
    if label is not None:
        classes = schema.conform_labels(column_at(where, table, label))
    if not schema.labels:
        return _Said(fitted.numbers(rows.X)[:, None], rows.moved_by, classes)
    if classes is not None:
        classes = schema.encode_labels(classes)
    return _Said(fitted.probabilities(rows.X), rows.moved_by, classes)


def _say_here(fitted: Any, file: "TableFile", label: str | None) -> Iterator[_Said]:
    """A block at a time."""
    wanted = [feature.name for feature in fitted.schema.features]
    wanted += [] if label is None else [label]
    for table in file.blocks(wanted, _BLOCK):
        yield _say(fitted, table, str(file.path), label)


def _say_elsewhere(
    engine: str, fitted: Any, file: "TableFile", label: str | None
) -> Iterator[_Said]:
    """A row group at a time, by workers of a cluster, which is found before anything is written."""
    from tacit.data.owner_blocks import RowReading, row_groups
    from tacit.engines.by_block import workers_at

    workers, reading = workers_at(engine), RowReading(fitted.schema, label)
    tasks = [(fitted, block) for block in row_groups(file, reading)]
    return (said for group in workers(_say_group, tasks) for said in group)


def _say_group(task: "tuple[Any, GroupBlock]") -> list[_Said]:
    fitted, block = task
    return [_say(fitted, table, block.where, block.reading.label) for table in block.tables()]


def _write_all(
    said: Iterator[_Said], about: str, write: Write, tally: _Tally, screen: Screen
) -> bool:
    """Write block by block; whether somebody stopped it between two blocks."""
    with (
        on_interrupt("stopping after this block; Ctrl-C again throws the predictions away") as stop,
        bar(screen) as shown,
    ):
        shown(0, tally.expected, about)
        for block in said:
            write(block.chances, tally.rows)
            tally.take(block)
            shown(tally.rows, max(tally.expected, tally.rows), about)
            if stop():
                return True
    return False


def _measure(tally: _Tally) -> "Measures | None":
    """Measures of the rows that were kept; None where of none of those the answer is known."""
    import numpy as np

    from tacit.estimators.measures import measure, measure_numbers

    said, known = (np.concatenate(part) for part in zip(*tally.seen, strict=True))
    if not _known(known).any():
        return None
    return measure_numbers(said[:, 0], known) if tally.is_number else measure(said, known)


def _tell(tally: _Tally, data: Path, out: Path, seconds: float, screen: Screen) -> None:
    accuracy = tally.right / tally.judged if tally.judged and not tally.is_number else None
    measures = _measure(tally) if tally.judged else None
    screen.tell(
        rows=tally.rows,
        out=out,
        moved_values=tally.moved.total(),
        moved_by_column=dict(tally.moved.most_common()),
        ignored_columns=tally.ignored,
        label=tally.label,
        judged=tally.judged,
        accuracy=accuracy,
        measures=None if measures is None else measures.as_dict,
        seconds=round(seconds, 1),
    )
    if tally.ignored:
        screen.say(f"note: columns that the model does not use: {some_of(tally.ignored)}")
    if tally.moved:
        from tacit.estimators.measures import misfits_line

        screen.say(f"note: {misfits_line(tally.moved, data)}")
    screen.say(f"{tally.rows:,} predictions: {out}")
    known = f"{tally.judged:,} rows with a known {tally.label}"
    figures = () if measures is None else measures.figures
    if accuracy is not None:
        error = 1.96 * (accuracy * (1 - accuracy) / tally.judged) ** 0.5
        screen.say(f"accuracy {accuracy:.3f} ± {error:.3f} on {known}")
    elif figures:
        screen.say(f"{figures[0].name} {figures[0]} on {known}")
    elif tally.label is not None:
        what = "number" if tally.is_number else "class"
        screen.say(f"no accuracy: column {tally.label!r} has a known {what} in no row")
    if len(figures) > 1:
        first = "" if tally.rows <= _MEASURED else f", of the first {_MEASURED:,} rows"
        told = ", ".join(f"{each.name} {each}" for each in figures[1:])
        screen.say(f"{told} (95 % intervals{first})")
