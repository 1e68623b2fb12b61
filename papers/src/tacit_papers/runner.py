"""Experiments as lists of cells: independent pieces, run in several processes, each kept on disk
once it is done.

    for every cell of the list that is not in the file yet: rows = cell.rows(); append a CellRow and
    the rows

A cell is a frozen dataclass that says everything its rows depend on: paper, figure or table, data
set, settings, runs, seed. Its digest covers these, the versions and the sources that it imports:
whatever is changed is measured again, and a run that was stopped or killed goes on where it was.
Its head says besides which state of the code measured it (`state`): by that, rows that were put
aside can be as good as new after other files were moved or rewritten.
"""

import json
import os
import platform
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
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
from tacit_papers.costs import seconds_of
from tacit_papers.datasets import DataMissing
from tacit_papers.rows_file import CellRow, clear_file, line_of
from tacit_papers.sources import digest_of_sources
from tacit_papers.state import State, state_of, what_stayed

Progress = Callable[[float, float, str], None]  # cost done, cost in all, what was done


@dataclass(frozen=True, kw_only=True)
class Cell(ABC):
    """One independent piece of an experiment.

    `cost` is a guess of how many seconds it takes, for where nobody has measured them (`costs`); it
    is no part of the digest.
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
    def head(self) -> CellRow:
        """What its rows will stand behind, by the sources at hand."""
        state = state_of(type(self).__module__)
        return CellRow(
            digest=self.digest,
            settings=self.settings,
            runs=self.runs,
            seed=self.seed,
            versions=self.versions,
            module=type(self).__module__,
            code=dict(state.code),
            golden=dict(state.golden),
        )

    @property
    def seconds(self) -> float:
        """Of processor, about: for the order of cells and the time that is left."""
        return seconds_of(self.settings, self.cost)

    @property
    def run_number(self) -> int:
        """Which run of its setting it is, from 0, where every run is a cell of its own; else 0."""
        return int(getattr(self, "run", 0))

    @property
    def papers_set(self) -> str:
        """The paper's data set, of which `dataset` may be a variety."""
        return self.dataset.partition(" ")[0].rstrip(",")

    @property
    def title(self) -> str:
        return f"paper {self.paper.upper()}, {self.where}, {self.dataset}"


@cache
def versions() -> dict[str, str]:
    """Of Python, of what computes, and of this package."""
    found = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"python": platform.python_version(), **found, "tacit": tacit.__version__}


Kept = TypeVar("Kept", bound=Cell)


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
    nobody asks for here, and put aside else: they are of other settings or other sources.

    `engine` says where cells are run: in processes of this machine, or on a Ray ("ray",
    "ray://host:port"), where each is a task.
    """
    known = (*cells, *others)
    done = clear_file(path, {cell.digest for cell in known}, {cell.paper for cell in known})
    waiting = in_order([cell for cell in cells if cell.digest not in done])
    heads = [cell.head for cell in waiting]  # before anything runs: files may change meanwhile
    total = _seconds_of(cells)
    spent = _seconds_of(cell for cell in cells if cell.digest in done)
    missing: list[str] = []
    failed: list[Exception] = []
    progress(spent, total, f"{len(cells) - len(waiting)} of {len(cells)} cells were done before")
    with path.open("a", encoding="utf-8") as file:
        for cell, ready in _outcomes(waiting, heads, processes, engine):
            try:
                outcome = ready()
            except Exception as problem:
                problem.add_note(f"in the cell {cell.settings}")
                failed.append(problem)
                continue
            if isinstance(outcome, str):
                missing.append(f"{cell.title}: {outcome}")
            else:
                head, lines = outcome
                file.write("".join([line_of(_settle_state(head)), *lines]))
                file.flush()
                os.fsync(file.fileno())
            spent += cell.seconds
            progress(spent, total, cell.title)
    if failed:
        raise failed[0]
    return missing


def in_order(cells: Iterable[Kept]) -> list[Kept]:
    """Cells of one data set after another, so that a worker loads each once; of data sets, and of
    the cells of each, the longest first, so that all workers end at about the same time. Where
    every run is a cell of its own, first runs of everything come first: who stops has those.
    """
    groups: dict[tuple[int, str], list[Kept]] = {}
    for cell in cells:
        groups.setdefault((cell.run_number, cell.dataset), []).append(cell)
    sets = sorted(groups.items(), key=lambda group: (group[0][0], -_seconds_of(group[1])))
    return [each for _, own in sets for each in sorted(own, key=lambda cell: -cell.seconds)]


def _seconds_of(cells: Iterable[Cell]) -> float:
    return sum(cell.seconds for cell in cells)


def _settle_state(head: CellRow) -> CellRow:
    """A head that says no more than what was so from its beginning to its end."""
    state = what_stayed(State(head.code, head.golden))
    return replace(head, code=dict(state.code), golden=dict(state.golden))


Outcome = tuple[CellRow, list[str]] | str  # head and lines, or why there are none


def measure(cell: Cell, head: CellRow) -> Outcome:
    """A cell's head, and its lines; or why it cannot be run here."""
    start, worked = perf_counter(), process_time()
    try:
        lines = [line_of(row) for row in cell.rows()]
    except DataMissing as problem:
        return str(problem)
    done = replace(
        head,
        seconds=round(perf_counter() - start, 3),
        cpu_seconds=round(process_time() - worked, 3),
        rows=len(lines),
    )
    return done, lines


def _attempt(task: tuple[Cell, CellRow]) -> Outcome | Exception:
    """The same on a worker elsewhere, which says what went wrong in place of failing."""
    try:
        return measure(*task)
    except Exception as problem:
        return problem


def _reveal(outcome: Outcome | Exception) -> Outcome:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _outcomes(
    cells: Sequence[Cell], heads: Sequence[CellRow], processes: int, engine: str
) -> Iterator[tuple[Cell, Callable[[], Outcome]]]:
    """Cells with what says their lines, as they get done; with several processes in any order.

    Ends its processes when left.
    """
    tasks = list(zip(cells, heads, strict=True))
    if engine != "inline":
        from tacit.engines.by_block import workers_at

        for task, outcome in zip(tasks, workers_at(engine)(_attempt, tasks), strict=True):
            yield task[0], partial(_reveal, outcome)
        return
    if processes == 1 or len(cells) < 2:
        for task in tasks:
            yield task[0], partial(measure, *task)
        return
    before = set(active_children())
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _settle)
    try:
        futures = {pool.submit(measure, *task): task[0] for task in tasks}
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
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # of libraries loaded later
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
