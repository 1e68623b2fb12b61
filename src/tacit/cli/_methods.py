"""Ways to fit, by name: a new estimator that can be saved is one more line of `METHODS`."""

from dataclasses import dataclass
from typing import Any

from tacit.algorithms.public_baseline import PublicModel
from tacit.algorithms.refinement import Outlook
from tacit.data.schema import Schema
from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.classifier import PrivateClassifier
from tacit.estimators.peers import PeerEnsemble
from tacit.estimators.sites import SiteEnsemble


@dataclass(frozen=True)
class Method:
    """An estimator, the name of its argument for who holds which row, and the options that it
    takes.

    `least` and `most` bound the number of owners; `questions` is about how many are asked one after
    the other, None for a method that asks everybody at once and so has nothing to keep before that
    is done.
    """

    kind: type[Any]
    group: str
    options: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()  # what its fit can be handed: "baseline", "outlook"
    questions: int | None = None
    least: int = 1
    most: int | None = None
    two_classes: bool = False

    @property
    def planned(self) -> bool:
        """Whether `plan` speaks of this method."""
        return "outlook" in self.takes

    def known(self, baseline: PublicModel, outlook: Outlook | None) -> dict[str, Any]:
        """What fit need not compute again, by the names of its arguments."""
        every = {"baseline": baseline, "outlook": outlook}
        return {name: every[name] for name in self.takes}

    def estimator(self, name: str, given: dict[str, Any], schema: Schema) -> Any:
        """The estimator with the options that were given; those that it does not have are
        refused.
        """
        chosen = {option: value for option, value in given.items() if value is not None}
        wrong = sorted(set(chosen) - {*self.options, "epsilon", "random_state"})
        if wrong:
            named = ", ".join(_flag(option) for option in wrong)
            known = ", ".join(_flag(option) for option in self.options) or "none of these options"
            raise ValueError(f"{named} does not go with --method {name}, which takes {known}")
        if self.two_classes and len(schema.classes) != 2:
            raise ValueError(
                f"--method {name} learns two classes, and the label has {len(schema.classes)}: "
                "choose another --method, or a label of two classes"
            )
        return self.kind(schema=schema, **chosen)

    def check_owners(self, name: str, column: str | None, count: int) -> None:
        """Refuse to ask too few or too many; how many there are is public."""
        if not self.least <= count:
            raise ValueError(
                f"--method {name} needs {self.least} owners or more, and column {column!r} "
                f"names {count}: choose the "
                "column that tells them apart"
            )
        if self.most is not None and not count <= self.most:
            raise ValueError(
                f"--method {name} is for up to {self.most:,} owners with many rows each, and "
                f"column {column!r} names "
                f"{count:,}: choose a column with fewer, or --method classifier, where each "
                "owner speaks once"
            )


METHODS = {
    "classifier": Method(
        PrivateClassifier,
        "owners",
        ("rows_per_owner", "mechanism", "rounds"),
        takes=("baseline", "outlook"),
        questions=1,
    ),
    "boosting": Method(
        PrivateBoosting,
        "owners",
        ("learner", "mechanism", "rounds"),
        takes=("baseline",),
        questions=10,
    ),
    # few owners with many records: each record is protected
    "sites": Method(SiteEnsemble, "sites", most=1000),
    "peers": Method(
        PeerEnsemble, "participants", ("rounds",), questions=30, least=2, most=200, two_classes=True
    ),
}


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"
