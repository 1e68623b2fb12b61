"""Two campaigns, a helper, owners who come over some minutes, and a few strangers, in processes of
their own on loopback: for graphs on which something moves.

Rounds follow owners as they come; after each, all who are there say in a sum over both servers how
wrong its model is. Strangers come from an address of their own and are refused.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from ssl import SSLError

import httpx

from benchmarks.service.hostile import (
    Attack,
    Target,
    begin_handshakes,
    send_garbage,
    send_slow_bodies,
)
from benchmarks.service.people import People
from benchmarks.service.postgres import postgres, programs
from benchmarks.service.processes import Processes
from benchmarks.service.stage import Plan, Stage

_PEOPLE = People(processes=8, each=8, rows=20, sample=60, test=10)
_NEIGHBOURS = 3  # processes of them take part in the other campaign, too
_PLAN = Plan(
    people=_PEOPLE,
    rounds=20,  # more than there is time for
    per_round=3,
    start=24,
    deadline=20.0,
    sum_epsilon="0.25",
    seed=None,
    neighbour=True,
    watch=True,
)
_ELSEWHERE = "127.0.0.2"  # owners share no limits with strangers
_RUDE: tuple[Attack, ...] = send_garbage, begin_handshakes, send_slow_bodies


@contextmanager
def services(folder: Path) -> Iterator[Stage]:
    """Both servers, on PostgreSQL where there is one; all are ended at the end."""
    with _database(folder) as database, Processes(folder) as processes:
        stage = Stage(folder, _PLAN, database, processes)
        stage.start_coordinator()
        stage.up()
        try:
            yield stage
        finally:
            stage.close()


@contextmanager
def _database(folder: Path) -> Iterator[str]:
    if programs() is None:
        yield f"sqlite:///{folder}/campaign.db"
        return
    with postgres() as server:
        yield server.fresh()


def live(stage: Stage, seconds: float) -> None:
    """Let owners come, a process after the other, and strangers knock, for so long."""
    over = threading.Event()
    strangers = threading.Thread(target=lambda: asyncio.run(_strangers(stage, over)), daemon=True)
    strangers.start()
    began, number = time.monotonic(), 0
    apart = 0.9 * seconds / _PEOPLE.processes  # the last ones have something to do, too
    while time.monotonic() < began + seconds:
        if number < _PEOPLE.processes and time.monotonic() > began + apart * number:
            stage.start_owners(number)
            if number < _NEIGHBOURS:
                stage.start_neighbour(number)
            number += 1
        time.sleep(0.2)
    over.set()
    strangers.join(30.0)


async def _strangers(stage: Stage, over: threading.Event) -> None:
    """Each kind by itself, now and then, until it is over."""
    certificate = stage.folder / "authority.pem"
    target = Target(stage.port, certificate, (_ELSEWHERE,), (), "")
    visits = [partial(_visit, stage), *(partial(_rude, target, kind) for kind in _RUDE)]

    async def keep_coming(place: int) -> None:
        turn = 0
        while not over.is_set():
            with suppress(OSError, EOFError, TimeoutError, SSLError, httpx.TransportError):
                await asyncio.wait_for(visits[place](), 12.0)
            turn += 1
            await asyncio.sleep(0.7 + place + 3.0 * (turn % 5 == 0))

    await asyncio.gather(*(keep_coming(place) for place in range(len(visits))))


async def _rude(target: Target, kind: Attack) -> None:
    await kind(target, target.trust(), _ELSEWHERE)


async def _visit(stage: Stage) -> None:
    """What is not there, what nobody signed, and what everybody may look at."""
    elsewhere = httpx.AsyncHTTPTransport(local_address=_ELSEWHERE, verify=stage.trust or False)
    address = stage.url(stage.port)
    async with httpx.AsyncClient(base_url=address, transport=elsewhere) as client:
        await client.get("/nowhere")
        await client.post(f"{stage.root()}/v1/report", content=b"?")
        await client.get(f"{stage.root()}/v1/status")
