"""Papers A and B as they are, where owners trust two servers: boosted stumps and centroids without
noise, with sums of two servers, and with noise in every report.

    python -m benchmarks.trust_papers --runs 3

MNIST 4 or 9, 10,000 owners of four rows, epsilon 1; every line is one run of one learner
at one trust, accuracy in percent on test rows.
"""

import argparse
import json
from typing import Any

import numpy as np

from tacit.estimators.boosting import PrivateBoosting
from tacit_papers.ours.tasks import task_of

_WAYS: dict[str, dict[str, Any]] = {
    "no noise": {"mechanism": "none"},
    "two servers": {"trust": "two servers"},
    "nobody": {},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="mnist 4 or 9")
    parser.add_argument("--learner", action="append", choices=("stump", "centroid"), default=None)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    task = task_of(given.task)
    for run in range(given.runs):
        cohort, public = task.cohort(run), task.public(1000, run)
        owners = np.repeat(np.arange(len(cohort)), cohort.sizes)
        for learner in given.learner or ("stump", "centroid"):
            for way, options in _WAYS.items():
                model = PrivateBoosting(
                    learner=learner, epsilon=given.epsilon, random_state=run, **options
                ).fit(cohort.X, cohort.y, owners=owners, public=(public.X, public.y))
                right = task.accuracy(model.predict(task.split.X_test))
                found = {"task": task.name, "run": run, "learner": learner, "trust": way}
                print(json.dumps({**found, "accuracy": round(100 * right, 2)}), flush=True)


if __name__ == "__main__":
    main()
