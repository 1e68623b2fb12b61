"""Paper C on the terminal: error against epsilon, records per site, sites; and the four
hospitals.
"""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tacit.cli._screen import percent, table_of
from tacit.render.document import Document
from tacit_papers.c.experiment import SiteRow
from tacit_papers.c.report import paper_c
from tacit_papers.claims import Claim
from tacit_papers.datasets.heart import SITES
from tacit_papers.ours.hospitals import PUBLIC, PUBLIC_SITE, HospitalRow


def show_c(rows: Sequence[Any], claims: Sequence[Claim], console: Console) -> Document:
    """Print tables; the report to be written."""
    curves = [row for row in rows if isinstance(row, SiteRow)]
    hospitals = [row for row in rows if isinstance(row, HospitalRow)]
    for pair in dict.fromkeys((row.dataset, row.varied) for row in curves):
        console.print(_curve([row for row in curves if (row.dataset, row.varied) == pair]))
    if hospitals:
        console.print(_hospitals(hospitals))
    return paper_c(curves, hospitals, claims)


def _curve(rows: list[SiteRow]) -> Table:
    """Methods down, values of what is varied across; test error in percent with its spread."""
    first, places = rows[0], list(dict.fromkeys(row.at for row in rows))
    fixed = {
        "epsilon": f"{first.sites} sites of {first.records}",
        "records": f"{first.sites} sites, epsilon {first.epsilon:g}",
        "sites": f"all records shared out, epsilon {first.epsilon:g}",
    }[first.varied]
    title = f"{first.dataset}: test error in % against {first.varied} ({fixed}), {first.runs} runs"
    table = table_of(title)
    table.add_column("method")
    for place in places:
        table.add_column(f"{place:g}", justify="right", no_wrap=True)
    for method in dict.fromkeys(row.method for row in rows):
        cells = {row.at: row for row in rows if row.method == method}
        unsound = next(iter(cells.values())).unsound
        name = f"{method} (unsound)" if unsound and "no privacy" not in method else method
        table.add_row(name, *(percent(cells[p].mean, cells[p].std, len(places)) for p in places))
    return table


def _hospitals(rows: list[HospitalRow]) -> Table:
    title = (
        f"four hospitals, heart disease: test error in %, {rows[0].runs} runs\n"
        f"public: {PUBLIC} patients of {PUBLIC_SITE}; everybody is tested on the same "
        "patients of all hospitals"
    )
    table = table_of(title)
    for heading in ("learned from", "eps", "all", *SITES):
        words = heading == "learned from"
        table.add_column(heading, justify="left" if words else "right", no_wrap=not words)
    for row in rows:
        epsilon = "" if row.epsilon is None else f"{row.epsilon:g}"
        each = (f"{100 * error:.0f}" for error in row.by_site)
        table.add_row(row.method, epsilon, f"{100 * row.mean:.1f} ± {100 * row.std:.1f}", *each)
    return table
