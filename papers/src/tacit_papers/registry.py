"""All papers: their cells, and the kinds of rows that come of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tacit._util.checks import bad
from tacit_papers.a import experiment as paper_a
from tacit_papers.a.claims import statements_a
from tacit_papers.a.curves import PublicRow
from tacit_papers.a.tables import TableRow
from tacit_papers.b import experiment as paper_b
from tacit_papers.b.claims import statements_b
from tacit_papers.b.hits import HitRow
from tacit_papers.c import experiment as paper_c
from tacit_papers.c.claims import statements_c
from tacit_papers.c.experiment import SiteRow
from tacit_papers.claims import Claim, Statement, judge_all
from tacit_papers.d import experiment as paper_d
from tacit_papers.d import tasks
from tacit_papers.d.claims import statements_d
from tacit_papers.d.events import EventRow
from tacit_papers.d.experiment import PeerRow
from tacit_papers.ours.hospitals import HospitalRow
from tacit_papers.runner import Cell, CellRow
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow

CELLS: dict[str, Callable[[bool, int], list[Cell]]] = {
    "a": paper_a.cells_a,
    "b": paper_b.cells_b,
    "c": paper_c.cells_c,
    "d": paper_d.cells_d,
}
STATEMENTS: dict[str, Callable[[], list[Statement]]] = {
    "a": statements_a,
    "b": statements_b,
    "c": statements_c,
    "d": statements_d,
}
DATASETS = {
    "a": paper_a.DATASETS,
    "b": paper_b.DATASETS,
    "c": paper_c.DATASETS,
    "d": tasks.DATASETS,
}
KINDS = (
    CellRow,
    TableRow,
    FirstRow,
    CurveRow,
    OursRow,
    PublicRow,
    HitRow,
    SiteRow,
    HospitalRow,
    PeerRow,
    EventRow,
)


def cells_of(
    papers: Iterable[str], quick: bool, seed: int, datasets: Iterable[str] | None = None
) -> list[Cell]:
    """The cells of these papers, of all data sets or of some; quick: of made-up rows whatever is
    asked.
    """
    chosen = list(papers)
    if not set(chosen) <= set(CELLS):
        raise bad("papers", f"among {tuple(CELLS)}", chosen)
    cells = [cell for paper in chosen for cell in CELLS[paper](quick, seed)]
    if datasets is None or quick:
        return cells
    known, wanted = {name for paper in chosen for name in DATASETS[paper]}, set(datasets)
    if not wanted <= known:
        raise bad("datasets", f"among {sorted(known)}", sorted(wanted - known))
    return [cell for cell in cells if cell.dataset in wanted]


def claims_of(papers: Iterable[str], rows: Sequence[Any]) -> list[Claim]:
    """What these papers say, judged from rows."""
    return [claim for paper in papers for claim in judge_all(paper, STATEMENTS[paper](), rows)]
