"""Experiments as lists of cells: independent pieces, run in several processes, each kept on disk
once it is done.

    for every cell of the list that is not in the file yet: rows = cell.rows(); append a CellRow and
    the rows

A cell is a frozen dataclass that says everything its rows depend on: paper, figure or table, data
set, settings, runs, seed. Its digest covers these, the versions and the sources that it imports:
whatever is changed is measured again, and a run that was stopped or killed goes on where it was.
"""

import json
import os
import platform
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, fields
from functools import cache, partial
from hashlib import blake2b
from importlib.metadata import version
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time
from typing import Any, ClassVar, TypeVar

from threadpoolctl import threadpool_limits

import tacit
from tacit_papers.datasets import DataMissing
from tacit_papers.sources import digest_of_sources

Progress = Callable[[float, float, str], None]  # cost done, cost in all, what was done


@dataclass(frozen=True, kw_only=True)
class Cell(ABC):
    """One independent piece of an experiment.

    `cost` is about how many seconds it takes, for the time that is left; it is no part of the
    digest.
    """

    paper: ClassVar[str]

    where: str
    dataset: str
    runs: int
    seed: int = 1
    quick: bool = False
    cost: float = field(default=1.0, compare=False)

    @abstractmethod
    def rows(self) -> Iterable[Any]:
        """The measured rows, dataclasses; a function of the fields alone."""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that rows depend on, ready for JSON."""
        own = {name: value for name, value in asdict(self).items() if name != "cost"}
        return {"cell": type(self).__name__, "paper": self.paper, **own}

    @property
    def digest(self) -> str:
        facts = {"settings": self.settings, "versions": self.versions}
        written = json.dumps(facts, sort_keys=True)
        return blake2b(written.encode(), digest_size=12).hexdigest()

    @property
    def versions(self) -> dict[str, str]:
        """Of what computes its rows, and a digest of the sources that do."""
        return {**versions(), "sources": digest_of_sources(type(self).__module__)}

    @property
    def papers_set(self) -> str:
        """The paper's data set, of which `dataset` may be a variety."""
        return self.dataset.partition(" ")[0].rstrip(",")

    @property
    def title(self) -> str:
        return f"paper {self.paper.upper()}, {self.where}, {self.dataset}"


@dataclass(frozen=True)
class CellRow:
    """Heads the rows of one cell: what was run, with which seeds and versions, and how long it
    took.

    Run number r of the cell draws its coins from (seed, r), r from 0 to runs - 1, unless the cell
    is one run and its settings say which. `rows` counts the lines that follow.
    """

    digest: str
    settings: dict[str, Any]
    runs: int
    seed: int
    versions: dict[str, str]
    seconds: float
    cpu_seconds: float
    rows: int


@cache
def versions() -> dict[str, str]:
    """Of Python, of what computes, and of this package."""
    found = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"python": platform.python_version(), **found, "tacit": tacit.__version__}


def run_cells(
    cells: Sequence[Cell],
    path: Path,
    processes: int = 1,
    progress: Progress = lambda done, total, what: None,
    others: Collection[Cell] = (),
    engine: str = "inline",
) -> list[str]:
    """Run what is not in the file yet and append it, cell by cell; what could not be run for want
    of data.

    An error in one cell is raised when all others have been run.

    Cells in the file are kept when they are asked for or among `others`, or belong to a paper that
    nobody asks for here, and dropped else: they are of other settings or other sources.

    `engine` says where cells are run: in processes of this machine, or on a Ray ("ray",
    "ray://host:port"), where each is a task.
    """
    done = _clear_file(path, (*cells, *others))
    waiting = [cell for cell in cells if cell.digest not in done]
    total = sum(cell.cost for cell in cells)
    spent = sum(cell.cost for cell in cells if cell.digest in done)
    missing: list[str] = []
    failed: list[Exception] = []
    progress(spent, total, f"{len(cells) - len(waiting)} of {len(cells)} cells were done before")
    with path.open("a", encoding="utf-8") as file:
        for cell, ready in _outcomes(waiting, processes, engine):
            try:
                outcome = ready()
            except Exception as problem:
                problem.add_note(f"in the cell {cell.settings}")
                failed.append(problem)
                continue
            if isinstance(outcome, str):
                missing.append(f"{cell.title}: {outcome}")
            else:
                file.write("".join(outcome))
                file.flush()
                os.fsync(file.fileno())
            spent += cell.cost
            progress(spent, total, cell.title)
    if failed:
        raise failed[0]
    return missing


def measure(cell: Cell) -> list[str] | str:
    """The lines of a cell, its head first; or why it cannot be run here."""
    start, worked = perf_counter(), process_time()
    try:
        lines = [line_of(row) for row in cell.rows()]
    except DataMissing as problem:
        return str(problem)
    head = CellRow(
        digest=cell.digest,
        settings=cell.settings,
        runs=cell.runs,
        seed=cell.seed,
        versions=cell.versions,
        seconds=round(perf_counter() - start, 3),
        cpu_seconds=round(process_time() - worked, 3),
        rows=len(lines),
    )
    return [line_of(head), *lines]


def _attempt(cell: Cell) -> list[str] | str | Exception:
    """The same on a worker elsewhere, which says what went wrong in place of failing."""
    try:
        return measure(cell)
    except Exception as problem:
        return problem


def _reveal(outcome: list[str] | str | Exception) -> list[str] | str:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _outcomes(
    cells: Sequence[Cell], processes: int, engine: str
) -> Iterator[tuple[Cell, Callable[[], list[str] | str]]]:
    """Cells with what says their lines, as they get done; with several processes in any order.

    Ends its processes when left.
    """
    if engine != "inline":
        from tacit.engines.by_block import workers_at

        for cell, outcome in zip(cells, workers_at(engine)(_attempt, cells), strict=True):
            yield cell, partial(_reveal, outcome)
        return
    if processes == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, partial(measure, cell)
        return
    before = set(active_children())
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _settle)
    try:
        futures = {pool.submit(measure, cell): cell for cell in cells}
        for future in as_completed(futures):
            yield futures[future], future.result
    except BaseException:
        try:
            pool.shutdown(wait=False, cancel_futures=True)
        finally:  # a second Ctrl-C must not leave workers that this process then waits for
            for child in set(active_children()) - before:
                child.terminate()
        raise
    pool.shutdown()


def _settle() -> None:
    """A worker computes on one core, leaves Ctrl-C to its parent, and does not outlive it."""
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _clear_file(path: Path, known: Collection[Cell]) -> set[str]:
    """Take out everything but known cells and those of other papers: other settings, other
    sources, and a cell torn by a kill; the digests that are left.
    """
    digests, papers = {cell.digest for cell in known}, {cell.paper for cell in known}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    left: list[str] = []
    done: set[str] = set()
    for start, line in enumerate(lines):
        head = _head(line)
        if head is None or head["digest"] in done:
            continue
        block = lines[start : start + 1 + head["rows"]]
        whole = len(block) == 1 + head["rows"] and all(each.endswith("}\n") for each in block)
        if whole and (head["digest"] in digests or head["settings"]["paper"] not in papers):
            left += block
            done.add(head["digest"])
    if len(left) < len(lines):
        draft = path.with_suffix(".part")
        draft.write_text("".join(left), encoding="utf-8")
        os.replace(draft, path)
    return done


def _head(line: str) -> dict[str, Any] | None:
    """The head of a cell, if the line is one."""
    if not line.startswith('{"row": "CellRow"') or not line.endswith("}\n"):
        return None
    found: dict[str, Any] = json.loads(line)
    return found


Kind = TypeVar("Kind")


def line_of(row: Any) -> str:
    """A row, which is a dataclass, as one line."""
    return json.dumps({"row": type(row).__name__, **asdict(row)}) + "\n"


def write_rows(rows: Iterable[Any], path: Path) -> None:
    """A whole file of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line_of(row) for row in rows)


def read_rows(path: Path, kinds: Iterable[type[Any]]) -> Iterator[Any]:
    """Rows of these kinds again as they were written, others left out; lists become tuples."""
    known = {kind.__name__: kind for kind in kinds}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        kind = known.get(found.pop("row"))
        if kind is not None:
            yield row_of(kind, found)


def row_of(kind: type[Any], found: Mapping[str, Any]) -> Any:
    """A row from its fields; a file of another version has others, and says so."""
    names = {field.name for field in fields(kind)}
    if not names == set(found):
        raise ValueError(
            f"rows must have the fields of {kind.__name__}; they differ in "
            f"{sorted(names ^ set(found))}"
        )
    return kind(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in found.items()
        }
    )


def select(rows: Iterable[Any], kind: type[Kind], **wanted: object) -> list[Kind]:
    """The rows of a kind that have these fields.

    >>> select([1, 2.0, 1j], complex, real=0.0)
    [1j]
    """
    return [
        row
        for row in rows
        if isinstance(row, kind)
        and all(getattr(row, name) == value for name, value in wanted.items())
    ]
