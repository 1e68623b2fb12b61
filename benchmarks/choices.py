"""Whether the race of the data user's own models ends as it would if nobody were given up:

    python -m benchmarks.choices --runs 2
    python -m benchmarks.choices --dataset adult --rows 50 --rows 200

The tasks of `tacit reproduce ahead`, with all sizes of public rows. Each is raced twice: as `fit`
does it, and with all candidates on all folds, all trees grown. Exit status 1 if a choice differs.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

from rich.console import Console
from rich.table import Table as Grid

from tacit.algorithms import public_baseline
from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Public
from tacit_papers.ours.ahead import DATASETS
from tacit_papers.ours.tasks import public_sizes, task_for


class Choice(NamedTuple):
    """What a race chose, and how many seconds of processor it took."""

    name: str
    seconds: float


def race(public: Public) -> Choice:
    began = time.process_time()
    name = fit_public(public).name
    return Choice(name, time.process_time() - began)


@contextmanager
def nobody_given_up() -> Iterator[None]:
    never = float("inf")
    with patch.multiple(public_baseline, _FAR_BEHIND=never, _HOPELESS=never):
        yield


def both(public: Public) -> tuple[Choice, Choice]:
    """As `fit` does it, and with everybody to the end."""
    raced = race(public)
    with nobody_given_up():
        return raced, race(public)


def main() -> None:
    """Race, and print who won."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices", description=__doc__)
    parser.add_argument("--dataset", action="append", choices=DATASETS, help="repeat")
    parser.add_argument("--rows", action="append", type=int, help="public rows; repeat")
    parser.add_argument("--runs", type=int, default=1, help="samples of each size")
    given = parser.parse_args()
    grid = Grid("task", "public rows", "sample", "raced", "s", "to the end", "s", "same")
    other = 0
    for dataset in given.dataset or DATASETS:
        task = task_for(dataset, quick=False)
        for rows in given.rows or public_sizes(dataset):
            for run in range(given.runs):
                raced, whole = both(task.public(rows, run))
                other += raced.name != whole.name
                cells = (raced.name, f"{raced.seconds:.2f}", whole.name, f"{whole.seconds:.2f}")
                same = "yes" if raced.name == whole.name else "NO"
                grid.add_row(dataset, f"{rows:,}", str(run + 1), *cells, same)
                print(dataset, rows, run + 1, *cells, same, flush=True)
    console = Console(width=110, highlight=False)
    console.print(grid)
    console.print(f"{grid.row_count} races, {other} with another choice")
    sys.exit(int(other > 0))


if __name__ == "__main__":
    main()
