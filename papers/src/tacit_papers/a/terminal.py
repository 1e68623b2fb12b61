"""Paper A on the terminal: its tables and curves, measured beside published."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tacit.cli._screen import table_of
from tacit.render.document import Document
from tacit_papers.a.curves import PublicRow
from tacit_papers.a.report import paper_a
from tacit_papers.a.tables import TableRow
from tacit_papers.claims import Claim
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow
from tacit_papers.shared.first_learner_terminal import first_tables


def show_a(rows: Sequence[Any], claims: Sequence[Claim], console: Console) -> Document:
    """Print tables; the report to be written."""
    tables = [row for row in rows if isinstance(row, TableRow)]
    curves = [row for row in rows if isinstance(row, CurveRow) and row.paper == "a"]
    publics = [row for row in rows if isinstance(row, PublicRow)]
    ours = [row for row in rows if isinstance(row, OursRow) and row.paper == "a"]
    firsts = [row for row in rows if isinstance(row, FirstRow) and row.paper == "a"]
    for name in dict.fromkeys((row.table, row.dataset, row.measure) for row in tables):
        console.print(
            _table([row for row in tables if (row.table, row.dataset, row.measure) == name])
        )
    for pair in dict.fromkeys((row.dataset, row.learner) for row in curves):
        own = [row for row in curves if (row.dataset, row.learner) == pair]
        console.print(
            curve_table(own, publics, [row for row in ours if (row.dataset, row.learner) == pair])
        )
    for table in first_tables(firsts):
        console.print(table)
    return paper_a(curves, publics, tables, ours, firsts, claims)


def _table(rows: list[TableRow]) -> Table:
    """Mechanisms down, budgets across; below each mean its spread and, in brackets, what was
    published.
    """
    epsilons = sorted({row.epsilon for row in rows})
    first = rows[0]
    title = f"Table {first.table}, {first.dataset}: {first.measure}, {first.runs} runs, (published)"
    table = table_of(title)
    table.add_column("mechanism", no_wrap=True)
    for epsilon in epsilons:
        table.add_column(f"eps {epsilon:g}", justify="right", no_wrap=True)
    table.add_column("order holds", justify="right")
    for mechanism in dict.fromkeys(row.mechanism for row in rows):
        cells = {row.epsilon: row for row in rows if row.mechanism == mechanism}
        holds = sum(cells[e].holds for e in epsilons)
        table.add_row(
            mechanism, *(f"{cells[e].mean:.3g}" for e in epsilons), f"{holds} of {len(cells)}"
        )
        table.add_row("", *(f"± {cells[e].std:.2g}" for e in epsilons), "")
        paper = [cells[e].published_mean for e in epsilons]
        if any(value is not None for value in paper):
            table.add_row("", *("" if value is None else f"({value:.3g})" for value in paper), "")
    return table


def curve_table(rows: list[CurveRow], publics: list[PublicRow], ours: list[OursRow]) -> Table:
    """Lines down; test error after the first and the last base learner."""
    dataset, learner = rows[0].dataset, rows[0].learner
    alone = ", ".join(f"{row.model} {row.error:.3f}" for row in publics if row.dataset == dataset)
    alone = alone or ", ".join(dict.fromkeys(f"{row.alone:.3f}" for row in ours))
    title = (
        f"{dataset}, boosted {learner}: test error, {rows[0].runs} runs\nthe data user's "
        f"sample alone: {alone}"
    )
    table = table_of(title)
    for heading in ("method", "eps", "first learner", "all learners", "published"):
        words = heading == "method"
        table.add_column(heading, justify="left" if words else "right", no_wrap=not words)
    for key in dict.fromkeys((row.variant, row.mechanism, row.epsilon) for row in rows):
        line = sorted(
            (r for r in rows if (r.variant, r.mechanism, r.epsilon) == key),
            key=lambda r: r.learners,
        )
        first, last = line[0], line[-1]
        paper = [f"{row.published:.2f}" for row in (first, last) if row.published is not None]
        table.add_row(
            first.variant if first.epsilon is None else f"{first.variant}, {first.mechanism}",
            "none" if first.epsilon is None else f"{first.epsilon:g}",
            f"{first.mean:.3f} ± {first.std:.3f}",
            f"{last.mean:.3f} ± {last.std:.3f}",
            " → ".join(paper),
        )
    for each in ours:
        name = f"ours: sample and {each.owners:,} owners, once each"
        table.add_row(name, f"{each.epsilon:g}", "", f"{each.mean:.3f} ± {each.std:.3f}", "")
    return table
