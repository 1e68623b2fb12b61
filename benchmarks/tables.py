"""Rows with goals, and how they are printed and written."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable


@dataclass(frozen=True)
class Verdict:
    """A goal and whether it is met."""

    goal: str
    met: bool


def at_least(value: float, limit: float, unit: str = "") -> Verdict:
    return Verdict(f">= {limit:.3g}{unit}", value >= limit)


def at_most(value: float, limit: float, unit: str = "") -> Verdict:
    return Verdict(f"<= {limit:.3g}{unit}", value <= limit)


@dataclass(frozen=True)
class Row(ABC):
    """One line of a table; `verdict` is None where there is no goal."""

    name: str
    verdict: Verdict | None

    @property
    @abstractmethod
    def cells(self) -> tuple[str, ...]:
        """What is printed between the name and the goal."""


@dataclass(frozen=True)
class Table:
    """Rows of one benchmark under their headings."""

    benchmark: str
    title: str
    headings: tuple[str, ...]
    rows: Sequence[Row]
    note: str

    def show(self, console: Console) -> None:
        judged = any(row.verdict for row in self.rows)
        shown = RichTable(
            title=self.title, caption=self.note or None, box=SIMPLE_HEAD, padding=(0, 0, 0, 1)
        )
        shown.title_justify = shown.caption_justify = "left"
        for column, heading in enumerate((*self.headings, *(("goal", "met") if judged else ()))):
            shown.add_column(heading, justify="right" if column else "left", no_wrap=True)
        for row in self.rows:
            shown.add_row(row.name, *row.cells, *(_verdict_cells(row.verdict) if judged else ()))
        console.print(shown)
        console.print()

    def records(self) -> list[dict[str, object]]:
        """The rows as plain values, for JSON."""
        return [
            {"benchmark": self.benchmark, "table": self.title, **asdict(row)} for row in self.rows
        ]


def _verdict_cells(verdict: Verdict | None) -> tuple[str, str]:
    if verdict is None:
        return "", ""
    return verdict.goal, "[green]yes[/green]" if verdict.met else "[red]no[/red]"
