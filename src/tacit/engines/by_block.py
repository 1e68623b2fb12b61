"""The engine for more owners than memory holds: blocks of owners are read, computed, randomised and
added up one at a time, here or by workers elsewhere, of a Ray for one (`tacit[ray]` installs it).

An owner has one number and one tape, whatever block it is in, and reports add up in whole numbers:
so answers have the bytes that `Inline` gives for the same coins, whatever the blocks, the workers,
their order and their failures are. What travels to a worker is a question, which owners are meant,
and where their rows are (those in memory aside): files must be where every node can read them, and
so must TMPDIR where a column names owners. What comes back are totals of a few kilobytes. A task
that is lost with its worker or node is done again by another; with secure coins it is drawn anew,
and only what came back counts.

Who is asked is not written down owner by owner: owners are drawn in the order of a coin each, so a
round is everybody whose coin lies between two bounds, and a block finds its own.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from os import urandom
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from tacit._util.checks import bad, check_engine, is_address
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.algorithms.boosting import Verdict
from tacit.data.cohort import Cohort
from tacit.data.owner_blocks import BlockedCohort, OwnerBlock, Workers
from tacit.engines.inline import INLINE, Engine, Monitor, add_up, collect
from tacit.learners.learner import ShareQuery, Simulated, Tally
from tacit.learners.query import Answer, Estimates, Query
from tacit.mechanisms.streams import SecureStream, SeededStream, Stream
from tacit.sums.discrete_gaussian import compose_epsilon
from tacit.sums.secure_sum import SecureSum, TwoServers
from tacit.sums.vector_terms import VectorTerms

_SENT = 1 << 20  # numbers of a block of rows that travels from memory to a worker
_COINS = 1 << 20  # owners whose coins are drawn at a time
_BINS = 1 << 16  # of coins, by their first bits
_SHIFT = np.uint64(48)


@dataclass(frozen=True)
class Everybody:
    """All owners."""

    def __call__(self, owners: IntArray) -> BoolArray:
        return np.ones(len(owners), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Named:
    """Owners by their numbers."""

    numbers: IntArray

    def __call__(self, owners: IntArray) -> BoolArray:
        return np.isin(owners, self.numbers)


@dataclass(frozen=True)
class Place:
    """A place in the order of drawing: by coin, and by number where coins are equal."""

    coin: int
    owner: int

    def is_before(self, owners: IntArray, coins: Any) -> BoolArray:
        """Which owners this place is not behind."""
        bound = np.uint64(self.coin)
        return np.asarray((coins > bound) | ((coins == bound) & (owners >= self.owner)))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Owners from one place in the order of drawing up to another; None: to the end."""

    coins: Stream
    first: Place
    end: Place | None

    def __call__(self, owners: IntArray) -> BoolArray:
        coins = self.coins.words(owners, 0, 1)[:, 0]
        late = self.first.is_before(owners, coins)
        return late if self.end is None else late & ~self.end.is_before(owners, coins)


@dataclass(frozen=True, eq=False)
class DrawingOrder:
    """The order in which so many owners are drawn, without a list of them."""

    owners: int
    coins: Stream

    @classmethod
    def of(cls, owners: int, stream: Stream) -> "DrawingOrder":
        """As `drawing_order` has it. Secure coins cannot be drawn twice: their order has a key of
        its own, which nobody's privacy rests on.
        """
        if isinstance(stream, SecureStream):
            return cls(owners, SeededStream(key=urandom(32)))
        return cls(owners, stream.child("order"))

    def between(self, first: int, end: int) -> Drawn:
        """Those at places first .. end - 1."""
        return Drawn(
            self.coins, self._place(first), None if end == self.owners else self._place(end)
        )

    @cached_property
    def _ends(self) -> IntArray:
        """How many coins lie in each bin and those before it."""
        counts = np.zeros(_BINS, dtype=np.int64)
        for _, coins in self._draw():
            counts += np.bincount((coins >> _SHIFT).astype(np.int64), minlength=_BINS)
        return np.cumsum(counts)

    def _place(self, rank: int) -> Place:
        """Who is drawn as number `rank`: the bin is known by counting, its few coins are sorted."""
        if not rank:
            return Place(0, 0)
        wanted = int(np.searchsorted(self._ends, rank, side="right"))
        before = int(self._ends[wanted - 1]) if wanted else 0
        inside = [
            (coins[there], owners[there])
            for owners, coins in self._draw()
            if (there := (coins >> _SHIFT) == wanted).any()
        ]
        coins, owners = (np.concatenate(part) for part in zip(*inside, strict=True))
        chosen = np.lexsort((owners, coins))[rank - before]
        return Place(int(coins[chosen]), int(owners[chosen]))

    def _draw(self) -> Iterable[tuple[IntArray, Any]]:
        for start in range(0, self.owners, _COINS):
            owners = np.arange(start, min(start + _COINS, self.owners))
            yield owners, self.coins.words(owners, 0, 1)[:, 0]


@dataclass(frozen=True, eq=False)
class BlockTask:
    """What a worker is given: a question, to which owners of which block, and their tapes."""

    block: OwnerBlock
    invited: Everybody | Named | Drawn
    question: Query | Tally
    epsilon: float | FloatArray
    tapes: Stream
    sums: TwoServers | None = None


def answer_block(task: BlockTask) -> Any:
    """What is kept of a block: totals of reports or of shares, and how many owners they are of."""
    kept: Any = None
    owners = 0
    question = task.question
    for numbers, cohort in task.block.read(task.invited):
        coins = task.tapes.of(numbers)
        if isinstance(question, Tally):
            if task.sums is None:
                raise TypeError("a sum over all owners needs servers")
            added = task.sums.add_up(question.ensemble.error_terms(question.model, cohort))
        elif isinstance(question, ShareQuery) and isinstance(question.terms, VectorTerms):
            added = add_up(question, cohort, coins)
        else:
            each = task.epsilon if isinstance(task.epsilon, float) else task.epsilon[numbers]
            added = collect(question, cohort, each, coins)
        kept, owners = added if kept is None else kept + added, owners + len(numbers)
    return kept, owners


@dataclass(eq=False)
class ByBlock(Engine):
    """Answers queries from a cohort in blocks; see `Inline`. `workers` do the blocks."""

    cohort: BlockedCohort
    epsilon: float | FloatArray
    stream: Stream
    sums: SecureSum | None = None
    monitor: Monitor | None = None
    workers: Workers = map
    _asked: int = field(init=False, default=0)
    # what sums cost everybody, and at most those who were asked but once
    _charged: tuple[Fraction, Fraction] = field(init=False, default=(Fraction(0), Fraction(0)))

    def __post_init__(self) -> None:
        if np.ndim(self.epsilon) == 0:
            self.epsilon = float(self.epsilon)
        elif np.shape(self.epsilon) != (len(self.cohort),):
            raise ValueError(
                f"epsilon must be one number per owner, {len(self.cohort)}, got "
                f"{np.shape(self.epsilon)}"
            )

    @cached_property
    def _order(self) -> DrawingOrder:
        return DrawingOrder.of(len(self.cohort), self.stream)

    def ask(self, query: Query) -> Answer | Estimates | None:
        if isinstance(query, ShareQuery) and isinstance(query.learner, Simulated):
            raise ValueError(f"{query.what} is a simulation: give its rows in memory, not in files")
        if isinstance(query, ShareQuery) and isinstance(query.terms, VectorTerms):
            return self._ask_servers(query, query.terms)
        invited = self._invite(query)
        if invited is None:
            return None
        self._note_influence(query)
        kept, _ = self._gather(query, invited)
        return query.answer(kept)

    def _ask_servers(self, query: ShareQuery, terms: VectorTerms) -> Answer | None:
        """What two servers say to a sum of shares, if everybody who is asked can pay for it."""
        if not isinstance(self.epsilon, float):
            raise TypeError("sums of two servers have one epsilon for everybody")
        invited = self._invite(query) if query.opens(len(self.cohort)) else None
        if invited is None:
            return None
        everybody, once = self._charged
        if isinstance(invited, Drawn):
            charged, after = everybody + terms.charge, (everybody, max(once, terms.charge))
        else:
            charged, after = everybody + once + terms.charge, (everybody + terms.charge, once)
        if not compose_epsilon(charged, terms.delta) <= self.epsilon:
            return None
        self._charged = after
        self._note_influence(query, summed=True)
        total, owners = self._gather(query, invited)
        return query.open_sum(total, owners, self.stream)

    def _gather(self, question: Query | Tally, invited: Any) -> tuple[Any, int]:
        """What all blocks keep, added up."""
        tapes = (
            self.stream
            if isinstance(question, Tally)
            else self.stream.child("round", question.round, question.attempt)
        )
        sums = self.sums if isinstance(self.sums, TwoServers) else None
        tasks = [
            BlockTask(block, invited, question, epsilon=self.epsilon, tapes=tapes, sums=sums)
            for block in self.cohort.blocks
        ]
        total, owners = None, 0
        for kept, count in self.workers(answer_block, tasks):
            if count:
                total, owners = kept if total is None else total + kept, owners + count
        return total, owners

    def _invite(self, query: Query) -> Everybody | Named | Drawn | None:
        """Whom a query means; those that are asked but once are used up."""
        if query.owners is None:
            self.speakers = len(self.cohort)
            return Everybody()
        if isinstance(query.owners, tuple):
            if list(query.owners) != sorted(query.owners):
                raise ValueError("owners in files are named in rising order")
            self.speakers = len(self.cohort)
            return Named(np.array(query.owners, dtype=np.int64))
        if len(self.cohort) - self._asked < query.owners:
            return None
        self._asked += query.owners
        self.speakers = max(self.speakers, self._asked)
        return self._order.between(self._asked - query.owners, self._asked)

    def tally(self, question: Tally) -> Verdict:
        if self.sums is None:
            raise ValueError(
                "this algorithm asks for sums over all owners: give sums, e.g. "
                "TwoServers(epsilon=0.1)"
            )
        if not isinstance(self.sums, TwoServers):
            raise ValueError(
                f"{type(self.sums).__name__} is a simulation: give its rows in memory, not in files"
            )
        total, owners = self._gather(question, Everybody())
        self.tallies += 1
        return Verdict.of(self.sums.open(total, owners, self.stream.child("tally", self.tallies)))


# Ray: no dashboard, no usage statistics, so nothing of a fit leaves the cluster
# ------------------------------------------------------------------------------------------------

_AHEAD = 4  # tasks that wait for each core of the cluster
_RETRIES = 8  # of a task whose worker was lost
_PATIENCE = 10.0  # seconds to wait for an address to answer
_ANSWERS_WITHIN = "20"  # seconds, tried thrice: a busy head starts a process for who comes (ray://)


def in_blocks(cohort: Cohort | BlockedCohort) -> BlockedCohort:
    """Owners in blocks; what is in memory is cut for workers elsewhere."""
    if not isinstance(cohort, Cohort):
        return cohort
    width = max(1, cohort.columns) * max(1, len(cohort.labels) // max(1, len(cohort)))
    return BlockedCohort.of(cohort, max(1, _SENT // width))


def site_engine(where: str, sites: Cohort, epsilon: FloatArray, stream: Stream) -> Engine:
    """The engine for which what one site trains is a task: many rows, and minutes of work."""
    return ByBlock(BlockedCohort.of(sites, 1), epsilon, stream, workers=workers_at(where))


def workers_at(where: str) -> Workers:
    """Who does the blocks: this process, or a Ray."""
    return map if check_engine(where) == INLINE else ray_workers(where)


def ray_workers(where: str) -> Workers:
    """Workers on the Ray that is running in this process, else on the one that `where` or
    RAY_ADDRESS names, else on one of this machine that is started.
    """
    os.environ.setdefault("RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S", _ANSWERS_WITHIN)
    import ray

    if not ray.is_initialized():
        _connect(ray, "" if where == "ray" else where)

    def spread(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        return _results(ray, function, tasks)

    return spread


def _connect(ray: Any, address: str) -> None:
    """Use the Ray at an address, or that of RAY_ADDRESS, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    named = address or os.environ.get("RAY_ADDRESS", "")
    if named:
        _probe(named)
    started: dict[str, Any] = {} if named else {"include_dashboard": False}
    try:
        with catch_warnings():
            simplefilter("ignore")  # what Ray warns of is what is raised below
            ray.init(address or None, log_to_driver=False, logging_level="ERROR", **started)
    except Exception as problem:  # a Ray that does not come up on this machine raises just that
        why = type(problem).__name__
        raise _unreachable(named or "this machine", why.replace("Exception", "no start")) from None
    _leave_standard_output_alone()


def _leave_standard_output_alone() -> None:
    """What Ray tells of workers that were lost goes to standard error: it would stand in the middle
    of what a command says to a program, and Ray has no setting for it.
    """
    from ray._private import worker

    tell = getattr(worker, "print_to_stdstream", None)
    if tell is None:  # an inner name, which another Ray may not have
        return

    def tell_aside(data: dict[str, Any], **how: Any) -> None:
        tell(data | {"is_err": True}, **how)

    worker.print_to_stdstream = tell_aside


def _probe(address: str) -> None:
    """Refuse an address at which nobody listens: Ray itself would try for minutes."""
    place = address.removeprefix("ray://")
    if is_address(place):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
        except OSError as problem:
            raise _unreachable(address, problem.strerror or type(problem).__name__) from None
    elif address not in ("auto", "local"):
        raise bad("RAY_ADDRESS", "host:port, auto or local", address)


def _unreachable(address: str, why: str) -> ValueError:
    return ValueError(
        f"no Ray can be reached at {address} ({why}): see that it runs (ray status), that its "
        "address is right and that it knows this program (RAY_AUTH_MODE, RAY_AUTH_TOKEN), or ask "
        "in this process (inline)"
    )


def _results(ray: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    """Results in the order of tasks, so many tasks ahead as keep all cores busy; whoever stops
    listening cancels the rest.
    """
    remote = ray.remote(_do).options(max_retries=_RETRIES, num_cpus=1)
    most = max(2, int(_AHEAD * ray.cluster_resources().get("CPU", 1)))
    left, running = iter(tasks), deque[Any]()

    def send(task: Any) -> Any:
        return remote.remote(function, ray.cloudpickle.dumps(task))

    try:
        running.extend(send(task) for task in islice(left, most))
        while running:
            yield _one(ray, running[0])
            running.popleft()
            running.extend(send(task) for task in islice(left, 1))
    finally:
        for task in running:
            ray.cancel(task, force=False)


def _do(function: Callable[[Any], Any], packed: bytes) -> Any:
    """At a worker. Ray would hand over arrays that must not be written to, for which all kernels
    would be compiled once more; packed whole, tasks and results are as they were.
    """
    import ray

    return ray.cloudpickle.dumps(function(ray.cloudpickle.loads(packed)))


def _one(ray: Any, waiting: Any) -> Any:
    """One result; what a task says is wrong with its rows is said as it would be here."""
    try:
        return ray.cloudpickle.loads(ray.get(waiting))
    except ray.exceptions.RayTaskError as problem:
        cause = getattr(problem, "cause", None)
        if isinstance(cause, ValueError | OSError | TypeError | MemoryError):
            raise type(cause)(str(cause)) from None
        raise
    except ray.exceptions.RayError as problem:
        raise ValueError(
            f"Ray lost a task and did not bring it back ({type(problem).__name__}): look at its "
            "nodes (ray status), and begin again"
        ) from None
