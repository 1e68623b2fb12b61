"""What a campaign promises to its owners, in plain words."""

from math import exp
from typing import Any

from tacit.campaign.rehearsal import is_rehearsal
from tacit.coordinator.words import WORDS
from tacit.estimators.guarantee import Guarantee


def promise(status: dict[str, Any]) -> dict[str, Any]:
    """The guarantee with its unit, adjacency, adversary and epsilon, and sentences about what it means."""
    low, high = min(status["epsilons"]), max(status["epsilons"])
    words = WORDS[status["kind"]]
    void = status["unsound"] or ("shares leave as they are" if status["mechanism"] == "none" else "")
    if is_rehearsal(status["name"]):
        void = "this is a rehearsal: its coins can be repeated"
    guarantee = Guarantee(
        epsilon=None if void else (low, high),
        mechanism=status["mechanism"],
        stream="from each owner's operating system, without a seed",
        not_protected=words.not_protected,
        void=void,
        error_epsilon=None if void else status["sum_epsilon"],
        unit=status["unit"],
        adjacency=status["adjacency"],
        notion=words.notion,
    )
    return {"guarantee": guarantee, "words": words, "low": low, "high": high, "odds": exp(min(high, 700.0))}
