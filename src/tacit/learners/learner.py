"""The protocol between a data user and owners, for one base learner.

A `ShareQuery` carries only public facts. An owner answers with its share, an exact vector in
`learner.space(facts)`, after a mechanism has randomised it; the data user sees the `Answer`, a mean
with its standard error. A learner is one file that says both sides.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.data.cohort import Cohort, Public
from tacit.learners.models.ensemble import LARGEST, Ensemble, Model
from tacit.learners.query import CALL, Answer, Cost, Query, write_bound
from tacit.mechanisms.base import Mechanism, Reports, Totals
from tacit.mechanisms.registry import (
    MECHANISMS,
    NAMES,
    best_mechanism,
    known_mechanism,
    mechanism_by_name,
)
from tacit.mechanisms.spaces import Space
from tacit.mechanisms.streams import Stream
from tacit.sums.secure_sum import SumRefusedError
from tacit.sums.vector_terms import (
    RecordTerms,
    VectorTerms,
    coins_of_share,
    round_shares,
    server_tape,
)
from tacit.wire import message


@message("facts")
@dataclass(frozen=True, eq=False)
class Facts:
    """What a learner takes from public knowledge before anything is asked: sizes, and e.g.
    candidate cuts.
    """

    dim: int
    classes: int
    values: FloatArray = field(default_factory=lambda: np.zeros(0))
    columns: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        for name, least in (("dim", 1), ("classes", 2)):
            if not whole(name, getattr(self, name), least) <= LARGEST:
                raise bad(name, f"at most {LARGEST}", getattr(self, name))
        if not (self.columns.ndim == 1 and ((self.columns >= 0) & (self.columns < self.dim)).all()):
            # kernels index with them
            raise ValueError(f"columns must be numbers of the {self.dim} columns")


@dataclass(frozen=True, eq=False)
class Tally:
    """A question to all owners at once: the summed error and weight of a model under the
    published ensemble.
    """

    model: Model
    ensemble: Ensemble


class Learner(ABC):
    """A base learner; frozen dataclasses with their parameters."""

    name: ClassVar[str]
    unsound: ClassVar[str] = ""  # why it may only be simulated; empty: it may run at real owners

    def facts(self, public: Public) -> Facts:
        """Public facts that shares need; by default the sizes alone."""
        return Facts(public.dim, public.classes)

    def for_sums(self) -> "Learner":
        """The learner to ask for where two servers add up shares, if shorter shares tell as much
        there.
        """
        return self

    @abstractmethod
    def space(self, facts: Facts) -> Space:
        """Where shares live, known before anything is asked."""

    @abstractmethod
    def cost(self, query: "ShareQuery", rows: int) -> Cost:
        """What computing one owner's share takes at most, of so many rows: from the question
        alone.
        """

    def prepare(self, query: "ShareQuery") -> Any:
        """What a share needs of the question and of no rows: made once, `query.prepared`."""
        return None

    @abstractmethod
    def share(self, query: "ShareQuery", cohort: Cohort) -> FloatArray:
        """What each owner computes from its own rows, (owners, dim); an owner without rows says
        0.
        """

    @abstractmethod
    def learn(self, query: "ShareQuery", answer: Answer) -> Model:
        """The base model that the answer gives."""


class Simulated(Learner):
    """A learner that releases something other than a randomised share: to show what was
    published, never to run.
    """

    def cost(self, query: "ShareQuery", rows: int) -> Cost:
        raise TypeError(f"{self.name} may only be simulated: no owner is asked for it")

    @abstractmethod
    def simulate(
        self,
        query: "ShareQuery",
        cohort: Cohort,
        mechanism: type[Mechanism],
        epsilon: float | FloatArray,
        stream: Stream,
    ) -> Answer:
        """What the data user would see; `stream` has a tape for every owner."""


@message("terms")
@dataclass(frozen=True)
class ReportTerms:
    """On what terms owners speak: through which mechanism, and which values of epsilon an owner
    may choose from.
    """

    mechanism: str
    epsilons: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS and known_mechanism(self.mechanism) != self.mechanism:
            raise bad("mechanism", "named as it travels, package:Class", self.mechanism)
        if not (self.epsilons and all(0 < a < b for a, b in pairwise((*self.epsilons, inf)))):
            raise bad("epsilons", "finite numbers > 0 in rising order", self.epsilons)

    @classmethod
    def of(cls, mechanism: str, space: Space, epsilon: float | FloatArray) -> "ReportTerms":
        """Terms that offer every epsilon that occurs; "auto" becomes the best mechanism for the
        space, at the median epsilon.

        >>> from tacit import Ball
        >>> ReportTerms.of("auto", Ball(dim=9), np.array([2.0, 1.0, 2.0]))
        ReportTerms(mechanism='privunit', epsilons=(1.0, 2.0))
        """
        if mechanism == "auto":
            name = NAMES[type(best_mechanism(space, float(np.median(epsilon))))]
        else:
            name = mechanism_by_name(mechanism)
        return cls(name, tuple(np.unique(epsilon).tolist()))


class LearnerQuery(Query):
    """A question for what a base learner computes."""

    learner: Learner
    facts: Facts

    @property
    def what(self) -> str:
        return self.learner.name

    @property
    def dim(self) -> int:
        return self.facts.dim

    @property
    def classes(self) -> int:
        return self.facts.classes


@message("share")
@dataclass(frozen=True, eq=False)
class ShareQuery(LearnerQuery):
    """Asks owners that were never asked before for the base learner's share, through a
    mechanism.
    """

    unit: ClassVar[str] = "owner"
    adjacency: ClassVar[str] = "any two sets of rows of one owner"

    learner: Learner
    facts: Facts
    ensemble: Ensemble
    terms: ReportTerms | VectorTerms

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ensemble.check(self.facts.dim, self.facts.classes)
        space = self.learner.space(self.facts)  # refuses facts that are not this learner's
        if isinstance(self.terms, VectorTerms) and not self.terms.dim == space.dim:
            raise bad("terms", f"for shares of {space.dim} numbers", self.terms.dim)

    @property
    def how(self) -> str:
        return self.terms.mechanism

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.terms.epsilons

    @property
    def unsound(self) -> str:
        if isinstance(self.terms, VectorTerms):
            return self.learner.unsound or "for two servers a share leaves in sealed halves only"
        return self.learner.unsound or (
            "shares leave as they are" if self.terms.mechanism == "none" else ""
        )

    @property
    def width(self) -> int:
        return self.learner.space(self.facts).dim

    @property
    def influence(self) -> str:
        if isinstance(self.terms, RecordTerms):
            return (
                f"what a site adds to a sum is proven to be that of at most {self.terms.records} "
                "records: one site, true or not, moves the mean over n records by at most "
                f"{write_bound(self.terms.influence)} / n"
            )
        if isinstance(self.terms, VectorTerms):
            return (
                "what an owner adds to a sum is proven to be short: one report, true or not, "
                f"moves the mean of n shares by at most {write_bound(self.terms.influence)} / n"
            )
        furthest = self.mechanism(np.array(self.epsilons)).influence(1)
        honest = 2 * self.learner.space(self.facts).radius_2
        return (
            f"one report, true or not, moves the mean of n shares by at most "
            f"{write_bound(furthest)} / n; "
            f"a share itself, by at most {write_bound(honest)} / n"
        )

    def mechanism(self, epsilon: float | FloatArray) -> Mechanism:
        """What randomises shares, for one epsilon or for one per owner."""
        if isinstance(self.terms, VectorTerms):
            raise TypeError("shares for two servers are not randomised: their sum is")
        alone = float(epsilon[0]) if np.shape(epsilon) == (1,) else None  # type: ignore[index]
        if alone in self._of_one_owner:
            return self._of_one_owner[alone]
        space = self.learner.space(self.facts)
        made = MECHANISMS[self.terms.mechanism].over(space, epsilon, np.array(self.epsilons))
        if alone in self.epsilons:
            self._of_one_owner[alone] = made
        return made

    @cached_property
    def prepared(self) -> Any:
        """What its learner makes of the question before it meets rows."""
        return self.learner.prepare(self)

    @cached_property
    def _of_one_owner(self) -> dict[float | None, Mechanism]:
        """Mechanisms for one owner by its epsilon: a gate is asked for one owner after another."""
        return {}

    def cost(self, rows: int) -> Cost:
        if isinstance(self.terms, VectorTerms):
            rounding = Cost(64 * self.width, (1 << 20) + 64 * self.width, 100)
            if isinstance(self.terms, RecordTerms):
                return _cost_of_records(self, rows) + rounding
            return self.learner.cost(self, rows) + rounding
        mechanism = self.mechanism(np.array(self.epsilons))
        drawing = Cost(mechanism.work, (1 << 20) + 256 * self.width, 20)
        return self.learner.cost(self, rows) + drawing

    def blank(self, n: int) -> Reports:
        if isinstance(self.terms, VectorTerms):
            more = isinstance(self.terms, RecordTerms)
            return Reports.of(np.zeros((n, self.width + more), dtype=np.int64))
        return self.mechanism(np.array(self.epsilons)).blank(n)

    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        if isinstance(self.terms, VectorTerms):
            return Reports.of(self.measure(cohort, stream))
        return self.mechanism(epsilon).randomize(self.learner.share(self, cohort), stream)

    def measure(self, cohort: Cohort, stream: Stream) -> IntArray:
        """What each owner of a cohort adds to a sum, in whole numbers: its share, or what the
        shares of its records add up to, with their number. Owner i reads tape i.
        """
        if isinstance(self.terms, RecordTerms):
            return add_up_records(self, self.terms, cohort, stream)
        if not isinstance(self.terms, VectorTerms):
            raise TypeError("what is summed needs the terms of a sum")
        return round_shares(self.learner.share(self, cohort), self.terms, stream)

    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        return self.mechanism(epsilon).valid(reports)

    def collect(self, reports: Reports, epsilon: float | FloatArray) -> Totals:
        return self.mechanism(epsilon).totals(reports)

    def add_up(self, reports: Reports) -> IntArray:
        """The sum of rounded shares, as two servers find it before they add noise."""
        return np.asarray(reports.points.sum(axis=0))

    def opens(self, present: int) -> bool:
        """Whether so many owners are enough: a sum over fewer than its minimum is never opened."""
        if not isinstance(self.terms, VectorTerms):
            return True
        few = len(self.owners) if isinstance(self.owners, tuple) else self.owners
        return (present if few is None else few) >= self.terms.minimum

    def open_sum(self, total: IntArray, n: int, noise: Stream) -> Answer:
        """What two servers say to a sum over n owners: each draws its noise from its own tape."""
        if not isinstance(self.terms, VectorTerms):
            raise TypeError("a sum of two servers needs terms of one")
        if not n >= self.terms.minimum:
            raise SumRefusedError(f"a sum needs at least {self.terms.minimum} owners, got {n}")
        for server in "ab":
            tape = server_tape(noise, self.round, self.attempt, server)
            total = total + self.terms.draw_noise(tape)
        return Answer(*self.terms.answer(total.tolist(), n))

    def answer(self, collected: Totals) -> Answer:
        return Answer(collected.mean, collected.stderr, collected.n)


_RECORDS = 512  # whose shares are held at a time
_FAR = 1 << 44  # words of a tape that first attempts at the records of a site never reach


@dataclass(frozen=True, eq=False)
class _RecordTapes(Stream):
    """One site's tape, shared out among its records from the `first` on: `each` words for every
    one, and far behind them `more` for further attempts.
    """

    site: Stream
    first: int
    each: int
    more: int

    def words(self, rows: IntArray, start: int, count: int) -> WordArray:
        """Of records one after the other from the beginning, or further words of some."""
        site = np.zeros(1, dtype=np.int64)
        if not start:
            at = (self.first + int(rows[0])) * self.each
            return self.site.words(site, at, len(rows) * count).reshape(len(rows), count)
        begins = _FAR + (self.first + rows) * self.more + start - self.each
        return np.vstack([self.site.words(site, int(begin), count) for begin in begins])

    def child(self, *path: int | str | bytes) -> "_RecordTapes":
        raise TypeError("a record's coins serve its rounding and nothing else")

    def of(self, owners: IntArray) -> "_RecordTapes":
        raise TypeError("a record's coins serve its rounding and nothing else")


def add_up_records(
    query: ShareQuery, terms: RecordTerms, cohort: Cohort, stream: Stream
) -> IntArray:
    """What sites add: each record's share is clipped and rounded as an owner's is, with coins of
    its own from its site's tape; of sites with more records than the terms allow, the first.

    Claim: a record that is replaced changes its own rounded share and nothing else; one that is
    added or removed, the number as well, or at a site that is full another record.
    """
    coins = coins_of_share(terms)
    out = np.empty((len(cohort), terms.dim + 1), dtype=np.int64)
    for site, (first, last) in enumerate(cohort.spans.tolist()):
        last = min(last, first + terms.records)
        total = np.zeros(terms.dim, dtype=np.int64)
        for start in range(first, last, _RECORDS):
            each = np.arange(start, min(start + _RECORDS, last))
            some = Cohort(cohort.table, cohort.labels, np.stack([each, each + 1], axis=1))
            tapes = _RecordTapes(stream.of(np.array([site])), start - first, *coins)
            total += round_shares(query.learner.share(query, some), terms, tapes).sum(axis=0)
        out[site] = terms.tell(total, last - first)
    return out


def _cost_of_records(query: ShareQuery, rows: int) -> Cost:
    """What the shares of single records take, some at a time."""
    blocks = -(-max(1, rows) // _RECORDS)
    held = min(rows, _RECORDS) * query.width
    again = query.learner.cost(query, min(rows, _RECORDS))
    work = 100 * rows * query.width + blocks * (again.work + CALL * (again.calls + 200))
    return Cost(work, again.memory + 96 * held)
