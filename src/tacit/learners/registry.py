"""Learners by the names that campaigns and parameters use."""

from typing import Any

from tacit._util.checks import one_of
from tacit.learners.learner import Learner
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump

LEARNERS: dict[str, type[Learner]] = {kind.name: kind for kind in (Stump, Centroid, Logistic)}


def learner_of(learner: Any) -> Learner:
    """A learner by name, or the one given."""
    return (
        learner
        if isinstance(learner, Learner)
        else LEARNERS[one_of("learner", learner, LEARNERS)]()
    )
