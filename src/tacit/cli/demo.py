"""tacit demo: does asking owners pay? A population on made-up data, in about a minute.

Shown as text on the terminal and written as a document: words, a table and a chart.
"""

import json
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from math import log10
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tacit._util.checks import positive
from tacit._util.file_checks import make_folder
from tacit.cli._demo_trials import (
    BOOSTED,
    OURS,
    PUBLIC,
    SUMMED,
    DemoRow,
    DemoSetting,
    Trial,
    population,
    summarise,
    trials,
    write_files,
)
from tacit.cli._options import Seed
from tacit.cli._output import Screen, bar, table_of, versions
from tacit.mechanisms.streams import seeded
from tacit.render.document import (
    SPREAD,
    Chart,
    Document,
    Figures,
    Kind,
    Line,
    Section,
    Table,
    percent,
    percents,
    protection,
)
from tacit.render.drawing import nice_ends
from tacit.render.pages import write_report

_TERMS = (
    ("Unit", "the owner: its one report hides everything about its rows"),
    ("Adjacency", "any two sets of rows of one owner"),
    ("Adversary", "whoever sees the reports and all that is made of them, the data user included"),
    ("Epsilon", "pure, exact, the one written beside each number; spent once by each owner"),
    (
        "Two servers",
        "there owners trust that one of two servers is honest, for all rounds: delta 1e-6; if both "
        "collude they see every share",
    ),
)
_LIMITS = ("The data user's own rows.", "Who the owners are, and how many.")
_CLAIM = "Each owner's rows are protected by local differential privacy, where this really runs."
_KINDS: dict[str, Kind] = {OURS: "ours", SUMMED: "ours", BOOSTED: "paper", PUBLIC: "public"}


def demo_chart(rows: Sequence[DemoRow]) -> Chart:
    """Accuracy against epsilon: ours, boosting, and the levels to compare with."""
    lines: list[Line] = []
    for method in dict.fromkeys(row.method for row in rows):
        own = [row for row in rows if row.method == method]
        kind = _KINDS.get(method, "other")
        if own[0].epsilon is None:
            lines.append(Line(method, (), (100 * own[0].mean,), None, kind))
        else:
            points = [(row.epsilon or 0.0, row.mean, row.std) for row in own]
            lines.append(percents(method, points, kind))
    runs = "One run." if rows[0].runs == 1 else f"{SPREAD} {rows[0].runs} runs; two servers: one."
    return Chart(
        title="Accuracy against epsilon",
        x_label="epsilon of an owner, all in all",
        y_label="accuracy in %",
        lines=tuple(lines),
        x_scale="log",
        note=runs,
    )


def demo_document(rows: Sequence[DemoRow]) -> Document:
    """What the demonstration found."""
    first = rows[0]
    lead = (
        f"{first.owners:,} owners of {first.rows_per_owner} rows and a data user with "
        f"{first.public_rows} public rows, on made-up data. Every owner speaks once, in noise. "
        "Does asking them pay, how does it depend on epsilon, and what would be gained if owners "
        "trusted that one of two servers is honest, which add up what all say and put noise into "
        "the sum?"
    )
    parts = (_figures(rows), demo_chart(rows), _table(rows), _measures_table(rows))
    found = Section("What was found", parts=parts)
    promise = protection(_CLAIM, _TERMS, _LIMITS, ())
    return Document("tacit: what owners add", lead, (found, promise))


def _figures(rows: Sequence[DemoRow]) -> Figures:
    """The first numbers to read: those that need no epsilon, and the others near epsilon 1."""
    entries = []
    for name, row in _near_one(rows):
        spread = f"± {100 * row.std:.1f}" if row.runs > 1 else ""
        entries.append((name, f"{percent(row.mean)} %", spread))
    return Figures(tuple(entries))


def _near_one(rows: Sequence[DemoRow]) -> list[tuple[str, DemoRow]]:
    """Rows that need no epsilon, and those of the one nearest to 1, each by its name."""
    budgets = sorted({row.epsilon for row in rows if row.epsilon is not None})
    shown = min(budgets, key=lambda epsilon: abs(epsilon - 1.0), default=None)
    return [
        (row.method if row.epsilon is None else f"{row.method}, epsilon {row.epsilon:g}", row)
        for row in rows
        if row.epsilon in (None, shown)
    ]


def _measures_table(rows: Sequence[DemoRow]) -> Table:
    """All that people measure, method by method on the same test rows."""
    shown = _near_one(rows)
    names = [figure.name for figure in shown[0][1].first.figures[1:]]  # accuracy is above
    lines = [(name, *(str(figure) for figure in row.first.figures[1:])) for name, row in shown]
    strong = tuple(place for place, (_, row) in enumerate(shown) if row.method in (OURS, SUMMED))
    note = f"The first run, {shown[0][1].first.rows:,} test rows; 95 % intervals of such rows."
    return Table("The same by other measures", ("method", *names), tuple(lines), note, strong)


def _table(rows: Sequence[DemoRow]) -> Table:
    budgets = sorted({row.epsilon for row in rows if row.epsilon is not None})
    lines = []
    for method in dict.fromkeys(row.method for row in rows):
        cells = {
            row.epsilon: percent(row.mean, row.std if row.runs > 1 else None)
            for row in rows
            if row.method == method
        }
        lines.append((method, *(cells.get(None) or cells.get(each, "") for each in budgets)))
    columns = ("accuracy in %", *(f"epsilon {epsilon:g}" for epsilon in budgets))
    strong = tuple(number for number, line in enumerate(lines) if line[0] in (OURS, SUMMED))
    return Table(
        "Accuracy in percent, mean and spread over runs", columns, tuple(lines), _GAIN, strong
    )


_GAIN = "Two servers: one run, at the smallest budgets."

_FIT = (
    "tacit fit people.csv --label income --public mine.csv --epsilon 2 \\",
    "    --test test.csv --out model.tacit",
)

_MEANING = (
    "Guarantee: unit owner, the epsilon above between any two sets of its rows, against all who "
    "see its report; with two servers (one run) against all but both of them together, delta "
    "1e-6. All rows in one place: no privacy at all, for comparison. This run is seeded: "
    "reproducible, not private.\n"
)


def demo(
    owners: Annotated[int, typer.Option(help="How many owners take part.", min=100)] = 20_000,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Repeat for several; default 0.5, 1, 2, 4, 8.")
    ] = None,
    runs: Annotated[int, typer.Option(help="How often everything is run.", min=1)] = 3,
    seed: Seed = 1,
    out: Annotated[
        Path, typer.Option(help="Folder for rows, report, pictures and files to try.")
    ] = Path("out/demo"),
    *,
    screen: Screen,
) -> None:
    """Show what owners add to public rows, by tacit with either trust and by boosting, epsilon by
    epsilon.

    Ctrl-C (exit status 130) keeps the runs that are done.

    Example:
        tacit demo --owners 1000 --epsilon 4 --runs 1 --out out/demo
    """
    began = time.monotonic()
    budgets = tuple(sorted(positive("epsilon", each) for each in epsilon or DemoSetting.epsilons))
    setting = DemoSetting(owners=owners, epsilons=budgets, runs=runs)
    make_folder("--out", out)
    found, stopped = _run(setting, seed, screen)
    rows = summarise(setting, found)
    if not rows:
        screen.stop("nothing was done yet, and nothing was written")
    lines = [json.dumps(asdict(row)) for row in rows]
    (out / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    document = _document(rows, setting, seed)
    drawn = write_report(document, out)
    write_files(out / "files")
    if not drawn:
        screen.note("no pictures: matplotlib is missing; pip install 'tacit[plot]' adds it")
    seconds = round(time.monotonic() - began, 1)
    screen.tell(
        seed=seed, rows=rows, report=out / "report.html", files=out / "files", seconds=seconds
    )
    _show(rows, document, out, screen.console)
    if stopped:
        screen.stop(f"{len(found)} of {setting.trials} accuracies are done; they are in {out}")


def _run(setting: DemoSetting, seed: int, screen: Screen) -> tuple[list[Trial], bool]:
    """What was found, and whether somebody stopped it."""
    found: list[Trial] = []
    about = f"asking {setting.owners:,} owners"
    with bar(screen) as told:
        told(0, setting.trials, about)
        try:
            everybody = population(setting.owners * setting.rows, setting.public_rows)
            for trial in trials(setting, everybody, seeded(seed)):
                found.append(trial)
                told(len(found), setting.trials, about)
        except KeyboardInterrupt:
            return found, True
    return found, False


def _document(rows: list[DemoRow], setting: DemoSetting, seed: int) -> Document:
    budgets = " ".join(f"--epsilon {epsilon:g}" for epsilon in setting.epsilons)
    command = f"tacit demo --owners {setting.owners} {budgets} --runs {setting.runs} --seed {seed}"
    return replace(demo_document(rows), command=command, settings=versions(seed))


def _show(rows: list[DemoRow], document: Document, out: Path, console: Console) -> None:
    console.print(document.lead)
    console.print()
    console.print(text_plot(demo_chart(rows), min(console.width, 100)))
    console.print(_terminal_table(rows))
    console.print(_MEANING)
    console.print(f"Report: {out / 'report.html'}")
    console.print("\nOn files of your own it is this; some to try are there already:")
    here = Path(sys.executable).parent
    path = [] if shutil.which("tacit") else [f"export PATH={shlex.quote(str(here))}:$PATH"]
    for line in (*path, f"cd {shlex.quote(str(out / 'files'))}", *_FIT):
        console.print(f"  {line}", markup=False, soft_wrap=True)


def _terminal_table(rows: list[DemoRow]) -> Grid:
    """Accuracy in percent, methods down, budgets across."""
    budgets = sorted({row.epsilon for row in rows if row.epsilon is not None})
    table = table_of()
    table.add_column("accuracy in %")
    for epsilon in budgets:
        table.add_column(f"eps {epsilon:g}", justify="right", no_wrap=True)
    for method in dict.fromkeys(row.method for row in rows):
        own = {row.epsilon: row for row in rows if row.method == method}
        cells = [own.get(None) or own.get(epsilon) for epsilon in budgets]
        texts = ["" if row is None else f"{100 * row.mean:.1f}" for row in cells]
        table.add_row(method, *texts, style="bold" if method in (OURS, SUMMED) else "")
    return table


_MARKS, _DASHES = "●▲◇+■", "─┄"
_STYLES = {
    "ours": "bold green",
    "paper": "red",
    "published": "red",
    "public": "bold blue",
    "other": "dim",
}
_HEIGHT = 15  # lines of the chart
_MARGIN = 6  # columns for the numbers of the vertical axis


def text_plot(chart: Chart, width: int) -> Text:
    """Points of lines, levels as dashes, a legend below; points that fall together show the first
    line's mark.

    >>> from tacit.render.document import Chart, Line
    >>> lines = Line("a", (1, 2), (0, 10)), Line("b", (), (5,))
    >>> plot = text_plot(Chart("t", "x", "y", lines), 30).plain
    >>> plot.count("●"), "─ b" in plot
    (3, True)
    """
    across = max(20, width - _MARGIN - 2)
    low, high, ticks = nice_ends([y for line in chart.lines for y in line.y], "linear")
    places = [x for line in chart.lines for x in line.x] or [1.0]
    left, right = min(places), max(places)
    grid = [[(" ", "")] * across for _ in range(_HEIGHT)]
    marks, dashes = iter(_MARKS), iter(_DASHES)
    legend = Text()
    for line in sorted(
        chart.lines, key=lambda line: not line.is_level
    ):  # levels first: points go over them
        style = _STYLES[line.kind]
        mark = next(dashes, "-") if line.is_level else next(marks, "·")
        legend.append(f"\n{' ' * _MARGIN}  {mark} {line.name}{_level(line)}", style)
        if line.is_level:
            grid[_row(line.y[0], low, high)] = [
                (mark, style) if column % 2 else (" ", "") for column in range(across)
            ]
            continue
        for x, y in zip(line.x, line.y, strict=True):
            column = round(_part(x, left, right, chart.x_scale) * (across - 1))
            grid[_row(y, low, high)][column] = (mark, style)
    numbers = {_row(tick, low, high): f"{tick:g}" for tick in ticks}
    drawn = Text(f"{chart.y_label}\n", "bold") + _as_lines(grid, numbers)
    drawn.append(
        f"{'':{_MARGIN}} └{'─' * across}\n{'':{_MARGIN}}  "
        f"{_ticks(sorted(set(places)), chart, across)}\n"
    )
    drawn.append(f"{chart.x_label:>{_MARGIN + 2 + across}}", "bold")
    return drawn + legend


def _as_lines(grid: list[list[tuple[str, str]]], numbers: dict[int, str]) -> Text:
    """Characters with their styles, row by row, behind an axis with its numbers."""
    drawn = Text()
    for number, cells in enumerate(grid):
        drawn.append(f"{numbers.get(number, ''):>{_MARGIN}} │")
        for character, style in cells:
            drawn.append(character, style)
        drawn.append("\n")
    return drawn


def _row(y: float, low: float, high: float) -> int:
    return round((high - y) / (high - low) * (_HEIGHT - 1))


def _part(x: float, left: float, right: float, scale: str) -> float:
    if not right > left:
        return 0.0
    return log10(x / left) / log10(right / left) if scale == "log" else (x - left) / (right - left)


def _ticks(places: list[float], chart: Chart, across: int) -> str:
    """The values of the points below their columns, as far as there is room."""
    line = [" "] * (across + 8)
    free = 0
    for x in places:
        text = f"{x:g}"
        start = max(
            0, round(_part(x, places[0], places[-1], chart.x_scale) * (across - 1)) - len(text) + 1
        )
        if start >= free:
            line[start : start + len(text)] = text
            free = start + len(text) + 1
    return "".join(line).rstrip()


def _level(line: Line) -> str:
    return f": {line.y[0]:.1f}" if line.is_level else ""
