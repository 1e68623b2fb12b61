"""The audit of the whole gate: what gateways of neighbouring owners prove about epsilon, and
whether books agree.

All owners of one gateway hold data set A, all of another B, chosen as far apart as the learner's
shares allow. The questions go through signature, policy, ledger on disk, coins, mechanism and
packing; what comes out is read by an outsider (distinguish.py). A sixth of the reports teaches
scores, another chooses the event, and the others give the Clopper-Pearson bound: choosing costs no
confidence. A third gateway, whose owners hold A or B by a fair coin, gives a bound of its own
(statistical.py).

The claim that the bounds are held against is what the ledger charged. Confidence 99.9 % for each
bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tacit.audit.distinguish import AnswerReader, Readings, of_one_run, of_two_runs, together
from tacit.audit.ledger_checks import (
    Answers,
    find_changed,
    find_overspending,
    find_unrecorded,
    largest_charge,
)
from tacit.audit.staging import (
    FIRST_ROUND,
    REHEARSAL,
    farthest,
    gateway,
    gather,
    invite,
    ledger_in,
    names,
    same_rows,
    seeded_kind,
    share_query,
    sign_invitation,
)
from tacit.data.cohort import Cohort
from tacit.learners.invitation import Invitation
from tacit.learners.learner import Learner, ShareQuery
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import SeededStream, rational
from tacit.owner.gate import Gate
from tacit.owner.policy import Policy

_SOME = 100  # owners that are asked a second time


@dataclass(frozen=True)
class GateCase:
    """What to ask: a share of `learner` through `mechanism`, one question for each of `epsilons`;
    of which owners.

    `contrast` is "opposite" for the two extreme owners farthest apart, "empty" for one of them and
    one without rows.
    """

    learner: Learner
    mechanism: str
    epsilons: tuple[float, ...]
    contrast: str = "opposite"

    @property
    def queries(self) -> list[ShareQuery]:
        return [
            share_query(self.learner, self.mechanism, [epsilon], FIRST_ROUND)
            for epsilon in self.epsilons
        ]

    @property
    def pair(self) -> tuple[Cohort, Cohort]:
        one, other = farthest(self.queries[0])
        return (one, same_rows(0.0, 0, 0)) if self.contrast == "empty" else (one, other)


CASES = (
    GateCase(Stump(), "privunit", (1.0,)),
    GateCase(Stump(), "duchi", (2.0,)),
    GateCase(Stump(), "laplace", (2.0,)),
    GateCase(Logistic(bound=1.0), "privunit", (1.0, 1.0)),
    GateCase(Centroid(), "hybrid", (1.0,)),
    GateCase(Centroid(), "piecewise", (3.0,)),
    GateCase(Centroid(), "piecewise", (2.0,), "empty"),
    GateCase(Logistic(bound=1.0), "privunit", (4.0,)),
    GateCase(Logistic(bound=1.0), "randomized_response", (2.0,)),
)


@dataclass(frozen=True)
class GateRow:
    """What the ledger claims, what two gateways and one run prove, and where books and answers
    disagree.
    """

    learner: str
    mechanism: str
    questions: int
    contrast: str
    claimed: float
    proven: float
    one_run: float
    faults: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.faults and self.proven <= self.claimed and self.one_run <= self.claimed


def audit_gate(
    n: int,
    stream: SeededStream,
    cases: Sequence[GateCase] = CASES,
    kind: type[Gate] = Gate,
    confidence: float = 0.999,
) -> Iterator[GateRow]:
    """Audit a kind of gate, n owners per gateway."""
    for case in cases:
        yield _audit_case(case, n, stream.child(repr(case)), kind, confidence)


def _audit_case(
    case: GateCase, n: int, stream: SeededStream, kind: type[Gate], confidence: float
) -> GateRow:
    one, other = case.pair
    bits = (stream.child("bits").words(np.arange(n), 0, 1)[:, 0] & np.uint64(1)).astype(np.bool_)
    with TemporaryDirectory() as folder:
        desks = [Path(folder) / name for name in ("one", "other", "mixed")]
        cohorts = [
            gather([one] * n),
            gather([other] * n),
            gather([one if bit else other for bit in bits]),
        ]
        runs = [
            _run(case, cohort, desk, stream.child(desk.name), kind)
            for cohort, desk in zip(cohorts, desks, strict=True)
        ]
    a, b, mixed = (run.readings for run in runs)
    return GateRow(
        learner=case.learner.name,
        mechanism=case.mechanism,
        questions=len(case.epsilons),
        contrast=case.contrast,
        claimed=max(run.claimed for run in runs),
        proven=of_two_runs(a, b, confidence),
        one_run=of_one_run(mixed, bits, confidence),
        faults=tuple(dict.fromkeys(fault for run in runs for fault in run.faults)),
    )


@dataclass(frozen=True, eq=False)
class _GatewayRun:
    """What one gateway said and wrote down."""

    readings: Readings
    claimed: float
    faults: list[str]


def _run(
    case: GateCase, cohort: Cohort, desk: Path, stream: SeededStream, kind: type[Gate]
) -> _GatewayRun:
    """Ask one gateway: some owners twice, then everybody; at the end some once more than their
    budget allows.
    """
    desk.mkdir()
    ledger = ledger_in(desk)
    policy = Policy(
        epsilon_per_release=rational(max(case.epsilons)),
        epsilon_total=sum((rational(epsilon) for epsilon in case.epsilons), Fraction(0)),
        releases=len(case.epsilons) + 1,
        campaign=REHEARSAL,
        time_step=Fraction(0),
    )
    everybody = names(len(cohort))
    some = everybody[:_SOME]
    gate = gateway(seeded_kind(kind), cohort, policy, ledger, stream=stream)

    def ask(invitation: Invitation, owners: list[str]) -> Answers:
        return dict(zip(owners, gate.answers(sign_invitation(invitation), owners), strict=True))

    invitations = [invite(query, number) for number, query in enumerate(case.queries, 1)]
    early = [(ask(each, some), ask(each, some)) for each in invitations]
    ask(invite(case.queries[0], len(invitations) + 1), some)
    said = [ask(each, everybody) for each in invitations]
    entries = ledger.entries()
    ledger.close()
    faults = [*find_overspending(entries, policy)]
    for invitation, (first, again), last in zip(invitations, early, said, strict=True):
        faults += find_unrecorded(entries, invitation, last)
        faults += [*find_changed(first, again), *find_changed(first, last)]
    readings = [
        AnswerReader(i, *case.pair).read([*last.values()])
        for i, last in zip(invitations, said, strict=True)
    ]
    return _GatewayRun(together(readings), largest_charge(entries), faults)
