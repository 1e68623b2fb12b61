"""What a participant of paper D pays: processor time, memory, bytes sent and heard, and what has to
be installed. The paper says that random stumps suit the edge, and gives their complexity.

Measured is the largest participant: its own releases in all rounds, then its own model of what
everybody shared. Times are of the processor, the least of a few tries.
"""

import tracemalloc
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires
from re import match
from time import process_time
from typing import Any, ClassVar

import numpy as np

from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.estimators.peer_methods import METHODS, OwnTuning
from tacit.learners.peers.own_model import RHO, RIDGE
from tacit.learners.query import Estimates
from tacit.mechanisms.streams import seeded
from tacit_papers.d.tasks import Trial, deal, load_task
from tacit_papers.runner import Cell

_TRIES = 3
_EPSILON = 1.0
_METHOD = "stumps"
_HEAVY = 1_000_000  # bytes of a package that is worth a line
NEEDED = ("numpy", "numba", "llvmlite")


@dataclass(frozen=True)
class EdgeRow:
    """One participant with so many rows of so many attributes among so many others, over all
    rounds. `sent` and `heard` in bytes; `installed` is what a plain install weighs, in megabytes.
    """

    dataset: str
    rows: int
    attributes: int
    participants: int
    rounds: int
    seconds: float
    megabytes: float
    sent: int
    heard: int
    installed: float


@dataclass(frozen=True)
class InstallRow:
    """A package that a plain install brings along, in megabytes; those of less than one are left
    out. `needed`: a participant cannot do without it, since it draws exact noise by it.
    """

    package: str
    megabytes: float
    needed: bool


@dataclass(frozen=True, kw_only=True)
class EdgeCell(Cell):
    """A participant at the paper's size; with four times the rounds, a quarter of the rows, half
    of the attributes, and among fewer.
    """

    paper: ClassVar[str] = "d"

    rounds: int

    def rows(self) -> list[EdgeRow | InstallRow]:
        task = load_task(self.dataset, self.quick)
        trial = deal(task, seeded(self.seed).child("edge", self.dataset))
        size = int(trial.cohort.sizes.max())
        everybody, attributes = len(trial.cohort), len(trial.cells.columns_of(None))
        settings = (
            (size, attributes, everybody, self.rounds),
            (size // 4, attributes, everybody, self.rounds),
            (size, attributes // 2, everybody, self.rounds),
            (size, attributes, everybody, 4 * self.rounds),
            (size, attributes, everybody // 2, self.rounds),
        )
        return [*(self._row(trial, *setting) for setting in settings), *installed()]

    def _row(
        self, trial: Trial, size: int, attributes: int, participants: int, rounds: int
    ) -> EdgeRow:
        one, others = _parts(trial, size, participants)
        everybody = Cohort.of(
            np.concatenate([one.X, others.X]),
            np.concatenate([one.y, others.y]),
            np.repeat(np.arange(participants), [len(one.y), *others.sizes]),
        )
        kind, columns = METHODS[_METHOD], trial.cells.columns_of(None)[:attributes]
        held = dict.fromkeys(range(participants), columns)
        plan = kind.plan(dict.fromkeys(held, _EPSILON), rounds, participants)
        each = np.array([plan.each[number] for number in held])
        coins = trial.stream.child("public coins")
        engine = Inline(everybody, each, trial.stream)
        heard: list[Any] = []
        released = engine.run(
            overhear(kind.algorithm(trial.cells, held, plan, coins, kind.nothing), heard)
        )
        own = [query for query in heard if query.owners == (0,)]

        def work() -> None:
            for query in own:
                query.release(one, plan.each[0], trial.stream)
            kind.own(trial.cells, one, released, OwnTuning(RHO, RIDGE), 0)

        sizes = [_bytes(query, one, plan.each[0], trial) for query in own]
        return EdgeRow(
            dataset=load_task(self.dataset, self.quick).name,
            rows=len(one.y),
            attributes=attributes,
            participants=participants,
            rounds=rounds,
            seconds=_least_seconds(work),
            megabytes=_peak(work),
            sent=sum(sizes),
            heard=sum(sizes) * (participants - 1),
            installed=round(sum(_weights("tacit").values()) / 1e6, 1),
        )


def _parts(trial: Trial, size: int, participants: int) -> tuple[Cohort, Cohort]:
    """The largest participant with so many of its rows, and so many others."""
    largest = int(np.argmax(trial.cohort.sizes))
    one = trial.cohort[largest : largest + 1]
    rest = [number for number in range(len(trial.cohort)) if number != largest]
    mine = Cohort.of(one.X[:size], one.y[:size], np.zeros(min(size, len(one.y)), dtype=np.int64))
    return mine, trial.cohort[np.array(rest[: participants - 1])]


def overhear(
    algorithm: Generator[Any, Any, Any], heard: list[Any]
) -> Generator[Any, Estimates | None, Any]:
    """The algorithm, with its questions written down."""
    try:
        query = next(algorithm)
        while True:
            heard.append(query)
            answer = yield query
            query = algorithm.send(answer)
    except StopIteration as end:
        return end.value


def _bytes(query: Any, one: Cohort, epsilon: float, trial: Trial) -> int:
    """Of one answer on the wire, eight for each whole number."""
    reports = query.release(one, epsilon, trial.stream)
    return int(reports.points.nbytes + reports.indices.nbytes)


def _least_seconds(work: Callable[[], None]) -> float:
    times = []
    for _ in range(_TRIES):
        began = process_time()
        work()
        times.append(process_time() - began)
    return min(times)


def _peak(work: Callable[[], None]) -> float:
    """Megabytes that it needs on top of the rows."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def installed() -> list[InstallRow]:
    """What a plain install weighs, by package, the heaviest first."""
    weights = sorted(_weights("tacit").items(), key=lambda each: -each[1])
    return [
        InstallRow(name, round(size / 1e6, 1), name in NEEDED)
        for name, size in weights
        if size >= _HEAVY
    ]


def _weights(name: str, known: dict[str, int] | None = None) -> dict[str, int]:
    """Bytes of the files of a distribution, and of all that it cannot do without, by name."""
    found = {} if known is None else known
    if name in found:
        return found
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return found
    paths = (file.locate() for file in files)
    found[name] = sum(path.stat().st_size for path in paths if path.is_file())  # type: ignore[attr-defined]
    for line in requires(name) or ():
        needed = match(r"[\w.-]+", line)
        if needed and "extra ==" not in line:
            _weights(needed[0].lower().replace("_", "-"), found)
    return found
