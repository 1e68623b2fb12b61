"""What papers leave for later, each beside its paper's own method on the same rows: boosting the
feature method of C for many sites, and a private distance between the peers of D.
"""

from collections.abc import Iterable

from tacit_papers.ours.more_sites import MoreSitesRow, cells_of_sites
from tacit_papers.ours.near_peers import NearRow, cells_of_peers
from tacit_papers.rows_file import CellRow
from tacit_papers.runner import Cell

DATASETS = ("mnist", "adult", "gss")
KINDS = (CellRow, MoreSitesRow, NearRow)
FutureRow = MoreSitesRow | NearRow


def cells_future(quick: bool, seed: int, datasets: Iterable[str]) -> list[Cell]:
    """Sites on the digits, peers on the surveys; quick: a little of both, on made-up rows."""
    if quick:
        return [*cells_of_sites(True, seed, "synthetic"), *cells_of_peers(True, seed, "adult")]
    cells = list[Cell]()
    for name in datasets:
        make = cells_of_sites if name == "mnist" else cells_of_peers
        cells += make(False, seed, name)
    return cells


def rows_future(found: Iterable[object]) -> list[FutureRow]:
    return [row for row in found if isinstance(row, FutureRow)]
