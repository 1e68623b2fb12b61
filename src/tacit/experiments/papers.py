"""All papers: their cells, and the kinds of rows that come of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tacit.checks import bad
from tacit.experiments import paper_a, paper_b, paper_c, paper_d, paper_d_tasks
from tacit.experiments.cells import Cell, CellRow
from tacit.experiments.claims import Claim, Statement, judge_all
from tacit.experiments.claims_a import statements_a
from tacit.experiments.claims_b import statements_b
from tacit.experiments.claims_c import statements_c
from tacit.experiments.claims_d import statements_d
from tacit.experiments.curves import CurveRow, OursRow
from tacit.experiments.first import FirstRow
from tacit.experiments.hospitals import HospitalRow
from tacit.experiments.paper_a_curves import PublicRow
from tacit.experiments.paper_a_tables import TableRow
from tacit.experiments.paper_b_hits import HitRow
from tacit.experiments.paper_c import SiteRow
from tacit.experiments.paper_d import PeerRow
from tacit.experiments.paper_d_events import EventRow

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
DATASETS = {"a": paper_a.DATASETS, "b": paper_b.DATASETS, "c": paper_c.DATASETS, "d": paper_d_tasks.DATASETS}
KINDS = (CellRow, TableRow, FirstRow, CurveRow, OursRow, PublicRow, HitRow, SiteRow, HospitalRow, PeerRow, EventRow)


def cells_of(papers: Iterable[str], quick: bool, seed: int, datasets: Iterable[str] | None = None) -> list[Cell]:
    """The cells of these papers, of all data sets or of some; quick: of made-up rows whatever is asked."""
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
