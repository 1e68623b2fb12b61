"""Questions that two servers answer together: shares of a learner, or everybody's error terms, in
two sealed halves with a proof.

Claim: unit owner, or record where sites add up over their records; adversary either server alone
with all other owners; epsilon (and delta) as the law of the sum says, charged for each question.
Proof: sums/two_servers.md. The report itself is read by nobody: two servers verify and add reports
up (sums/protocol.py).
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar, NoReturn

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.learners.learner import Facts, Learner, LearnerQuery, ShareQuery, Tally
from tacit.learners.models.ensemble import Ensemble, Model
from tacit.learners.query import CALL, Cost, Query, digest_of, in_blocks, table
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream
from tacit.sums import HOW
from tacit.sums.halves import Batch, SumTerms, TallyLaw, seal_reports
from tacit.sums.vector_terms import RecordTerms, VectorTerms
from tacit.wire import message

WHAT = "error sum"
_PLAIN = 7  # the largest number of a share, as everybody asks for it


class SealedQuery(Query):
    """A question whose reports are two sealed halves."""

    unit: ClassVar[str] = "owner"
    adjacency: ClassVar[str] = "any two sets of rows of one owner that takes part"

    terms: SumTerms

    @property
    @abstractmethod
    def batch(self) -> Batch:
        """What halves are sealed to: this question and no other."""

    @abstractmethod
    def measure(self, cohort: Cohort, stream: Stream) -> IntArray:
        """What each owner adds to the sum: whole numbers that keep the law, whatever its rows."""

    @property
    def sum_digest(self) -> bytes:
        """An owner that was in a sum twice would have twice the length, and noise for one."""
        return self.batch.digest

    @property
    def how(self) -> str:
        return HOW

    @property
    def epsilons(self) -> tuple[float, ...]:
        return (self.terms.law.price,)

    @property
    def width(self) -> int:
        return self.terms.law.prio3.circuit.output_len

    def proof_cost(self) -> Cost:
        """What rounding, proving and sealing take at most: a range is a product with a factor for
        each of its values, at as many points.
        """
        size, law = self.batch.report_size, self.terms.law
        wider = law.largest / _PLAIN if isinstance(law, VectorTerms) else 1.0
        work = ceil(400 * max(1.0, wider) * size)
        return Cost(3_000 * CALL + work, (1 << 22) + 256 * size)

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.batch.report_size), dtype=np.uint8))

    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        """Two sealed halves of what each owner adds; the noise is the servers'."""
        (price,) = self.epsilons
        if not np.all(np.asarray(epsilon) == price):
            raise bad("epsilon", f"{price} as the question says", epsilon)
        # whatever votes are published, what they give is clipped afterwards
        with np.errstate(all="ignore"):
            measured = self.measure(cohort, stream)
        return Reports.of(seal_reports(measured, self.batch, stream.child("halves")))

    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        """Halves are sealed: only their servers find out whether they open and are proven, and
        leave out those that are not.
        """
        return np.ones(len(reports), dtype=np.bool_)

    def collect(self, reports: Reports, epsilon: float | FloatArray) -> NoReturn:
        raise TypeError(
            "reports to a sum are added up by two servers (tacit.sums.protocol); nobody reads "
            "them alone"
        )

    def answer(self, collected: Any) -> NoReturn:
        raise TypeError(
            "a sum is answered by whoever opens it, from both servers (tacit.sums.protocol)"
        )


@message("sum")
@dataclass(frozen=True, eq=False)
class SumQuery(SealedQuery):
    """Asks everybody how wrong `model` is under the published ensemble; `number` counts the
    campaign's sums from 1.

    `columns` is how many numbers a row has.
    """

    columns: int
    model: Model
    ensemble: Ensemble
    number: int
    terms: SumTerms

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.owners is not None:
            raise bad("owners", "None: a sum is over everybody", self.owners)
        whole("columns", self.columns, 1)
        whole("number", self.number, 1)
        if not isinstance(self.terms.law, TallyLaw):
            raise bad("terms", "those of error terms", type(self.terms.law).__name__)
        self.ensemble.plus(0.0, self.model).check(self.columns, self.ensemble.classes)

    @classmethod
    def of(
        cls, tally: Tally, columns: int, number: int, attempt: int, terms: SumTerms
    ) -> "SumQuery":
        """The question that answers a tally; `attempt` tells one that failed from the next."""
        return cls(
            round=len(tally.ensemble) + 1,
            attempt=attempt,
            owners=None,
            columns=columns,
            model=tally.model,
            ensemble=tally.ensemble,
            number=number,
            terms=terms,
        )

    @property
    def batch(self) -> Batch:
        """What halves are sealed to: this question and no other."""
        return Batch(digest_of(self), self.number, self.attempt, self.terms)

    @property
    def law(self) -> TallyLaw:
        """What is summed."""
        if not isinstance(self.terms.law, TallyLaw):
            raise TypeError("a sum of error terms has the law of error terms")
        return self.terms.law

    @property
    def what(self) -> str:
        return WHAT

    @property
    def dim(self) -> int:
        return self.columns

    @property
    def classes(self) -> int:
        return self.ensemble.classes

    @property
    def unsound(self) -> str:
        return ""

    def cost(self, rows: int) -> Cost:
        sealing = Cost(3_000 * CALL, 1 << 20)  # some hundred products, hashes of a few kilobytes
        all_of_it = self.ensemble.plus(0.0, self.model).cost(self.columns, rows)
        return all_of_it + in_blocks(lambda block: table(block, 8, 4), rows) + sealing

    def measure(self, cohort: Cohort, stream: Stream) -> IntArray:
        return self.law.measure(self.ensemble.error_terms(self.model, cohort))

    @property
    def influence(self) -> str:
        return (
            "what an owner adds to a sum is proven to be from 0 to 1: one report, true or not, "
            "moves the sum by at most 1"
        )


@message("sum.shares")
@dataclass(frozen=True, eq=False)
class SharesQuery(LearnerQuery, SealedQuery):
    """Asks for the sum of a learner's shares: a `ShareQuery` as it travels to owners; `number` is
    the question's place in its campaign, so that a sum that is asked anew is another one.
    """

    learner: Learner
    facts: Facts
    ensemble: Ensemble
    number: int
    terms: SumTerms

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("number", self.number, 1)
        self.ensemble.check(self.facts.dim, self.facts.classes)
        if not self.law.dim == self.learner.space(self.facts).dim:
            raise bad("terms", "those of this learner's shares", self.law.dim)
        # whose promise a question names, and whose its noise keeps, are one
        if not (self.unit == "record") == isinstance(self.law, RecordTerms):
            raise bad("terms", f"those of a sum that protects one {self.unit}", self.terms.law)

    @classmethod
    def of(cls, asked: ShareQuery, number: int, servers: tuple[bytes, bytes]) -> "SharesQuery":
        """The question that answers this one, for coordinator and helper with these keys."""
        if not isinstance(asked.terms, VectorTerms):
            raise TypeError("a sum of shares needs the terms of a summed vector")
        kind = RecordsQuery if isinstance(asked.terms, RecordTerms) else SharesQuery
        return kind(
            round=asked.round,
            attempt=asked.attempt,
            owners=asked.owners,
            learner=asked.learner,
            facts=asked.facts,
            ensemble=asked.ensemble,
            number=number,
            terms=SumTerms(asked.terms, *servers),
        )

    @property
    def law(self) -> VectorTerms:
        """What is summed."""
        if not isinstance(self.terms.law, VectorTerms):
            raise TypeError("a sum of shares has the law of a summed vector")
        return self.terms.law

    @property
    def share_query(self) -> ShareQuery:
        """What the algorithm asked."""
        return ShareQuery(
            round=self.round,
            attempt=self.attempt,
            owners=self.owners,
            learner=self.learner,
            facts=self.facts,
            ensemble=self.ensemble,
            terms=self.law,
        )

    @property
    def batch(self) -> Batch:
        return Batch(digest_of(self), self.round, self.attempt, self.terms)

    @property
    def unsound(self) -> str:
        return self.learner.unsound

    @property
    def rho(self) -> Fraction:
        return self.law.rho

    @property
    def delta(self) -> float:
        return self.law.delta

    def cost(self, rows: int) -> Cost:
        return self.share_query.cost(rows) + self.proof_cost()

    def measure(self, cohort: Cohort, stream: Stream) -> IntArray:
        return self.share_query.measure(cohort, stream)

    @property
    def influence(self) -> str:
        return self.share_query.influence


@message("sum.records.shares")
@dataclass(frozen=True, eq=False)
class RecordsQuery(SharesQuery):
    """Asks sites for the sum over their records of a learner's shares, and for their number."""

    unit: ClassVar[str] = "record"
    adjacency: ClassVar[str] = "one record of a site replaced, added or removed"
