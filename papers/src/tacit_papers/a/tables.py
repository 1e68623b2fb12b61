"""Tables II, III and IV of paper A with Figs. 2, 6 and 9: what the noise of a first round does to
centroids, impurities and coefficients, and to the accuracy of the first base learner. Fig. 3: the
same against the number of owners.

Tables measure the learners as they were published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit._util.types import FloatArray
from tacit.learners.learner import Learner
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit_papers.a.published import EPSILONS, TABLES, Published
from tacit_papers.shared.first_learner import MECHANISMS, FirstCell, Learned, Line

LEARNERS: dict[str, tuple[Learner, Learner]] = {  # as published, and sound
    "centroid": (PublishedCentroid(), Centroid()),
    "stump": (PublishedStump(), Stump()),
    "logistic": (PublishedLogistic(), Logistic()),
}
TABLE_OF = {"centroid": "II", "stump": "III", "logistic": "IV"}
_SURE = 2.0  # standard errors

Measured = Mapping[str, float]  # what was measured in one run, by name of the measure


@dataclass(frozen=True)
class TableRow:
    """One cell of a table: measured over `runs` runs, beside what was published (None where the
    paper has nothing).

    `dataset` is the paper's, `source` the rows that stand for it here. `holds`: against every other
    mechanism the order is as published, wherever the published difference is more than two standard
    errors; and in Table II for synthetic rows the error is at most the published one, or within two
    standard errors of it.
    """

    table: str
    dataset: str
    source: str
    measure: str
    mechanism: str
    epsilon: float
    owners: int
    rows_per_owner: int
    mean: float
    std: float
    runs: int
    published_mean: float | None
    published_std: float | None
    holds: bool
    unsound: str


@dataclass(frozen=True, kw_only=True)
class TableCell(FirstCell):
    """One data set of a table, and of the figure that belongs to it; or a point of Fig. 3."""

    paper: ClassVar[str] = "a"

    def learners(self) -> tuple[Learner, Learner]:
        return LEARNERS[self.learner]

    def measures(self, learned: Learned) -> Measured:
        """The paper's measure. For Table IV the one it names, RMSE, and MSE, which is what it has:
        its numbers fall with 1 / epsilon^2.
        """
        if learned.exact is None:
            return {}
        gap = learned.told - learned.exact
        if self.learner == "centroid":
            return {"l2": float(np.sqrt((gap.reshape(2, -1) ** 2).sum(axis=1)).mean())}
        if self.learner == "stump":
            impurities = [
                np.abs(means.reshape(-1, 2)).sum(axis=1) for means in (learned.told, learned.exact)
            ]
            return {"square": float(((impurities[0] - impurities[1]) ** 2).mean())}
        square = float((gap**2).mean())
        return {"mse": square, "rmse": square**0.5}

    def table(
        self, source: str, lines: Sequence[Line], found: Sequence[Sequence[Learned]]
    ) -> list[Any]:
        """Cells of the table; those of a part of the mechanisms are a figure's alone."""
        if self.mechanisms != MECHANISMS:
            return []
        values = {
            (line.mechanism, line.epsilon): [self.measures(each) for each in learned]
            for line, learned in zip(lines, found, strict=True)
            if line.variant == "as published" and line.epsilon is not None
        }
        return _compare(self, source, values)


def _compare(
    cell: TableCell, source: str, found: Mapping[tuple[str, float], Sequence[Measured]]
) -> list[TableRow]:
    rows, table = [], TABLE_OF[cell.learner]
    for measure in next(iter(found.values()))[0]:
        values = {place: np.array([run[measure] for run in runs]) for place, runs in found.items()}
        for (mechanism, epsilon), own in values.items():
            paper = published_cell(table, cell.dataset, mechanism, epsilon)
            others = [other for other in MECHANISMS if other != mechanism]
            holds = all(
                _stands_as_published(cell, epsilon, values, mechanism, other) for other in others
            )
            if table == "II" and cell.dataset == "synthetic" and paper is not None:
                holds = holds and _at_most(own, paper)
            rows.append(
                TableRow(
                    table=table,
                    dataset=cell.dataset,
                    source=source,
                    measure=measure,
                    mechanism=mechanism,
                    epsilon=epsilon,
                    owners=cell.owners,
                    rows_per_owner=cell.rows_per_owner,
                    mean=float(own.mean()),
                    std=_spread(own),
                    runs=cell.runs,
                    published_mean=None if paper is None else paper.mean,
                    published_std=None if paper is None else paper.std,
                    holds=holds,
                    unsound=LEARNERS[cell.learner][0].unsound,
                )
            )
    return rows


def _stands_as_published(
    cell: TableCell,
    epsilon: float,
    values: Mapping[tuple[str, float], FloatArray],
    one: str,
    other: str,
) -> bool:
    """Whether two mechanisms stand as published, where the paper's runs can tell them apart."""
    papers = [
        published_cell(TABLE_OF[cell.learner], cell.dataset, mechanism, epsilon)
        for mechanism in (one, other)
    ]
    if papers[0] is None or papers[1] is None:
        return True
    gap = papers[0].mean - papers[1].mean
    if abs(gap) <= _SURE * float(np.hypot(papers[0].std, papers[1].std)) / 10**0.5:
        return True
    return bool(gap * (values[one, epsilon].mean() - values[other, epsilon].mean()) > 0)


def _at_most(own: FloatArray, paper: Published) -> bool:
    error = float(np.hypot(_spread(own) / len(own) ** 0.5, paper.std / 10**0.5))
    return bool(own.mean() <= paper.mean + _SURE * error)


def _spread(values: FloatArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def published_cell(table: str, dataset: str, mechanism: str, epsilon: float) -> Published | None:
    """A cell of a table; None where the paper has none.

    >>> published_cell("II", "synthetic", "piecewise", 7.0)
    Published(mean=0.372, std=0.042)
    """
    cells = TABLES[table].get((dataset, mechanism))
    return (
        None
        if cells is None or epsilon not in EPSILONS
        else Published(*cells[EPSILONS.index(epsilon)])
    )
