"""The engine in this process: a cohort in memory, shares computed and randomised block by block.

It simulates honest owners: each is asked at most once, with its own epsilon, unless a query names
the owners it means; what each has been charged is kept in `spent`. Peak memory grows with the
block, not with the cohort.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from hashlib import blake2b
from operator import add
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tacit._util.kernels import pieces, spread
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.boosting import Verdict
from tacit.data.cohort import Cohort
from tacit.learners.learner import ShareQuery, Simulated, Tally
from tacit.learners.query import Answer, Estimates, Query
from tacit.mechanisms.base import Reports
from tacit.mechanisms.registry import MECHANISMS
from tacit.mechanisms.streams import Stream, drawing_order
from tacit.sums.discrete_gaussian import compose_epsilon
from tacit.sums.secure_sum import SecureSum
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import WireError, encode

if TYPE_CHECKING:  # a fit without files does without
    from tacit.data.owner_blocks import BlockedCohort

INLINE = "inline"  # the engine in this process
_BLOCK = 1 << 18  # numbers of a block of shares: as many as stay in a core's cache
_LARGE = 31 << 20  # bytes: the C library learns from nothing above 32 MiB
Monitor = Callable[[int], bool]
Result = TypeVar("Result")


class Engine(ABC):
    """Drives an algorithm: puts its questions to owners and hands it what they say.

    `transcript` is the digest of all questions and answers in order. `monitor` hears before each
    question how many were answered; once it says True nobody is asked any more, and `stopped` is
    set: an algorithm then ends with what it has. `answered` counts, `tallies` those that were sums,
    `speakers` owners that have spoken. `influence` says what one report to the widest question
    could do.
    """

    monitor: Monitor | None = None
    stopped: bool = False
    answered: int = 0
    tallies: int = 0
    speakers: int = 0
    influence: str = ""
    transcript: bytes = b""
    _widest: int = 0

    @abstractmethod
    def ask(self, query: Query) -> Answer | Estimates | None:
        """What `query.owners` fresh owners (None: all of them) say, or None when there are not
        that many left.
        """

    @abstractmethod
    def tally(self, question: Tally) -> Verdict:
        """The error of a model over all owners, by a secure sum: paper B."""

    def run(self, algorithm: Generator[Any, Any, Result]) -> Result:
        """Drive an algorithm to its end."""
        try:
            ask = next(algorithm)
            while True:
                self.stopped = self.stopped or (
                    self.monitor is not None and self.monitor(self.answered)
                )
                told = (
                    None
                    if self.stopped
                    else self.tally(ask)
                    if isinstance(ask, Tally)
                    else self.ask(ask)
                )
                self._note(ask, told)
                self.answered += not self.stopped
                ask = algorithm.send(told)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _note(self, ask: Query | Tally, told: Answer | Estimates | Verdict | None) -> None:
        """Add a question and its answer to the transcript's digest."""
        try:
            asked = encode(ask)
        except WireError:  # a simulation, or a learner that was never registered to travel
            asked = type(ask).__name__.encode()
        match told:
            case Answer():
                said = told.mean.tobytes() + told.stderr.tobytes() + str(told.n).encode()
            case Estimates():
                said = told.values.tobytes() + told.epsilons.tobytes()
            case _:
                said = repr(told).encode()
        parts = b"".join(
            len(part).to_bytes(8, "little") + part for part in (self.transcript, asked, said)
        )
        self.transcript = blake2b(parts, digest_size=32).digest()

    def _note_influence(self, query: Query, *, summed: bool = False) -> None:
        """Of a question that real owners may be asked, if need be in sealed halves (`summed`)."""
        if (summed or not query.unsound) and query.width > self._widest:
            self._widest, self.influence = query.width, query.influence


@dataclass(eq=False)
class Inline(Engine):
    """Answers queries from `cohort`; owners are drawn at random among those never asked.

    `epsilon` is what one answer may cost an owner, `spent` what each has been charged so far.
    """

    cohort: Cohort
    epsilon: float | FloatArray
    stream: Stream
    sums: SecureSum | None = None
    monitor: Monitor | None = None
    spent: FloatArray = field(init=False, repr=False)
    _charges: list[Fraction] = field(init=False, repr=False)  # what some owners have been charged
    _charged: IntArray = field(init=False, repr=False)  # which of these each owner has
    _asked: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if np.ndim(self.epsilon) == 0:
            self.epsilon = float(self.epsilon)
        self.spent = np.zeros(len(self.cohort))
        self._charges, self._charged = [Fraction(0)], np.zeros(len(self.cohort), dtype=np.int32)
        if isinstance(self.epsilon, np.ndarray) and self.epsilon.shape != (len(self.cohort),):
            raise ValueError(
                f"epsilon must be one number per owner, {len(self.cohort)}, got "
                f"{self.epsilon.shape}"
            )

    @cached_property
    def _waiting(self) -> IntArray:
        """Owners in the order in which they are asked."""
        return drawing_order(len(self.cohort), self.stream)

    def ask(self, query: Query) -> Answer | Estimates | None:
        if isinstance(query, ShareQuery) and not query.opens(len(self.cohort)):
            return None  # before anybody is charged
        owners = self._invite(query)
        if not len(owners):
            return None
        tapes = self.stream.child("round", query.round, query.attempt).of(owners)
        # all in their order need no list of them, which takes as much memory as three columns
        which = slice(None) if query.owners is None else owners
        asked = self.cohort[which]
        if isinstance(query, ShareQuery) and isinstance(query.terms, VectorTerms):
            return self._add_up(query, asked, tapes) if self._charge_sum(owners, query) else None
        self._note_influence(query)
        epsilon = self._prices(query, owners)
        self.spent[which] += epsilon
        self.speakers = int(np.count_nonzero(self.spent))
        if isinstance(query, ShareQuery) and isinstance(query.learner, Simulated):
            kind = MECHANISMS[query.how]
            return query.learner.simulate(query, asked.settled(), kind, epsilon, tapes)
        return query.answer(collect(query, asked, epsilon, tapes))

    def _prices(self, query: Query, owners: IntArray) -> float | FloatArray:
        """What the question costs these owners: the most of what it offers that each allows, as at
        a gate.
        """
        allowed = self.epsilon if isinstance(self.epsilon, float) else self.epsilon[owners]
        places = np.searchsorted(query.epsilons, allowed, side="right") - 1
        if np.any(places < 0):
            raise ValueError(
                f"epsilon must allow one of {query.epsilons}, which the question offers, got "
                f"{np.min(allowed):g}"
            )
        prices: FloatArray = np.array(query.epsilons, dtype=np.float64)[places]
        return float(prices) if isinstance(self.epsilon, float) else prices

    def _charge_sum(self, owners: IntArray, query: Query) -> bool:
        """Whether owners can pay for one more sum out of their epsilon; then they have. What sums
        cost adds up as their law says, so `spent` is what all of them cost together.
        """
        terms = query.terms if isinstance(query, ShareQuery) else None
        if not (isinstance(terms, VectorTerms) and isinstance(self.epsilon, float)):
            raise TypeError("sums of two servers have one epsilon for everybody")
        before, which = np.unique(self._charged[owners], return_inverse=True)
        after = [self._charges[place] + terms.charge for place in before.tolist()]
        prices = np.array([compose_epsilon(total, terms.delta) for total in after])
        if not prices.max() <= self.epsilon:
            return False
        self._charged[owners] = len(self._charges) + which
        self._charges += after
        self.spent[owners] = prices[which]
        self.speakers = int(np.count_nonzero(self.spent))
        return True

    def _add_up(self, query: ShareQuery, asked: Cohort, tapes: Stream) -> Answer:
        """What two servers say to a sum of shares."""
        self._note_influence(query, summed=True)
        return query.open_sum(add_up(query, asked, tapes), len(asked), self.stream)

    def _invite(self, query: Query) -> IntArray:
        """Owners for a query; those that are asked but once are used up."""
        if query.owners is None or isinstance(query.owners, tuple):
            return (
                np.arange(len(self.cohort))
                if query.owners is None
                else np.array(query.owners, dtype=np.int64)
            )
        if len(self._waiting) - self._asked < query.owners:
            return self._waiting[:0]
        self._asked += query.owners
        return np.sort(self._waiting[self._asked - query.owners : self._asked])

    def tally(self, question: Tally) -> Verdict:
        if self.sums is None:
            raise ValueError(
                "this algorithm asks for sums over all owners: give sums, e.g. "
                "TwoServers(epsilon=0.1)"
            )
        terms = question.ensemble.error_terms(question.model, self.cohort)
        self.tallies += 1
        return Verdict.of(self.sums.total(terms, self.stream.child("tally", self.tallies)))


def engine_at(
    where: str,
    cohort: "Cohort | BlockedCohort",
    epsilon: float | FloatArray,
    stream: Stream,
    *,
    sums: SecureSum | None = None,
    monitor: Monitor | None = None,
) -> Engine:
    """What asks these owners: in this process, or where `where` says."""
    if where == INLINE and isinstance(cohort, Cohort):
        return Inline(cohort, epsilon, stream, sums, monitor)
    from tacit.engines.by_block import ByBlock, in_blocks, workers_at

    blocks, workers = in_blocks(cohort), workers_at(where)
    return ByBlock(blocks, epsilon, stream, sums=sums, monitor=monitor, workers=workers)


def collect(query: Query, cohort: Cohort, epsilon: float | FloatArray, tapes: Stream) -> Any:
    """What the data user keeps of the reports of a cohort, drawn block by block; owner i reads tape
    i.
    """
    _keep_freed_memory()
    part = (lambda rows: epsilon) if isinstance(epsilon, float) else epsilon.__getitem__
    kept = spread(
        lambda rows: query.collect(_release(query, cohort, rows, part(rows), tapes), part(rows)),
        _blocks(cohort, query),
    )
    return reduce(add, kept)


def add_up(query: ShareQuery, cohort: Cohort, tapes: Stream) -> IntArray:
    """The sum of the rounded shares of a cohort, block by block."""
    _keep_freed_memory()
    kept = spread(
        lambda rows: query.add_up(_release(query, cohort, rows, 0.0, tapes)),
        _blocks(cohort, query),
    )
    return np.asarray(reduce(add, kept))


def _release(
    query: Query, cohort: Cohort, rows: slice, epsilon: float | FloatArray, tapes: Stream
) -> Reports:
    """The reports of some owners, one after the other."""
    coins = tapes.of(np.arange(rows.start, rows.stop))
    return query.release(cohort[rows].settled(), epsilon, coins)


def _blocks(cohort: Cohort, query: Query) -> list[slice]:
    """Owners in blocks of so many shares as one has room for; fewer are drawn on all cores."""
    room = max(1, _BLOCK // query.width)
    return pieces(len(cohort), least=room, most=room)


def _keep_freed_memory() -> None:
    """Have blocks that follow each other use the same memory. What is given back to the system
    comes again page by page, which takes longer than to compute what is written there. The GNU C
    library keeps blocks as large as the largest one that it has been given back so far; others do
    not notice.
    """
    np.empty(_LARGE, dtype=np.uint8)
