"""Ahead of the papers, on the terminal: one share per owner against them and against the data
user's sample.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tacit.algorithms.refinement import LEAST_GAIN
from tacit.cli._screen import table_of
from tacit.render.document import Document
from tacit_papers.ours.ahead import AheadRow, best_of_paper
from tacit_papers.ours.ahead_report import ahead
from tacit_papers.ours.break_even import BreakEvenRow
from tacit_papers.ours.break_even_chart import draw_break_even
from tacit_papers.ours.plan_check import PlanRow


def show_ahead(rows: Sequence[Any], console: Console) -> Document:
    """Print tables; the report to be written."""
    found = [row for row in rows if isinstance(row, AheadRow)]
    chart = [row for row in rows if isinstance(row, BreakEvenRow)]
    for name in dict.fromkeys(row.dataset for row in found):
        for kind in dict.fromkeys(row.owners_kind for row in found if row.dataset == name):
            console.print(
                _table(
                    [row for row in found if (row.dataset, row.owners_kind) == (name, kind)], found
                )
            )
    plans = [row for row in rows if isinstance(row, PlanRow)]
    if plans:
        console.print(_plans(plans))
    return ahead(found, chart, plans)


def draw_ahead(rows: Sequence[Any], folder: Path) -> None:
    """The break-even chart: all tasks in one picture."""
    chart = [row for row in rows if isinstance(row, BreakEvenRow)]
    if chart:
        draw_break_even(chart, LEAST_GAIN, folder / "break_even.png")


def _table(rows: list[AheadRow], everything: list[AheadRow]) -> Table:
    """Methods and epsilon down, sizes of the data user's sample across; in brackets points above
    public-only.
    """
    first = rows[0]
    best = best_of_paper(everything, first.dataset)
    title = (
        f"{first.dataset}, {first.owners:,} owners of {first.rows_per_owner}, "
        f"{first.owners_kind}: accuracy, "
    )
    title += f"{first.runs} runs, by public rows; in brackets points above these alone"
    if best is not None and first.owners_kind == "alike":
        title += (
            f"\nbest of the paper's: {best.method.removeprefix('paper A: ')}, "
            f"{best.mean:.3f} "
            f"at eps {best.epsilon:g}"
        )
    table = table_of(title)
    table.add_column("method")
    table.add_column("eps", justify="right")
    sizes = sorted({row.public_rows for row in rows})
    for size in sizes:
        table.add_column(f"{size:,} rows", justify="right", no_wrap=True)
    for method, epsilon in dict.fromkeys((row.method, row.epsilon) for row in rows):
        cells = {
            row.public_rows: row for row in rows if (row.method, row.epsilon) == (method, epsilon)
        }
        texts = [_cell(cells[size]) if size in cells else "" for size in sizes]
        unsound = " (unsound)" if next(iter(cells.values())).unsound else ""
        table.add_row(method + unsound, "" if epsilon is None else f"{epsilon:g}", *texts)
    return table


def _plans(rows: list[PlanRow]) -> Table:
    """What the plan said before anybody was asked, beside what came."""
    title = "The plan beside what came of it: points of accuracy above the data user's own model"
    table = table_of(title)
    for heading in ("task", "eps", "public\nrows", "says\ncollect", "predicted", "measured"):
        table.add_column(heading, justify="left" if heading == "task" else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.dataset,
            f"{row.epsilon:g}",
            f"{row.public_rows:,}",
            f"{100 * row.collect:.0f} %",
            f"{100 * row.predicted:+.2f} ± {100 * row.predicted_std:.2f}",
            f"{100 * row.measured:+.2f} ± {100 * row.measured_error:.2f}",
        )
    return table


def _cell(row: AheadRow) -> str:
    return f"{row.mean:.3f} ± {row.std:.3f}\n({100 * row.rise:+.2f} ± {100 * row.rise_error:.2f})"
