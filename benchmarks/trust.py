"""What sums of two servers bring on the tasks of `tacit reproduce ahead`, run by run.

    python -m benchmarks.trust --task synthetic --task adult --public 50 --public 1000 --runs 2

Every line is one run at one trust, epsilon and size of the public sample: accuracy in percent of
the data user's own model and of the combination, with what the plan foresaw. Where owners' rows are
not like test rows (images' are moved copies) accuracy `on_owners`' own rows tells what they brought
about rows of their kind; it may be a little high, since they answered about these. `--together`
adds what all owners' rows in one place give without any privacy: logistic regression over the
features that owners were asked about, its ridge chosen on a tenth of them. Runs are counted from
`--first`: settings were chosen on run 100, which draws other public rows and owners, and has the
same test rows.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from tacit._util.types import BoolArray, FloatArray
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.algorithms.summed_gradients import SummedGradients
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.models.features import FeatureMap
from tacit.learners.models.scores import Mapped, ScoreModel
from tacit.mechanisms.streams import seeded
from tacit.sums import TRUSTS
from tacit_papers.ours.tasks import Task, task_of

_RIDGES, _KEPT_OUT, _ITERATIONS = (4.0, 64.0), 0.1, 60  # of all rows in one place


@dataclass(frozen=True)
class TrustRun:
    """One run of one task: accuracies in percent, expected and real rise in points."""

    task: str
    public_rows: int
    epsilon: float
    delta: float
    run: int
    trust: str
    public_only: float
    accuracy: float
    public_only_on_owners: float
    on_owners: float
    foreseen: float
    rounds: int
    ended: str
    seconds: float


def run_task(
    task: Task,
    sizes: list[int],
    epsilons: list[float],
    run: int,
    trusts: list[str],
    *,
    together: bool = False,
) -> Iterator[TrustRun]:
    """All sizes of the public sample, trusts and epsilons of one run."""
    cohort = task.cohort(run)
    for size in sizes:
        public = task.public(size, run)
        own = fit_public(public)
        for trust in trusts:
            for epsilon in epsilons:
                crowd = Population(len(cohort), epsilon, task.rows, trust)
                yield _run(task, cohort, public, own, crowd, run=run, together=together)


def _run(
    task: Task,
    cohort: Cohort,
    public: Public,
    own: PublicModel,
    crowd: Population,
    *,
    run: int,
    together: bool,
) -> TrustRun:
    def right(model: ScoreModel) -> float:
        return round(100 * task.accuracy(model.predict(task.split.X_test)), 2)

    def right_on_owners(model: ScoreModel) -> float:
        return round(100 * float(np.mean(model.predict(cohort.X) == cohort.y)), 2)

    began = time.monotonic()
    look = look_ahead(public, own, crowd)
    if together and isinstance(look.combination, SummedGradients):
        model = fit_together(look.combination.map, cohort, public)
        told = {"task": task.name, "public_rows": len(public.y), "together": right(model)}
        print(json.dumps(told), flush=True)
    asks = refine(public, crowd, "auto", crowd.epsilon, own=own, outlook=look)
    refined = Inline(cohort, crowd.epsilon, seeded(run)).run(asks)
    return TrustRun(
        task=task.name,
        public_rows=len(public.y),
        epsilon=crowd.epsilon,
        delta=crowd.delta if crowd.summed else 0.0,
        run=run,
        trust=crowd.trust,
        public_only=right(own.model),
        accuracy=right(refined.model),
        public_only_on_owners=right_on_owners(own.model),
        on_owners=right_on_owners(refined.model),
        foreseen=round(100 * look.promised, 2),
        rounds=len(refined.records),
        ended=refined.ended,
        seconds=round(time.monotonic() - began, 1),
    )


def fit_together(features: FeatureMap, cohort: Cohort, public: Public) -> ScoreModel:
    """The same family of models from all rows in one place, without privacy."""
    X, y = np.vstack([cohort.X, public.X]), np.concatenate([cohort.y, public.y])
    phi, known = features.transform(X), np.random.default_rng(0).random(len(y)) > _KEPT_OUT

    def fit(ridge: float, rows: BoolArray) -> FloatArray:
        made = LogisticRegression(C=ridge, fit_intercept=False, max_iter=_ITERATIONS)
        found = made.fit(phi[rows], y[rows]).coef_
        return found if len(found) > 1 else np.vstack([-found, found]) / 2

    def right(ridge: float) -> float:
        guesses = (phi[~known] @ fit(ridge, known).T).argmax(axis=1)
        return float(np.mean(guesses == y[~known]))

    weights = fit(max(_RIDGES, key=right), np.ones(len(y), dtype=np.bool_))
    return ScoreModel(public.classes, (Mapped(features, np.ascontiguousarray(weights.T)),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", action="append", required=True)
    parser.add_argument("--public", action="append", type=int, default=None)
    parser.add_argument("--epsilon", action="append", type=float, default=None)
    parser.add_argument("--trust", action="append", choices=TRUSTS, default=None)
    parser.add_argument("--together", action="store_true", help="with two servers, all rows too")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    sizes, epsilons = given.public or [50, 200, 1000], given.epsilon or [1.0]
    for name in given.task:
        task = task_of(name)
        for run in range(given.first, given.first + given.runs):
            trusts = given.trust or list(TRUSTS)
            for each in run_task(task, sizes, epsilons, run, trusts, together=given.together):
                print(json.dumps(asdict(each)), flush=True)


if __name__ == "__main__":
    main()
