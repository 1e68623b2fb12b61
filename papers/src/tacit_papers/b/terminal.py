"""Paper B on the terminal: errors of coefficients, first learners, hitting rates, boosting by
sums over owners.
"""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tacit.cli._screen import table_of
from tacit.render.document import Document
from tacit_papers.a.terminal import curve_table
from tacit_papers.b.hits import HitRow
from tacit_papers.b.published import published_square
from tacit_papers.b.report import paper_b
from tacit_papers.claims import Claim
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow
from tacit_papers.shared.first_learner_terminal import first_tables


def show_b(rows: Sequence[Any], claims: Sequence[Claim], console: Console) -> Document:
    """Print tables; the report to be written."""
    firsts = [row for row in rows if isinstance(row, FirstRow) and row.paper == "b"]
    curves = [row for row in rows if isinstance(row, CurveRow) and row.paper == "b"]
    ours = [row for row in rows if isinstance(row, OursRow) and row.paper == "b"]
    hits = [row for row in rows if isinstance(row, HitRow)]
    squares = [
        row for row in firsts if row.where.startswith("Table 2") and row.variant == "as published"
    ]
    for dataset in dict.fromkeys(row.dataset for row in squares):
        console.print(
            _squares([row for row in squares if row.dataset == dataset and row.epsilon is not None])
        )
    for table in first_tables(firsts):
        console.print(table)
    for pair in dict.fromkeys((row.dataset, row.learner) for row in curves):
        own = [row for row in curves if (row.dataset, row.learner) == pair]
        console.print(
            curve_table(own, [], [row for row in ours if (row.dataset, row.learner) == pair])
        )
    for dataset in dict.fromkeys(row.dataset for row in hits):
        console.print(_hits([row for row in hits if row.dataset == dataset]))
    return paper_b(firsts, curves, ours, hits, claims)


def _squares(rows: list[FirstRow]) -> Table:
    """Table 2: mechanisms down, epsilon across, published values in brackets."""
    first = rows[0]
    title = (
        f"Table 2, {first.dataset}: mean squared error of coefficients, {first.owners:,} "
        f"owners, {first.runs} runs"
    )
    table = table_of(f"{title}, (published)")
    table.add_column("mechanism")
    epsilons = sorted({row.epsilon for row in rows if row.epsilon is not None})
    for epsilon in epsilons:
        table.add_column(f"eps {epsilon:g}", justify="right", no_wrap=True)
    for mechanism in dict.fromkeys(row.mechanism for row in rows):
        cells = {row.epsilon: row for row in rows if row.mechanism == mechanism}
        table.add_row(
            mechanism,
            *(f"{cells[e].error or 0.0:.3g}\n± {cells[e].error_std:.1g}" for e in epsilons),
        )
        papers = [published_square(first.dataset, mechanism, epsilon) for epsilon in epsilons]
        if any(papers):
            table.add_row("", *("" if paper is None else f"({paper.mean:.3g})" for paper in papers))
    return table


def _hits(rows: list[HitRow]) -> Table:
    first = rows[0]
    title = (
        f"{first.dataset}: hitting rate of the best attribute in %, top 1 / top 3, "
        f"{first.owners:,} owners"
    )
    table = table_of(title)
    table.add_column("line")
    epsilons = sorted({row.epsilon for row in rows if row.epsilon is not None})
    for heading in (*(f"eps {epsilon:g}" for epsilon in epsilons), "none"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in dict.fromkeys((row.variant, row.mechanism, bool(row.unsound)) for row in rows):
        cells = {
            row.epsilon: row
            for row in rows
            if (row.variant, row.mechanism, bool(row.unsound)) == line
        }
        name = f"{line[0]}{' (unsound)' if line[2] else ''}, {line[1]}"
        texts = [
            f"{100 * cells[e].top1:.0f} / {100 * cells[e].top3:.0f}" if e in cells else ""
            for e in (*epsilons, None)
        ]
        table.add_row(name, *texts)
    return table
