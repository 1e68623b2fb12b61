"""Questions that two servers answer together: everybody's error terms, in two sealed halves with a
proof.

Claim: unit owner; adversary either server alone with all other owners; epsilon as the terms say,
charged for each question. Proof: sums/two_servers.md. The report itself is read by nobody: two
servers verify and add reports up (sums/protocol.py).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import BoolArray, FloatArray
from tacit.data.cohort import Cohort
from tacit.learners.invitation import digest_of
from tacit.learners.learner import Tally
from tacit.learners.models.ensemble import Ensemble, Model
from tacit.learners.query import CALL, Cost, Query, in_blocks, table
from tacit.mechanisms.reports import Reports
from tacit.mechanisms.streams import Stream
from tacit.sums.halves import ENTRIES, Batch, SumTerms, TallyLaw, seal_reports
from tacit.wire import message

WHAT, HOW = "error sum", "two servers"


@message("sum")
@dataclass(frozen=True, eq=False)
class SumQuery(Query):
    """Asks everybody how wrong `model` is under the published ensemble; `number` counts the
    campaign's sums from 1.

    `columns` is how many numbers a row has.
    """

    unit: ClassVar[str] = "owner"
    adjacency: ClassVar[str] = "any two sets of rows of one owner that takes part"

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
    def how(self) -> str:
        return HOW

    @property
    def dim(self) -> int:
        return self.columns

    @property
    def classes(self) -> int:
        return self.ensemble.classes

    @property
    def epsilons(self) -> tuple[float, ...]:
        return (self.law.epsilon,)

    @property
    def unsound(self) -> str:
        return ""

    @property
    def width(self) -> int:
        return ENTRIES

    def cost(self, rows: int) -> Cost:
        sealing = Cost(3_000 * CALL, 1 << 20)  # some hundred products, hashes of a few kilobytes
        all_of_it = self.ensemble.plus(0.0, self.model).cost(self.columns, rows)
        return all_of_it + in_blocks(lambda block: table(block, 8, 4), rows) + sealing

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.batch.report_size), dtype=np.uint8))

    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        """Two sealed halves of each owner's clipped terms; the noise is the servers'."""
        if not np.all(np.asarray(epsilon) == self.law.epsilon):
            raise bad("epsilon", f"{self.law.epsilon} as the question says", epsilon)
        # whatever votes are published, terms are clipped afterwards
        with np.errstate(all="ignore"):
            terms = self.ensemble.error_terms(self.model, cohort)
        return Reports.of(seal_reports(self.law.measure(terms), self.batch, stream))

    @property
    def influence(self) -> str:
        return (
            "what an owner adds to a sum is proven to be from 0 to 1: one report, true or not, "
            "moves the sum by at most 1"
        )

    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        """Halves are sealed: only their servers find out whether they open, and leave out those
        that do not.
        """
        return np.ones(len(reports), dtype=np.bool_)

    def collect(self, reports: Reports, epsilon: float | FloatArray) -> NoReturn:
        raise TypeError(
            "reports to a sum are added up by two servers (tacit.sums.protocol); nobody reads "
            "them alone"
        )

    def answer(self, collected: Any) -> NoReturn:
        raise TypeError(
            "a sum is answered with a Verdict, by whoever opens it (tacit.sums.protocol)"
        )
