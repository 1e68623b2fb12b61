"""What peers promise about each record, in plain words."""

from collections.abc import Sequence
from math import isinf

from tacit.estimators.guarantee import Guarantee
from tacit.estimators.peer_methods import Plan
from tacit.learners.leaf_counts import CountLeaves
from tacit.streams import SecureStream, Stream

_PEERS = (
    "Who the participants are, which attributes they hold, and the epsilon of each are public; how many rows is not."
)
_TWICE = "Replacing a record by another counts as two steps of the adjacency: twice epsilon. So do two records of one."
_OWN = "models_ know the exact rows of their participant, and this object holds all rows: publish served_ alone."


def peer_guarantee(epsilons: Sequence[float], plan: Plan, stream: Stream, source: str) -> Guarantee:
    """The guarantee when participants spend these budgets; no epsilon is named where none holds."""
    low, high = min(epsilons), max(epsilons)
    void = "epsilon is infinite for somebody: counts were released as they are" if isinf(high) else ""
    named = None if void else (low, high)
    if not void and not isinstance(stream, SecureStream):
        void = f"the coins came from random_state ({stream.label})"
    most = max(plan.turns.values())
    return Guarantee(
        epsilon=named,
        mechanism="noisy choices and counts",
        stream=stream.label,
        not_protected=(*([source] if source else []), _PEERS, _TWICE),
        void=void,
        unit=CountLeaves.unit,
        adjacency=CountLeaves.adjacency,
        protects="Each record of a participant is",
        notion="differential privacy, over all rounds together,",
        reporter="participant",
        reports="one report" if most == 1 else f"up to {most} reports",
        held=_OWN,
    )
