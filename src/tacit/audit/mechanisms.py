"""The audit of the shipped mechanisms, as rows: what is claimed, what the exact table says, what
samples prove; of sums of two servers, from inside each of them; and with rows of one's own.

The exact part enumerates a mechanism's table of whole-number weights and compares its worst ratio
with e^epsilon. No float takes part in the verdict: the ratio is a fraction, and so is the lower
bound of e^epsilon it must not exceed. Samples are judged in statistical.py.

What can one server of a sum, with all that it holds and hears, prove about one owner? The whole
path is run again and again: an owner seals what it adds in one of two worlds that differ as much as
the law allows, both servers open, verify, judge and release, with fresh coins. All other owners are
known to the adversary, so that there are none. A view is a handful of numbers: the server's own
half (mask), the opened verifier of the proof, the other's part of the joint randomness, and the
other's sum with its noise, set against one's own half.

Events are fixed before anything is counted: a number lies in the upper half; a number of the second
half of the runs was seen in the first half, in the first world; the sum is nearer to one world, or
beyond it. Their frequencies prove an epsilon at the law's delta (Clopper-Pearson, the error shared
out over events). Claim: with a sound protocol no view proves more than the law's epsilon, but with
the chance `ALARM`.

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
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy.stats import beta

from tacit._util.types import BoolArray, FloatArray, IntArray, WordArray
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.audit.staging import Check
from tacit.audit.statistical import Examination, examine
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
from tacit.sums.halves import (
    COORDINATOR,
    HELPER,
    Batch,
    SumLaw,
    SumTerms,
    open_halves,
    seal_reports,
)
from tacit.sums.prio3.batch import Server
from tacit.sums.prio3.fields import SEED
from tacit.sums.prio3.instances import Sizes
from tacit.sums.protocol import CoordinatorSide, HelperSide

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
                found = examine(mechanism, opposites(dim), draws, coins)
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


def opposites(dim: int) -> FloatArray:
    """Shares between one corner of the space and the opposite one."""
    return np.array([np.full(dim, value) for value in (-1.0, -0.9, -0.3, 0.0, 0.9, 1.0)])


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


ALARM = 1e-4  # of one audit of sound sums
_KEYS = X25519PrivateKey.generate(), X25519PrivateKey.generate()
_NAMES = ("coordinator", "helper")


@dataclass(frozen=True)
class ViewRow:
    """What one number in a server's view proves."""

    server: str
    what: str
    trials: int
    proven: float
    claimed: float

    @property
    def sound(self) -> bool:
        return self.proven <= self.claimed


def audit_views(
    law: SumLaw, worlds: tuple[IntArray, IntArray], delta: float, trials: int, stream: Stream
) -> list[ViewRow]:
    """What both servers' views prove of an owner that adds one vector of `worlds` or the other; the
    law must open sums of one owner.
    """
    public = [key.public_key().public_bytes_raw() for key in _KEYS]
    batch = Batch(bytes(32), 1, 1, SumTerms(law, *public))
    seen = [_views(batch, worlds, place, trials, stream.child(place)) for place in (0, 1)]
    error = ALARM / (3 * len(_NAMES) * len(_WHAT))
    rows = []
    for server, name in enumerate(_NAMES):
        for column, what in enumerate(_WHAT):
            one, other = (each[:, server, column] for each in seen)
            events = [(one > 0.5, other > 0.5)]
            if what == _SUM:
                events += [(one >= 1, other >= 1), (one <= 0, other <= 0)]
            else:
                half = trials // 2
                events += [(np.isin(one[half:], one[:half]), np.isin(other[half:], one[:half]))]
            proven = max(_prove(*event, delta, error) for event in events)
            rows.append(ViewRow(name, what, trials, proven, law.price))
    return rows


def _prove(one: BoolArray, other: BoolArray, delta: float, error: float) -> float:
    """What an event proves, or its opposite, in one world or the other."""
    n, a, b = len(one), int(one.sum()), int(other.sum())
    pairs = ((a, b), (b, a), (n - a, n - b), (n - b, n - a))
    return max(prove_epsilon(*pair, n, delta, error) for pair in pairs)


def prove_epsilon(hits: int, others: int, trials: int, delta: float, error: float) -> float:
    """An epsilon that is exceeded at this delta, but with the chance `error`, if an event was so
    frequent in one world and in the other.

    >>> round(prove_epsilon(731, 269, 1000, 0.0, 1e-3), 2)  # true ratio: e
    0.77
    """
    low = float(beta.ppf(error / 2, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - error / 2, others + 1, trials - others)) if others < trials else 1.0
    return float(np.log((low - delta) / high)) if low - delta > high else 0.0


_SUM = "the other's sum"
_WHAT = ("own half", "opened verifier", "joint randomness", _SUM)


def _views(
    batch: Batch, worlds: tuple[IntArray, IntArray], world: int, trials: int, stream: Stream
) -> FloatArray:
    """What coordinator and helper hold of each of so many runs in this world, (trials, 2, 4):
    numbers from 0 to 1, the first three uniform. Runs are checked in one block, each is a sum of
    its own.
    """
    prio3, field = batch.terms.law.prio3, batch.terms.law.prio3.circuit.field
    sealed = seal_reports(np.tile(worlds[world], (trials, 1)), batch, stream.child("owner"))
    cut = batch.half_size(COORDINATOR)
    told, own = [], []
    for place, part in ((COORDINATOR, sealed[:, :cut]), (HELPER, sealed[:, cut:])):
        halves = open_halves([row.tobytes() for row in part], batch, place, _KEYS[place])
        key = batch.verify_key(place, _KEYS[place])
        server = Server(prio3, batch.application, place, key=key)
        opened = server.open(halves.nonces, halves.public, halves.inputs)
        told.append(opened.told)
        own.append(np.concatenate([state.outputs for state in opened.states]))
    end = Sizes(prio3).verifier - SEED
    verifiers = [field.decode(each[:, :end])[0] for each in told]
    opened_first = field.add(verifiers[0], verifiers[1])[:, 1]  # entry 0 is 0 for everybody
    views = np.empty((trials, 2, len(_WHAT)))
    for place in (COORDINATOR, HELPER):
        views[:, place, 0] = _scale(own[place][:, 0], field.modulus)
        views[:, place, 1] = _scale(opened_first, field.modulus)
        parts = np.ascontiguousarray(told[1 - place][:, end : end + 8]).view("<u8")
        views[:, place, 2] = _scale(parts, 1 << 64)
        for run in range(trials):
            noisy = _release(batch, 1 - place, own[1 - place][run], stream.child("noise", run))
            # the other's sum and one's own half: what was added, and the other's noise
            joined = field.to_signed(field.add(noisy, own[place][run]))
            views[run, place, 3] = _nearness(np.array(joined, dtype=np.float64), worlds)
    return views


def _release(batch: Batch, place: int, share: WordArray, stream: Stream) -> WordArray:
    """A server's noisy sum of one share."""
    side = (CoordinatorSide if place == COORDINATOR else HelperSide)(batch, _KEYS[place])
    side.resume(bytes(batch.terms.law.prio3.circuit.field.encode(share[np.newaxis])[0]), 1)
    return side.noisy_sum(1, stream)


def _scale(words: WordArray, whole: int) -> FloatArray:
    return np.asarray(words[:, 0] / whole)


def _nearness(value: FloatArray, worlds: tuple[IntArray, IntArray]) -> float:
    """Above 0.5: nearer to the second world, entry by entry within the two."""
    low, high = worlds
    apart = high != low
    along = (value - low)[apart] / (high - low)[apart]
    return float(np.clip(along, 0.0, 1.0).mean())


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
