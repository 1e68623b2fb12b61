"""The work of `tacit fit`: ways to fit by name, and a fit that keeps what was asked on Ctrl-C.

A new estimator that can be saved is one more line of `METHODS`.
"""

from dataclasses import dataclass
from typing import Any

from tacit._util.interrupts import stop_on_interrupt
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import Outlook, look_ahead
from tacit.cli._output import Screen, Steps
from tacit.data.sample import Sample
from tacit.data.schema import Schema
from tacit.data.table_file import OwnerTable
from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.classifier import PrivateClassifier
from tacit.estimators.peers import PeerEnsemble
from tacit.estimators.sites import SiteEnsemble
from tacit.learners import learner_or_simulation

WEIGHTS = {  # about how long the steps of a fit take
    "read": 1.0,
    "own": 2.0,
    "plan": 2.0,
    "ask": 4.0,
    "test": 1.0,
}


@dataclass(frozen=True)
class FitMethod:
    """An estimator, and the options that it takes.

    `least` and `most` bound the number of owners. `takes` is what its fit can be handed:
    "baseline", "outlook". `fixed` is what the method says by its name.
    """

    kind: type[Any]
    options: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()
    least: int = 1
    most: int | None = None
    two_classes: bool = False

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
        if "learner" in self.options:
            chosen = _with_learner(chosen)
        return self.kind(schema=schema, **dict(self.fixed), **chosen)

    def check_column(self, name: str, owners: str | None) -> None:
        """Refuse few owners with many rows each that no column tells apart."""
        if self.most is not None and owners is None:
            raise ValueError(
                f"--method {name} needs --owners, the column that names who holds a row"
            )

    def check_owners(self, name: str, column: str | None, count: int) -> None:
        """Refuse to ask too few or too many; how many there are is public."""
        if not self.least <= count:
            raise ValueError(
                f"--method {name} needs {self.least} owners or more, and column {column!r} "
                f"names {count}: choose the column that tells them apart"
            )
        if self.most is not None and not count <= self.most:
            raise ValueError(
                f"--method {name} is for up to {self.most:,} owners with many rows each, and "
                f"column {column!r} names {count:,}: choose a column with fewer, or --method "
                "classifier, where each owner speaks once"
            )


_OF_LEARNERS = ("cuts", "ridge", "bound")  # options of base learners

METHODS = {
    "classifier": FitMethod(
        PrivateClassifier,
        ("rows_per_owner", "mechanism", "rounds", "trust", "delta"),
        takes=("baseline", "outlook"),
    ),
    "boosting": FitMethod(
        PrivateBoosting,
        (
            *("learner", *_OF_LEARNERS, "mechanism", "rounds", "owners_per_round", "attempts"),
            *("trust", "delta"),
            *("error", "error_epsilon"),
        ),
        takes=("baseline",),
    ),
    # few owners with many records: each record is protected
    "sites": FitMethod(SiteEnsemble, ("combine", "privacy", "ridge"), most=1000),
    **{
        name: FitMethod(
            PeerEnsemble,
            ("rounds",),
            fixed=(("method", method),),
            least=2,
            most=200,
            two_classes=True,
        )
        for name, method in (("peers", "turns"), ("stumps", "stumps"), ("trees", "trees"))
    },
}


def _with_learner(given: dict[str, Any]) -> dict[str, Any]:
    """Options of a base learner become that learner."""
    own = {name: value for name, value in given.items() if name in _OF_LEARNERS}
    rest = {name: value for name, value in given.items() if name not in own}
    if not own:
        return rest
    learner = learner_or_simulation(rest.get("learner", "stump"))
    wrong = sorted(name for name in own if not hasattr(learner, name))
    if wrong:
        raise ValueError(f"{_flag(wrong[0])} does not go with --learner {learner.name}")
    return rest | {"learner": type(learner)(**own)}


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


@dataclass(frozen=True, eq=False)
class Fitting:
    """An estimator before its fit: whom it asks, and what is known beforehand.

    `outlook` is what owners should add to the data user's own model, where the method can tell.
    """

    method: FitMethod
    estimator: Any
    owned: OwnerTable
    sample: Sample
    own: PublicModel
    outlook: Outlook | None

    @classmethod
    def prepare(
        cls, method: FitMethod, estimator: Any, owned: OwnerTable, sample: Sample, step: Steps
    ) -> "Fitting":
        """Fit the public rows alone, and look ahead."""
        step("fitting your public rows alone", WEIGHTS["own"])
        own = fit_public(sample.public)
        step("planning", WEIGHTS["plan"])
        outlook = None
        if "outlook" in method.takes:
            asked = Population(
                owned.count,
                estimator.epsilon,
                estimator.rows_per_owner,
                estimator.trust,
                estimator.delta,
            )
            outlook = look_ahead(sample.public, own, asked)
        return cls(method, estimator, owned, sample, own, outlook)

    @property
    def questions(self) -> int | None:
        """About how many are asked one after the other; None: everybody at once, and there is
        nothing to keep before that is done.
        """
        rounds: int | None = getattr(self.estimator, "rounds", None)
        return rounds if self.outlook is None else rounds or self.outlook.rounds

    @property
    def _arguments(self) -> dict[str, Any]:
        """The arguments of fit: what was computed is not computed again."""
        known = {"baseline": self.own, "outlook": self.outlook}
        return {
            "owners": self.owned.owners,
            "public": self.sample,
            **{name: known[name] for name in self.method.takes},
        }

    def run(self, step: Steps, screen: Screen) -> tuple[Any, str]:
        """The fitted model; what is to be said of it if somebody pressed Ctrl-C meanwhile, else
        nothing.
        """
        about = f"asking {self.owned.count:,} owners"
        if self.questions is None:
            return self._run_at_once(about, step, screen), ""
        number, done = self.questions, 0
        notice = (
            "stopping when this round is done, to keep what was asked; Ctrl-C again throws it away"
        )
        with stop_on_interrupt(notice) as stop:

            def monitor(answered: int) -> bool:
                nonlocal done
                done = answered
                if answered < number:
                    more = f", {answered + 1} of {number}" if number > 1 else ""
                    step(f"{about}{more}", WEIGHTS["ask"] / number)
                return stop()

            try:
                model = self.estimator.fit(
                    self.owned.table, self.owned.labels, **self._arguments, monitor=monitor
                )
            except KeyboardInterrupt:
                screen.stop("the reports drawn so far were thrown away; nothing was written")
            if not stop():
                return model, ""
        early = model.ended_.startswith("stopped")
        if not done and early:
            screen.stop("nobody was asked, and nothing was written")
        return model, f"it {model.ended_}" if early else "it is whole"

    def _run_at_once(self, about: str, step: Steps, screen: Screen) -> Any:
        step(about, WEIGHTS["ask"])
        try:
            return self.estimator.fit(self.owned.table, self.owned.labels, **self._arguments)
        except KeyboardInterrupt:
            screen.stop(
                "all reports belong together, so those drawn so far were thrown away; nothing "
                "was written"
            )
