"""Try what the owner's side promises, print what was found, exit with 1 if anything that must be
0 is not.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from rich.console import Console

from reliability.canaries import canaries
from reliability.cost import cost
from reliability.effort import FULL, QUICK, Effort
from reliability.finding import Finding, show
from reliability.flips import flips
from reliability.kills import kills
from reliability.questions import questions
from reliability.reports import reports
from reliability.schedules import schedules
from reliability.sites import sites
from tacit_papers.evidence_benchmarks import BenchmarkFile

_EXPERIMENTS: dict[str, Callable[[Effort], Finding]] = {
    "kills": lambda effort: kills(effort.kills),
    "questions": lambda effort: questions(effort.questions, effort.bounds_checked),
    "reports": lambda effort: reports(effort.report_bytes),
    "flips": lambda effort: flips(effort.flipped),
    "schedules": lambda effort: schedules(effort.schedules),
    "canaries": lambda effort: canaries(effort.canary_owners),
    "sites": lambda effort: sites(effort.sites),
    "cost": cost,
}


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m reliability", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a little of everything: about 20 seconds"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the findings there")
    parser.add_argument("--only", choices=_EXPERIMENTS, action="append", help="repeat for several")
    arguments = parser.parse_args()
    if sys.platform != "linux":
        parser.error("the experiments fork, kill and read memory the way Linux does it")
    findings = []
    where = arguments.json
    file = where and BenchmarkFile.begin(where, "reliability", arguments.quick)
    console = Console(width=120, highlight=False)
    for name in arguments.only or _EXPERIMENTS:
        began = perf_counter()
        findings.append(_EXPERIMENTS[name](QUICK if arguments.quick else FULL))
        console.print(f"{name}: {perf_counter() - began:.0f} s", style="dim")
    show(findings, console)
    if file:
        file.write([{**asdict(finding), "passed": finding.passed} for finding in findings])
    sys.exit(0 if all(finding.passed for finding in findings) else 1)


if __name__ == "__main__":
    main()
