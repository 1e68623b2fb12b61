"""The dashboard's queries, asked of a real Prometheus that watches two campaigns and a helper on
loopback.

A coordinator of two campaigns is served with its figures on a port of their own; an owner reports
to both, and strangers are refused. A helper keeps a batch. Prometheus, whose program must be on the
PATH, reads the figures every few seconds. Then every query of every panel is asked. It must give
something, every value must be a number, and a panel's lines must have names that tell them apart.

    python -m benchmarks.service.dashboard
"""

import argparse
import asyncio
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks.doorstep import Doorstep
from benchmarks.loopback import serve
from tacit.mechanisms.spaces import Ball
from tacit.service.helper import Helper, Sheets, Speaker
from tacit.sums.halves import Batch, SumTerms
from tacit.sums.protocol import CoordinatorSide
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import encode

BOARD = Path(__file__).parents[2] / "docs" / "grafana" / "tacit.json"
_SCRAPES = 6.0  # seconds in which there is one
_PATIENCE = 60.0  # seconds for a query to give something
_TIMES = 3  # that everybody comes
_LABEL = re.compile(r"\{\{(\w+)\}\}")
_CHOSEN = {"$campaign": ".*", "$__rate_interval": "1m"}  # what Grafana puts in
_VALUES = re.compile(r"label_values\((\w+), (\w+)\)")


def queries(board: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Title, expression and legend of every query, with all campaigns chosen; and what the lists
    are made of from which one chooses.
    """
    found = [
        (panel["title"], target["expr"], target["legendFormat"])
        for panel in board["panels"]
        for target in panel.get("targets", ())  # rows have none
    ]
    for choice in board["templating"]["list"]:
        if choice["type"] == "query":
            metric, label = _VALUES.findall(choice["query"]["query"])[0]
            found.append((choice["label"], f"count by ({label}) ({metric})", f"{{{{{label}}}}}"))
    return [(title, _with_choices(expression), legend) for title, expression, legend in found]


def _with_choices(expression: str) -> str:
    for name, chosen in _CHOSEN.items():
        expression = expression.replace(name, chosen)
    return expression


@contextmanager
def prometheus(program: str, watched: Sequence[str], folder: Path) -> Iterator[httpx.Client]:
    """Prometheus on a free port, reading what some addresses show; ended at the end."""
    settings = {
        "global": {"scrape_interval": "5s"},
        "scrape_configs": [
            {
                "job_name": "tacit",
                "static_configs": [{"targets": [each.split("//")[1] for each in watched]}],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))  # which YAML is, too
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        running_program = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as client:
            _wait_for(client)
            yield client
    finally:
        running_program.terminate()
        running_program.wait(60)


def _wait_for(client: httpx.Client, seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if client.get("/-/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise RuntimeError("Prometheus was not ready in time")


def fault(found: dict[str, Any], legend: str) -> str:
    """What is wrong with an answer; nothing, where all is well."""
    series = found.get("data", {}).get("result", [])
    if not series:
        return "gives nothing"
    if not all(math.isfinite(float(each["value"][1])) for each in series):
        return "gives what is no number"
    named = [[each["metric"].get(label) for label in _LABEL.findall(legend)] for each in series]
    if any(None in each for each in named):
        return "has no such label"
    return "" if len({*map(tuple, named)}) == len(named) else "names two lines alike"


async def visit(door: Doorstep) -> None:
    """What owners and strangers do in a while."""
    for _ in range(_TIMES):
        await door.question()
        for each in door.both:
            await each.send("POST", "/v1/report", door.invited, each.report())
            await each.send("POST", "/v1/report", door.uninvited, each.report())
            await each.send("POST", "/v1/enrol", door.revoked, door.token_of_revoked)
            await each.raw("GET", "/nowhere", {}, b"")
        door.watch.refuse("too many")  # as the door in front of it says
        await asyncio.sleep(_SCRAPES)


def keeping_helper(folder: Path) -> Helper:
    """A helper of one campaign that has sent the first block of a batch."""
    ours, theirs = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    public = [key.public_key().public_bytes_raw() for key in (ours, theirs)]
    servers = SumTerms(VectorTerms.of(Ball(dim=4), 1.0, 1e-6), *public)
    side, campaign = CoordinatorSide(Batch(bytes(32), 1, 1, servers), ours), os.urandom(32)
    made = Helper(theirs, Sheets(folder / "helper.db"), [campaign.hex()])
    made.check(encode(side.block([])), Speaker(campaign.hex(), side.bond(campaign).hex()))
    return made


def measure(program: str, folder: Path) -> list[tuple[str, str, int, str]]:
    """Title, expression, lines and fault of every query."""

    async def main() -> list[tuple[str, str, int, str]]:
        async with Doorstep.open(folder, f"sqlite:///{folder}/campaigns.db") as door:
            with (
                serve(door.watch.app()) as first,
                serve(keeping_helper(folder).watch.app()) as second,
                prometheus(program, (first, second), folder) as client,
            ):
                await visit(door)
                return [
                    (title, expression, *await asyncio.to_thread(ask, client, expression, legend))
                    for title, expression, legend in queries(json.loads(BOARD.read_text()))
                ]

    return asyncio.run(main())


def ask(client: httpx.Client, expression: str, legend: str) -> tuple[int, str]:
    """How many lines a query gives, and what is wrong with them. On a busy machine a look at the
    figures may come too late for Prometheus, which forgets them until the next: asked for a while.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        found = client.get("/api/v1/query", params={"query": expression}).json()
        wrong, lines = fault(found, legend), len(found.get("data", {}).get("result", []))
        if not wrong or time.monotonic() > until:
            return lines, wrong
        time.sleep(1.0)


def main() -> None:
    """Print what every query gives; exit status 1 when one is wrong, 2 without Prometheus."""
    argparse.ArgumentParser(
        prog="python -m benchmarks.service.dashboard", description=__doc__
    ).parse_args()
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("prometheus must be on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(program, Path(folder))
    for title, expression, lines, wrong in rows:
        print(f"{lines:3} lines  {wrong or 'good':22}  {title}: {expression}")
    if any(wrong for *_, wrong in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
