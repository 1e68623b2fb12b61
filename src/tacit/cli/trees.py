"""The verdict on private gradient boosting, on the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tacit.experiments.gradient_verdict import TreeRow
from tacit.report.document import Document
from tacit.report.trees import trees

_HEADINGS = ("task", "eps", "public rows", "public only", "default", "trees alone", "trees on public", "above default")


def show_trees(rows: Sequence[TreeRow | Any], console: Console) -> Document:
    """Print the table, and where trees win; the report to be written."""
    found = [row for row in rows if isinstance(row, TreeRow)]
    table = Table(title="Private gradient boosting against the default", title_justify="left", box=SIMPLE_HEAD)
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "task" else "right")
    for row in found:
        table.add_row(
            f"{row.dataset}, {row.owners:,} x {row.rows_per_owner}",
            f"{row.epsilon:g}",
            f"{row.public_rows:,}",
            f"{row.public_only:.3f}",
            f"{row.default:.3f}",
            f"{row.trees_alone:.3f}\n{row.trees_alone_growth}",
            f"{row.trees_on_public:.3f}\n{row.trees_on_public_growth}",
            f"{100 * row.difference:+.2f} ± {100 * row.difference_error:.2f}" + (" wins" if row.wins else ""),
        )
    console.print(table)
    wins = sum(row.wins for row in found)
    console.print(f"trees win in {wins} of {len(found)} settings (by more than two standard errors)")
    return trees(found)
