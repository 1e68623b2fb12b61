"""The default classifier with up to ten million owners of one row: time, memory, and bytes that
each sends.
"""

from dataclasses import dataclass

from benchmarks.children import figures_of
from benchmarks.refining_child import DIM
from benchmarks.tables import Row, Table, Verdict
from benchmarks.timing import QUICK, Effort, cores

_OWNERS, _FEW = (100_000, 1_000_000, 10_000_000), (10_000,)
_MOST_BYTES = 16  # of a report, for two classes
_MOST_TIME = 1.5  # per owner, over the smallest number of owners
_BLOCK_BYTES, _OWNER_BYTES = 300_000_000, 64  # at most: one block, and for each owner


@dataclass(frozen=True)
class RefiningRow(Row):
    """One collection of all owners."""

    report_bytes: int
    held_bytes: int
    extra_bytes: int
    microseconds_per_owner: float
    seconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.report_bytes}",
            f"{self.held_bytes / 1e6:,.0f}",
            f"{self.extra_bytes / 1e6:,.0f}",
            f"{self.microseconds_per_owner:,.2f}",
            f"{self.seconds:,.1f}",
        )


def refining(effort: Effort) -> list[Table]:
    """One table, a fresh process for each number of owners."""
    numbers = _FEW if effort is QUICK else _OWNERS
    measured = [figures_of("benchmarks.refining_child", owners) for owners in numbers]
    first = measured[0]["seconds"]
    rows = [
        RefiningRow(
            name=f"{owners:,} owners",
            verdict=_verdict(figures, owners, first),
            report_bytes=int(figures["report"]),
            held_bytes=int(figures["held"]),
            extra_bytes=int(figures["bytes"]),
            microseconds_per_owner=figures["seconds"] * 1e6,
            seconds=figures["seconds"] * owners,
        )
        for owners, figures in zip(numbers, measured, strict=True)
    ]
    shape = f"d = {DIM}, shares of {measured[0]['numbers']:.0f} numbers"
    title = (
        f"The default classifier's collection: one row per owner, {shape}, epsilon 1, "
        f"{cores()} cores"
    )
    headings = ("", "bytes per\nreport", "rows\nMB", "extra\npeak MB", "us/owner", "seconds")
    note = (
        "Shares, reports and their mean; each row is a fresh process, the extra peak is "
        "beyond the rows. Goals: "
        f"{_MOST_BYTES} bytes, time per owner {_MOST_TIME:g} times the first row's, and one "
        "block of memory "
        f"({_BLOCK_BYTES // 10**6} MB) with {_OWNER_BYTES} bytes per owner, at most."
    )
    return [Table("refining", title, headings, rows, note)]


def _verdict(figures: dict[str, float], owners: int, first: float) -> Verdict:
    most = _BLOCK_BYTES + _OWNER_BYTES * owners
    met = (
        figures["report"] <= _MOST_BYTES
        and figures["seconds"] <= _MOST_TIME * first
        and figures["bytes"] <= most
    )
    return Verdict(f"<= {_MOST_BYTES} B, <= {most / 1e6:,.0f} MB", met)
