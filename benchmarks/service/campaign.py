"""make campaign: a whole campaign on this machine, in processes of its own, watched and checked.

A PostgreSQL server, a coordinator with TLS, and fifty owner processes with ten owners each go through ten rounds. It is
a rehearsal (seeded: reproducible, not private), so that the published model can be compared, byte for byte, with that
of the engine in one process; `--private` runs it with secure coins instead, as owners would.
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
from benchmarks.service.stage import Plan, Stage
from tacit.wire import encode

_PATIENCE = 900.0
_AT_ONCE = 10  # owner processes that start together


def main() -> None:
    """Run, show, write the report; exit status 1 if anything is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.campaign", description=__doc__)
    parser.add_argument("--processes", type=int, default=50, help="owner processes")
    parser.add_argument("--each", type=int, default=10, help="owners in each of them")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of boosting")
    parser.add_argument("--private", action="store_true", help="secure coins: private, not reproducible")
    parser.add_argument("--out", type=Path, default=Path("out/campaign"), help="folder for the report")
    arguments = parser.parse_args()
    people = People(arguments.processes, arguments.each, rows=40)
    per_round = max(2, people.owners * 9 // 10 // arguments.rounds)
    seed = None if arguments.private else 7
    plan = Plan(people=people, rounds=arguments.rounds, per_round=per_round, seed=seed)
    console = Console(width=100, highlight=False)
    with tempfile.TemporaryDirectory(prefix="tacit-campaign-") as name, postgres() as server:
        console.print(which())
        figures = run(plan, Path(name), server.fresh(), console)
    write(figures, arguments.out)
    for line in lines(figures):
        console.print(line)
    console.print(f"report: {arguments.out / 'report.md'}, {arguments.out / 'report.json'}")
    sys.exit(0 if figures["sound"] else 1)


def run(plan: Plan, folder: Path, database: str, console: Console) -> dict[str, Any]:
    """One campaign from the first process to the checks; its figures."""
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
        published = stage.model()
        stage.close()
    accuracy, alone = scores(folder, published)
    found = evidence(stage)
    same = None if plan.seed is None else encode(published.ensemble) == encode(expected)
    return {
        "setting": {"python": platform.python_version(), "database": which()},
        "label": "secure coins" if plan.seed is None else "rehearsal: reproducible, not private",
        "owner processes": plan.people.processes,
        "owners": plan.people.owners,
        "epsilon": plan.epsilon,
        "rounds": status["questions"],
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
        stage.until(lambda: _told(stage, progress, task) >= people.owners, _PATIENCE, "everybody to enrol")
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
        task = progress.add_task("rounds", total=stage.plan.rounds)
        while True:
            status = stage.status()
            if status is not None:
                closed = [question for question in status["questions"] if question["state"] != "open"]
                progress.update(task, completed=len(closed))
                if len(closed) == 1 and not memory:
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
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total}")
    return Progress(*columns, TimeElapsedColumn(), console=console)


def lines(figures: dict[str, Any]) -> list[str]:
    """The figures for people."""
    same = {True: "equal, byte for byte", False: "DIFFERENT", None: "not comparable: secure coins"}
    return [
        f"{figures['label']}; {figures['owners']} owners in {figures['owner processes']} processes, "
        f"epsilon {figures['epsilon']} each, {len(figures['rounds'])} questions, {figures['ended']}",
        f"accuracy on test rows: {figures['accuracy']:.3f}; the data user's sample alone: {figures['public only']:.3f}",
        f"model against that of one process: {same[figures['equal to the engine in one process']]}",
        ", ".join(f"{name} {figures[name]}" for name in figures if name.endswith(" twice")),
        f"{figures['seconds']} s in all, {figures['seconds until all had enrolled']} s of them until everybody had "
        f"enrolled; memory of all processes {figures['memory of all processes, MB']} MB",
    ]


def write(figures: dict[str, Any], out: Path) -> None:
    """report.json, and report.md with the same."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(json.dumps(figures, indent=1) + "\n")
    rows = [
        f"| {question['number']} | {question['state']} | {question['invited']} | {question['counted']} |"
        for question in figures["rounds"]
    ]
    table = ["| question | state | invited | counted |", "|---|---|---|---|", *rows]
    (out / "report.md").write_text(
        "\n".join(["# A campaign", "", *(f"- {line}" for line in lines(figures)), "", *table]) + "\n"
    )


if __name__ == "__main__":
    main()
