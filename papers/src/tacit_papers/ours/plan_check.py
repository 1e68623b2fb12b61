"""Does the plan keep its word? What it foresaw from public rows alone, beside what was then
measured.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tacit_papers.ours.ahead import METHODS, AheadRow, AheadRun

_WITHIN = 1.5  # times as much or as little: what a plan may be wrong by
_LITTLE = 0.0025  # of accuracy: a quarter of a point is as good as nothing
_ERRORS = 2.0  # standard errors that a measurement may be off by


@dataclass(frozen=True)
class PlanRow:
    """Rise of accuracy over the data user's own model: predicted (mean and deviation over samples)
    and measured in the same runs.

    `collect` is in which part of the samples the plan says to ask.
    """

    dataset: str
    trust: str
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

    @property
    def within(self) -> bool:
        """Whether predicted and measured agree up to a factor of 1.5, or both are small, or they
        differ by no more than the measurement's own error.
        """
        low, high = sorted((self.predicted, self.measured))
        slack = max(_LITTLE, _ERRORS * self.measured_error)
        return high <= _WITHIN * low or high - low <= slack

    @property
    def missed(self) -> bool:
        """Whether it said not to collect in most samples, where collecting pays."""
        return self.collect < 0.5 and self.predicted < self.measured - max(
            _LITTLE, _ERRORS * self.measured_error
        )


def plan_rows(runs: Iterable[AheadRun], measured: Iterable[AheadRow]) -> list[PlanRow]:
    """A row for each measured combination of public and private rows, where owners are alike."""
    found: dict[tuple[str, str, float | None, int], list[float]] = {}
    for each in runs:
        if each.owners_kind == "alike" and each.foreseen is not None:
            key = (each.dataset, each.method, each.epsilon, each.public_rows)
            found.setdefault(key, []).append(each.foreseen)
    rows = []
    for row in measured:
        own = found.get((row.dataset, row.method, row.epsilon, row.public_rows), [])
        if row.owners_kind == "alike" and row.epsilon is not None and own:
            rises = np.array(own)
            rows.append(
                PlanRow(
                    dataset=row.dataset,
                    trust=METHODS[row.method],
                    owners=row.owners,
                    rows_per_owner=row.rows_per_owner,
                    epsilon=row.epsilon,
                    public_rows=row.public_rows,
                    runs=len(own),
                    predicted=float(rises.mean()),
                    predicted_std=float(rises.std(ddof=1)) if len(own) > 1 else 0.0,
                    measured=row.rise,
                    measured_error=row.rise_error,
                    collect=float(np.mean(rises > 0)),
                )
            )
    return rows
