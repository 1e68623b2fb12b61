"""Whether the ledger agrees with what left: every answer written down, charged in full, repeated and never exceeded."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

from tacit.learners.invitation import Invitation
from tacit.owner.entry import Entry
from tacit.owner.gate import RefusedError
from tacit.owner.policy import Policy
from tacit.privacy.odds import rational

_LEVEL = 7  # where a report names its level: see learners/invitation.py
Answers = Mapping[str, bytes | RefusedError]  # by owner


def not_written_down(entries: list[Entry], invitation: Invitation, answers: Answers) -> Iterator[str]:
    """Faults of a ledger after a question: answers that are missing, differ, or were charged less than they name."""
    kept = {(entry.owner, entry.digest): entry for entry in entries}
    digest = invitation.digest
    costs = [rational(epsilon) for epsilon in invitation.query.epsilons]
    missing, cheap = 0, 0
    for owner, answer in answers.items():
        if isinstance(answer, bytes):
            entry = kept.get((owner, digest))
            if entry is None or entry.report != answer:
                missing += 1
            elif not (len(answer) > _LEVEL and answer[_LEVEL] < len(costs) and entry.cost >= costs[answer[_LEVEL]]):
                cheap += 1
    if missing:
        yield f"{missing} answers are not in the ledger"
    if cheap:
        yield f"{cheap} answers are charged less than they name"


def overspent(entries: list[Entry], policy: Policy) -> Iterator[str]:
    """Faults of a ledger whatever was asked: owners over their budgets."""
    beyond = sum(cost > policy.epsilon_total for cost in _spent(entries).values())
    often = sum(count > policy.releases for count in Counter(entry.owner for entry in entries).values())
    large = sum(entry.cost > policy.epsilon_per_release for entry in entries)
    for count, what in ((beyond, "in all"), (often, "in number"), (large, "at once")):
        if count:
            yield f"{count} times more was released {what} than the policy allows"


def not_repeated(first: Answers, again: Answers) -> Iterator[str]:
    """Faults when a question is asked twice: other bytes, or an answer where there was none."""
    changed = sum(_said(answer) != _said(again[owner]) for owner, answer in first.items())
    if changed:
        yield f"{changed} answers changed when the question was repeated"


def charged(entries: list[Entry]) -> float:
    """The largest sum of charges of an owner: what the ledger claims epsilon to be."""
    return float(max(_spent(entries).values(), default=Fraction(0)))


def _spent(entries: list[Entry]) -> dict[str, Fraction]:
    spent: dict[str, Fraction] = {}
    for entry in entries:
        spent[entry.owner] = spent.get(entry.owner, Fraction(0)) + entry.cost
    return spent


def _said(answer: bytes | RefusedError) -> bytes | str:
    return str(answer) if isinstance(answer, RefusedError) else answer
