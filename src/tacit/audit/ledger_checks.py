"""What a gate must keep beside its epsilon: a ledger that agrees with what left, and coins that are
never used twice.

The ledger: every answer is written down, charged in full, repeated alike, and no budget exceeded.

The coins: used twice, they undo the noise. Whoever gets the same coins once under rows that it
knows (its own, or a question whose share everybody knows) reads the other report like a letter. No
bound on a single answer shows that, and a seeded gate cannot either, since it is given its coins;
so here the gate keeps the ones it has. Owners with equal rows are asked two questions with equal
content, at two gateways. PrivUnit names one of 2^64 codewords, 2^64 / N of the names equally likely
whatever the rows (N is the number of candidates, below 2^16): fresh coins give one name twice with
probability at most m^2 / 2^49 for m reports, less than 3e-9 for the 1,200 used here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from tacit.audit.staging import (
    FIRST_ROUND,
    REHEARSAL,
    gateway,
    gather,
    invite,
    ledger_in,
    names,
    same_rows,
    share_query,
    sign_invitation,
)
from tacit.learners.invitation import Invitation
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import rational
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.policy import Policy
from tacit.owner.rollback_guard import Entry

_LEVEL = 7  # where a report names its level: see learners/invitation.py
_HEADER = 8  # bytes of a report before what the mechanism drew
_OWNERS = 300  # at each of two gateways, two questions each
Answers = Mapping[str, bytes | RefusedError]  # by owner


def find_unrecorded(
    entries: list[Entry], invitation: Invitation, answers: Answers
) -> Iterator[str]:
    """Faults of a ledger after a question: answers that are missing, differ, or were charged
    less than they name.
    """
    kept = {(entry.owner, entry.digest): entry for entry in entries}
    digest = invitation.digest
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
