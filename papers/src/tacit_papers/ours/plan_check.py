"""Does the plan keep its word? What it predicts from public rows alone, beside what was then
measured.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import LEAST_GAIN, look_ahead
from tacit_papers.ours.ahead import AheadRow
from tacit_papers.ours.tasks import task_for
from tacit_papers.runner import Cell

RUNS, QUICK_RUNS = 5, 2
_DRAWS = 50


@dataclass(frozen=True)
class PlanRow:
    """Rise of accuracy over the data user's own model: predicted (mean and deviation over samples)
    and measured.

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


@dataclass(frozen=True)
class PlanRun:
    """What the plan says of one public sample; `rise` is 0 where it says not to ask."""

    dataset: str
    run: int
    epsilon: float
    public_rows: int
    rise: float
    collect: bool


@dataclass(frozen=True, kw_only=True)
class PlanCell(Cell):
    """The plan for one task, from the public samples that were drawn for run number `run`."""

    paper: ClassVar[str] = "ahead"

    run: int
    epsilons: tuple[float, ...]

    def rows(self) -> Iterator[PlanRun]:
        task = task_for(self.dataset, self.quick)
        for rows in task.public_rows:
            public = task.public(rows, self.run)
            own = fit_public(public)
            for epsilon in self.epsilons:
                look = look_ahead(public, own, Population(task.owners, epsilon, task.rows))
                collect = look.gain >= LEAST_GAIN
                rise = look.combination.expected_rise(_DRAWS, 0) if collect else 0.0
                yield PlanRun(
                    dataset=self.dataset,
                    run=self.run,
                    epsilon=epsilon,
                    public_rows=rows,
                    rise=rise,
                    collect=collect,
                )

    @property
    def title(self) -> str:
        return f"plan, {self.dataset}, sample {self.run + 1}"


def plan_rows(runs: Iterable[PlanRun], measured: Iterable[AheadRow]) -> list[PlanRow]:
    """A row for each combination that was both planned and measured, where owners are alike."""
    found: dict[tuple[str, float | None, int], list[PlanRun]] = {}
    for each in runs:
        found.setdefault((each.dataset, each.epsilon, each.public_rows), []).append(each)
    rows = []
    for row in measured:
        own = found.get((row.dataset, row.epsilon, row.public_rows), [])
        if (
            (row.method, row.owners_kind) == ("combined", "alike")
            and row.epsilon is not None
            and own
        ):
            rises = np.array([each.rise for each in own])
            rows.append(
                PlanRow(
                    dataset=row.dataset,
                    owners=row.owners,
                    rows_per_owner=row.rows_per_owner,
                    epsilon=row.epsilon,
                    public_rows=row.public_rows,
                    runs=len(own),
                    predicted=float(rises.mean()),
                    predicted_std=float(rises.std(ddof=1)) if len(own) > 1 else 0.0,
                    measured=row.rise,
                    measured_error=row.rise_error,
                    collect=float(np.mean([each.collect for each in own])),
                )
            )
    return rows
