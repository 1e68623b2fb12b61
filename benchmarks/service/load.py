"""make load: a hundred thousand owners enrol, ask and report at once, beside the same server doing
nothing.

Requests are drawn, packed and signed beforehand; what is measured is HTTP, the check of the
signature, the judgement of what was sent and its commit in PostgreSQL (with its default
durability). Reports go piece by piece, in turn to the coordinator and to the blank server, so that
whatever else the machine does hits both; connections are made before the clock starts; the load
process takes a core of its own. Owners speak TLS; without it, there is less for both servers to do
alike.
"""

import argparse
import statistics
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.service.crowd import Crowd, Requests
from benchmarks.service.knocking import knock
from benchmarks.service.people import People
from benchmarks.service.postgres import free_port, postgres, which
from benchmarks.service.processes import Processes
from benchmarks.service.stage import Plan, Stage
from benchmarks.timing import cores
from tacit.service.coordinator.store import Store
from tacit.service.protocol.serving import allow_many_files
from tacit_papers.evidence_benchmarks import BenchmarkFile

_CONNECTIONS = 2048
_PIECE = 10_000
_OWNERS = 100_000  # fewer decide nothing
_HOURS = 4 * 3600.0  # for everybody to ask and report, also a million
_CAPTION = (
    "blank: the same server, answering the same bytes without doing anything. Medians over "
    "pieces; us: processor time "
    "of the server per request; MB: memory of all its processes, growth: at the end against a "
    "tenth of the reports. "
    "Goal: fraction >= 0.4"
)


@dataclass
class Measured:
    """Requests a second, piece by piece, and the memory of the coordinator after each."""

    workers: int
    tls: bool
    reports: int
    enrolled: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    served: list[float] = field(default_factory=list)
    blank: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    effort: dict[str, float] = field(default_factory=dict)  # processor seconds of each server

    @property
    def fraction(self) -> float:
        """The median over pieces of coordinator against blank server."""
        return statistics.median(a / b for a, b in zip(self.served, self.blank, strict=True))

    @property
    def growth(self) -> float:
        """Memory at the end against memory after a tenth of the reports."""
        return self.memory[-1] / self.memory[max(len(self.memory) // 10, 1) - 1]


def main() -> None:
    """Measure with one and with two workers, with and without TLS; print a table, write the
    rows.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.load", description=__doc__)
    parser.add_argument("--owners", type=int, default=_OWNERS, help="reports to send")
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[1, 2], help="worker processes to measure"
    )
    parser.add_argument(
        "--transport", nargs="+", choices=["https", "http"], default=["https", "http"]
    )
    parser.add_argument(
        "--connections", type=int, default=_CONNECTIONS, help="open at the same time"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/load.json"), help="where to write the rows"
    )
    arguments = parser.parse_args()
    console = Console(width=130, highlight=False)
    allow_many_files()
    console.print(f"{which()}; {cores()} cores, {arguments.connections} connections")
    file, rows = BenchmarkFile.begin(arguments.out, "load", arguments.owners < _OWNERS), []
    for transport in arguments.transport:
        load = Load(arguments.owners, arguments.connections, tls=transport == "https")
        found = [load.measured(workers, console) for workers in arguments.workers]
        rows += [figures(each, found[0]) for each in found]
    file.write(rows)
    console.print(table(rows))
    console.print(f"rows: {arguments.out}")


@dataclass(frozen=True)
class Load:
    """So many reports, over so many connections."""

    owners: int
    connections: int
    tls: bool

    def measured(self, workers: int, console: Console) -> Measured:
        """One campaign of one round over everybody, all of it through HTTP."""
        n, people = self.owners, People(1, 1, rows=4)
        plan = Plan(
            people=people,
            rounds=1,
            per_round=n,
            tls=self.tls,
            workers=workers,
            start=n,
            deadline=_HOURS,
            crowd=True,
        )
        found = Measured(workers, self.tls, n)
        folder = tempfile.TemporaryDirectory(prefix="tacit-load-")
        with folder as name, postgres() as server, Processes(Path(name)) as run:
            stage, blank = Stage(Path(name), plan, server.fresh(), run), free_port()
            stage.start_coordinator()
            stage.start_blank(blank)
            stage.up()
            crowd = Crowd.of(n, stage.folder / "state" / "signing.key")
            store = Store(stage.database)
            store.add_tokens(crowd.tokens)
            self._alone(stage, crowd.enrolments(), found.enrolled)
            stage.until(lambda: bool(store.questions()), 120.0, "the question")
            self._alone(stage, crowd.asking(), found.asked)
            reports = crowd.reports(store.questions()[0].data)
            for start in range(0, n, _PIECE):
                self._piece(
                    stage, blank, crowd.reporting(reports).signed(start, start + _PIECE), found
                )
                console.print(f"{workers} workers: {start + _PIECE} of {n}", end="\r")
            stage.until(stage.ended, 300.0, "the end of the campaign")
            counted = sum(
                question["counted"]
                for question in (stage.status() or {"questions": []})["questions"]
            )
            if counted != n:
                raise RuntimeError(f"{counted} of {n} reports were counted")
            store.close()
            stage.close()
        return found

    def _alone(self, stage: Stage, requests: Requests, rates: list[float]) -> None:
        """Requests to the coordinator, piece by piece."""
        for start in range(0, len(requests), _PIECE):
            piece = requests.signed(start, start + _PIECE)
            knocked = knock(stage.port, piece, self.connections, stage.trust, float)
            rates.append(len(piece) / knocked.seconds)
            if set(knocked.statuses) != {200}:
                raise RuntimeError(
                    f"{requests.route}: not every request was taken: {dict(knocked.statuses)}"
                )

    def _piece(self, stage: Stage, blank: int, requests: list[bytes], found: Measured) -> None:
        """The same requests to both servers, one after the other."""
        answers = set()
        for name, port, rates in (
            ("blank", blank, found.blank),
            ("coordinator", stage.port, found.served),
        ):
            knocked = knock(
                port,
                requests,
                self.connections,
                stage.trust,
                partial(stage.processes.seconds, name),
            )
            rates.append(len(requests) / knocked.seconds)
            found.effort[name] = found.effort.get(name, 0.0) + knocked.effort
            if set(knocked.statuses) != {200}:
                raise RuntimeError(f"not every report was taken: {dict(knocked.statuses)}")
            answers.add(knocked.answer)
        if len(answers) != 1:
            raise RuntimeError(f"the servers do not answer the same bytes: {answers}")
        found.memory.append(stage.processes.resident("coordinator"))


def figures(found: Measured, first: Measured) -> dict[str, Any]:
    """A row for people and machines."""
    return {
        "transport": "https" if found.tls else "http",
        "workers": found.workers,
        "reports": found.reports,
        "enrol/s": round(statistics.median(found.enrolled)),
        "ask/s": round(statistics.median(found.asked)),
        "report/s": round(statistics.median(found.served)),
        "blank/s": round(statistics.median(found.blank)),
        "fraction": round(found.fraction, 2),
        "speed-up": round(statistics.median(found.served) / statistics.median(first.served), 2),
        "us": round(found.effort["coordinator"] / found.reports * 1e6),
        "blank us": round(found.effort["blank"] / found.reports * 1e6),
        "MB": round(found.memory[-1] / 2**20),
        "growth": round(found.growth, 3),
    }


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows, to look at."""
    made = Table(box=SIMPLE_HEAD, caption=_CAPTION, caption_justify="left")
    for heading in rows[0]:
        made.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        made.add_row(
            *(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values())
        )
    return made


if __name__ == "__main__":
    main()
