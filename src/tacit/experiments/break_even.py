"""Where private data begins to pay: predicted over owners, epsilon and the size of the data user's sample.

Predictions are `tacit.plan`'s, from public rows and closed-form variances alone; what `tacit reproduce ahead` measures
beside them says how far to trust them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tacit.ensembles.combination import Crowd
from tacit.ensembles.public_model import fit_public
from tacit.ensembles.refine import LEAST_GAIN, outlook
from tacit.experiments.ahead import DATASETS, AheadRow, Progress, reproduce_ahead
from tacit.experiments.ahead_tasks import Task, quick_task, task_of
from tacit.experiments.plan_check import PlanRow, check_plan

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


def break_even(
    tasks: Iterable[Task],
    owners: tuple[int, ...] = OWNERS,
    epsilons: tuple[float, ...] = EPSILONS,
    tick: Callable[[str], None] = lambda what: None,
) -> Iterator[BreakEvenRow]:
    """Rows of the chart, task by task."""
    for task in tasks:
        for rows in task.public_rows:
            public = task.public(rows, 0)
            own = fit_public(public)
            for epsilon in epsilons:
                for number in owners:
                    look = outlook(public, own, Crowd(number, epsilon, task.rows))
                    rise = look.combination.expected_rise(_DRAWS, 0)
                    collect = look.gain >= LEAST_GAIN
                    yield BreakEvenRow(
                        task.name, number, epsilon, rows, task.rows, own.accuracy or 0.0, rise, look.gain, collect
                    )
            tick(f"break-even, {task.name}, {rows} public rows")


def ahead_and_break_even(
    quick: bool,
    seed: int = 1,
    datasets: Iterable[str] = DATASETS,
    progress: Progress = lambda done, total, what: None,
) -> Iterator[AheadRow | PlanRow | BreakEvenRow]:
    """All that `tacit reproduce ahead` shows: the comparison, the plan beside it, then the rows of the chart."""
    names = list(datasets)
    found = list[AheadRow]()
    for row in reproduce_ahead(quick, seed, names, progress):
        found.append(row)
        yield row
    tasks = [quick_task()] if quick else (task_of(name) for name in names)
    for task in tasks:
        yield from check_plan(task, found, 2 if quick else 5)
        if quick:
            yield from break_even([task], (1_000, 1_000_000), (1.0,))
        elif not task.name.startswith("clusters"):
            yield from break_even([task])
