"""tacit reproduce ahead: one share per owner against the papers and against the data user's own sample."""

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tacit.experiments.ahead import DATASETS, AheadRow, best_of_paper, reproduce_ahead
from tacit.experiments.ahead_tasks import quick_task, task_of
from tacit.experiments.break_even import BreakEvenRow, break_even
from tacit.experiments.paper_a import write_rows
from tacit.report.ahead import draw_break_even
from tacit.report.ahead_table import markdown_table


def reproduce_one_share(dataset: list[str] | None, quick: bool, seed: int, out: Path) -> None:
    """Run, print, write and draw; Ctrl-C keeps the rows that are done."""
    console = Console()
    rows: list[AheadRow] = []
    chart: list[BreakEvenRow] = []
    names = dataset or list(DATASETS)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), console=console
    ) as progress:
        task = progress.add_task("ahead of the papers", total=None)

        def advance(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        try:
            for row in reproduce_ahead(quick, seed, names, progress=advance):
                rows.append(row)  # noqa: PERF402 - one by one, so that an interruption keeps them
            tasks = [quick_task()] if quick else [task_of(name) for name in names if name[:8] != "clusters"]
            chart.extend(break_even(tasks, (1_000, 1_000_000), (1.0,)) if quick else break_even(tasks))
        except KeyboardInterrupt:
            console.print("stopped; what was done is kept")
    write_rows([*rows, *chart], out / "rows.jsonl")
    (out / "table.md").write_text(markdown_table(rows), encoding="utf-8")
    for name in dict.fromkeys(row.dataset for row in rows):
        for kind in dict.fromkeys(row.owners_kind for row in rows if row.dataset == name):
            console.print(_table([row for row in rows if (row.dataset, row.owners_kind) == (name, kind)], rows))
    if chart:
        try:
            draw_break_even(chart, rows, out / "break_even.png")
        except ModuleNotFoundError:
            console.print("No pictures: matplotlib is missing; pip install 'tacit[plot]' adds it.", markup=False)
    console.print(f"rows and pictures: {out}")


def _table(rows: list[AheadRow], everything: list[AheadRow]) -> Table:
    """Methods and epsilon down, sizes of the data user's sample across; in brackets points above public-only."""
    first = rows[0]
    best = best_of_paper(everything, first.dataset)
    title = f"{first.dataset}, {first.owners:,} owners of {first.rows_per_owner}, {first.owners_kind}: accuracy, "
    title += f"{first.runs} runs"
    if best is not None and first.owners_kind == "alike":
        title += (
            f"\nbest of the paper's: {best.method.removeprefix('paper A: ')}, {best.mean:.3f} at eps {best.epsilon:g}"
        )
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("method")
    table.add_column("eps", justify="right")
    sizes = sorted({row.public_rows for row in rows})
    for size in sizes:
        table.add_column(f"{size:,} public rows", justify="right", no_wrap=True)
    for method, epsilon in dict.fromkeys((row.method, row.epsilon) for row in rows):
        cells = {row.public_rows: row for row in rows if (row.method, row.epsilon) == (method, epsilon)}
        texts = [_cell(cells[size]) if size in cells else "" for size in sizes]
        unsound = " (unsound)" if next(iter(cells.values())).unsound else ""
        table.add_row(method + unsound, "" if epsilon is None else f"{epsilon:g}", *texts)
    return table


def _cell(row: AheadRow) -> str:
    return f"{row.mean:.3f} ± {row.std:.3f}\n({100 * row.rise:+.2f} ± {100 * row.rise_error:.2f})"
