"""One round in a fresh process: `python -m benchmarks.rounds_child stump|centroid OWNERS` prints
JSON.
"""

import json
import sys

import numpy as np

from benchmarks.children import measure
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.stump import Stump
from tacit.learners.query import Answer, Estimates
from tacit.mechanisms.streams import seeded

DIM, ROWS = 20, 4
_WARM = 100  # owners
_LEARNERS: dict[str, Learner] = {"stump": Stump(), "centroid": Centroid()}


def one_round(cohort: Cohort, learner: Learner, public: Public) -> Answer | Estimates | None:
    """Ask every owner of the cohort once, for the first base learner."""
    terms = ReportTerms("piecewise", (1.0,))
    query = ShareQuery(
        round=1,
        attempt=1,
        owners=len(cohort),
        learner=learner,
        facts=learner.facts(public),
        ensemble=Ensemble(2),
        terms=terms,
    )
    return Inline(cohort, 1.0, seeded(1)).ask(query)


def main(name: str, owners: int) -> None:
    """Measure and print {"bytes": growth of the peak, "seconds": per owner, "held": bytes of the
    owners' rows}.
    """
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (owners * ROWS, DIM)), rng.integers(0, 2, owners * ROWS)
    cohort = Cohort(X, y, np.arange(owners + 1) * ROWS)
    public = Public(X[:1000], y[:1000], 2)
    learner = _LEARNERS[name]
    one_round(cohort[:_WARM], learner, public)
    growth, seconds = measure(lambda: one_round(cohort, learner, public))
    print(json.dumps({"bytes": growth, "seconds": seconds / owners, "held": X.nbytes + y.nbytes}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
