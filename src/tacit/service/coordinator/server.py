"""A coordinator put together from its parts, and run: one process or several behind one port,
for weeks.
"""

import ctypes
import gc
import logging
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.engines.inline import drawing_order
from tacit.mechanisms.streams import Stream, seeded
from tacit.service.coordinator.app import Coordinator
from tacit.service.coordinator.driver import Draw, Driver, draw_at_random
from tacit.service.coordinator.intake import Intake
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.replay import Campaign
from tacit.service.coordinator.status import View
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.sums import Sums
from tacit.service.kinds import read_spec
from tacit.service.protocol.guard import Guard, Limits
from tacit.service.protocol.handshake import greeting, rehearse_only_here, sum_key
from tacit.wire import encode
from tacit.wire.envelopes import public_bytes

_GARBAGE = 20_000  # new objects between looks for garbage: a few hundred requests


def settle(seconds: float = 5.0) -> None:
    """After everything is loaded: keep it apart, and give back from now on what is no longer used.

    What is in memory by now stays: looking through it for garbage took a third of the time. What
    thousands of TLS connections leave behind is free but full of holes, so that a process grew by
    ten kilobytes with each of them until it held hundreds of megabytes; the C library gives such
    pages back when it is asked to, every `seconds`.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, 20, 50)
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # where the C library has it
    if trim is not None:
        threading.Thread(
            target=_trim_forever, args=(trim, seconds), daemon=True, name="trim"
        ).start()


def _trim_forever(trim: "ctypes._NamedFuncPointer", seconds: float) -> None:
    while True:
        time.sleep(seconds)
        trim(0)


log = logging.getLogger(__name__)
_BACKLOG = 2048
_ORPHAN = 1.0  # seconds between looks for the supervisor
# seconds that a silent connection stays open: owners ask again before, and need no new handshake
_KEEP = 30


def serve_forever(
    make: Callable[[], Any],
    host: str,
    port: int,
    certificate: Path | None,
    key: Path | None,
    workers: int = 1,
) -> None:
    """Serve what `make` returns until a signal ends it; with several workers each process makes its
    own.

    The system spreads connections over the workers. A worker that dies is replaced; what was on its
    way is sent again.
    """
    settings = {
        "ssl_certfile": None if certificate is None else str(certificate),
        "ssl_keyfile": None if key is None else str(key),
        "log_config": None,  # its messages come to our log
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": 5,
        "timeout_keep_alive": _KEEP,
        "backlog": _BACKLOG,
    }
    if workers == 1:
        app = _make_settled(make)
        uvicorn.run(app, host=host, port=port, **settings)  # type: ignore[arg-type]  # settings of several types
        return

    def work() -> None:
        server = uvicorn.Server(uvicorn.Config(_make_settled(make), **settings))  # type: ignore[arg-type]  # the same
        server.run(sockets=[_listening(host, port)])

    _supervise(work, workers)


def allow_many_files() -> None:
    """As many connections as the system lets this process have, instead of the usual thousand."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems say more than they allow
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _make_settled(make: Callable[[], Any]) -> Any:
    allow_many_files()
    app = make()
    settle()
    return app


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(
        socket.SOL_SOCKET, socket.SO_REUSEPORT, 1
    )  # the system spreads connections evenly
    made.bind((host, port))
    return made


def _supervise(work: Callable[[], None], workers: int) -> None:
    """Keep so many children at work until a signal comes, then end them; return after Ctrl-C, as
    one process does.
    """
    children: set[int] = set()
    ending: int | None = None

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ending
        ending = number
        for child in children:
            os.kill(child, signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    while True:
        while len(children) < workers and ending is None:
            children.add(_fork(work))
        if not children:
            break
        child, status = os.wait()
        children.discard(child)
        if ending is None:
            log.warning("a worker ended with status %d; another takes its place", status)
    if ending == signal.SIGTERM:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)


def _fork(work: Callable[[], None]) -> int:
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_end_without, args=(parent,), daemon=True, name="orphan").start()
        work()
        code = 0
    finally:
        os._exit(code)


def _end_without(parent: int) -> None:
    """End this process when the one that made it has been killed: nobody else would."""
    while os.getppid() == parent:
        time.sleep(_ORPHAN)
    os.kill(os.getpid(), signal.SIGTERM)


class SeededDraw:
    """Draws owners in the order in which the engine in one process does: by their place in the
    sorted order of their names.
    """

    def __init__(self, store: Store, stream: Stream) -> None:
        self._store = store
        self._stream = stream

    def __call__(self, waiting: Sequence[int], count: int) -> list[int]:
        names = self._store.labels()
        ids = sorted(names, key=lambda owner_id: names[owner_id])
        order = [ids[place] for place in drawing_order(len(ids), self._stream)]
        fresh = set(waiting)
        return [owner_id for owner_id in order if owner_id in fresh][:count]


@dataclass(frozen=True, eq=False)
class Running:
    """The service, its store, and the campaign key that owners may pin."""

    app: Guard
    store: Store
    driver: Driver
    fingerprint: str


def coordinator(
    campaign: Path,
    database: str,
    key: Ed25519PrivateKey,
    admin: str,
    rehearsal: int | None = None,
    *,
    helper: httpx.Client | None = None,
    noise: Stream | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Running:
    """Read the campaign file, begin or take up the campaign in the database, and make the service.

    `rehearsal` is the seed of one: reproducible, not private. `helper` is where the campaign's
    helper answers (default: at the address in the file), `noise` the coordinator's own for sums
    (default: secure, in a rehearsal seeded).
    """
    spec = read_spec(campaign)
    terms, public = spec.prepare(sum_key(key).public_key().public_bytes_raw())
    store = Store(database)
    draw: Draw = draw_at_random
    if rehearsal is not None:
        stream = seeded(rehearsal)
        terms, draw, noise = terms.rehearsal(rehearsal), SeededDraw(store, stream), noise or stream
    sums = None
    if terms.sum_terms is not None:
        client = helper or spec.helper_client()
        if rehearsal is not None:
            rehearse_only_here(client.base_url.host)
        sums = Sums(terms.sum_terms, key, client, noise)
    campaign_key = public_bytes(key.public_key())
    store.create_or_resume(terms.name, encode(terms), campaign_key)
    rosters = None if terms.relay is None else Rosters(store, terms.relay, key)
    driver = Driver(store, Campaign(terms, public, key), draw, sums, rosters)
    service = Coordinator(
        store=store,
        intake=Intake(store, key.public_key()),
        view=View(store, key.public_key()),
        driver=driver,
        rosters=rosters,
        greeting=greeting(terms, key),
        campaign_key=campaign_key,
        admin=admin,
        limits=limits,
    )
    return Running(service.app(), store, driver, campaign_key.hex())
