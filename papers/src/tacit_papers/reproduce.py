"""tacit reproduce: the papers' tables and figures again, beside their own numbers.

Cells that are not on disk yet are run, claims are judged from rows on disk, and a report is written
of them; the terminal shows the tables of that report.
"""

import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from tacit._util.checks import bad, check_engine
from tacit._util.file_checks import make_folder
from tacit._util.kernels import cores
from tacit.cli._options import Seed
from tacit.cli._output import Screen, bar, table_of, versions
from tacit.render.document import Document, Table
from tacit.render.pages import write_report
from tacit_papers.claims import (
    Claim,
    claims_section,
    claims_table,
    counts,
    judge_all,
    overview,
    say_counts,
)
from tacit_papers.registry import (
    COMPARISONS,
    DATASETS,
    KINDS,
    PAPERS,
    Comparison,
    tasks_of,
)
from tacit_papers.rows_file import read_blocks, read_rows, write_rows
from tacit_papers.runner import Cell, run_cells

WORDS = (*PAPERS, "all", *COMPARISONS)
_STOPPED = "what is done is kept, and the same command goes on from there"
_QUICK = (
    "two quick runs on a few made-up rows decide nothing: what differs here may hold in a full run"
)
_DATASETS = "; ".join(
    f"{name}: {', '.join(map(shlex.quote, datasets))}" for name, datasets in DATASETS.items()
)
_RUN_BY_RUN = ("ahead", "trees")  # every run of a setting is a cell of its own
_WIDE = 5  # columns, above which deviations and published values go below their means


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            help="Which paper: a, b, c, d or all; ahead: our own methods against them; trees: "
            "gradient boosting; future: what papers leave for later."
        ),
    ] = "all",
    dataset: Annotated[
        list[str] | None, typer.Option(help=f"Repeat for several; default all. {_DATASETS}.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two runs on a few made-up rows, in a minute or two.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Of ahead and trees: the first so many runs of every setting; default all ten, "
            "which take hours.",
            min=1,
        ),
    ] = None,
    seed: Seed = 1,
    processes: Annotated[
        int | None, typer.Option(help="How many at once; default one per core.", min=1)
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Where cells are run: inline, ray, or ray://host:port.")
    ] = "inline",
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
    check_engine(engine)
    if runs is not None and paper not in _RUN_BY_RUN:
        raise ValueError(
            f"--runs is for {' and '.join(_RUN_BY_RUN)}, whose runs are done one by one; {paper} "
            "has its own number of runs, and --quick is the short form"
        )
    name = ("papers" if paper not in COMPARISONS else paper) + ("_quick" if quick else "")
    place = out or Path("out") / name
    make_folder("--out", place)
    wish = _Wish(
        datasets=dataset,
        quick=quick,
        runs=runs,
        seed=seed,
        processes=processes or cores(),
        engine=engine,
        place=place,
        command=_command(paper, dataset, quick, runs, seed),
        screen=screen,
    )
    if paper in COMPARISONS:
        notes = _compare(COMPARISONS[paper], wish)
    else:
        notes = _reproduce_papers(list(PAPERS) if paper == "all" else [paper], wish)
    stopped = notes.pop() if _STOPPED in notes else ""
    seconds = round(time.monotonic() - began, 1)
    screen.tell(command=wish.command, rows_file=wish.rows, notes=notes, seconds=seconds)
    for line in (*notes, f"rows: {wish.rows}"):
        screen.say(line)
    if stopped:
        screen.stop(stopped)


@dataclass(frozen=True)
class _Wish:
    """What somebody asked for, where it goes, and who is told."""

    datasets: list[str] | None
    quick: bool
    runs: int | None
    seed: int
    processes: int
    engine: str
    place: Path
    command: str
    screen: Screen

    @property
    def rows(self) -> Path:
        return self.place / "rows.jsonl"

    def run(self, wanted: Sequence[Cell], known: Sequence[Cell]) -> list[str]:
        """Run what is not on disk yet; what is to be said of it, the last of it when stopped."""
        with bar(self.screen, guess=1 / self.processes) as advance:  # costs are about seconds
            try:
                missing = run_cells(
                    wanted, self.rows, self.processes, advance, known, engine=self.engine
                )
            except KeyboardInterrupt:
                return [_STOPPED]
        return list(dict.fromkeys(missing))

    def write(self, document: Document, place: Path) -> bool:
        """Write a report that says how to make it again; whether matplotlib was there."""
        made = replace(document, command=self.command, settings=versions(self.seed))
        drawn = write_report(made, place)
        if not drawn:
            self.screen.note(
                "no pictures: matplotlib is missing; pip install 'tacit[plot]' adds it"
            )
        self.screen.say(f"report and pictures: {place / 'report.html'}")
        return drawn


def _cells_of(
    papers: Iterable[str], quick: bool, seed: int, datasets: Iterable[str] | None = None
) -> list[Cell]:
    """The cells of these papers, of all data sets or of some; quick: of made-up rows whatever is
    asked.
    """
    chosen = list(papers)
    if not set(chosen) <= set(PAPERS):
        raise bad("papers", f"among {tuple(PAPERS)}", chosen)
    cells = [cell for paper in chosen for cell in PAPERS[paper].cells(quick, seed)]
    if datasets is None or quick:
        return cells
    known, wanted = {name for paper in chosen for name in PAPERS[paper].datasets}, set(datasets)
    if not wanted <= known:
        raise bad("datasets", f"among {sorted(known)}", sorted(wanted - known))
    return [cell for cell in cells if cell.dataset in wanted]


def _reproduce_papers(chosen: list[str], wish: _Wish) -> list[str]:
    """Papers as they were published: measured, judged, written and shown; what is to be said of
    it.
    """
    console = wish.screen.console
    known = _cells_of(chosen, wish.quick, wish.seed)
    notes = wish.run(_cells_of(chosen, wish.quick, wish.seed, wish.datasets), known)
    places = {cell.digest: place for place, cell in enumerate(known)}
    # as cells are listed, whichever was done first; those of papers that nobody asks for come last
    blocks = sorted(
        read_blocks(wish.rows, KINDS),
        key=lambda block: places.get(block.head["digest"], len(places)),
    )
    rows = [row for block in blocks for row in (block.known_head, *block.rows) if row]
    claims = [
        claim for name in chosen for claim in judge_all(name, PAPERS[name].statements(), rows)
    ]
    write_rows(claims, wish.place / "claims.jsonl")
    for name in chosen:
        document = PAPERS[name].report(rows)
        if len(chosen) == 1:  # the tables of several papers are in their reports
            print_tables(document, console)
        own = [claim for claim in claims if claim.paper == name]
        wish.write(with_claims(document, own), wish.place / f"paper_{name}")
    if len(chosen) > 1:
        wish.write(overview(claims), wish.place)
    print_claims(claims, console)
    wish.screen.tell(claims=claims, counts=counts(claims))
    every = "every claim, with why it differs or could not be checked"
    quick = [_QUICK] if wish.quick else []
    return [f"{every}: {wish.place / 'claims.jsonl'}", *quick, *notes]


def with_claims(document: Document, claims: Sequence[Claim]) -> Document:
    """A paper's report that says first how many claims hold, and every one of them after figures
    and tables, which readers look for.
    """
    *sections, promise = document.sections
    return replace(
        document,
        lead=f"{document.lead} {say_counts(claims)}",
        sections=(*sections, claims_section(claims), promise),
    )


def _compare(chosen: Comparison, wish: _Wish) -> list[str]:
    """A comparison of our own; what is to be said of it."""
    asked = chosen.cells(wish.quick, wish.seed, tasks_of(chosen, wish.datasets))
    wanted = [cell for cell in asked if wish.runs is None or cell.run_number < wish.runs]
    notes = wish.run(wanted, chosen.cells(wish.quick, wish.seed, chosen.tasks))
    rows = chosen.summary(read_rows(wish.rows, chosen.kinds))
    wish.screen.tell(rows=rows)
    document = chosen.report(rows)
    print_tables(document, wish.screen.console)
    if wish.write(document, wish.place):
        chosen.draw(rows, wish.place)
    return notes


def print_claims(claims: Sequence[Claim], console: Console) -> None:
    """For each paper the claims that could be checked, and the counts; of several papers only
    what differs.
    """
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    verdicts = ("differs",) if len(papers) > 1 else ("holds", "differs")
    where = ", where it differs" if len(papers) > 1 else ""
    for paper in papers:
        own = [claim for claim in claims if claim.paper == paper]
        shown = [claim for claim in own if claim.verdict in verdicts]
        name = f"paper {paper.upper()}"
        print_table(claims_table(f"What {name} says{where}", shown), console)
        console.print(f"{name}: {say_counts(own)}")
    if len(papers) > 1:
        console.print(f"all: {say_counts(claims)}")


def print_tables(document: Document, console: Console) -> None:
    """The tables of a report, with what its sections say."""
    for section in document.sections:
        tables = [part for part in section.parts if isinstance(part, Table)]
        for table in tables:
            print_table(table, console)
        if tables and section.text:
            console.print(section.text)


def print_table(table: Table, console: Console) -> None:
    """A table of a report in 80 columns: where there are many, deviations and published values
    stand below their means.
    """
    if not table.rows:
        return
    shown = table_of(table.caption)
    for heading, wordy in zip(table.columns, table.wordy, strict=True):
        justify: Literal["left", "right"] = "left" if wordy else "right"
        shown.add_column(heading, justify=justify, no_wrap=not wordy, overflow="fold")
    wide = len(table.columns) > _WIDE
    for number, (name, *cells) in enumerate(table.rows):
        texts = (_stack(cell) if wide else cell for cell in cells)
        shown.add_row(name, *texts, style="bold" if number in table.strong else "")
    console.print(shown)
    if table.note:
        console.print(table.note)


def _stack(cell: str) -> str:
    """A cell with its deviation and what is in brackets below its mean.

    >>> _stack("0.55 ± 0.06 (0.57)").splitlines()
    ['0.55', '± 0.06', '(0.57)']
    """
    return cell.replace(" ± ", "\n± ").replace(" (", "\n(") if "±" in cell else cell


def _command(
    paper: str, dataset: list[str] | None, quick: bool, runs: int | None, seed: int
) -> str:
    """What to type to get the same again."""
    chosen = [word for name in dataset or () for word in ("--dataset", name)]
    chosen += ["--quick"] if quick else []
    chosen += [] if runs is None else ["--runs", str(runs)]
    return shlex.join(["tacit", "reproduce", paper, *chosen, "--seed", str(seed)])
