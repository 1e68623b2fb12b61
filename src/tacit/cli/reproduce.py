"""tacit reproduce: the papers' tables and figures again, beside their own numbers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tacit.cli.ahead import draw_ahead, show_ahead
from tacit.cli.claims import show_claims
from tacit.cli.options import Seed
from tacit.cli.paper_a import show_a
from tacit.cli.paper_b import show_b
from tacit.cli.paper_c import show_c
from tacit.cli.paper_d import show_d
from tacit.cli.trees import show_trees
from tacit.cli.versions import versions
from tacit.cores import cores
from tacit.experiments import ahead, gradient_verdict
from tacit.experiments.break_even import ahead_and_break_even
from tacit.experiments.cells import run_cells
from tacit.experiments.claims import Claim
from tacit.experiments.papers import CELLS, DATASETS, KINDS, cells_of, claims_of
from tacit.experiments.rows import read_rows, write_rows
from tacit.report.document import Document
from tacit.report.overview import overview
from tacit.report.writing import write_report

Advance = Callable[[float, float, str], None]


class Own(NamedTuple):
    """A comparison of our own: how to run it, to show its rows (terminal and report), and what else to draw."""

    datasets: tuple[str, ...]
    run: Callable[..., Iterator[Any]]
    show: Callable[[Sequence[Any], Console], Document]
    draw: Callable[[Sequence[Any], Path], None] = lambda rows, folder: None


SHOWS: dict[str, Callable[[Sequence[Any], Sequence[Claim], Console], Document]] = {
    "a": show_a,
    "b": show_b,
    "c": show_c,
    "d": show_d,
}
OWN = {
    "ahead": Own(ahead.DATASETS, ahead_and_break_even, show_ahead, draw_ahead),
    "trees": Own(gradient_verdict.DATASETS, gradient_verdict.reproduce_trees, show_trees),
}
WORDS = (*CELLS, "all", *OWN)
_SETS = {**DATASETS, **{name: own.datasets for name, own in OWN.items()}}
_DATASETS = "; ".join(f"{name}: {', '.join(sets)}" for name, sets in _SETS.items())


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            help="Which paper: a, b, c, d or all; ahead: our own methods against them; trees: gradient boosting."
        ),
    ] = "all",
    dataset: Annotated[list[str] | None, typer.Option(help=f"Default all. Of paper {_DATASETS}.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two runs on a few made-up rows, in a minute or two.")] = False,
    seed: Seed = 1,
    processes: Annotated[int | None, typer.Option(help="How many at once; default one per core.", min=1)] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for rows, claims, reports and pictures; default out/papers.")
    ] = None,
) -> None:
    """Run the papers' experiments at their own settings and print measured against published.

    What is done is on disk at once: after Ctrl-C, or a kill, the same command goes on from there.
    """
    if paper not in WORDS:
        raise ValueError(f"paper must be one of {', '.join(WORDS)}, got {paper!r}")
    console, command = Console(), _command(paper, dataset, quick, seed)
    if paper in OWN:
        _own(paper, dataset, quick, seed, out or Path("out") / paper, console)
        return
    folder = out or Path("out") / ("papers_quick" if quick else "papers")
    chosen = list(CELLS) if paper == "all" else [paper]
    wanted, known = cells_of(chosen, quick, seed, dataset), cells_of(CELLS, quick, seed)
    with _progress(console) as advance:
        try:
            notes = run_cells(wanted, folder / "rows.jsonl", processes or cores(), advance, known)
        except KeyboardInterrupt:
            notes = ["stopped; what is done is kept, and the same command goes on from there"]
    rows = list(read_rows(folder / "rows.jsonl", KINDS))
    claims = claims_of(chosen, rows)
    write_rows(claims, folder / "claims.jsonl")
    for name in chosen:
        own = [claim for claim in claims if claim.paper == name]
        document = replace(SHOWS[name](rows, own, console), command=command, settings=versions(seed))
        _write(document, folder / f"paper_{name}", console)
    if len(chosen) > 1:
        _write(replace(overview(claims), command=command, settings=versions(seed)), folder, console)
    show_claims(claims, console)
    for note in dict.fromkeys(notes):
        console.print(note, markup=False)
    console.print(f"rows and claims: {folder}")


def _own(name: str, dataset: list[str] | None, quick: bool, seed: int, folder: Path, console: Console) -> None:
    """A comparison of our own, in this process."""
    chosen, rows = OWN[name], list[Any]()
    with _progress(console) as advance:
        try:
            for row in chosen.run(quick, seed, dataset or chosen.datasets, progress=advance):
                rows.append(row)
        except KeyboardInterrupt:
            console.print("stopped; what was done is kept")
    write_rows(rows, folder / "rows.jsonl")
    command = _command(name, dataset, quick, seed)
    if _write(replace(chosen.show(rows, console), command=command, settings=versions(seed)), folder, console):
        chosen.draw(rows, folder)


def _write(document: Document, folder: Path, console: Console) -> bool:
    """Write a report; whether matplotlib was there for pictures."""
    drawn = write_report(document, folder)
    if not drawn:
        console.print("No pictures: matplotlib is missing; pip install 'tacit[plot]' adds it.", markup=False)
    console.print(f"report and pictures: {folder} (open {folder / 'report.html'})")
    return drawn


@contextmanager
def _progress(console: Console) -> Iterator[Advance]:
    """A bar with time left; what it yields is told how much is done, of how much, and what."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("the papers again", total=None)

        def advance(done: float, total: float, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        yield advance


def _command(paper: str, dataset: list[str] | None, quick: bool, seed: int) -> str:
    """What to type to get the same again."""
    chosen = [word for name in dataset or () for word in ("--dataset", name)]
    return " ".join(["tacit", "reproduce", paper, *chosen, *(["--quick"] if quick else []), "--seed", str(seed)])
