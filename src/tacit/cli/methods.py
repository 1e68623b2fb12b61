"""Ways to fit, by name: a new estimator that can be saved is one more line of `METHODS`."""

from dataclasses import dataclass
from typing import Any

from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.classifier import PrivateClassifier
from tacit.estimators.sites import SiteEnsemble
from tacit.schema import Schema


@dataclass(frozen=True)
class Method:
    """An estimator, the name of its argument for who holds which row, and the options that it takes."""

    kind: type[Any]
    group: str
    options: tuple[str, ...]
    planned: bool = False  # whether `plan` speaks of this method

    def estimator(self, name: str, given: dict[str, Any], schema: Schema) -> Any:
        """The estimator with the options that were given; those that it does not have are refused."""
        chosen = {option: value for option, value in given.items() if value is not None}
        wrong = sorted(set(chosen) - {*self.options, "epsilon", "random_state"})
        if wrong:
            named = ", ".join(f"--{option.replace('_', '-')}" for option in wrong)
            known = ", ".join(f"--{option.replace('_', '-')}" for option in self.options)
            raise ValueError(f"{named} does not go with --method {name}, which takes {known}")
        return self.kind(schema=schema, **chosen)


METHODS = {
    "classifier": Method(PrivateClassifier, "owners", ("rows_per_owner", "mechanism", "rounds", "features"), True),
    "sites": Method(SiteEnsemble, "sites", ()),  # few owners with many records: each record is protected
    "boosting": Method(PrivateBoosting, "owners", ("learner", "mechanism", "rounds", "owners_per_round")),
}
