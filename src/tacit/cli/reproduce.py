"""tacit reproduce: a paper's tables and figures again, beside its own numbers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tacit.cli.ahead import show_ahead
from tacit.cli.options import Seed
from tacit.cli.paper_a import show_a
from tacit.cli.paper_c import show_c
from tacit.cli.paper_d import show_d
from tacit.cli.trees import show_trees
from tacit.cli.versions import versions
from tacit.experiments import ahead, gradient_verdict, paper_a, paper_c, paper_d, paper_d_tasks
from tacit.experiments.break_even import ahead_and_break_even
from tacit.experiments.rows import write_rows
from tacit.report.document import Document
from tacit.report.writing import write_report


class Paper(NamedTuple):
    """How to run a paper's experiments, and how to show their rows: on the terminal, and as a report."""

    datasets: tuple[str, ...]
    run: Callable[..., Iterator[Any]]
    show: Callable[[Sequence[Any], Console], Document]


PAPERS = {
    "a": Paper(paper_a.DATASETS, paper_a.reproduce_a, show_a),
    "c": Paper(paper_c.DATASETS, paper_c.reproduce_c, show_c),
    "d": Paper(paper_d_tasks.DATASETS, paper_d.reproduce_d, show_d),
    "ahead": Paper(ahead.DATASETS, ahead_and_break_even, show_ahead),
    "trees": Paper(gradient_verdict.DATASETS, gradient_verdict.reproduce_trees, show_trees),
}
_DATASETS = "; ".join(f"{name}: {', '.join(paper.datasets)}" for name, paper in PAPERS.items())


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(help="Which paper: a, c or d; ahead: our own methods against them; trees: gradient boosting."),
    ] = "a",
    dataset: Annotated[list[str] | None, typer.Option(help=f"Default all. Of paper {_DATASETS}.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two runs on a few made-up rows, in seconds.")] = False,
    seed: Seed = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder for rows, report and pictures; default out/paper_...")
    ] = None,
) -> None:
    """Run a paper's experiments at its own settings and print measured against published.

    Ctrl-C keeps the rows that are done.
    """
    if paper not in PAPERS:
        raise ValueError(f"paper must be one of {', '.join(PAPERS)}, got {paper!r}")
    chosen, folder = PAPERS[paper], out or Path("out") / (f"paper_{paper}" if len(paper) == 1 else paper)
    console = Console()
    rows: list[Any] = []
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), console=console
    ) as progress:
        task = progress.add_task(f"paper {paper.upper()}", total=None)

        def advance(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        try:
            for row in chosen.run(quick, seed, dataset or chosen.datasets, progress=advance):
                rows.append(row)  # noqa: PERF402 - one by one, so that an interruption keeps them
        except KeyboardInterrupt:
            console.print("stopped; what was done is kept")
    write_rows(rows, folder / "rows.jsonl")
    document = replace(
        chosen.show(rows, console), command=_command(paper, dataset, quick, seed), settings=versions(seed)
    )
    if not write_report(document, folder):
        console.print("No pictures: matplotlib is missing; pip install 'tacit[plot]' adds it.", markup=False)
    console.print(f"rows, report and pictures: {folder} (open {folder / 'report.html'})")


def _command(paper: str, dataset: list[str] | None, quick: bool, seed: int) -> str:
    """What to type to get the same again."""
    chosen = [word for name in dataset or () for word in ("--dataset", name)]
    return " ".join(["tacit", "reproduce", paper, *chosen, *(["--quick"] if quick else []), "--seed", str(seed)])
