"""Where private data begins to pay: predicted over owners, epsilon, whom owners trust and the size
of the data user's sample.

Predictions are `tacit.plan`'s, from public rows and closed-form variances alone; what `tacit
reproduce ahead` measures beside them says how far to trust them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import ClassVar

from tacit.algorithms.outlook import Outlook, look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.sums import TRUSTS
from tacit_papers.ours.ahead import AheadRow, AheadRun, ahead_cells, ahead_rows
from tacit_papers.ours.plan_check import PlanRow, plan_rows
from tacit_papers.ours.tasks import PUBLIC_ROWS, QUICK_PUBLIC_ROWS, task_for
from tacit_papers.rows_file import CellRow
from tacit_papers.runner import Cell

OWNERS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
EPSILONS = (0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class BreakEvenRow:
    """Expected rise of accuracy over the data user's own model, and whether to collect at all."""

    dataset: str
    trust: str
    owners: int
    epsilon: float
    public_rows: int
    rows_per_owner: int
    public_accuracy: float
    rise: float
    gain: float
    collect: bool


@dataclass(frozen=True, kw_only=True)
class BreakEvenCell(Cell):
    """The chart of one task for one size of the data user's sample."""

    paper: ClassVar[str] = "ahead"

    public_rows: int
    owners: tuple[int, ...] = OWNERS
    epsilons: tuple[float, ...] = EPSILONS

    def rows(self) -> Iterator[BreakEvenRow]:
        task = task_for(self.dataset, self.quick)
        public = task.public(self.public_rows, 0)
        own = fit_public(public)
        for trust in TRUSTS:
            look: Outlook | None = None  # of sums the start is the same for all
            for epsilon, number in product(self.epsilons, self.owners):
                crowd = Population(number, epsilon, task.rows, trust)
                look = look_ahead(public, own, crowd) if look is None else look.among(crowd)
                yield BreakEvenRow(
                    dataset=task.name,
                    trust=trust,
                    owners=number,
                    epsilon=epsilon,
                    public_rows=self.public_rows,
                    rows_per_owner=task.rows,
                    public_accuracy=own.accuracy or 0.0,
                    rise=look.rise,
                    gain=look.gain,
                    collect=not look.why_not,
                )

    @property
    def title(self) -> str:
        return f"break-even, {self.dataset}, {self.public_rows} public rows"


KINDS = (CellRow, AheadRun, BreakEvenRow)


def cells_ahead(quick: bool, seed: int, datasets: Iterable[str]) -> list[Cell]:
    """All that `tacit reproduce ahead` shows: the chart first, then the comparison, whose cells say
    what the plan foresaw as well.
    """
    names = ["synthetic"] if quick else list(datasets)
    cells: list[Cell] = []
    for name in names:
        charted = partial(
            BreakEvenCell, where="break-even", dataset=name, seed=seed, quick=quick, runs=1
        )
        if quick:
            few = (1_000, 1_000_000)
            cells += [
                charted(public_rows=rows, owners=few, epsilons=(1.0,), cost=2.0)
                for rows in QUICK_PUBLIC_ROWS
            ]
        elif not name.startswith("clusters"):
            cells += [charted(public_rows=rows, cost=20.0) for rows in PUBLIC_ROWS]
    return [*cells, *ahead_cells(quick, seed, names)]


def rows_ahead(found: Iterable[object]) -> list[AheadRow | PlanRow | BreakEvenRow]:
    """Means over runs, from what the cells left on disk."""
    kept = list(found)
    runs = [each for each in kept if isinstance(each, AheadRun)]
    rows = ahead_rows(runs)
    charted = (each for each in kept if isinstance(each, BreakEvenRow))
    return [*rows, *plan_rows(runs, rows), *charted]
