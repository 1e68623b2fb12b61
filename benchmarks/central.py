"""Sums of two servers beside rivals that see the whole table, at the same epsilon for an owner.

    python -m benchmarks.central --rivals .venv-rivals/bin/python --task linear --runs 3

diffprivlib's logistic regression and interpret's DP-EBM get all owners' rows in one place, with
and without the data user's public rows beside them; what an owner may spend is shared out over its
rows, as their promise is for a row. Ours splits shares between two servers. Every line is one run,
accuracy in percent on the same test rows; a table of means ends it. `linear` is the generator's
linear problem, 100,000 owners of one row and 20 columns.
"""

import argparse
import json
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.problems.problem import Setting, problem_of
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import DELTA, Population
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.mechanisms.streams import seeded
from tacit.sums import HOW
from tacit_papers.ours.tasks import task_of

TASKS = ("adult", "pnad", "mnist 4 or 9", "clusters 1e5", "synthetic", "linear")
_LINEAR_OWNERS, _JUDGING = 100_000, 1000
_CHILD = Path(__file__).with_name("central_child.py")


@dataclass(frozen=True)
class CentralRun:
    """One run: accuracies in percent by method."""

    task: str
    public_rows: int
    epsilon: float
    run: int
    accuracies: dict[str, float]


@dataclass(frozen=True, eq=False)
class _Rows:
    """What everybody learns from, and is tested on."""

    cohort: Cohort
    public: Public
    X_test: FloatArray
    y_test: IntArray

    @classmethod
    def of(cls, task: str, public_rows: int, run: int) -> "_Rows":
        if task == "linear":
            setting = Setting("linear", _JUDGING + run, _LINEAR_OWNERS, public_rows)
            made = problem_of(setting)
            return cls(made.cohort, made.public, made.X_test, made.y_test)
        known = task_of(task)
        split, public = known.split, known.public(public_rows, run)
        return cls(known.cohort(run), public, split.X_test, split.y_test)


def run_task(task: str, public_rows: int, epsilon: float, run: int, rivals: str) -> CentralRun:
    """Ours and the rivals on the same rows."""
    rows = _Rows.of(task, public_rows, run)
    accuracies = {**_ours(rows, epsilon, run), **_rivals(rows, epsilon, run, rivals)}
    percents = {name: round(100 * right, 2) for name, right in accuracies.items()}
    return CentralRun(task, public_rows, epsilon, run, percents)


def _ours(rows: _Rows, epsilon: float, run: int) -> dict[str, float]:
    size = int(rows.cohort.sizes.max())
    crowd = Population(len(rows.cohort), epsilon, size, HOW)
    own = fit_public(rows.public)
    asks = refine(rows.public, crowd, "auto", epsilon, own=own)
    refined = Inline(rows.cohort, epsilon, seeded(run)).run(asks)
    return {
        name: float(np.mean(model.predict(rows.X_test) == rows.y_test))
        for name, model in (("public only", own.model), ("two servers", refined.model))
    }


def _rivals(rows: _Rows, epsilon: float, run: int, python: str) -> dict[str, float]:
    each = epsilon / int(rows.cohort.sizes.max())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(
            path,
            X=rows.cohort.X,
            y=rows.cohort.y,
            X_public=rows.public.X,
            y_public=rows.public.y,
            X_test=rows.X_test,
            y_test=rows.y_test,
        )
        command = [python, str(_CHILD), str(path), str(each), str(DELTA), str(run)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def table_of_means(runs: list[CentralRun]) -> list[str]:
    """A table with bars: a line per task and size of the public sample."""
    names = list(runs[0].accuracies)
    lines = [f"| task, public rows | {' | '.join(names)} | runs |", "|---" * (len(names) + 2) + "|"]
    for task, size in dict.fromkeys((each.task, each.public_rows) for each in runs):
        own = [each.accuracies for each in runs if (each.task, each.public_rows) == (task, size)]
        means = (float(np.mean([each[name] for each in own])) for name in names)
        told = " | ".join(f"{mean:.1f}" for mean in means)
        lines.append(f"| {task}, {size:,} | {told} | {len(own)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rivals", required=True, metavar="PYTHON")
    parser.add_argument("--task", action="append", choices=TASKS, default=None)
    parser.add_argument("--public", action="append", type=int, default=None)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    found = list[CentralRun]()
    for run in range(given.runs):
        for task in given.task or TASKS:
            for size in given.public or [200, 1000]:
                found.append(run_task(task, size, given.epsilon, run, given.rivals))
                print(json.dumps(asdict(found[-1])), flush=True)
    print("\n".join(table_of_means(found)))


if __name__ == "__main__":
    main()
