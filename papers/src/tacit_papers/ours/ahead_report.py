"""Ahead of the papers, as a document: one share per owner against them and against the data
user's sample.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.algorithms.outlook import LEAST_GAIN
from tacit.render.document import (
    Chart,
    Document,
    Line,
    Section,
    Table,
    mark_unsound,
    percent,
    protection,
)
from tacit_papers.ours.ahead import METHODS, AheadRow, best_of_paper
from tacit_papers.ours.break_even import BreakEvenRow
from tacit_papers.ours.break_even_chart import draw_break_even
from tacit_papers.ours.plan_check import PlanRow
from tacit_papers.rows_file import select

_TERMS = (
    ("Unit", "the owner: its one report hides everything about its rows"),
    ("Adjacency", "any two sets of rows of one owner"),
    ("Adversary", "whoever sees the reports and all that is made of them, the data user included"),
    ("Epsilon", "pure, exact, the one written beside each number; spent once by each owner"),
    (
        "Two servers",
        "there owners trust that one of two servers is honest, for all rounds: delta 1e-6",
    ),
)
_LIMITS = ("The data user's own sample.", "Who the owners are, and how many.")
_COLUMNS = (
    "task, owners x rows",
    "paper A's best at epsilon 7",
    "private only, 0.5",
    "private only, 1",
    "public only: fewest to most rows",
    "combined, epsilon 1: fewest to most rows",
    "two servers, epsilon 1, delta 1e-6",
)
_SHOWN = 1.0  # the epsilon whose predictions are drawn beside measurements


def report_ahead(found: Sequence[Any]) -> Document:
    """One line per task first, then where private data begins to pay, then every number."""
    rows, predicted = select(found, AheadRow), select(found, BreakEvenRow)
    plans = select(found, PlanRow)
    sections = [Section("At a glance", "", (summary(rows),))]
    if predicted:
        text = (
            "Predicted before anybody is asked, from public rows and closed-form variances; "
            "measured beside it. Where the plan says that owners would add too little, nobody "
            "is asked."
        )
        tasks = dict.fromkeys(row.dataset for row in predicted)
        charts = (_break_even(task, predicted, rows) for task in tasks)
        checked = (_plan_check_table(plans),) if plans else ()
        parts = (*charts, _least_owners_table(predicted), *checked)
        sections.append(Section("Where private data begins to pay", text, parts))
    for name in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == name]
        kinds = dict.fromkeys(row.owners_kind for row in own)
        tables = tuple(_table([row for row in own if row.owners_kind == kind]) for kind in kinds)
        sections.append(Section(f"All numbers: {name}", "", tables))
    claim = (
        "Where PrivateClassifier really runs, each owner's rows are protected by local "
        "differential privacy."
    )
    return Document(
        "Ahead of the papers: one share per owner",
        "The data user's own model is the start; owners answer, once and in noise, what it "
        "still gets wrong.",
        (*sections, protection(claim, _TERMS, _LIMITS, {row.unsound for row in rows})),
    )


def draw_ahead(found: Sequence[Any], folder: Path) -> None:
    """The break-even chart: all tasks in one picture."""
    chart = select(found, BreakEvenRow)
    if chart:
        draw_break_even(chart, LEAST_GAIN, folder / "break_even.png")


def summary(rows: Sequence[AheadRow]) -> Table:
    """Accuracies in percent, mean and deviation, where owners are alike; private only with most
    public rows.
    """
    alike = [row for row in rows if row.owners_kind == "alike"]
    names = dict.fromkeys(row.dataset for row in alike)
    lines = tuple(_summary_line([row for row in alike if row.dataset == name]) for name in names)
    return Table("Accuracy in %, mean and standard deviation", _COLUMNS, lines)


def _summary_line(own: Sequence[AheadRow]) -> tuple[str, ...]:
    """The line of one data set."""
    name, best = own[0].dataset, best_of_paper(own, own[0].dataset)
    own = sorted(own, key=lambda row: row.public_rows)

    def of(method: str, epsilon: float | None) -> list[AheadRow]:
        return [row for row in own if (row.method, row.epsilon) == (method, epsilon)]

    return (
        f"{name}, {own[0].owners:,} x {own[0].rows_per_owner}",
        "" if best is None else f"{_percent(best)} ({best.method.removeprefix('paper A: ')})",
        *(_largest(of("private only", epsilon)) for epsilon in (0.5, 1.0)),
        ", ".join(_percent(row) for row in own if row.method == "public only"),
        *(", ".join(map(_percent, of(method, 1.0))) for method in ("combined", "two servers")),
    )


def _break_even(
    task: str, predicted: Sequence[BreakEvenRow], measured: Sequence[AheadRow]
) -> Chart:
    """Expected rise of accuracy against owners, a line per size of the public sample and trust."""
    own = [row for row in predicted if row.dataset == task]
    shown = min({row.epsilon for row in own}, key=lambda epsilon: abs(epsilon - _SHOWN))
    lines = []
    for size, trust in dict.fromkeys((row.public_rows, row.trust) for row in own):
        line = sorted(
            (r for r in own if (r.public_rows, r.trust, r.epsilon) == (size, trust, shown)),
            key=lambda row: row.owners,
        )
        x, y = tuple(float(row.owners) for row in line), tuple(100 * row.rise for row in line)
        name = f"{size:,} public rows, trust in {trust}, predicted"
        lines.append(Line(name, x, y, None, "ours"))
    for row in measured:
        if row.method in METHODS and (row.dataset, row.epsilon, row.owners_kind) == (
            task,
            shown,
            "alike",
        ):
            name = f"{row.public_rows:,} public rows, trust in {METHODS[row.method]}, measured"
            bars = (200 * row.rise_error,)
            lines.append(Line(name, (float(row.owners),), (100 * row.rise,), bars, "other"))
    lines.append(Line("the data user's own model", (), (0.0,), None, "public"))
    note = f"Epsilon {shown:g}; delta 1e-6 with two servers. Bars: two standard errors."
    title, label = f"{task}: owners against public rows", "points of accuracy above"
    return Chart(title, "owners", label, tuple(lines), x_scale="log", note=note)


def _least_owners_table(rows: Sequence[BreakEvenRow]) -> Table:
    """From how many owners on the plan says collect."""
    epsilons = sorted({row.epsilon for row in rows})
    lines = []
    for place in dict.fromkeys((row.dataset, row.public_rows, row.trust) for row in rows):
        own = [row for row in rows if (row.dataset, row.public_rows, row.trust) == place]
        least = [
            min((r.owners for r in own if r.epsilon == e and r.collect), default=None)
            for e in epsilons
        ]
        texts = ("never" if number is None else f"{number:,}" for number in least)
        lines.append((place[0], f"{place[1]:,}", place[2], *texts))
    columns = ("task", "public rows", "trust", *(f"epsilon {epsilon:g}" for epsilon in epsilons))
    return Table(
        "From how many owners on it pays to collect, of those tried", columns, tuple(lines)
    )


def _table(rows: Sequence[AheadRow]) -> Table:
    """Methods and epsilon down, sizes of the data user's sample across; in brackets points above
    public only.
    """
    first, sizes = rows[0], sorted({row.public_rows for row in rows})
    lines = []
    for method, epsilon in dict.fromkeys((row.method, row.epsilon) for row in rows):
        cells = {
            row.public_rows: row for row in rows if (row.method, row.epsilon) == (method, epsilon)
        }
        name = mark_unsound(method, next(iter(cells.values())).unsound)
        texts = (_with_rise(cells[size]) if size in cells else "" for size in sizes)
        lines.append((name, "" if epsilon is None else f"{epsilon:g}", *texts))
    setting = f"{first.owners:,} owners of {first.rows_per_owner}, {first.owners_kind}"
    caption = f"{first.dataset}, {setting}: accuracy in %, {first.runs} runs"
    note = (
        "In brackets: points above the data user's own model in the same runs, and their "
        "standard error."
    )
    return Table(
        caption,
        ("method", "epsilon", *(f"{size:,} public rows" for size in sizes)),
        tuple(lines),
        note,
    )


def _percent(row: AheadRow) -> str:
    return percent(row.mean, row.std if row.runs > 1 else None)


def points(rise: float, error: float, runs: int, digits: int = 2) -> str:
    """A difference in points, with its standard error where there are runs to tell it.

    >>> points(0.012, 0.001, 3), points(0.012, 0.0, 1, digits=1)
    ('+1.20 ± 0.10', '+1.2')
    """
    told = f"{100 * rise:+.{digits}f}"
    return told if runs < 2 else f"{told} ± {100 * error:.{digits}f}"


def _largest(rows: Sequence[AheadRow]) -> str:
    return _percent(max(rows, key=lambda row: row.public_rows)) if rows else ""


def _with_rise(row: AheadRow) -> str:
    return f"{_percent(row)} ({points(row.rise, row.rise_error, row.runs)})"


def _plan_check_table(rows: Sequence[PlanRow]) -> Table:
    """What the plan said before anybody was asked, beside what was measured."""
    heads = ("task", "trust", "epsilon", "public rows", "says collect", "predicted", "measured")
    cells = tuple(
        (
            f"{row.dataset}, {row.owners:,} x {row.rows_per_owner}",
            row.trust,
            f"{row.epsilon:g}",
            f"{row.public_rows:,}",
            f"{100 * row.collect:.0f} %",
            points(row.predicted, row.predicted_std, row.runs),
            points(row.measured, row.measured_error, row.runs),
        )
        for row in rows
    )
    note = (
        "Points of accuracy above the data user's own model. Says collect: in which part of "
        f"the samples. {plan_in_words(rows)}"
    )
    return Table("The plan beside what came of it", heads, cells, note)


def plan_in_words(rows: Sequence[PlanRow]) -> str:
    """How far the plan was right, trust by trust."""
    said = []
    for trust in dict.fromkeys(row.trust for row in rows):
        own = [row for row in rows if row.trust == trust]
        near, missed = sum(row.within for row in own), sum(row.missed for row in own)
        said.append(
            f"Trust in {trust}: within a factor of 1.5, a quarter of a point or two standard "
            f"errors in {near} of {len(own)}; said not to collect where it pays in {missed}."
        )
    return " ".join(said)
