"""The verdict on private gradient boosting, on the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from tacit.cli._screen import table_of
from tacit.render.document import Document
from tacit_papers.ours.trees import TreeRow
from tacit_papers.ours.trees_report import trees

_HEADINGS = (
    "task",
    "eps",
    "public\nrows",
    "public\nonly",
    "default",
    "trees\nalone",
    "trees on\npublic",
    "above\ndefault",
)


def show_trees(rows: Sequence[TreeRow | Any], console: Console) -> Document:
    """Print the table, and where trees win; the report to be written."""
    found = [row for row in rows if isinstance(row, TreeRow)]
    table = table_of("Private gradient boosting against the default")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "task" else "right", no_wrap=True)
    for row in found:
        table.add_row(
            f"{row.dataset}\n{row.owners:,} x {row.rows_per_owner}",
            f"{row.epsilon:g}",
            f"{row.public_rows:,}",
            f"{row.public_only:.3f}",
            f"{row.default:.3f}",
            f"{row.trees_alone:.3f}\n{_growth(row.trees_alone_growth)}",
            f"{row.trees_on_public:.3f}\n{_growth(row.trees_on_public_growth)}",
            f"{100 * row.difference:+.2f} ± {100 * row.difference_error:.2f}"
            + ("\nwins" if row.wins else ""),
        )
    console.print(table)
    console.print("below each task owners x rows, below each accuracy of trees how many x how deep")
    wins = sum(row.wins for row in found)
    console.print(
        f"trees win in {wins} of {len(found)} settings (by more than two standard errors)"
    )
    return trees(found)


def _growth(told: str) -> str:
    """How trees were grown, in few characters."""
    return told.replace(" of depth ", " x ")
