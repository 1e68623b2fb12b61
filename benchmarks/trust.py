"""What sums of two servers bring on the tasks of `tacit reproduce ahead`, run by run.

    python -m benchmarks.trust --task synthetic --task adult --public 50 --public 1000 --runs 2

Every line is one run at one trust, epsilon and size of the public sample: accuracy in percent of
the data user's own model and of the combination, with what the plan foresaw. Runs are counted from
`--first`: settings were chosen on run 100, which draws other public rows and owners, and has the
same test rows.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import look_ahead, refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
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
                yield _run(task, cohort, public, own, crowd, run)


def _run(
    task: Task, cohort: Cohort, public: Public, own: PublicModel, crowd: Population, run: int
) -> TrustRun:
    began = time.monotonic()
    look = look_ahead(public, own, crowd)
    foreseen = look.combination.expected_rise(50, 0)
    asks = refine(public, crowd, "auto", crowd.epsilon, own=own, outlook=look)
    refined = Inline(cohort, crowd.epsilon, seeded(run)).run(asks)
    test = task.split.X_test
    return TrustRun(
        task=task.name,
        public_rows=len(public.y),
        epsilon=crowd.epsilon,
        delta=crowd.delta if crowd.summed else 0.0,
        run=run,
        trust=crowd.trust,
        public_only=round(100 * task.accuracy(own.model.predict(test)), 2),
        accuracy=round(100 * task.accuracy(refined.model.predict(test)), 2),
        foreseen=round(100 * foreseen, 2),
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
            for each in run_task(task, sizes, epsilons, run, given.trust or list(TRUSTS)):
                print(json.dumps(asdict(each)), flush=True)


if __name__ == "__main__":
    main()
