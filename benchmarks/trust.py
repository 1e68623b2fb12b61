"""What sums of two servers bring on the tasks of `tacit reproduce ahead`, run by run.

    python -m benchmarks.trust --task synthetic --task adult --public 50 --public 1000 --runs 2

Every line is one run at one trust, epsilon and size of the public sample: accuracy in percent of
the data user's own model and of the combination, with what the plan foresaw. Where owners' rows are
not like test rows (images' are moved copies) accuracy `on_owners`' own rows tells what they brought
about rows of their kind; it may be a little high, since they answered about these. Runs are counted
from `--first`: settings were chosen on run 100, which draws other public rows and owners, and has
the same test rows. What all rows in one place have: `benchmarks.half_way`.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.models.scores import ScoreModel
from tacit.mechanisms.streams import seeded
from tacit.sums import TRUSTS
from tacit_papers.ours.tasks import Task, task_of


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
    task: Task, sizes: list[int], epsilons: list[float], run: int, trusts: list[str]
) -> Iterator[TrustRun]:
    """All sizes of the public sample, trusts and epsilons of one run."""
    cohort = task.cohort(run)
    for size in sizes:
        public = task.public(size, run)
        own = fit_public(public)
        for trust in trusts:
            for epsilon in epsilons:
                crowd = Population(len(cohort), epsilon, task.rows, trust)
                yield _run(task, cohort, public, own, crowd, run=run)


def _run(
    task: Task,
    cohort: Cohort,
    public: Public,
    own: PublicModel,
    crowd: Population,
    *,
    run: int,
) -> TrustRun:
    def right(model: ScoreModel) -> float:
        return round(100 * task.accuracy(model.predict(task.split.X_test)), 2)

    def right_on_owners(model: ScoreModel) -> float:
        return round(100 * float(np.mean(model.predict(cohort.X) == cohort.y)), 2)

    began = time.monotonic()
    look = look_ahead(public, own, crowd)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", action="append", required=True)
    parser.add_argument("--public", action="append", type=int, default=None)
    parser.add_argument("--epsilon", action="append", type=float, default=None)
    parser.add_argument("--trust", action="append", choices=TRUSTS, default=None)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    sizes, epsilons = given.public or [50, 200, 1000], given.epsilon or [1.0]
    for name in given.task:
        task = task_of(name)
        for run in range(given.first, given.first + given.runs):
            trusts = given.trust or list(TRUSTS)
            for each in run_task(task, sizes, epsilons, run, trusts):
                print(json.dumps(asdict(each)), flush=True)


if __name__ == "__main__":
    main()
