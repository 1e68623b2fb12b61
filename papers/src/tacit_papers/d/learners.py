"""Paper D as it was published (DiffPRS), for its figures: a simulation that no real participant
may run.
"""

from collections.abc import Mapping
from functools import partial
from math import inf, isinf

import numpy as np

from tacit.data.cohort import Cohort
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import STEPS, scale_of
from tacit.learners.peers.own_model import (
    SCHEMES,
    OwnBoosting,
    PublishedScheme,
    VotedModel,
    weight_of,
)
from tacit.learners.peers.peer_model import RandomStump, random_cut
from tacit.mechanisms.streams import Stream
from tacit.sums.secure_sum import two_sided_geometric_rows

UNSOUND = (
    "AdaBoost's weights are normalised over a participant's rows, so that one record moves "
    "every count; the exact "
    "number of rows is told; the ensembles carry exact alphas"
)


def simulate_published(
    cohort: Cohort,
    cells: Cells,
    held: Mapping[int, tuple[int, ...]],
    rounds: int,
    epsilon: float,
    *,
    leaves: str = "cells",
    coins: Stream,
    stream: Stream,
) -> list[VotedModel]:
    """Every participant's ensemble after `rounds` rounds (Algorithms 1 and 2, eq. 6 to 10);
    infinity: without noise.

    rho is 2, as in the paper, and keeps every peer. The text leaves open whether the class of a
    leaf is that of the exact or of the noisy counts; here it is the latter, since the published
    accuracy rises with epsilon. It leaves open, too, how an attribute is cut in leaves: `leaves` as
    in `random_cut`. `coins` are public, `stream` has a tape for every participant.
    """
    rows = [(cells.read(one.X), one.y) for one in cohort.blocks(1)]
    own = [OwnBoosting(*each, i, rho=inf) for i, each in enumerate(rows)]
    shares = {
        i: size / cohort.sizes.sum() for i, size in enumerate(np.maximum(cohort.sizes, 1).tolist())
    }
    for number in range(1, rounds + 1):
        stumps = []
        for me, boosting in enumerate(own):
            cut = random_cut(cells, held[me], leaves, coins.child("cut", number, me))
            own_weights = len(boosting.y) * boosting.weights
            count = max(cut.leaves) + 1
            counts = weight_of(cut.leaf_of(boosting.cells), boosting.y, own_weights, count)
            if not isinf(epsilon):
                tape = stream.child("round", number).of(np.array([me]))
                scale = scale_of(epsilon / rounds)
                noise = two_sided_geometric_rows(1, counts.size, scale, tape)
                counts = counts + noise.reshape(counts.shape) / STEPS
            zeros, ones = map(tuple, counts.tolist())
            stumps.append(RandomStump(number, me, cut, zeros, ones))
        for boosting in own:
            boosting.step(stumps, shares, np.ones(len(boosting.y)))
    return [boosting.model() for boosting in own]


SCHEMES |= {
    name: PublishedScheme(partial(simulate_published, leaves=leaves), UNSOUND)
    for name, leaves in (
        ("DiffPRS", "cells"),
        ("stumps, as published", "cells"),
        ("stumps, as published, a leaf per category", "values"),
        ("stumps, as published, two leaves", "halves"),
    )
}
