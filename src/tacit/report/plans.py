"""The plan beside what came of it, as a table."""

from collections.abc import Sequence
from typing import Protocol

from tacit.report.document import Table


class PlanRow(Protocol):
    """Rise of accuracy over the data user's own model, predicted and measured."""

    @property
    def dataset(self) -> str: ...

    @property
    def owners(self) -> int: ...

    @property
    def rows_per_owner(self) -> int: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def public_rows(self) -> int: ...

    @property
    def predicted(self) -> float: ...

    @property
    def predicted_std(self) -> float: ...

    @property
    def measured(self) -> float: ...

    @property
    def measured_error(self) -> float: ...

    @property
    def collect(self) -> float: ...


def plans_table(rows: Sequence[PlanRow]) -> Table:
    """What the plan said before anybody was asked, beside what was measured."""
    columns = ("task", "epsilon", "public rows", "says collect", "predicted", "measured")
    cells = tuple(
        (
            f"{row.dataset}, {row.owners:,} x {row.rows_per_owner}",
            f"{row.epsilon:g}",
            f"{row.public_rows:,}",
            f"{100 * row.collect:.0f} %",
            f"{100 * row.predicted:+.2f} ± {100 * row.predicted_std:.2f}",
            f"{100 * row.measured:+.2f} ± {100 * row.measured_error:.2f}",
        )
        for row in rows
    )
    note = "Points of accuracy above the data user's own model. Says collect: in which part of the samples."
    return Table("The plan beside what came of it", columns, cells, note)
