"""What owners release, one learner per file, with both ends of it (unit: the owner). Papers A and
B, and our own; base learners by name.

It knows neither sites nor peers. Importing it makes every class known to `wire` that an ensemble's
members and an owner's questions are made of.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

from tacit._util.checks import one_of
from tacit.learners.learner import Learner
from tacit.learners.models import features, scores
from tacit.learners.owners import (
    centroid,
    gradient,
    logistic,
    stump,
    sum_query,
)

MESSAGES = (features, scores, gradient, sum_query)  # beside the learners

# by the names that campaigns and parameters use
LEARNERS: dict[str, type[Learner]] = {
    kind.name: kind for kind in (stump.Stump, centroid.Centroid, logistic.Logistic)
}
# as they were published, and unsound: estimators simulate them by name, no campaign takes them
SIMULATIONS: dict[str, type[Learner]] = {}
GROUP = "tacit.learners"  # entry points that name modules of simulations

Simulation = TypeVar("Simulation", bound=type[Learner])


def learner_of(learner: Any) -> Learner:
    """A learner by name, or the one given."""
    if isinstance(learner, Learner):
        return learner
    return LEARNERS[one_of("learner", learner, LEARNERS)]()


def simulate_by_name(kind: Simulation) -> Simulation:
    """Make a learner that may only be simulated known to estimators by its name."""
    if not kind.unsound:
        raise ValueError(f"a simulation must say why it is unsound, got {kind.__name__}")
    SIMULATIONS[kind.name] = kind
    return kind


def learner_or_simulation(learner: Any) -> Learner:
    """As `learner_of`, or a simulation: of a module that was imported, or that an entry point
    names.
    """
    if isinstance(learner, str) and learner not in LEARNERS:
        _load_simulations()
        if learner in SIMULATIONS:
            return SIMULATIONS[learner]()
    return learner_of(learner)


@cache
def _load_simulations() -> None:
    """Import, once, the simulations that other distributions bring along."""
    for found in entry_points(group=GROUP):
        found.load()
