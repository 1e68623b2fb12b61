"""What the page of a campaign says, by its kind: who takes part, how they are asked, what leaves
them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Words:
    """Sentences in which a kind of campaign differs from others.

    `one` and `many` name those who take part, `steps` what the campaign goes by, `asking` how they
    are asked, `leaving` what leaves them, `notion` the guarantee's name, and `not_protected` what
    it does not cover.
    """

    one: str
    many: str
    steps: str
    model: str
    asking: str
    leaving: str
    belief: str
    notion: str
    not_protected: tuple[str, ...]

    @property
    def step(self) -> str:
        """One of the steps."""
        return self.steps.removesuffix("s")


_MEANING = "What a good model says about people like you: it would say the same without you."
_RECORDS = (
    "Who takes part, what they call themselves here, the epsilon of each, and when reports "
    "arrived. How many records "
    "anybody has is protected.",
    "A person with several records, or with records at several places: their epsilons add up.",
)

_ONCE = (
    "Your rows stay with you. One report leaves your machine, once, after chance has changed it."
)
_OWNERS = (
    "That you take part, when your report arrived, and how many owners there are.",
    "You, if an owner is taken to be one of your devices or accounts, and you enrolled with "
    "several.",
    _MEANING,
)

WORDS = {
    "classifier": Words(
        one="owner",
        many="owners",
        steps="rounds",
        model="the refined model",
        asking="Owners are asked what the model published so far still gets wrong, each once. "
        "Asked means spent, also "
        "without an answer. How much a round counts is how precise its answer is: noise alone "
        "changes nothing.",
        leaving=_ONCE,
        belief="your rows before seeing it, this report",
        notion="local differential privacy",
        not_protected=(
            "The data user's own sample: its model is where this one begins, and shows in it.",
            *_OWNERS,
        ),
    ),
    "boosting": Words(
        one="owner",
        many="owners",
        steps="rounds",
        model="the ensemble",
        asking="Each question goes to owners that were never asked before. Asked means spent, also "
        "without an answer.",
        leaving=_ONCE,
        belief="your rows before seeing it, this report",
        notion="local differential privacy",
        not_protected=("The data user's own sample: it shows in thresholds and votes.", *_OWNERS),
    ),
    "sites": Words(
        one="site",
        many="sites",
        steps="steps",
        model="the combined model",
        asking="Every site is asked once for a model of its own records, trained with noise. Sites "
        "that do not answer "
        "in time are left out.",
        leaving="Your records stay with you. One linear model leaves your machine, once, trained "
        "so that no single "
        "record shows.",
        belief="one of your records before seeing it, this report",
        notion="differential privacy for each record",
        not_protected=(
            *_RECORDS,
            "The data user's own sample: it shows in bounds, projections and weights.",
            _MEANING,
        ),
    ),
    "peers": Words(
        one="participant",
        many="participants",
        steps="turns",
        model="the served model",
        asking="Participants take turns. Whoever has the turn counts its records by the attribute "
        "that tells most, and "
        "sends the counts with noise; everybody checks who signed them. Whoever is silent is "
        "passed over.",
        leaving="Your records stay with you. A few noisy counts leave your machine when it is "
        "your turn.",
        belief="whether one record is among yours before seeing them, all your reports together",
        notion="differential privacy for each record",
        not_protected=(
            *_RECORDS,
            "Replacing a record by another counts as two steps of the adjacency: twice epsilon.",
            "The model that you keep for yourself knows your exact records: it is not to be "
            "published.",
            _MEANING,
        ),
    ),
}
