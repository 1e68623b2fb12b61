"""Claims on the terminal: what the papers say beside what was measured, and how many hold.

tacit reproduce: the papers' tables and figures again, beside their own numbers.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from tacit._util.checks import bad
from tacit._util.threads import cores
from tacit.cli._options import Seed, folder, versions
from tacit.cli._progress import bar
from tacit.cli._screen import Screen, table_of
from tacit.render.document import Document
from tacit.render.writing import write_report
from tacit_papers.a.terminal import show_a
from tacit_papers.b.terminal import show_b
from tacit_papers.c.terminal import show_c
from tacit_papers.claims import Claim, counts
from tacit_papers.d.terminal import show_d
from tacit_papers.ours import ahead, break_even, trees
from tacit_papers.ours.ahead_terminal import draw_ahead, show_ahead
from tacit_papers.ours.tasks import SIZES
from tacit_papers.ours.trees_terminal import show_trees
from tacit_papers.overview import overview
from tacit_papers.registry import CELLS, DATASETS, KINDS, cells_of, claims_of
from tacit_papers.rows import read_rows, write_rows
from tacit_papers.runner import Cell, run_cells

_STYLES = {"holds": "green", "differs": "red"}


def show_claims(claims: Sequence[Claim], console: Console) -> None:
    """For each paper the claims that could be checked, and the counts; of several papers only
    what differs.
    """
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    for paper in papers:
        own = [claim for claim in claims if claim.paper == paper]
        shown = ("differs",) if len(papers) > 1 else ("holds", "differs")
        table = table_of(
            f"What paper {paper.upper()} says" + (", where it differs" if len(papers) > 1 else "")
        )
        for heading in ("where", "claim", "published", "measured", "verdict"):
            table.add_column(heading, overflow="fold")
        for claim in own:
            text = claim.text + (f" ({claim.why})" if claim.why else "")
            if claim.verdict in shown:
                table.add_row(
                    claim.where,
                    text,
                    claim.published,
                    claim.measured,
                    claim.verdict,
                    style=_STYLES[claim.verdict],
                )
        if table.row_count:
            console.print(table)
        console.print(f"paper {paper.upper()}: {_told(own)}")
    if len(papers) > 1:
        console.print(f"all: {_told(claims)}")


def _told(claims: Sequence[Claim]) -> str:
    found = counts(claims)
    checked = f"{len(claims)} claims, {found['holds']} hold, {found['differs']} differ"
    return f"{checked}, {found['unchecked']} unchecked for want of rows"


_STOPPED = "what is done is kept, and the same command goes on from there"


class Own(NamedTuple):
    """A comparison of our own: its cells, the kinds of rows they leave, what is made of these,
    how it is shown.
    """

    datasets: tuple[str, ...]
    cells: Callable[[bool, int, Iterable[str]], list[Cell]]
    kinds: tuple[type[Any], ...]
    rows: Callable[[Iterable[object]], Sequence[Any]]
    show: Callable[[Sequence[Any], Console], Document]
    draw: Callable[[Sequence[Any], Path], None] = lambda rows, folder: None


SHOWS: dict[str, Callable[[Sequence[Any], Sequence[Claim], Console], Document]] = {
    "a": show_a,
    "b": show_b,
    "c": show_c,
    "d": show_d,
}
OWN = {
    "ahead": Own(
        ahead.DATASETS,
        break_even.cells_ahead,
        break_even.KINDS,
        break_even.rows_ahead,
        show_ahead,
        draw_ahead,
    ),
    "trees": Own(
        trees.DATASETS,
        trees.cells_trees,
        trees.KINDS,
        trees.rows_trees,
        show_trees,
    ),
}
WORDS = (*CELLS, "all", *OWN)
_SETS = {**DATASETS, **{name: own.datasets for name, own in OWN.items()}}
_DATASETS = "; ".join(
    f"{name}: {', '.join(shlex.quote(each) for each in sets)}" for name, sets in _SETS.items()
)


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            help="Which paper: a, b, c, d or all; ahead: our own methods against them; trees: "
            "gradient boosting."
        ),
    ] = "all",
    dataset: Annotated[
        list[str] | None, typer.Option(help=f"Repeat for several; default all. {_DATASETS}.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two runs on a few made-up rows, in a minute or two.")
    ] = False,
    seed: Seed = 1,
    processes: Annotated[
        int | None, typer.Option(help="How many at once; default one per core.", min=1)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for rows, claims, reports and pictures; default below out/."),
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Run the papers' experiments at their own settings and print measured against published.

    What is done is on disk at once: after Ctrl-C (exit status 130), or a kill, the same command
    goes on from there.

    Example:
        tacit reproduce c --quick
    """
    began = time.monotonic()
    if paper not in WORDS:
        raise ValueError(f"paper must be one of {', '.join(WORDS)}, got {paper!r}")
    place = out or Path("out") / (
        ("papers" if paper not in OWN else paper) + ("_quick" if quick else "")
    )
    folder("--out", place)
    wish = _Wish(
        dataset,
        quick,
        seed,
        processes or cores(),
        place,
        _command(paper, dataset, quick, seed),
        screen,
    )
    chosen = list(CELLS) if paper == "all" else [paper]
    notes = _own(OWN[paper], wish) if paper in OWN else _papers(chosen, wish)
    stopped = notes.pop() if _STOPPED in notes else ""
    seconds = round(time.monotonic() - began, 1)
    screen.tell(command=wish.command, rows_file=place / "rows.jsonl", notes=notes, seconds=seconds)
    for line in (*notes, f"rows: {place / 'rows.jsonl'}"):
        screen.say(line)
    if stopped:
        screen.stop(stopped)


@dataclass(frozen=True)
class _Wish:
    """What somebody asked for, where it goes, and who is told."""

    datasets: list[str] | None
    quick: bool
    seed: int
    processes: int
    place: Path
    command: str
    screen: Screen

    def finished(self, document: Document) -> Document:
        """The document with how to run it again."""
        return replace(document, command=self.command, settings=versions(self.seed))


def _papers(chosen: list[str], wish: _Wish) -> list[str]:
    """Papers as they were published: measured, judged, shown and written; what is to be said of
    it.
    """
    screen, place = wish.screen, wish.place
    known = cells_of(CELLS, wish.quick, wish.seed)
    notes = _run(cells_of(chosen, wish.quick, wish.seed, wish.datasets), known, wish)
    rows = list(read_rows(place / "rows.jsonl", KINDS))
    claims = claims_of(chosen, rows)
    write_rows(claims, place / "claims.jsonl")
    several = len(chosen) > 1
    console = (
        Console(quiet=True) if several else screen.console
    )  # tables of several papers are in their reports
    for name in chosen:
        own = [claim for claim in claims if claim.paper == name]
        _write(wish.finished(SHOWS[name](rows, own, console)), place / f"paper_{name}", screen)
    if several:
        _write(wish.finished(overview(claims)), place, screen)
    show_claims(claims, screen.console)
    screen.tell(claims=claims, counts=counts(claims))
    if wish.quick:
        notes.insert(
            0,
            "two quick runs on a few made-up rows decide nothing: what differs here may hold "
            "in a full run",
        )
    return [
        f"every claim, with why it differs or could not be checked: {place / 'claims.jsonl'}",
        *notes,
    ]


def _own(chosen: Own, wish: _Wish) -> list[str]:
    """A comparison of our own; what is to be said of it."""
    names = wish.datasets or chosen.datasets
    if not set(names) <= set(SIZES):
        raise bad("dataset", f"among {tuple(SIZES)}", sorted(set(names) - set(SIZES)))
    known = chosen.cells(wish.quick, wish.seed, SIZES)
    notes = _run(chosen.cells(wish.quick, wish.seed, names), known, wish)
    rows = chosen.rows(read_rows(wish.place / "rows.jsonl", chosen.kinds))
    wish.screen.tell(rows=rows)
    document = wish.finished(chosen.show(rows, wish.screen.console))
    if _write(document, wish.place, wish.screen):
        chosen.draw(rows, wish.place)
    return notes


def _run(wanted: list[Cell], known: list[Cell], wish: _Wish) -> list[str]:
    """Run what is not on disk yet; what is to be said of it, the last of it when it was stopped."""
    with bar(wish.screen, guess=1 / wish.processes) as advance:  # costs are about seconds
        try:
            return list(
                dict.fromkeys(
                    run_cells(wanted, wish.place / "rows.jsonl", wish.processes, advance, known)
                )
            )
        except KeyboardInterrupt:
            return [_STOPPED]


def _write(document: Document, place: Path, screen: Screen) -> bool:
    """Write a report; whether matplotlib was there for pictures."""
    drawn = write_report(document, place)
    if not drawn:
        screen.note("no pictures: matplotlib is missing; pip install 'tacit[plot]' adds it")
    screen.say(f"report and pictures: {place / 'report.html'}")
    return drawn


def _command(paper: str, dataset: list[str] | None, quick: bool, seed: int) -> str:
    """What to type to get the same again."""
    chosen = [word for name in dataset or () for word in ("--dataset", name)]
    return shlex.join(
        ["tacit", "reproduce", paper, *chosen, *(["--quick"] if quick else []), "--seed", str(seed)]
    )
