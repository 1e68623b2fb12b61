"""What `tacit reproduce` can run: four papers, and comparisons of our own.

Each entry has its cells, the kinds of rows they leave on disk, and the report that is made of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit._util.checks import bad
from tacit.render.document import Document
from tacit_papers.a import experiment as paper_a
from tacit_papers.a.bounds import BoundRow, RoundCostRow, ScaleRow
from tacit_papers.a.claims import statements_a
from tacit_papers.a.coefficients import CoefficientRow
from tacit_papers.a.measurements import PublicRow, ReadingRow, TableRow
from tacit_papers.a.patches import PatchRow, SmallPatchRow
from tacit_papers.a.problems import ProblemRow
from tacit_papers.a.report import report_a
from tacit_papers.a.splitting import SplitRow
from tacit_papers.b import experiment as paper_b
from tacit_papers.b.claims import statements_b
from tacit_papers.b.hits import HitRow
from tacit_papers.b.readings import SummedReadingRow
from tacit_papers.b.report import report_b
from tacit_papers.c import experiment as paper_c
from tacit_papers.c.claims import statements_c
from tacit_papers.c.experiment import SiteRow
from tacit_papers.c.report import report_c
from tacit_papers.c.span import SpanRow
from tacit_papers.claims import Statement
from tacit_papers.d import experiment as paper_d
from tacit_papers.d import tasks
from tacit_papers.d.claims import statements_d
from tacit_papers.d.edge import EdgeRow, InstallRow
from tacit_papers.d.events import EventRow
from tacit_papers.d.experiment import PeerRow
from tacit_papers.d.report import report_d
from tacit_papers.ours import ahead, break_even, future, trees
from tacit_papers.ours.ahead_report import draw_ahead, report_ahead
from tacit_papers.ours.future_report import report_future
from tacit_papers.ours.hospitals import HospitalRow
from tacit_papers.ours.tasks import SIZES
from tacit_papers.ours.trees_report import report_trees
from tacit_papers.rows_file import CellRow
from tacit_papers.runner import Cell
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow


@dataclass(frozen=True)
class Paper:
    """A paper: data sets, cells (quick, seed), statements, report."""

    datasets: tuple[str, ...]
    cells: Callable[[bool, int], list[Cell]]
    statements: Callable[[], list[Statement]]
    report: Callable[[Sequence[Any]], Document]


@dataclass(frozen=True)
class Comparison:
    """A comparison of our own: cells (quick, seed, data sets), what is made of their rows, how it
    is shown, and a picture beside it. Of `tasks` those that are no `datasets` run only when they
    are named.
    """

    datasets: tuple[str, ...]
    tasks: tuple[str, ...]
    cells: Callable[[bool, int, Iterable[str]], list[Cell]]
    kinds: tuple[type[Any], ...]
    summary: Callable[[Iterable[object]], Sequence[Any]]
    report: Callable[[Sequence[Any]], Document]
    draw: Callable[[Sequence[Any], Path], None] = lambda rows, folder: None


PAPERS = {
    "a": Paper(paper_a.DATASETS, paper_a.cells_a, statements_a, report_a),
    "b": Paper(paper_b.DATASETS, paper_b.cells_b, statements_b, report_b),
    "c": Paper(paper_c.DATASETS, paper_c.cells_c, statements_c, report_c),
    "d": Paper(tasks.DATASETS, paper_d.cells_d, statements_d, report_d),
}
KINDS = (
    CellRow,
    TableRow,
    FirstRow,
    CurveRow,
    OursRow,
    PublicRow,
    ReadingRow,
    PatchRow,
    SmallPatchRow,
    ProblemRow,
    BoundRow,
    RoundCostRow,
    ScaleRow,
    SplitRow,
    CoefficientRow,
    SummedReadingRow,
    HitRow,
    SiteRow,
    HospitalRow,
    SpanRow,
    PeerRow,
    EventRow,
    EdgeRow,
    InstallRow,
)  # of rows of all papers
COMPARISONS = {
    "ahead": Comparison(
        datasets=ahead.DATASETS,
        tasks=tuple(SIZES),
        cells=break_even.cells_ahead,
        kinds=break_even.KINDS,
        summary=break_even.rows_ahead,
        report=report_ahead,
        draw=draw_ahead,
    ),
    "trees": Comparison(
        datasets=trees.DATASETS,
        tasks=tuple(SIZES),
        cells=trees.cells_trees,
        kinds=trees.KINDS,
        summary=trees.rows_trees,
        report=report_trees,
    ),
    "future": Comparison(
        datasets=future.DATASETS,
        tasks=future.DATASETS,
        cells=future.cells_future,
        kinds=future.KINDS,
        summary=future.rows_future,
        report=report_future,
    ),
}

DATASETS = {name: paper.datasets for name, paper in PAPERS.items()} | {
    name: comparison.datasets for name, comparison in COMPARISONS.items()
}


def tasks_of(comparison: Comparison, datasets: Sequence[str] | None) -> tuple[str, ...]:
    """The tasks of a comparison: those that are named, or its own."""
    names = tuple(datasets or comparison.datasets)
    if not set(names) <= set(comparison.tasks):
        raise bad(
            "dataset", f"among {comparison.tasks}", sorted(set(names) - set(comparison.tasks))
        )
    return names
