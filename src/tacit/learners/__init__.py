"""What owners, sites and peers compute and release (`owners/`, `sites/`, `peers/`), the questions
that ask for it, and the models that come of it (`models/`); base learners by name.

Whoever reads a question or a model must know every class in it: importing this room makes all of
them known to `wire`. Owner, algorithms and everything above may import it; it imports sums,
data, mechanisms and wire.
"""

from typing import Any

from tacit._util.checks import one_of
from tacit.learners.learner import Learner
from tacit.learners.models import features, scores
from tacit.learners.owners import (
    centroid,
    gradient,
    gradient_histogram,
    logistic,
    stump,
    sum_query,
)
from tacit.learners.peers import cells, leaf_counts, noisy_tree, peer_model
from tacit.learners.sites import losses, projection, train

MESSAGES = (
    *(features, scores),
    *(centroid, gradient, gradient_histogram, logistic, stump, sum_query),
    *(cells, leaf_counts, noisy_tree, peer_model),
    *(losses, projection, train),
)

# by the names that campaigns and parameters use
LEARNERS: dict[str, type[Learner]] = {
    kind.name: kind for kind in (stump.Stump, centroid.Centroid, logistic.Logistic)
}


def learner_of(learner: Any) -> Learner:
    """A learner by name, or the one given."""
    if isinstance(learner, Learner):
        return learner
    return LEARNERS[one_of("learner", learner, LEARNERS)]()
