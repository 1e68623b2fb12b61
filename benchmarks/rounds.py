"""One round of boosting with up to a million owners: does time per owner or memory grow?"""

from dataclasses import dataclass

from benchmarks.children import figures_of
from benchmarks.rounds_child import DIM, ROWS
from benchmarks.tables import Row, Table, Verdict
from benchmarks.timing import cores

_MOST_TIME = 1.5  # per owner, over the smallest number of owners
# a round may need one block and this much for each owner
_BLOCK_BYTES, _OWNER_BYTES = 300_000_000, 64


@dataclass(frozen=True)
class RoundRow(Row):
    """Time and working memory of one round."""

    owners: int
    held_bytes: int
    extra_bytes: int
    microseconds_per_owner: float
    time_ratio: float  # per owner, to the smallest number of owners

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.owners:,}",
            f"{self.held_bytes / 1e6:,.0f}",
            f"{self.extra_bytes / 1e6:,.0f}",
            f"{self.microseconds_per_owner:,.2f}",
            f"{self.time_ratio:.2f}",
        )


def rounds_table(numbers: tuple[int, ...]) -> Table:
    """One round of all owners, in a fresh process for each number of them."""
    rows = [row for learner in ("stump", "centroid") for row in _round_rows(learner, numbers)]
    title = (
        f"One round in one process: {ROWS} rows per owner, d = {DIM}, Piecewise, epsilon 1, "
        f"{cores()} cores"
    )
    headings = ("learner", "owners", "rows\nMB", "extra\npeak MB", "us/owner", "time\nratio")
    note = (
        "Each row is a fresh process. The extra peak is beyond the owners' rows. Goals: time "
        "per owner does not grow, "
        f"and memory is that of one block, at most {_BLOCK_BYTES // 10**6} MB, and "
        f"{_OWNER_BYTES} bytes per owner."
    )
    return Table("boosting", title, headings, rows, note)


def _round_rows(learner: str, numbers: tuple[int, ...]) -> list[RoundRow]:
    measured = [figures_of("benchmarks.rounds_child", learner, owners) for owners in numbers]
    first = measured[0]["seconds"]
    return [
        RoundRow(
            name=learner,
            verdict=_linear(figures, owners, first) if owners > numbers[0] else None,
            owners=owners,
            held_bytes=int(figures["held"]),
            extra_bytes=int(figures["bytes"]),
            microseconds_per_owner=figures["seconds"] * 1e6,
            time_ratio=figures["seconds"] / first,
        )
        for owners, figures in zip(numbers, measured, strict=True)
    ]


def _linear(figures: dict[str, float], owners: int, first: float) -> Verdict:
    most = _BLOCK_BYTES + _OWNER_BYTES * owners
    met = figures["seconds"] <= _MOST_TIME * first and figures["bytes"] <= most
    return Verdict(f"<= {_MOST_TIME:g}, <= {most / 1e6:.0f} MB", met)
