"""Memory of adding up reports: does the peak grow with the number of owners?"""

from dataclasses import dataclass

from benchmarks.children import figures_of
from benchmarks.tables import Row, Table, at_most
from benchmarks.timing import DIM, Effort

# bytes: threads take and give back memory in another order in every run (measured: up to 4 MB)
_SPARE = 8_000_000
_NAMES = {"streamed": "totals, block by block", "held": "mean of held reports"}
_NOTE = (
    "Each row is a fresh process. The extra peak is beyond what the process held before, "
    "reports included. "
    f"The goal is that it does not grow with the number of owners: {_SPARE // 10**6} MB above "
    "the first row at most."
)


@dataclass(frozen=True)
class MemoryRow(Row):
    """Working memory and time of one way to add up."""

    owners: int
    held_bytes: int
    extra_bytes: int
    nanoseconds_per_owner: float
    time_ratio: float  # per owner, to the smallest number of owners

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.owners:,}",
            f"{self.held_bytes / 1e6:,.1f}",
            f"{self.extra_bytes / 1e6:,.1f}",
            f"{self.extra_bytes / self.owners:,.2f}",
            f"{self.nanoseconds_per_owner:,.1f}",
            f"{self.time_ratio:.2f}",
        )


def memory(effort: Effort) -> list[Table]:
    """One table: both ways, for each number of owners."""
    rows = [row for mode in _NAMES for row in _rows(mode, effort.memory_owners)]
    title = f"Memory of totals and mean: Piecewise, epsilon 1, d = {DIM}"
    headings = (
        "way",
        "owners",
        "held\nMB",
        "extra\npeak MB",
        "bytes per\nowner",
        "ns/owner",
        "time\nratio",
    )
    return [Table("memory", title, headings, rows, _NOTE)]


def _rows(mode: str, numbers: tuple[int, ...]) -> list[MemoryRow]:
    measured = [figures_of("benchmarks.memory_child", mode, owners) for owners in numbers]
    least, first = int(measured[0]["bytes"]), measured[0]["seconds"]
    return [
        MemoryRow(
            name=_NAMES[mode],
            verdict=at_most(figures["bytes"] / 1e6, (least + _SPARE) / 1e6, " MB")
            if owners > numbers[0]
            else None,
            owners=owners,
            held_bytes=int(figures["held"]),
            extra_bytes=int(figures["bytes"]),
            nanoseconds_per_owner=figures["seconds"] * 1e9,
            time_ratio=figures["seconds"] / first,
        )
        for owners, figures in zip(numbers, measured, strict=True)
    ]
