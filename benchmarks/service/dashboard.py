"""The dashboard's queries, asked of a real Prometheus that watches two campaigns and a helper on
loopback; and the dashboard as a picture.

A coordinator of two campaigns is served with its figures on a port of their own; an owner reports
to both, and strangers are refused. A helper keeps a batch. Prometheus, whose program must be on the
PATH, reads the figures every few seconds. Then every query of every panel is asked. It must give
something, every value must be a number, and a panel's lines must have names that tell them apart.
What Grafana would trip over in the file is said as well.

    python -m benchmarks.service.dashboard

With --draw both services run in processes of their own for a while, with owners who come and
strangers who are refused, and Grafana's own components draw what Prometheus saw of it:

    python -m benchmarks.service.dashboard --draw out/dashboard
"""

import argparse
import asyncio
import json
import math
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks.doorstep import Doorstep
from benchmarks.loopback import serve
from benchmarks.service.board import faults
from benchmarks.service.drawing import ask_panels, build, draw, tools, with_choices
from benchmarks.service.lively import live, services
from benchmarks.service.prometheus import MissingError, at, program, prometheus
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
_OFTEN = 3.0  # seconds between looks of what is drawn
_LEAST = 60.0  # seconds in which every rate has something to go by
_ENDED = 143  # as a shell says it
_LABEL = re.compile(r"\{\{(\w+)\}\}")
_CHOSEN = {"$__rate_interval": "1m"}
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
    return [
        (title, with_choices(expression, _CHOSEN), legend) for title, expression, legend in found
    ]


def fault(series: list[dict[str, Any]], legend: str) -> str:
    """What is wrong with an answer; nothing, where all is well."""
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
    made.watch.observe("check", 200, 0.01)  # as what is in front of it says
    return made


def measure(folder: Path) -> list[tuple[str, str, int, str]]:
    """Title, expression, lines and fault of every query."""

    async def main() -> list[tuple[str, str, int, str]]:
        async with Doorstep.open(folder, f"sqlite:///{folder}/campaigns.db") as door:
            with (
                serve(door.watch.app()) as first,
                serve(keeping_helper(folder).watch.app()) as second,
                prometheus((first, second), folder) as client,
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
        try:
            found = at(client, expression)
        except ValueError as problem:
            return 0, str(problem)
        wrong = fault(found, legend)
        if not wrong or time.monotonic() > until:
            return len(found), wrong
        time.sleep(1.0)


def picture(out: Path, seconds: float) -> list[str]:
    """Draw the dashboard, after so many seconds of two campaigns, into a folder; titles of panels
    that have nothing to show. What the pictures are made of stays beside them, as asked.json.
    """
    npm, browser = tools()
    program()  # not to be missed only when all the others are there
    page = build(npm)
    board = json.loads(BOARD.read_text())
    with tempfile.TemporaryDirectory() as folder, services(Path(folder)) as stage:
        watched = [f"http://127.0.0.1:{port}" for port in (stage.figures, stage.helper_figures)]
        with prometheus(watched, Path(folder), _OFTEN) as client:
            began = time.time()
            live(stage, seconds)
            asked = ask_panels(client, board, (began, time.time()), _OFTEN)
    out.mkdir(parents=True, exist_ok=True)
    (out / "asked.json").write_text(json.dumps(asked))
    for made in draw(asked, page, browser, out):
        print(made)
    answers = {panel["title"]: asked["answers"][panel["id"]] for panel in board["panels"]}
    return [title for title, found in answers.items() if found and not all(found)]


def main() -> None:
    """Print what every query gives, or where the pictures are; exit status 1 when a query is wrong
    or a panel is empty, 2 where a program is missing.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service.dashboard",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--draw",
        type=Path,
        metavar="FOLDER",
        help="draw dashboard-light.png and dashboard-dark.png there instead (needs npm, which "
        "fetches Grafana's components the first time, and chromium)",
    )
    parser.add_argument(
        "--seconds", type=float, default=150.0, help="of what the picture shows (default: 150)"
    )
    asked = parser.parse_args()
    if not asked.seconds >= _LEAST:
        parser.error(f"--seconds must be {_LEAST:g} or more")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_ENDED))  # and end what was started
    try:
        if asked.draw is not None:
            good = say_empty(picture(asked.draw, asked.seconds))
        else:
            program()
            good = say_rows()
    except MissingError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if good else 1)


def say_empty(titles: list[str]) -> bool:
    """Whether every panel has something to show."""
    for title in titles:
        print(f"nothing to show: {title}")
    return not titles


def say_rows() -> bool:
    """Whether the file is sound and every query good; each is printed."""
    unsound = faults(json.loads(BOARD.read_text()))
    for each in unsound:
        print(f"unsound: {each}")
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    for title, expression, lines, wrong in rows:
        print(f"{lines:3} lines  {wrong or 'good':22}  {title}: {expression}")
    return not unsound and not any(wrong for *_, wrong in rows)


if __name__ == "__main__":
    main()
