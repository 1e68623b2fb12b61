"""Paper D on the terminal: peers without a server."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tacit.cli._screen import table_of
from tacit.render.document import Document
from tacit_papers.claims import Claim
from tacit_papers.d.events import EventRow
from tacit_papers.d.experiment import PeerRow
from tacit_papers.d.report import paper_d


def show_d(rows: Sequence[Any], claims: Sequence[Claim], console: Console) -> Document:
    """Print tables; the report to be written."""
    peers = [row for row in rows if isinstance(row, PeerRow)]
    events = [row for row in rows if isinstance(row, EventRow)]
    for pair in dict.fromkeys((row.dataset, row.rounds) for row in peers):
        console.print(_accuracies([row for row in peers if (row.dataset, row.rounds) == pair]))
    for name in dict.fromkeys(row.dataset for row in events):
        console.print(_happenings([row for row in events if row.dataset == name]))
    return paper_d(peers, events, claims)


def _accuracies(rows: list[PeerRow]) -> Table:
    """Methods down, budgets across; the served model first, the participants' own below it."""
    first = rows[0]
    setting = f"{first.rounds} rounds, {first.participants} participants, {first.runs} runs"
    title = f"{first.dataset}, {setting}: accuracy in % by epsilon"
    table = table_of(title)
    table.add_column("method", min_width=16)
    table.add_column("model", no_wrap=True)
    epsilons = sorted({row.epsilon for row in rows if row.epsilon is not None})
    for heading in (*(f"{epsilon:g}" for epsilon in epsilons), "none"):
        table.add_column(heading, justify="right", no_wrap=True)
    for method in dict.fromkeys(row.method for row in rows):
        cells = {row.epsilon: row for row in rows if row.method == method}
        name = method + (" (unsound)" if next(iter(cells.values())).unsound else "")
        for what in ("served", "own"):
            line = [cells.get(epsilon) for epsilon in (*epsilons, None)]
            if any(row is not None and getattr(row, what) is not None for row in line):
                table.add_row(name, what, *(_cell(row, what) for row in line))
                table.add_row("", "", *(_cell(row, what, "_std") for row in line))
                name = ""
    return table


def _cell(row: PeerRow | None, what: str, suffix: str = "") -> str:
    if row is None or getattr(row, what) is None:
        return ""
    return f"{'±' if suffix else ''}{100 * getattr(row, what + suffix):.1f}"


def _happenings(rows: list[EventRow]) -> Table:
    title = (
        f"{rows[0].dataset}: when one of ten does something, epsilon {rows[0].epsilon:g}, "
        "accuracy in %"
    )
    table = table_of(title)
    for heading in ("event", "method", "served", "own", "left it out"):
        words = heading in ("event", "method")
        table.add_column(heading, justify="left" if words else "right", no_wrap=not words)
    for row in rows:
        shares = f"{100 * row.served:.1f}", f"{100 * row.own:.1f}", f"{100 * row.left_out:.0f} %"
        table.add_row(row.event, row.method, *shares)
    return table
