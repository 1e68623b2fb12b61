"""The verdict on private gradient boosting, as a document."""

from collections.abc import Sequence
from typing import Any

from tacit.render.document import Document, Section, Table, percent, protection
from tacit_papers.ours.trees import TreeRow
from tacit_papers.rows_file import select

_TERMS = (
    ("Unit", "the owner: its one report hides everything about its rows"),
    ("Adjacency", "any two sets of rows of one owner"),
    ("Adversary", "whoever sees the reports and all that is made of them, the data user included"),
    ("Epsilon", "pure, exact, the one written beside each number; spent once by each owner"),
)
_LIMITS = ("The data user's own sample.", "Who the owners are, and how many.")


def report_trees(found: Sequence[Any]) -> Document:
    """One line per setting, and where trees win."""
    rows = select(found, TreeRow)
    columns = (
        "task",
        "epsilon",
        "public rows",
        "public only",
        "default",
        "trees alone",
        "trees on public",
        "above default",
    )
    cells = tuple(
        (
            f"{row.dataset}, {row.owners:,} x {row.rows_per_owner}",
            f"{row.epsilon:g}",
            f"{row.public_rows:,}",
            percent(row.public_only),
            percent(row.default),
            f"{percent(row.trees_alone)} ({row.trees_alone_growth})",
            f"{percent(row.trees_on_public)} ({row.trees_on_public_growth})",
            f"{100 * row.difference:+.2f} ± "
            f"{100 * row.difference_error:.2f}{', wins' if row.wins else ''}",
        )
        for row in rows
    )
    note = (
        "The best growth of each kind, in hindsight, which flatters trees. Wins: by more than "
        "two standard errors."
    )
    table = Table("Accuracy in %, mean over runs", columns, cells, note)
    text = f"Trees win in {sum(row.wins for row in rows)} of {len(rows)} settings."
    claim = (
        "Where these methods really run, each owner's rows are protected by local "
        "differential privacy."
    )
    return Document(
        "Private gradient boosting, judged",
        "Trees grown from owners' reports, alone or on top of the data user's model, against "
        "the default.",
        (Section("The verdict", text, (table,)), protection(claim, _TERMS, _LIMITS, ())),
    )
