"""The demonstration as a document: rows in, words, a table and a chart out."""

from collections.abc import Sequence

from tacit.cli._demo_trials import BOOSTED, OURS, PUBLIC, DemoRow
from tacit.render.chart import Kind
from tacit.render.document import (
    SPREAD,
    Chart,
    Document,
    Figures,
    Line,
    Section,
    Table,
    percent,
    percents,
    protection,
)

_TERMS = (
    ("Unit", "the owner: its one report hides everything about its rows"),
    ("Adjacency", "any two sets of rows of one owner"),
    ("Adversary", "whoever sees the reports and all that is made of them, the data user included"),
    ("Epsilon", "pure, exact, the one written beside each number; spent once by each owner"),
)
_LIMITS = ("The data user's own rows.", "Who the owners are, and how many.")
_CLAIM = "Each owner's rows are protected by local differential privacy, where this really runs."
_KINDS: dict[str, Kind] = {OURS: "ours", BOOSTED: "paper", PUBLIC: "public"}


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
    return Chart(
        title="Accuracy against epsilon",
        x_label="epsilon of an owner's one report",
        y_label="accuracy in %",
        lines=tuple(lines),
        x_scale="log",
        note=f"{SPREAD} {rows[0].runs} runs.",
    )


def demo_document(rows: Sequence[DemoRow]) -> Document:
    """What the demonstration found."""
    first = rows[0]
    lead = (
        f"{first.owners:,} owners of {first.rows_per_owner} rows and a data user with "
        f"{first.public_rows} public rows, on made-up data. Every owner speaks once, in noise. "
        "Does asking them pay, and how does it depend on epsilon?"
    )
    found = Section("What was found", parts=(_figures(rows), demo_chart(rows), _table(rows)))
    promise = protection(_CLAIM, _TERMS, _LIMITS, ())
    return Document("tacit: what owners add", lead, (found, promise))


def _figures(rows: Sequence[DemoRow]) -> Figures:
    """The first numbers to read: those that need no epsilon, and the others near epsilon 1."""
    budgets = sorted({row.epsilon for row in rows if row.epsilon is not None})
    shown = min(budgets, key=lambda epsilon: abs(epsilon - 1.0), default=None)
    entries = []
    for row in rows:
        if row.epsilon in (None, shown):
            name = row.method if row.epsilon is None else f"{row.method}, epsilon {row.epsilon:g}"
            spread = f"± {100 * row.std:.1f}" if row.runs > 1 else ""
            entries.append((name, f"{percent(row.mean)} %", spread))
    return Figures(tuple(entries))


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
    strong = tuple(number for number, line in enumerate(lines) if line[0] == OURS)
    return Table(
        "Accuracy in percent, mean and spread over runs", columns, tuple(lines), "", strong
    )
