"""The audit of the shipped mechanisms, as rows: what is claimed, what the exact table says, what
samples prove; and with rows of one's own.

The exact part enumerates a mechanism's table of whole-number weights and compares its worst ratio
with e^epsilon. No float takes part in the verdict: the ratio is a fraction, and so is the lower
bound of e^epsilon it must not exceed. Samples are judged in examination.py.

With rows of one's own, the question that a fit would put to the owners of a table is answered by
every one of them, a block at a time, so the table may be larger than memory. Checked of each block:
shares lie in the space that the mechanism is proven over; reports are ones that a data user takes;
an owner alone says, bit for bit, what it says among the others. Of all owners, those whose shares
reach furthest in some coordinate are kept, two for each: the pair of them that reports tell apart
best must not prove more than the claimed epsilon. What is proven is for pairs that are really
there. All of it stays with whoever holds the table: figures are of exact shares, and private.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import log

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.audit.examination import Examination, corners, examine
from tacit.audit.staging import Check
from tacit.data.cohort import Cohort, Public
from tacit.data.owner_blocks import BlockedCohort
from tacit.engines.by_block import Everybody
from tacit.learners.learner import ShareQuery
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.duchi import Duchi, DuchiLaw
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.piecewise import Hybrid, Piecewise, PiecewiseLaw
from tacit.mechanisms.privunit import Cap, PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse, ResponseLaw
from tacit.mechanisms.registry import (
    PRIVATE,
    ExactVerdict,
    Law,
    enumerate_law,
    own_mechanisms,
)
from tacit.mechanisms.spaces import Ball, Box, Space
from tacit.mechanisms.streams import Stream, exp_below, odds, rational

_SMALL = 64  # grid of the tables that are enumerated whole


@dataclass(frozen=True)
class AuditRow:
    """One mechanism at one epsilon and dimension."""

    mechanism: str
    epsilon: float
    dim: int
    spent: float
    exact: bool
    found: Examination

    @property
    def sound(self) -> bool:
        return self.exact and self.found.sound


def audit_mechanisms(
    epsilons: list[float], dims: list[int], n: int, stream: Stream
) -> Iterator[AuditRow]:
    """Audit every private mechanism over the space it is meant for, n reports per input."""
    for kind in (*PRIVATE, *own_mechanisms()):
        for dim in dims:
            space: Space = Ball(dim=dim) if kind is PrivUnit else Box(dim=dim)
            for epsilon in epsilons:
                if kind not in PRIVATE and not _takes(kind, space, epsilon):
                    continue
                coins = stream.child(kind.__name__, dim, str(epsilon))
                # it ranks codewords: slower, and as telling
                draws = n // 10 if kind is PrivUnit else n
                mechanism = kind(epsilon=epsilon, space=space)
                found = examine(mechanism, corners(dim), draws, coins)
                used, within = epsilon_in_use(mechanism)
                table = small_table(kind, epsilon)
                yield AuditRow(
                    mechanism=kind.__name__,
                    epsilon=epsilon,
                    dim=dim,
                    spent=used,
                    exact=within and (table is None or table.holds),
                    found=found,
                )


def _takes(kind: type[Mechanism], space: Space, epsilon: float) -> bool:
    """Whether an own mechanism is one for this space and epsilon."""
    try:
        kind(epsilon=epsilon, space=space)
    except ValueError:
        return False
    return True


def epsilon_in_use(mechanism: Mechanism) -> tuple[float, bool]:
    """The epsilon that the shipped constants use up, and whether it is within the claim,
    compared as rationals.
    """
    claim = float(np.max(mechanism.epsilon))
    match mechanism:
        case Laplace():
            used = Fraction(mechanism.width, mechanism.noise_scales[-1])
            return float(used), used <= rational(claim)
        case Piecewise() | Hybrid():
            ratio = mechanism.laws[-1].odds.ratio ** int(mechanism.counts[-1])
        case Duchi() | RandomizedResponse():
            ratio = mechanism.laws[-1].odds.ratio
        case PrivUnit():
            ratio = Fraction(mechanism.laws[-1].high, mechanism.laws[-1].low)
        case _:
            ratio = enumerate_law(getattr(mechanism, "laws")[-1], claim).ratio  # noqa: B009
    return log(ratio), ratio <= exp_below(claim)


def small_table(kind: type[Mechanism], epsilon: float) -> ExactVerdict | None:
    """A mechanism's table on a small grid, enumerated whole; None for Laplace, whose weights are
    powers of e^(-1/t).
    """
    tables: dict[type[Mechanism], Law] = {
        Piecewise: PiecewiseLaw.of(epsilon, _SMALL),
        Hybrid: PiecewiseLaw.of(epsilon, _SMALL),
        Duchi: DuchiLaw(4, odds(epsilon, _SMALL)),
        RandomizedResponse: ResponseLaw(8, odds(epsilon, _SMALL)),
        PrivUnit: Cap(4, candidates=16, favoured=5, high=odds(epsilon, _SMALL).high, low=_SMALL),
    }
    return enumerate_law(tables[kind], epsilon) if kind in tables else None


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
