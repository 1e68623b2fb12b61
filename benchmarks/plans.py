"""Plans of this code beside what came of owners' answers, as it was measured and written down.

    python -m benchmarks.plans                        (all tasks of the table of whom to trust)
    python -m benchmarks.plans --task pnad --task adult --public 50
    python -m benchmarks.plans --rows out/trust.jsonl  (what `python -m benchmarks.trust` printed)

What came is read, not measured again: from the table "both trusts" of docs/explanation/trust.md,
whose figures have a tenth of a point, or from lines of `benchmarks.trust`. Plans are made anew, for
the same public rows. Where a plan says not to collect, nothing is foretold. A plan also says
between which figures accuracy will be in 19 of 20 cases; how often it was is counted, too.
"""

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.algorithms.outlook import Outlook, look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.estimators.planning import Plan
from tacit_papers.ours.ahead_report import plan_in_words
from tacit_papers.ours.plan_check import PlanRow
from tacit_papers.ours.tasks import Task, task_of

_TABLE = Path("docs/explanation/trust.md")
_CELL = re.compile(r"(\d+\.\d+) \(([+-]\d+\.\d+)(?: ± (\d+\.\d+))?\)")
_HEAD = re.compile(r"([\d,]+) rows, (.+)")


@dataclass(frozen=True)
class Measured:
    """What came in one setting, in points, over the runs that were made of it: accuracy, and how
    far it is above the data user's own model.
    """

    task: str
    public_rows: int
    epsilon: float
    trust: str
    runs: tuple[int, ...]
    accuracy: float
    came: float
    error: float


def measured_in_table(text: str) -> Iterator[Measured]:
    """Of the made table: a cell with a standard error is of two runs, else of the first alone."""
    made = text.split("<!-- table: both trusts", 1)[1].split("<!-- end of table -->", 1)[0]
    lines = [line.strip("| \n").split(" | ") for line in made.splitlines() if line.startswith("| ")]
    heads = [_HEAD.fullmatch(head) for head in lines[0][2:]]
    for task, epsilon, *cells in lines[1:]:
        for head, cell in zip(heads, cells, strict=True):
            found = _CELL.search(cell)
            if head is None or found is None:
                raise ValueError(f"a cell that is none: {cell!r}")
            accuracy, rise, error = found.groups()
            yield Measured(
                task,
                int(head[1].replace(",", "")),
                float(epsilon),
                head[2],
                runs=(0,) if error is None else (0, 1),
                accuracy=float(accuracy),
                came=float(rise),
                error=float(error or 0.0),
            )


def measured_in_rows(lines: Iterable[str]) -> Iterator[Measured]:
    """Of what `benchmarks.trust` printed: means over the runs that are there."""
    found: dict[tuple[str, int, float, str], list[tuple[int, float, float]]] = {}
    for each in map(json.loads, lines):
        if "trust" in each:
            key = (each["task"], each["public_rows"], each["epsilon"], each["trust"])
            rise = each["accuracy"] - each["public_only"]
            found.setdefault(key, []).append((each["run"], each["accuracy"], rise))
    for (task, rows, epsilon, trust), runs in found.items():
        numbers, accuracies, rises = (np.array(each) for each in zip(*runs, strict=True))
        error = rises.std(ddof=1) / np.sqrt(len(rises)) if len(rises) > 1 else 0.0
        yield Measured(
            task,
            rows,
            epsilon,
            trust,
            runs=tuple(numbers.tolist()),
            accuracy=float(accuracies.mean()),
            came=float(rises.mean()),
            error=float(error),
        )


def check_plans(task: Task, measured: Iterable[Measured]) -> Iterator[tuple[PlanRow, bool]]:
    """Settings of one task: plans beside what came, and whether accuracy was where they say."""
    wanted = list(measured)
    made: dict[tuple[int, int, str, float], tuple[Plan, float]] = {}
    for rows, run in dict.fromkeys((each.public_rows, run) for each in wanted for run in each.runs):
        public = task.public(rows, run)
        own = fit_public(public)
        here = [each for each in wanted if each.public_rows == rows and run in each.runs]
        look: Outlook | None = None  # of sums the start is the same for all
        for each in sorted(here, key=lambda each: each.trust):
            crowd = Population(task.owners, each.epsilon, task.rows, each.trust)
            begun = look is not None and look.combination.population.summed and crowd.summed
            look = look.among(crowd) if look and begun else look_ahead(public, own, crowd)
            made[rows, run, each.trust, each.epsilon] = (Plan.of(look), look.promised)
    for each in wanted:
        both = [made[each.public_rows, run, each.trust, each.epsilon] for run in each.runs]
        plans, rises = [plan for plan, _ in both], np.array([rise for _, rise in both])
        low, high = np.mean([plan.between for plan in plans], axis=0)
        yield (
            PlanRow(
                dataset=each.task,
                trust=each.trust,
                owners=task.owners,
                rows_per_owner=task.rows,
                epsilon=each.epsilon,
                public_rows=each.public_rows,
                runs=len(plans),
                predicted=float(rises.mean()),
                predicted_std=float(rises.std(ddof=1)) if len(rises) > 1 else 0.0,
                measured=each.came / 100,
                measured_error=each.error / 100,
                collect=float(np.mean([plan.collect for plan in plans])),
            ),
            bool(low <= each.accuracy / 100 <= high),
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans", description=__doc__)
    parser.add_argument("--task", action="append", help="one of the table's; all unless given")
    parser.add_argument("--public", action="append", type=int, help="public rows; all unless given")
    parser.add_argument("--rows", type=Path, help="lines of `benchmarks.trust`")
    given = parser.parse_args()
    if given.rows is None:
        measured = list(measured_in_table(_TABLE.read_text()))
    else:
        measured = list(measured_in_rows(given.rows.read_text().splitlines()))
    if given.public is not None:
        measured = [each for each in measured if each.public_rows in given.public]
    found, inside = list[PlanRow](), list[bool]()
    for name in given.task or dict.fromkeys(each.task for each in measured):
        task = task_of(name)
        for row, there in check_plans(task, (each for each in measured if each.task == name)):
            found.append(row)
            inside.append(there)
            print(
                f"{row.dataset:17} {row.public_rows:>5} rows, epsilon {row.epsilon:<4g}"
                f"{row.trust:12} foretold {100 * row.predicted:+6.2f} came "
                f"{100 * row.measured:+6.2f} +- {100 * row.measured_error:.2f} "
                f"{'within' if row.within else ''}{' MISSED' if row.missed else ''}"
                f"{'' if there else ' (accuracy is not where it should be)'}",
                flush=True,
            )
    print(plan_in_words(found))
    print(f"Accuracy was between the figures that plans say in {sum(inside)} of {len(inside)}.")


if __name__ == "__main__":
    main()
