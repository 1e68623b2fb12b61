"""What would leave an owner in a campaign, and what it would cost; nothing is sent and nothing
is charged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.learners.invitation import Invitation, digest_of, pack, report_size
from tacit.mechanisms.odds import rational
from tacit.mechanisms.streams import secure
from tacit.owner.policy import Policy
from tacit.service.device.client import Link
from tacit.service.device.join import Joining
from tacit.service.device.member import Member
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.peers import PeerTerms
from tacit.sums.halves import SIZE, SumTerms

_ASKED = {
    "discriminant": "what the published model still gets wrong on your rows",
    "site": "a linear model trained on your records",
    "leaves": "the attribute that tells most, and counts of your records by its values",
}
_SHOWN = 160  # digits of an example


@dataclass(frozen=True)
class Preview:
    """The same for people and for programs."""

    lines: list[str]
    figures: dict[str, Any]


async def preview(joining: Joining, link: Link, pinned: bytes | None) -> Preview:
    """For the owner alone: it shows a report that is never sent."""
    terms, members = await joining.members(link, pinned)
    query = terms.example()
    policy = joining.policy
    level = policy.level(query.epsilons, rational(0))
    objection = policy.objection(Invitation(terms.name, 1, 0, digest_of(terms.schema), query))
    lines = [
        f"campaign: {terms.name}, to predict {joining.label or terms.label}",
        f"asks for: {_ASKED.get(query.what, f'the {query.what} share of your rows')} "
        f"({query.width} numbers), "
        f"through {query.how}",
        f"hides: everything about one {query.unit} ({query.adjacency}), from everybody but you",
        f"offered epsilons: {', '.join(f'{e:g}' for e in query.epsilons)} each time; your "
        "policy allows "
        f"{float(policy.epsilon_per_release):g} per release, {float(policy.epsilon_total):g} "
        "in all, "
        f"{policy.releases} release{'' if policy.releases == 1 else 's'}",
        f"owners in your file: {len(members)}",
    ]
    figures = {
        "campaign": terms.name,
        "label": joining.label or terms.label,
        "asks_for": query.what,
        "numbers": query.width,
        "mechanism": query.how,
        "unit": query.unit,
        "adjacency": query.adjacency,
        "offered_epsilons": list(query.epsilons),
        "owners": len(members),
    }
    if objection or level is None:
        why = (
            f"refuses it: {objection}; nothing would leave"
            if objection
            else "allows none of them: nothing would leave"
        )
        return Preview(
            [*lines, f"your policy {why}"],
            figures | {"allowed": False, "objection": objection or "epsilons"},
        )
    epsilon = query.epsilons[level]
    _, cohort = joining.rows(terms)
    example = pack(bytes(32), level, query.release(cohort[:1], np.array([epsilon]), secure()))
    lines += [
        f"would leave: {report_size(query)} bytes per owner, {_often(terms.answers)}; "
        f"it would cost epsilon {epsilon * terms.answers:g} in all",
        f"for example (drawn now for your eyes, never sent): {_short(example.hex())}",
        *(_turns(terms, members) if isinstance(terms, PeerTerms) else []),
    ]
    figures |= {
        "allowed": True,
        "bytes": report_size(query),
        "times": terms.answers,
        "epsilon": epsilon,
        "epsilon_in_all": epsilon * terms.answers,
        "example": example.hex(),
    }
    if isinstance(terms, BoostingTerms) and terms.sums is not None:
        lines += _sums(terms.sums, policy)
        figures |= {"sum_epsilon": terms.sums.epsilon, "helper": terms.sums.helper.hex()}
    return Preview([*lines, "nothing was sent and nothing was charged"], figures)


def _often(times: int) -> str:
    return "once" if times == 1 else f"up to {times} times"


def _short(digits: str) -> str:
    return digits if len(digits) <= _SHOWN else f"{digits[:_SHOWN]}… ({len(digits) // 2} bytes)"


def _turns(terms: PeerTerms, members: Sequence[Member]) -> list[str]:
    """What turns mean for a participant."""
    return [
        f"the more take part, the less often you speak, at up to epsilon {terms.epsilon:g} "
        "each time: "
        "your policy should allow that per release",
        *(f"the others may pin {member.owner!r} by its key {member.name}" for member in members),
        "a model of your own rows and of what the others released stays in your folder",
    ]


def _sums(sums: SumTerms, policy: Policy) -> list[str]:
    """What sums over all owners mean for one of them."""
    pinned = (
        "as your policy does"
        if sums.helper.hex() == str(policy.helper).lower()
        else "but your policy does not"
    )
    return [
        f"after every round: a sum over all owners of how wrong the model is, {SIZE} bytes "
        "sealed in two halves to two "
        f"servers, each time at epsilon {sums.epsilon:g} and as one more release",
        f"the campaign trusts the helper {sums.helper.hex()}, {pinned}: without that you take "
        "part in no sum",
    ]
