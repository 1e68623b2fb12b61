"""One problem at one epsilon: public only, private only, combined, and what the plan said."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.problems.problem import Setting, problem_of
from tacit import seeded
from tacit._util.types import FloatArray
from tacit.algorithms.outlook import Outlook, look_ahead
from tacit.algorithms.public_baseline import CANDIDATES, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import discriminate, refine
from tacit.engines.inline import Inline
from tacit.sums import NOBODY

CHOOSING, JUDGING = 0, 1000  # first seeds: constants were chosen on the former, never on the latter
Place = tuple[Setting, float]  # a setting without its seed, an epsilon


@dataclass(frozen=True)
class Trial:
    """Accuracies of one run; `promised` is what the plan expects combined to add to public only;
    where it says not to collect, what public rows alone add to the data user's own model.
    """

    setting: Setting
    epsilon: float
    best: float
    public: float
    private: float
    combined: float
    promised: float
    collect: bool

    @property
    def place(self) -> Place:
        """Everything but the seed."""
        return replace(self.setting, seed=0), self.epsilon


def trials(setting: Setting, epsilons: Sequence[float], trust: str = NOBODY) -> Iterator[Trial]:
    """The same rows at every epsilon."""
    problem = problem_of(setting)
    public, cohort = problem.public, problem.cohort
    own = fit_public(public, ("boosted trees",) if setting.kind == "trees" else tuple(CANDIDATES))
    alone = problem.accuracy(own.model.predict(problem.X_test))
    outlook: Outlook | None = None
    for epsilon in epsilons:
        crowd = Population(setting.owners, epsilon, setting.rows, trust)
        budgets, stream = _budgets(setting, epsilon), seeded(setting.seed)
        outlook = look_ahead(public, own, crowd) if outlook is None else outlook.among(crowd)
        collect = not outlook.why_not
        asks = {
            "private": discriminate(public, crowd, "auto", budgets, own),
            "combined": refine(public, crowd, "auto", budgets, outlook=outlook),
        }
        found = {
            name: Inline(cohort, budgets, stream.child(name, str(epsilon))).run(ask)
            for name, ask in asks.items()
        }
        right = {
            name: problem.accuracy(refined.model.predict(problem.X_test))
            for name, refined in found.items()
        }
        yield Trial(
            setting=setting,
            epsilon=epsilon,
            best=problem.best,
            public=alone,
            private=right["private"],
            combined=right["combined"],
            promised=outlook.promised,
            collect=collect,
        )


def _budgets(setting: Setting, epsilon: float) -> float | FloatArray:
    """One epsilon, or one per owner: half of it, it, or its double."""
    if setting.kind != "own epsilons":
        return epsilon
    return epsilon * np.random.default_rng(setting.seed).choice([0.5, 1.0, 2.0], setting.owners)


@dataclass(frozen=True)
class Verdict:
    """Means over the runs of one setting, and standard errors of differences run by run."""

    place: Place
    runs: int
    best: float
    public: float
    private: float
    combined: float
    lead: float
    lead_error: float
    rise: float
    rise_error: float
    promised: float
    collect: float

    @classmethod
    def of(cls, runs: Sequence[Trial]) -> "Verdict":
        values = {
            name: np.array([getattr(each, name) for each in runs])
            for name in ("best", "public", "private", "combined", "promised", "collect")
        }
        better = max((values["public"], values["private"]), key=lambda each: float(each.mean()))
        lead, rise = values["combined"] - better, values["combined"] - values["public"]
        errors = [
            float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0
            for each in (lead, rise)
        ]
        means = {name: float(each.mean()) for name, each in values.items()}
        return cls(
            place=runs[0].place,
            runs=len(runs),
            lead=float(lead.mean()),
            lead_error=errors[0],
            rise=float(rise.mean()),
            rise_error=errors[1],
            **means,
        )

    @property
    def not_behind(self) -> bool:
        """Combined is not below the better of the two by more than one standard error."""
        return self.lead >= -max(self.lead_error, 1e-3)

    @property
    def harmless(self) -> bool:
        """Combined is not below public only beyond two standard errors."""
        return self.rise >= -2 * max(self.rise_error, 1e-3)
