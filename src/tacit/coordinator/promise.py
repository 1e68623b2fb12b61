"""What a campaign promises to its owners, in plain words."""

from math import exp
from typing import Any

from tacit.campaign.rehearsal import is_rehearsal
from tacit.estimators.guarantee import Guarantee
from tacit.learners.base import ShareQuery

_NOT_PROTECTED = (
    "That you take part, when your report arrived, and how many owners there are.",
    "The data user's own sample: it shows in thresholds and votes.",
    "You, if an owner is taken to be one of your devices or accounts, and you enrolled with several.",
    "What a good model says about people like you: it would say the same without you.",
)


def promise(status: dict[str, Any]) -> dict[str, Any]:
    """The guarantee with its unit, adjacency, adversary and epsilon, and sentences about what it means."""
    low, high = min(status["epsilons"]), max(status["epsilons"])
    void = status["unsound"] or ("shares leave as they are" if status["mechanism"] == "none" else "")
    if is_rehearsal(status["name"]):
        void = "this is a rehearsal: its coins can be repeated"
    guarantee = Guarantee(
        epsilon=None if void else (low, high),
        mechanism=status["mechanism"],
        stream="from each owner's operating system, without a seed",
        not_protected=_NOT_PROTECTED,
        void=void,
        error_epsilon=None if void else status["sum_epsilon"],
        unit=ShareQuery.unit,
        adjacency=ShareQuery.adjacency,
    )
    return {"guarantee": guarantee, "low": low, "high": high, "odds": exp(min(high, 700.0))}
