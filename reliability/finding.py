"""What an experiment found: how much was tried, and counts that must be 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Finding:
    """One experiment: `faults` must all be 0; `figures` are what else was measured."""

    experiment: str
    tried: str
    faults: Mapping[str, int]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not any(self.faults.values())


def show(findings: list[Finding], console: Console) -> None:
    """One table of what must be 0, one of the other figures."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("experiment", "how many", "must be 0", "found"):
        table.add_column(heading, justify="right" if heading == "found" else "left")
    figures = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("experiment", "measured", "figure"):
        figures.add_column(heading, justify="right" if heading == "figure" else "left")
    for finding in findings:
        for place, (fault, count) in enumerate(finding.faults.items()):
            first = (finding.experiment, finding.tried) if place == 0 else ("", "")
            table.add_row(
                *first, fault, f"[green]{count}[/]" if count == 0 else f"[bold red]{count:,}[/]"
            )
        for place, (name, value) in enumerate(finding.figures.items()):
            shown = f"{value:,.4g}" if value % 1 else f"{value:,.0f}"
            figures.add_row(finding.experiment if place == 0 else "", name, shown)
    console.print(table)
    console.print(figures)
