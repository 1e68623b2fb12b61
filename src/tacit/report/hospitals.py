"""Four hospitals as a section: what each learns alone, and what all learn together."""

from collections.abc import Sequence
from typing import Protocol

from tacit.datasets.heart import SITES
from tacit.report.document import Chart, Kind, Line, Section, Table
from tacit.report.shown import SPREAD, percent, percents


class HospitalRow(Protocol):
    """Test error of one way to learn, over all patients and over those of each hospital."""

    @property
    def method(self) -> str: ...

    @property
    def epsilon(self) -> float | None: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    @property
    def by_site(self) -> tuple[float, ...]: ...

    @property
    def runs(self) -> int: ...

    @property
    def unsound(self) -> str: ...


def hospitals_section(rows: Sequence[HospitalRow]) -> Section:
    """A chart of error against epsilon, with levels to compare; and every number."""
    private = list(dict.fromkeys(row.method for row in rows if row.epsilon is not None))
    lines: list[Line] = []
    for method in private:
        own = [(row.epsilon, row.mean, row.std) for row in rows if row.method == method and row.epsilon is not None]
        lines.append(percents(method, own, "ours" if method == "ours" else "other"))
    for row in rows:
        if row.method in ("public rows alone", "all records in one place"):
            kind: Kind = "public" if row.method == "public rows alone" else "other"
            lines.append(Line(row.method, (), (100 * row.mean,), None, kind))
    charts = (
        [Chart("Four hospitals, heart disease", "epsilon", "test error, %", tuple(lines), "log", SPREAD)]
        if private
        else []
    )
    cells = tuple(
        (
            row.method,
            "" if row.epsilon is None else f"{row.epsilon:g}",
            percent(row.mean, row.std),
            *(percent(error) for error in row.by_site),
        )
        for row in rows
    )
    strong = tuple(number for number, row in enumerate(rows) if row.method == "ours")
    columns = ("learned from", "epsilon", "all patients", *SITES)
    caption = f"Test error in %, {rows[0].runs} runs; everybody is tested on the same patients of all hospitals"
    text = "The public rows are some patients of one hospital, as if they had agreed to it."
    return Section("Four hospitals", text, (*charts, Table(caption, columns, cells, strong=strong)))
