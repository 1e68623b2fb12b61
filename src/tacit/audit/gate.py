"""The audit of the whole gate: what gateways of neighbouring owners prove about epsilon, whether
ledgers agree with what left, and whether coins are used twice.

All owners of one gateway hold data set A, all of another B, chosen as far apart as the learner's
shares allow. The questions go through signature, policy, ledger on disk, coins, mechanism and
packing; what comes out is read by an outsider (distinguish.py). A sixth of the reports teaches
scores, another chooses the event, and the others give the Clopper-Pearson bound: choosing costs no
confidence. A third gateway, whose owners hold A or B by a fair coin, gives a bound of its own
(statistical.py).

The claim that the bounds are held against is what the ledger charged. Confidence 99.9 % for each
bound. The ledger: every answer is written down, charged in full, repeated alike, and no budget
exceeded.

The coins: used twice, they undo the noise. Whoever gets the same coins once under rows that it
knows (its own, or a question whose share everybody knows) reads the other report like a letter. No
bound on a single answer shows that, and a seeded gate cannot either, since it is given its coins;
so here the gate keeps the ones it has. Owners with equal rows are asked two questions with equal
content, at two gateways. PrivUnit names one of 2^64 codewords, 2^64 / N of the names equally likely
whatever the rows (N is the number of candidates, below 2^16): fresh coins give one name twice with
probability at most m^2 / 2^49 for m reports, less than 3e-9 for the 1,200 used here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tacit.audit.distinguish import AnswerReader, Readings, of_one_run, of_two_runs, together
from tacit.audit.staging import (
    FIRST_ROUND,
    REHEARSAL,
    extremes,
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
from tacit.learners.learner import Learner, ShareQuery
from tacit.learners.owners import own_learners
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.learners.query import Invitation
from tacit.mechanisms.streams import SeededStream, rational
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger_entries import Entry
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


def own_cases() -> list[GateCase]:
    """A case for every learner of another package that was registered."""
    return [GateCase(kind(), "privunit", (1.0,)) for kind in own_learners()]


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
        faults=(
            *dict.fromkeys(fault for run in runs for fault in run.faults),
            *find_dependence(case.queries[0]),
        ),
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
    """Ask one gateway: some owners twice, then everybody; in between some once more than their
    budget allows. It is the epsilon in all that does not, and of the first gateway the number of
    releases: a limit that is never the one that binds would not be looked at.
    """
    desk.mkdir()
    ledger = ledger_in(desk)
    counted, largest = desk.name == "one", rational(max(case.epsilons))
    every = sum((rational(epsilon) for epsilon in case.epsilons), Fraction(0))
    policy = Policy(
        epsilon_per_release=largest,
        epsilon_total=every + largest if counted else every,
        releases=len(case.epsilons) + (0 if counted else 1),
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


_LEVEL = 7  # where a report names its level: see learners/query.py
_HEADER = 8  # bytes of a report before what the mechanism drew
_OWNERS = 300  # at each of two gateways, two questions each
Answers = Mapping[str, bytes | RefusedError]  # by owner


def find_dependence(query: ShareQuery) -> Iterator[str]:
    """Faults of a learner: a share that is not the same alone and among others, to the bit."""
    owners = extremes()
    together = query.learner.share(query, gather(owners))
    alone = np.vstack([query.learner.share(query, owner) for owner in owners])
    if not (together.shape == alone.shape and together.tobytes() == alone.tobytes()):
        yield "an owner's share depends on other owners"
    if together.shape[1] != query.width:
        yield f"a share has {together.shape[1]} numbers, its space {query.width}"


def find_unrecorded(
    entries: list[Entry], invitation: Invitation, answers: Answers
) -> Iterator[str]:
    """Faults of a ledger after a question: answers that are missing, differ, or were charged
    less than they name.
    """
    kept = {(entry.owner, entry.digest): entry for entry in entries}
    digest = invitation.answered_as
    costs = [rational(epsilon) for epsilon in invitation.query.epsilons]
    missing, cheap = 0, 0
    for owner, answer in answers.items():
        if isinstance(answer, bytes):
            entry = kept.get((owner, digest))
            if entry is None or entry.report != answer:
                missing += 1
            elif not (
                len(answer) > _LEVEL
                and answer[_LEVEL] < len(costs)
                and entry.cost >= costs[answer[_LEVEL]]
            ):
                cheap += 1
    if missing:
        yield f"{missing} answers are not in the ledger"
    if cheap:
        yield f"{cheap} answers are charged less than they name"


def find_overspending(entries: list[Entry], policy: Policy) -> Iterator[str]:
    """Faults of a ledger whatever was asked: owners over their budgets."""
    beyond = sum(cost > policy.epsilon_total for cost in _charges(entries).values())
    often = sum(
        count > policy.releases for count in Counter(entry.owner for entry in entries).values()
    )
    large = sum(entry.cost > policy.epsilon_per_release for entry in entries)
    for count, what in ((beyond, "in all"), (often, "in number"), (large, "at once")):
        if count:
            yield f"{count} times more was released {what} than the policy allows"


def find_changed(first: Answers, again: Answers) -> Iterator[str]:
    """Faults when a question is asked twice: other bytes, or an answer where there was none."""
    changed = sum(_content(answer) != _content(again[owner]) for owner, answer in first.items())
    if changed:
        yield f"{changed} answers changed when the question was repeated"


def largest_charge(entries: list[Entry]) -> float:
    """The largest sum of charges of an owner: what the ledger claims epsilon to be."""
    return float(max(_charges(entries).values(), default=Fraction(0)))


def _charges(entries: list[Entry]) -> dict[str, Fraction]:
    spent: dict[str, Fraction] = {}
    for entry in entries:
        spent[entry.owner] = spent.get(entry.owner, Fraction(0)) + entry.cost
    return spent


def _content(answer: bytes | RefusedError) -> bytes | str:
    return str(answer) if isinstance(answer, RefusedError) else answer


def find_repeated_coins(kind: type[Gate] = Gate, owners: int = _OWNERS) -> Iterator[str]:
    """Where coins came twice: between owners, between questions, or between starts; nothing is
    good.
    """
    query = share_query(Stump(), "privunit", [1.0], FIRST_ROUND)
    policy = Policy(
        epsilon_per_release=Fraction(1),
        epsilon_total=Fraction(2),
        releases=2,
        campaign=REHEARSAL,
        time_step=Fraction(0),
    )
    everybody = names(owners)
    heard: list[list[bytes]] = []
    for _ in range(2):
        with TemporaryDirectory() as folder:
            ledger = ledger_in(Path(folder))
            gate = gateway(kind, gather([same_rows(1.0, 1, 1)] * owners), policy, ledger)
            for number in (1, 2):
                answers = gate.answers(sign_invitation(invite(query, number)), everybody)
                heard.append([a[_HEADER:] for a in answers if isinstance(a, bytes)])
            ledger.close()
    first, second, restarted, _ = (set(reports) for reports in heard)
    if sum(map(len, heard)) < 4 * owners:
        yield f"{4 * owners - sum(map(len, heard))} of {4 * owners} questions were not answered"
    if any(len(set(reports)) < len(reports) for reports in heard):
        yield "owners share coins"
    if first & second:
        yield "questions share coins"
    if first & restarted:
        yield "a gate that is started again repeats its coins"
