"""What owners release, one learner per file, with both ends of it (unit: the owner). Papers A and
B, and our own; base learners by name.

It knows neither sites nor peers. Importing it makes every class known to `wire` that an ensemble's
members and an owner's questions are made of.
"""

from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar, get_type_hints

from tacit._util.checks import bad, one_of
from tacit.learners.learner import Learner
from tacit.learners.models import features, scores
from tacit.learners.models.ensemble import Model
from tacit.learners.owners import (
    centroid,
    gradient,
    logistic,
    metric_gradient,
    stump,
    sum_query,
)
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.registry import check_own_name, register_mechanism
from tacit.wire.codec import load_plugins, outside_message, outside_name, tag_of

MESSAGES = (features, scores, gradient, metric_gradient, sum_query)  # beside the learners

# by the names that campaigns and parameters use
LEARNERS: dict[str, type[Learner]] = {
    kind.name: kind for kind in (stump.Stump, centroid.Centroid, logistic.Logistic)
}
_OURS = dict(LEARNERS)
# as they were published, and unsound: estimators simulate them by name, no campaign takes them
SIMULATIONS: dict[str, type[Learner]] = {}
GROUP = "tacit.learners"  # entry points that name modules of simulations

Simulation = TypeVar("Simulation", bound=type[Learner])
Own = TypeVar("Own", bound=type[Learner] | type[Mechanism])


def learner_of(learner: Any) -> Learner:
    """A learner by name, or the one given."""
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, str) and learner not in LEARNERS:
        load_plugins()
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
        load_simulations()
        load_plugins()
        if learner in SIMULATIONS:
            return SIMULATIONS[learner]()
        if SIMULATIONS and learner not in LEARNERS:
            known, published = ", ".join(sorted(LEARNERS)), "; ".join(sorted(SIMULATIONS))
            raise bad(
                "learner",
                f"one of {known}; or, simulated and NOT PRIVATE, {published}",
                learner,
            )
    return learner_of(learner)


@cache
def load_simulations() -> None:
    """Import, once, the simulations that other distributions bring along: learners, sums, schemes
    of peers.
    """
    for found in entry_points(group=GROUP):
        found.load()


def register(kind: Own) -> Own:
    """Make a learner or a mechanism of your own known: by name, to files and the wire, and to
    `tacit audit`. Call it in the module that defines the class, or use it as a decorator.

    It travels as its name, "module:Class", never as code: who reads a model or a question must have
    the module, and have imported it. An entry point of the group `tacit.plugins` that names the
    module does the latter wherever the package is installed. A learner's model class, the return
    type of `learn`, is registered with it. A mechanism must state its claim in its docstring, and
    its tables (`laws`) must be exactly private.

    Parameters
    ----------
    kind : class
        A frozen dataclass derived from `Learner` or `Mechanism`, with a `name` of its own.

    Returns
    -------
    class
        The same.
    """
    given: Any = kind
    if isinstance(given, type) and issubclass(given, Mechanism):
        register_mechanism(given)
    elif isinstance(given, type) and issubclass(given, Learner):
        _register_learner(given)
    else:
        raise TypeError(f"register takes a class derived from Learner or Mechanism, got {given!r}")
    return kind


def own_learners() -> list[type[Learner]]:
    """Those of other packages that were registered."""
    return [kind for name, kind in LEARNERS.items() if name not in _OURS]


def _register_learner(kind: type[Learner]) -> None:
    full, name = outside_name(kind), getattr(kind, "name", None)
    check_own_name(kind, name, _OURS)
    if kind.unsound:
        raise ValueError(f"{full} may only be simulated ({kind.unsound}): no owner can be asked")
    other = LEARNERS.get(kind.name, kind)
    if not outside_name(other) == full:
        raise ValueError(f"the name {name!r} is taken by {outside_name(other)}")
    model = get_type_hints(kind.learn).get("return")
    needs = [each for each in ("predict", "check", "cost") if not hasattr(model, each)]
    if model is Model or needs or not (isinstance(model, type) and is_dataclass(model)):
        raise TypeError(
            f"{full}: the return type of learn must name its model, a frozen dataclass with "
            "predict, check and cost"
        )
    try:
        kind()
    except TypeError as problem:
        raise TypeError(f"{full}: every parameter must have a default ({problem})") from None
    outside_message(kind)
    if tag_of(model) is None:  # it may be one of ours
        outside_message(model)
    LEARNERS[kind.name] = kind
