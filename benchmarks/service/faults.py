"""make faults: campaigns in processes of their own, while things break, each as a line of figures.

All are rehearsals (reproducible, not private), so that the model can be compared, byte for byte,
with that of the engine in one process; where reports are missing for good there is none to compare
with.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.service.evidence import evidence
from benchmarks.service.people import People
from benchmarks.service.postgres import Postgres, postgres, which
from benchmarks.service.processes import Processes
from benchmarks.service.stage import TRIAL, Plan, Stage
from benchmarks.service.troubles import (
    PATIENCE,
    Trouble,
    bad_network,
    change_release,
    drop_out,
    full_disk,
    jumping_clocks,
    kill_coordinator,
    kill_helper,
    kill_owners,
    replace_keys,
    restart_database,
    stall_helper,
)
from tacit.sums import HOW
from tacit.wire import encode
from tacit_papers.evidence_benchmarks import BenchmarkFile

_HEADINGS = (
    "fault",
    "times",
    "campaigns",
    "lost",
    "counted twice",
    "asked twice",
    "charged twice",
    "forged",
    "same",
)
_TIMES = 20  # fewer decide nothing
PLAN = Plan(people=People(4, 6, rows=20), rounds=3, per_round=7, neighbour=True)


@dataclass(frozen=True)
class Line:
    """What was done to campaigns, and what came of them."""

    fault: str
    times: int
    campaigns: int
    lost: int
    counted_twice: int
    asked_twice: int
    charged_twice: int
    forged: int
    same_model: str

    @property
    def sound(self) -> bool:
        bad = (
            self.lost or self.counted_twice or self.asked_twice or self.charged_twice or self.forged
        )
        return not bad and self.same_model != "no"


def campaign(
    fault: str, plan: Plan, database: str, trouble: Trouble, chance: random.Random
) -> Line:
    """One campaign with trouble, and its neighbour on the same coordinator, if the plan has one;
    what came of them.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tacit-faults-") as name,
        Processes(Path(name)) as processes,
    ):
        stage = Stage(Path(name), plan, database or f"sqlite:///{name}/campaign.db", processes)
        expected = encode(stage.in_process())
        stage.start_coordinator()
        stage.up()
        times, models = 0, dict[str, bytes]()
        try:
            if plan.neighbour:
                stage.start_neighbours()
            times = trouble(stage, chance)
            for slug in stage.slugs():
                stage.until(partial(stage.ended, slug), PATIENCE, f"the end of campaign {slug}")
                models[slug] = encode(stage.model(slug).model)
        except RuntimeError as problem:
            print(problem, file=sys.stderr)  # the log of what was lost
        stage.close()
        processes.stop()
        lines = []
        for slug in stage.slugs():
            found, model = evidence(stage, slug), models.get(slug)
            same = "-" if not found.whole else "yes" if model == expected else "no"
            twice = found.counted_twice, found.asked_twice, found.charged_twice
            done = times if slug in ("", TRIAL) else 0
            rest = found.not_in_ledger, same
            lines.append(Line(fault, done, 1, int(model is None), *twice, *rest))
    return together(lines)


# The list ----------------------------------------------------------------------------------------


def repeated(
    fault: str, plan: Plan, server: Postgres, make: Callable[[int], Trouble], times: int
) -> Line:
    """As many campaigns as it takes for so many times, on PostgreSQL and SQLite in turn."""
    lines: list[Line] = []
    while sum(line.times for line in lines) < times:
        database = "" if len(lines) % 2 else server.fresh()
        left = times - sum(line.times for line in lines)
        lines.append(campaign(fault, plan, database, make(left), random.Random(len(lines))))  # noqa: S311
    return together(lines)


def together(lines: list[Line]) -> Line:
    """Several campaigns under one fault, as one line."""
    names = (
        "times",
        "campaigns",
        "lost",
        "counted_twice",
        "asked_twice",
        "charged_twice",
        "forged",
    )
    told = {line.same_model for line in lines} - {"-"}
    same = "no" if "no" in told else "yes" if told else "-"
    return replace(
        lines[0],
        **{name: sum(getattr(line, name) for line in lines) for name in names},
        same_model=same,
    )


def everything(server: Postgres, times: int, plan: Plan = PLAN) -> dict[str, Callable[[str], Line]]:
    """Every fault, as something that can be run."""
    chance = random.Random(11)  # noqa: S311 - mischief, not secrets
    plain = replace(plan, tls=False)
    alone = replace(plan, neighbour=False)  # tables of before there were versions hold one
    sums = replace(plan, sum_epsilon="1")
    shared = replace(
        plan, people=replace(plan.people, each=9), per_round=10, trust=HOW, sum_epsilon="1"
    )
    scarce = replace(
        shared, people=replace(plan.people, processes=12), per_round=20, deadline=15.0, rounds=2
    )
    few = replace(plan, deadline=15.0, minimum=2)
    dropping = replace(few, people=replace(plan.people, processes=10, each=3), per_round=8)
    return {
        "kill -9 of the coordinator": lambda name: repeated(
            name, plan, server, kill_coordinator, times
        ),
        "kill -9 of owners": lambda name: repeated(name, plan, server, kill_owners, times),
        "kill -9 of the helper": lambda name: repeated(name, sums, server, kill_helper, times),
        "two servers: kill -9 of the coordinator": lambda name: repeated(
            name, shared, server, kill_coordinator, times
        ),
        "two servers: kill -9 of owners": lambda name: repeated(
            name, shared, server, kill_owners, times
        ),
        "two servers: kill -9 of the helper": lambda name: repeated(
            name, shared, server, kill_helper, times
        ),
        "two servers: the helper stands still": lambda name: repeated(
            name, shared, server, stall_helper, times
        ),
        "two servers: 30 % of owners drop out": lambda name: campaign(
            name, scarce, server.fresh(), drop_out(0.3), chance
        ),
        "30 % of owners drop out": lambda name: campaign(
            name, dropping, server.fresh(), drop_out(0.3), chance
        ),
        "requests doubled, reordered, damaged": lambda name: campaign(
            name, plain, server.fresh(), bad_network, chance
        ),
        "database restarts": lambda name: campaign(
            name, plan, server.fresh(), restart_database(server, 4), chance
        ),
        "full disk": lambda name: campaign(name, plan, "", full_disk(4), chance),
        "another release and back, killed between": lambda name: repeated(
            name, alone, server, change_release, 2
        ),
        "keys of campaign and owners replaced": lambda name: campaign(
            name, plan, server.fresh(), replace_keys(6), chance
        ),
        "clocks jump by hours": lambda name: campaign(
            name, sums, server.fresh(), jumping_clocks, chance
        ),
    }


def main() -> None:
    """Run every fault, print the table; exit status 1 if anything went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service.faults", description=__doc__
    )
    parser.add_argument("--times", type=int, default=_TIMES, help="kills of each kind")
    parser.add_argument("--only", help="only faults whose name has this in it")
    parser.add_argument(
        "--out", type=Path, default=Path("out/faults.json"), help="where to write the rows"
    )
    arguments = parser.parse_args()
    console = Console(width=120, highlight=False)
    console.print(which())
    lines: list[Line] = []
    is_quick = arguments.times < _TIMES or arguments.only is not None
    file = BenchmarkFile.begin(arguments.out, "faults", is_quick)
    with postgres("fsync=off") as server:
        for name, run in everything(server, arguments.times).items():
            if (arguments.only or "") in name:
                lines.append(run(name))
                console.print(f"{name}: {'as it should be' if lines[-1].sound else 'WRONG'}")
                file.write([asdict(line) for line in lines])
    console.print(shown(lines))
    if not all(line.sound for line in lines):
        raise SystemExit(1)


def shown(lines: list[Line]) -> Table:
    """The table for people."""
    table = Table(box=SIMPLE_HEAD)
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "fault" else "right")
    for line in lines:
        table.add_row(*(str(value) for value in asdict(line).values()))
    return table


if __name__ == "__main__":
    main()
