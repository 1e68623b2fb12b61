"""Owners that lie in sums of two servers: whole reports, sealed, through both servers and back.

One in a hundred sends what an honest owner cannot, in every way that we can think of; none may
count, and the sum must be that of the others to the last digit. Then liars that keep the rules: how
far they move a sum, against what is stated. By itself: python -m benchmarks.liars [--quick]
"""

import sys
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from benchmarks.lies import LIES, Lie, Scene, rows_of
from benchmarks.tables import Row, Table, Verdict
from benchmarks.timing import FULL, QUICK, Effort
from tacit.mechanisms.streams import secure
from tacit.sums.halves import seal_reports

_NOTE = (
    "Of the owners one in a hundred lies in the way named, all others are honest. Counted: liars "
    "that both servers counted. Sum: whether it is the honest owners', noise taken off, exactly."
)


@dataclass(frozen=True)
class LiarRow(Row):
    """What became of liars of one kind."""

    owners: int
    liars: int
    counted: int
    exact: bool

    @property
    def cells(self) -> tuple[str, ...]:
        said = "exact" if self.exact else "WRONG"
        return f"{self.owners:,}", f"{self.liars}", f"{self.counted}", said


@dataclass(frozen=True)
class PushRow(Row):
    """How far liars that keep the rules move a sum, in lengths of an honest owner's longest."""

    share: float
    moved: float
    stated: float

    @property
    def cells(self) -> tuple[str, ...]:
        return f"{100 * self.share:g} %", f"{self.moved:.4f}", f"{self.stated:.4f}"


def liars(effort: Effort) -> list[Table]:
    """Invalid liars of every kind, then valid ones."""
    dim, owners = (1_000, 1_000) if effort is FULL else (50, 200)
    scene = Scene.of(dim, owners)
    rows = [_judge(scene, name, lie) for name, lie in LIES.items()]
    pushes = [_push(scene, share) for share in (0.001, 0.01, 0.05)]
    headings = ("lie", "owners", "liars", "counted", "sum")
    title = f"Invalid reports of {dim:,} numbers"
    return [
        Table("liars", title, headings, rows, _NOTE),
        Table(
            "liars",
            "Valid liars that push as far as they may",
            ("liars", "of all", "moved", "stated"),
            pushes,
            "How far the mean moves, in an honest owner's greatest length, and what is stated.",
        ),
    ]


def _judge(scene: Scene, name: str, lie: Lie) -> LiarRow:
    n = max(1, len(scene.reports) // 100)
    lies = rows_of(lie(scene, n))  # some come before everybody else's, some after
    counted, total = scene.added([*lies[: n // 2 + 1], *scene.reports, *lies[n // 2 + 1 :]])
    exact = bool((total == scene.numbers.sum(axis=0)).all())
    found = counted - len(scene.reports)
    verdict = Verdict("none, exact", bool(found == 0 and exact))
    return LiarRow(name, verdict, len(scene.reports), liars=n, counted=found, exact=exact)


def _push(scene: Scene, share: float) -> PushRow:
    """Liars in the place of honest owners, all with the longest vector in one direction."""
    n = len(scene.numbers)
    lying = max(1, round(share * n))
    law, honest = scene.law, scene.numbers
    each = min(law.largest, int(np.sqrt(law.bound / law.dim)))
    longest = np.full((lying, law.dim), each)
    sealed = seal_reports(longest, scene.batch, secure())
    counted, total = scene.added([*rows_of(sealed), *scene.reports[lying:]])
    moved = float(np.linalg.norm(total - honest.sum(axis=0))) / np.sqrt(law.bound) / n
    stated = 2 * lying / n
    verdict = Verdict("<= stated", bool(counted == n and moved <= stated))
    return PushRow(f"{lying}", verdict, share, moved, stated)


if __name__ == "__main__":
    for table in liars(QUICK if "--quick" in sys.argv else FULL):
        table.show(Console(width=100, highlight=False))
