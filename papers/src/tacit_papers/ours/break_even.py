"""Where private data begins to pay: predicted over owners, epsilon and the size of the data user's
sample.

Predictions are `tacit.plan`'s, from public rows and closed-form variances alone; what `tacit
reproduce ahead` measures beside them says how far to trust them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import LEAST_GAIN, look_ahead
from tacit_papers.ours import plan_check
from tacit_papers.ours.ahead import AheadCell, AheadRow, AheadRun, ahead_cells, ahead_rows
from tacit_papers.ours.plan_check import PlanCell, PlanRow, PlanRun, plan_rows
from tacit_papers.ours.tasks import PUBLIC_ROWS, QUICK_PUBLIC_ROWS, task_for
from tacit_papers.runner import Cell, CellRow

OWNERS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
EPSILONS = (0.1, 0.3, 1.0, 3.0)
_DRAWS = 50


@dataclass(frozen=True)
class BreakEvenRow:
    """Expected rise of accuracy over the data user's own model, and whether to collect at all."""

    dataset: str
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
        for epsilon in self.epsilons:
            for number in self.owners:
                look = look_ahead(public, own, Population(number, epsilon, task.rows))
                rise = look.combination.expected_rise(_DRAWS, 0)
                collect, alone = look.gain >= LEAST_GAIN, own.accuracy or 0.0
                place = (task.name, number, epsilon, self.public_rows, task.rows)
                yield BreakEvenRow(*place, alone, rise, look.gain, collect)

    @property
    def title(self) -> str:
        return f"break-even, {self.dataset}, {self.public_rows} public rows"


KINDS = (CellRow, AheadRun, PlanRun, BreakEvenRow)


def cells_ahead(quick: bool, seed: int, datasets: Iterable[str]) -> list[Cell]:
    """All that `tacit reproduce ahead` shows: the comparison, the plan beside it, the chart;
    task by task.
    """
    cells: list[Cell] = []
    for name in ["synthetic"] if quick else list(datasets):
        compared = ahead_cells(quick, seed, [name])
        epsilons = next(each.epsilons for each in compared if isinstance(each, AheadCell))
        planned = partial(
            PlanCell, where="plan", dataset=name, seed=seed, quick=quick, runs=1, cost=3.0
        )
        charted = partial(
            BreakEvenCell,
            where="break-even",
            dataset=name,
            seed=seed,
            quick=quick,
            runs=1,
            cost=3.0,
        )
        cells += compared
        for run in range(plan_check.QUICK_RUNS if quick else plan_check.RUNS):
            cells.append(planned(run=run, epsilons=epsilons))
        if quick:
            few = (1_000, 1_000_000)
            cells += [
                charted(public_rows=rows, owners=few, epsilons=(1.0,), cost=2.0)
                for rows in QUICK_PUBLIC_ROWS
            ]
        elif not name.startswith("clusters"):
            cells += [charted(public_rows=rows) for rows in PUBLIC_ROWS]
    return cells


def rows_ahead(found: Iterable[object]) -> list[AheadRow | PlanRow | BreakEvenRow]:
    """Means over runs, from what the cells left on disk."""
    kept = list(found)
    rows = ahead_rows(each for each in kept if isinstance(each, AheadRun))
    plans = plan_rows((each for each in kept if isinstance(each, PlanRun)), rows)
    return [*rows, *plans, *(each for each in kept if isinstance(each, BreakEvenRow))]
