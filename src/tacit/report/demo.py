"""The demonstration as a document: rows in, words, a table and a chart out."""

from collections.abc import Sequence
from typing import Protocol

from tacit.report.document import Chart, Document, Figures, Kind, Line, Section, Table
from tacit.report.shown import SPREAD, named, percent, percents, protection

_TERMS = (
    ("Unit", "the owner: its one report hides everything about its rows"),
    ("Adjacency", "any two sets of rows of one owner"),
    ("Adversary", "whoever sees the reports and all that is made of them, the data user included"),
    ("Epsilon", "pure, exact, the one written beside each number; spent once by each owner"),
)
_LIMITS = ("The data user's own rows.", "Who the owners are, and how many.")


class DemoRow(Protocol):
    """Accuracy of a method at an epsilon; None: it needs none."""

    @property
    def method(self) -> str: ...

    @property
    def epsilon(self) -> float | None: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    @property
    def runs(self) -> int: ...

    @property
    def owners(self) -> int: ...

    @property
    def rows_per_owner(self) -> int: ...

    @property
    def public_rows(self) -> int: ...

    @property
    def unsound(self) -> str: ...


def demo_chart(rows: Sequence[DemoRow]) -> Chart:
    """Accuracy against epsilon: ours, the paper's, and the levels to compare with."""
    lines: list[Line] = []
    for method in dict.fromkeys(row.method for row in rows):
        own = [row for row in rows if row.method == method]
        name, kind = named(method, own[0].unsound), _kind(method)
        if own[0].epsilon is None:
            lines.append(Line(name, (), (100 * own[0].mean,), None, kind))
        else:
            lines.append(percents(name, [(row.epsilon or 0.0, row.mean, row.std) for row in own], kind))
    note = f"{SPREAD} {rows[0].runs} runs."
    return Chart(
        "Accuracy against epsilon", "epsilon of an owner's one report", "accuracy in %", tuple(lines), "log", note
    )


def demo_document(rows: Sequence[DemoRow]) -> Document:
    """What the demonstration found."""
    first = rows[0]
    crowd = f"{first.owners:,} owners of {first.rows_per_owner} rows"
    lead = (
        f"{crowd} and a data user with {first.public_rows} public rows, on the made-up set of the boosting paper. "
        "Every owner speaks once, in noise. Does asking them pay, and how does it depend on epsilon?"
    )
    setting = Section("What was found", parts=(_figures(rows), demo_chart(rows), _table(rows)))
    claim = "Each owner's rows are protected by local differential privacy, where the sound methods really run."
    unsound = (row.unsound for row in rows)
    return Document("tacit: what owners add", lead, (setting, protection(claim, _TERMS, _LIMITS, unsound)))


def _kind(method: str) -> Kind:
    if method.startswith("paper"):
        return "paper"
    return "ours" if method == "tacit" else "public" if method.startswith("public") else "other"


def _figures(rows: Sequence[DemoRow]) -> Figures:
    """The first numbers to read: public rows alone, ours at the middle budget, the paper's there."""
    budgets = sorted({row.epsilon for row in rows if row.epsilon is not None})
    shown = min(budgets, key=lambda epsilon: abs(epsilon - 1.0), default=None)
    entries = [
        (f"{named(row.method, row.unsound)}{'' if row.epsilon is None else f', epsilon {row.epsilon:g}'}",
         f"{percent(row.mean)} %", f"± {100 * row.std:.1f}" if row.runs > 1 else "")
        for row in rows if row.epsilon in (None, shown)
    ]  # fmt: skip
    return Figures(tuple(entries))


def _table(rows: Sequence[DemoRow]) -> Table:
    budgets = sorted({row.epsilon for row in rows if row.epsilon is not None})
    lines = []
    for method in dict.fromkeys(row.method for row in rows):
        cells = {
            row.epsilon: percent(row.mean, row.std if row.runs > 1 else None) for row in rows if row.method == method
        }
        name = named(method, next(row.unsound for row in rows if row.method == method))
        lines.append((name, *(cells.get(None) or cells.get(epsilon, "") for epsilon in budgets)))
    columns = ("accuracy in %", *(f"epsilon {epsilon:g}" for epsilon in budgets))
    strong = tuple(number for number, line in enumerate(lines) if line[0] == "tacit")
    return Table("Accuracy in percent, mean and spread over runs", columns, tuple(lines), "", strong)
