"""Run all benchmarks, print their tables, write the rows as JSON."""

import argparse
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from rich.console import Console

import tacit
from benchmarks.boosting import boosting
from benchmarks.liars import liars
from benchmarks.mechanisms import mechanisms
from benchmarks.memory import memory
from benchmarks.privunit import privunit
from benchmarks.proofs import proofs
from benchmarks.refining import refining
from benchmarks.rivals import Rivals, rivals_of
from benchmarks.speed import speed
from benchmarks.tables import Table
from benchmarks.timing import FULL, QUICK, Effort, cores
from tacit_papers.evidence_benchmarks import BenchmarkFile

_WIDTH = 100


def main() -> None:
    """Parse arguments and run; a missed goal is printed, not an error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rivals",
        metavar="PYTHON",
        help="interpreter that has the packages of benchmarks/rivals.txt",
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller and rougher: about 20 seconds"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench.json"), help="where to write the rows"
    )
    arguments = parser.parse_args()
    if sys.platform != "linux":
        parser.error("the benchmarks pin cores and read peak memory the way Linux does it")
    if arguments.rivals and shutil.which(arguments.rivals) is None:
        parser.error(f"--rivals: no interpreter at {arguments.rivals}; see benchmarks/rivals.txt")
    console = Console(width=_WIDTH, highlight=False)
    setting = _setting(arguments.quick)
    file = BenchmarkFile.begin(arguments.out, "speed", arguments.quick)
    with ExitStack() as stack:
        rivals = stack.enter_context(rivals_of(arguments.rivals)) if arguments.rivals else None
        versions = sorted(set(rivals.versions.values())) if rivals else []
        console.print(", ".join([f"{name} {value}" for name, value in setting.items()] + versions))
        if rivals is None:
            console.print("No --rivals given: OpenDP and diffprivlib are not measured.")
        console.print()
        records: list[dict[str, object]] = []
        for table in _tables(QUICK if arguments.quick else FULL, rivals):
            table.show(console)
            records += table.records()
    file.write(records, setting=setting, rivals=versions)


def _tables(effort: Effort, rivals: Rivals | None) -> Iterator[Table]:
    yield from speed(effort, rivals)
    yield from memory(effort)
    yield from privunit(effort)
    yield from mechanisms(effort)
    yield from boosting(effort)
    yield from refining(effort)
    yield from proofs(effort)
    yield from liars(effort)


def _setting(quick: bool) -> dict[str, str | int]:
    return {
        "tacit": tacit.__version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "cores": cores(),
        "effort": "quick" if quick else "full",
    }


if __name__ == "__main__":
    main()
