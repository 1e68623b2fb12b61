"""All that papers published and that may only be simulated, known to estimators by name once this
is imported; an entry point names it.

    PrivateBoosting("stump, as published")     "centroid", "logistic"; "in B" after it for paper B's
    PrivateBoosting(error="owners", sums="ring")     or "shamir"
    PeerEnsemble(method="DiffPRS")

Each voids the guarantee, and says why.
"""

from collections.abc import Mapping

from tacit.learners.owners import SIMULATIONS
from tacit.learners.peers.own_model import SCHEMES
from tacit.sums.secure_sum import SIMULATED_SUMS
from tacit_papers.a import learners as _of_a
from tacit_papers.b import learners as _of_b
from tacit_papers.b import ring as _ring
from tacit_papers.b import shamir as _shamir
from tacit_papers.d import learners as _of_d

MODULES = (_of_a, _of_b, _ring, _shamir, _of_d)
NAMES: dict[str, Mapping[str, object]] = {
    "learner": SIMULATIONS,
    "sums": SIMULATED_SUMS,
    "method": SCHEMES,
}
