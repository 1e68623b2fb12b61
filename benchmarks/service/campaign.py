"""make campaign: a whole campaign on this machine, in processes of its own, watched and checked.

A PostgreSQL server, a coordinator and a helper with TLS, and fifty owner processes with four owners
each go through ten rounds; after each, all owners say in a sum over both servers how wrong its
model is. With `--trust "two servers"` their shares go to both servers, too, in halves with a proof.
It is a rehearsal (seeded: reproducible, not private), so that the published model can be
compared, byte for byte, with that of the engine in one process; `--private` runs it with secure
coins instead, as owners would.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.service.evidence import evidence
from benchmarks.service.people import People, scores
from benchmarks.service.postgres import postgres, which
from benchmarks.service.processes import Processes
from benchmarks.service.saved import saved
from benchmarks.service.stage import Plan, Stage
from tacit.learners.owners.sum_query import WHAT as SUM
from tacit.sums import HOW, NOBODY
from tacit.wire import encode

_PATIENCE = 900.0
_AT_ONCE = 10  # owner processes that start together


def main() -> None:
    """Run, show, write the report; exit status 1 if anything is not as it should be."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service.campaign", description=__doc__
    )
    parser.add_argument("--processes", type=int, default=50, help="owner processes")
    parser.add_argument("--each", type=int, default=4, help="owners in each of them")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of boosting")
    parser.add_argument(
        "--trust", choices=(NOBODY, HOW), default=NOBODY, help="who adds up owners' shares"
    )
    parser.add_argument(
        "--private", action="store_true", help="secure coins: private, not reproducible"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/campaign"), help="folder for the report"
    )
    arguments = parser.parse_args()
    people = People(arguments.processes, arguments.each, rows=100, sample=60)
    plan = Plan(
        people=people,
        rounds=arguments.rounds,
        per_round=max(
            2, people.owners * 6 // 10 // arguments.rounds
        ),  # rounds may be dropped, and others asked
        learner="logistic",
        trust=arguments.trust,
        sum_epsilon="0.5",
        seed=None if arguments.private else 7,
    )
    console = Console(width=100, highlight=False)
    with tempfile.TemporaryDirectory(prefix="tacit-campaign-") as name, postgres() as server:
        console.print(which())
        figures, page = run(plan, Path(name), server.fresh(), console)
    write(figures, page, arguments.out)
    for line in lines(figures):
        console.print(line)
    console.print(f"report: {arguments.out / 'report.html'}, {arguments.out / 'report.json'}")
    sys.exit(0 if figures["sound"] else 1)


def run(plan: Plan, folder: Path, database: str, console: Console) -> tuple[dict[str, Any], str]:
    """One campaign from the first process to the checks; its figures, and the coordinator's page
    at the end.
    """
    with Processes(folder) as processes:
        stage = Stage(folder, plan, database, processes)
        expected = stage.in_process()
        began = time.monotonic()
        stage.start_coordinator()
        stage.up()
        memory = _owners(stage, console)
        enrolled = time.monotonic()
        memory = max(memory, _watched(stage, console))
        took = time.monotonic() - began
        status = stage.status() or {}
        published, page = stage.model(), stage.page()
        stage.close()
    accuracy, alone = scores(folder)
    found = evidence(stage)
    same = None if plan.seed is None else encode(published.model) == encode(expected)
    figures = {
        "setting": {"python": platform.python_version(), "database": which()},
        "label": "secure coins" if plan.seed is None else "rehearsal: reproducible, not private",
        "owner processes": plan.people.processes,
        "owners": plan.people.owners,
        "trust": plan.trust,
        "epsilon of the report": plan.epsilon,
        "epsilon of each sum": plan.sum_epsilon,
        "questions": status["questions"],
        "ended": published.ended,
        "accuracy": accuracy,
        "public only": alone,
        "equal to the engine in one process": same,
        "seconds": round(took, 1),
        "seconds until all had enrolled": round(enrolled - began, 1),
        "memory of all processes, MB": round(memory / 2**20),
        **found.figures(),
        "sound": same is not False and found.sound,
    }
    return figures, page


def _owners(stage: Stage, console: Console) -> int:
    """Start the owner processes, some at a time; the memory of all when everybody has enrolled."""
    people = stage.plan.people
    with _progress(console) as progress:
        task = progress.add_task("owners enrolled", total=people.owners)
        for number in range(people.processes):
            stage.start_owners(number)
            while True:
                enrolled = (stage.status() or {"owners": {"enrolled": 0}})["owners"]["enrolled"]
                progress.update(task, completed=enrolled)
                if (number + 1) * people.each - enrolled < _AT_ONCE * people.each:
                    break
                _check(stage)
                time.sleep(0.2)
        stage.until(
            lambda: _told(stage, progress, task) >= people.owners, _PATIENCE, "everybody to enrol"
        )
        return stage.processes.memory()


def _told(stage: Stage, progress: Progress, task: Any) -> int:
    enrolled = int((stage.status() or {"owners": {"enrolled": 0}})["owners"]["enrolled"])
    progress.update(task, completed=enrolled)
    _check(stage)
    return enrolled


def _watched(stage: Stage, console: Console) -> int:
    """Show rounds until the end; memory of all processes in the middle of it."""
    memory = 0
    with _progress(console) as progress:
        task = progress.add_task(
            "questions", total=2 * stage.plan.rounds
        )  # a round, and the sum that judges it
        while True:
            status = stage.status()
            if status is not None:
                closed = [
                    question for question in status["questions"] if question["state"] != "open"
                ]
                progress.update(
                    task,
                    completed=len(closed),
                    total=max(2 * stage.plan.rounds, len(status["questions"])),
                )
                if len(closed) >= 1 and not memory:
                    memory = stage.processes.memory()
                if status["state"] == "ended":
                    return memory
            _check(stage)
            time.sleep(0.3)


def _check(stage: Stage) -> None:
    for name, process in stage.processes.running.items():
        if process.poll() not in (None, 0):
            log = (stage.folder / f"{name}.log").read_text()[-1500:]
            raise RuntimeError(f"{name} ended with status {process.returncode}:\n{log}")


def _progress(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} of {task.total}"),
    )
    return Progress(*columns, TimeElapsedColumn(), console=console)


def lines(f: dict[str, Any]) -> list[str]:
    """The figures for people."""
    same = {True: "equal, byte for byte", False: "DIFFERENT", None: "not comparable: secure coins"}
    sums = sum(question["what"] == SUM for question in f["questions"])
    return [
        f"{f['label']}; {f['owners']} owners in {f['owner processes']} processes, {f['ended']}",
        f"trust: {f['trust']}; epsilon {f['epsilon of the report']} for an owner's one report, "
        f"{f['epsilon of each sum']} for each of "
        f"{sums} sums of errors that it took part in",
        f"accuracy on test rows: {f['accuracy']:.3f}; the data user's sample alone: "
        f"{f['public only']:.3f}",
        f"model against that of one process: {same[f['equal to the engine in one process']]}",
        f"{f['reports counted']} reports counted; counted twice {f['reports counted twice']}, "
        "owners asked twice "
        f"{f['owners asked twice']}, charged twice {f['owners charged twice']}, reports that "
        "are in no ledger "
        f"{f['reports that are in no ledger']}",
        f"{f['seconds']} s in all, {f['seconds until all had enrolled']} s of them until "
        "everybody had enrolled; "
        f"memory of all processes {f['memory of all processes, MB']} MB; "
        f"{f['setting']['database']}",
    ]


def write(figures: dict[str, Any], page: str, out: Path) -> None:
    """report.json, and report.html: the coordinator's page at the end, with what was checked."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(json.dumps(figures, indent=1) + "\n")
    (out / "report.html").write_text(saved(page, lines(figures)))


if __name__ == "__main__":
    main()
