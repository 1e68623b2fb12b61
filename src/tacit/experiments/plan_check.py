"""Does the plan keep its word? What it predicts from public rows alone, beside what was then measured."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tacit.ensembles.combination import Crowd
from tacit.ensembles.public_model import fit_public
from tacit.ensembles.refine import LEAST_GAIN, outlook
from tacit.experiments.ahead import AheadRow
from tacit.experiments.ahead_tasks import Task

_DRAWS = 50


@dataclass(frozen=True)
class PlanRow:
    """Rise of accuracy over the data user's own model: predicted (mean and deviation over samples) and measured.

    `collect` is in which part of the samples the plan says to ask.
    """

    dataset: str
    owners: int
    rows_per_owner: int
    epsilon: float
    public_rows: int
    runs: int
    predicted: float
    predicted_std: float
    measured: float
    measured_error: float
    collect: float


def check_plan(
    task: Task, measured: Iterable[AheadRow], runs: int, tick: Callable[[str], None] = lambda what: None
) -> Iterator[PlanRow]:
    """A row for each measured combination on `task`, whose public samples are drawn again as they were then."""
    for row in measured:
        if (row.dataset, row.method, row.owners_kind) == (task.name, "combined", "alike") and row.epsilon is not None:
            crowd = Crowd(row.owners, row.epsilon, row.rows_per_owner)
            looks = []
            for run in range(runs):
                public = task.public(row.public_rows, run)
                looks.append(outlook(public, fit_public(public), crowd))
            asked = np.array([look.gain >= LEAST_GAIN for look in looks])
            rises = np.array([look.combination.expected_rise(_DRAWS, 0) for look in looks]) * asked
            yield PlanRow(
                dataset=row.dataset,
                owners=row.owners,
                rows_per_owner=row.rows_per_owner,
                epsilon=row.epsilon,
                public_rows=row.public_rows,
                runs=runs,
                predicted=float(rises.mean()),
                predicted_std=float(rises.std(ddof=1)) if runs > 1 else 0.0,
                measured=row.rise,
                measured_error=row.rise_error,
                collect=float(asked.mean()),
            )
            tick(f"plan, {task.name}, epsilon {row.epsilon:g}, {row.public_rows:,} public rows")
