"""An audit with rows of one's own: the question that a fit would put to the owners of a table is
answered by every one of them, a block at a time, so the table may be larger than memory.

Checked of each block: shares lie in the space that the mechanism is proven over; reports are ones
that a data user takes; an owner alone says, bit for bit, what it says among the others. Of all
owners, those whose shares reach furthest in some coordinate are kept, two for each: the pair of
them that reports tell apart best must not prove more than the claimed epsilon. What is proven is
for pairs that are really there; `mechanisms` tries the worst that could be.

All of it stays with whoever holds the table: figures here are of exact shares, and private.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.audit.staging import Check
from tacit.audit.statistical import examine
from tacit.data.cohort import Cohort, Public
from tacit.data.owner_blocks import BlockedCohort
from tacit.engines.by_block import Everybody
from tacit.learners.learner import ShareQuery
from tacit.mechanisms.streams import Stream

_PAIRS = 6  # shares that are tried against each other
Heard = Callable[[int, int], None]  # how many blocks of how many


def audit_rows(
    public: Public,
    cohort: BlockedCohort,
    epsilon: float,
    reports: int,
    stream: Stream,
    *,
    heard: Heard = lambda done, of: None,
) -> Iterator[Check]:
    """The checks of the question that a fit with this epsilon begins with."""
    name = f"epsilon {epsilon:g}"
    crowd = Population(max(1, len(cohort)), epsilon)
    query = next(refine(public, crowd, "auto", epsilon), None)
    if query is None:
        yield Check(name, sound=True, seen="nobody would be asked: it would add too little")
        return
    found = Findings(query, epsilon, stream.child("round", query.round, query.attempt))
    for place, block in enumerate(cohort.blocks, 1):
        for numbers, some in block.read(Everybody()):
            found.take(numbers, some)
        heard(place, len(cohort.blocks))
    yield from (Check(f"{name}, {check.name}", check.sound, check.seen) for check in found.checks())
    yield found.prove(name, reports, stream.child("own rows"))


@dataclass(eq=False)
class Findings:
    """What was seen of one question so far; `lowest` and `highest` are shares, one for each
    coordinate, that are so in it.
    """

    query: ShareQuery
    epsilon: float
    tapes: Stream
    owners: int = 0
    outside: int = 0
    invalid: int = 0
    apart: int = 0
    alone: int = 0
    lowest: FloatArray = field(init=False)
    highest: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        dim = self.query.width
        self.lowest, self.highest = np.full((dim, dim), np.inf), np.full((dim, dim), -np.inf)

    def take(self, numbers: IntArray, some: Cohort) -> None:
        """One batch of owners."""
        query, coins = self.query, self.tapes.of(numbers)
        shares = query.learner.share(query, some)
        made = query.release(some, self.epsilon, coins)
        inside = query.learner.space(query.facts).clip(shares)
        self.owners += len(numbers)
        self.outside += int((np.abs(inside - shares) > 1e-12).any(axis=1).sum())
        self.invalid += int((~query.valid(made, self.epsilon)).sum())
        first = query.release(some[:1], self.epsilon, self.tapes.of(numbers[:1]))
        self.alone += 1
        self.apart += first.points.tobytes() != made[:1].points.tobytes()
        axes = np.arange(query.width)
        low, high = shares[np.argmin(shares, axis=0)], shares[np.argmax(shares, axis=0)]
        lower = low[axes, axes] < self.lowest[axes, axes]
        higher = high[axes, axes] > self.highest[axes, axes]
        self.lowest[lower], self.highest[higher] = low[lower], high[higher]

    def checks(self) -> Iterator[Check]:
        """What every block has to show."""
        owners = f"{self.owners:,} owners"
        yield Check("shares", not self.outside, f"{self.outside} of {owners} outside their space")
        yield Check("reports", not self.invalid, f"{self.invalid} of {owners} would be refused")
        yield Check(
            "owners alone", not self.apart, f"{self.apart} of {self.alone} differ from their block"
        )

    def prove(self, name: str, reports: int, stream: Stream) -> Check:
        """The epsilon that reports prove of the owners that are furthest apart."""
        widest = np.argsort(-np.diagonal(self.highest - self.lowest))[: _PAIRS // 2]
        inputs = np.concatenate([self.lowest[widest], self.highest[widest]])
        found = examine(self.query.mechanism(self.epsilon), inputs, reports, stream)
        seen = (
            f"proven {found.measured:.3f} of {found.claimed:g} by {len(inputs)} owners that are "
            f"far apart; bias {found.bias_z:.1f}, variance {found.variance_z:.1f} standard errors"
        )
        return Check(f"{name}, proven", found.sound, seen)
