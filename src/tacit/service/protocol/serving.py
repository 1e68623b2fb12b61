"""A service that runs for weeks: one process or several behind one port, and a door to each."""

import ctypes
import gc
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from tacit.service.protocol.door import ConnectionLimits, Door, Visitor
from tacit.service.protocol.web import BoundedProtocol

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
_RESERVE = 256  # descriptors for files and the database
_ORPHAN = 1.0  # seconds between looks for the supervisor
# seconds that a silent connection stays open: owners ask again before, and need no new handshake
_KEEP = 30


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen, and with which certificate."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    def listen(self) -> socket.socket:
        """A socket that several processes may have; the system spreads connections over them."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((self.host, self.port))
        made.listen(_BACKLOG)
        return made


def serve_forever(
    make: Callable[[], Any],
    address: Address,
    workers: int = 1,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - frozen
) -> None:
    """Serve what `make` returns until a signal ends it; with several workers each process makes its
    own.

    The system spreads connections over the workers. A worker that dies is replaced; what was on its
    way is sent again.
    """

    def work() -> None:
        most = min(limits.most, max(allow_many_files() - _RESERVE, 1))
        app = make()
        settle()
        server = BoundedServer(app, address, replace(limits, most=most))
        server.run(sockets=[address.listen()])

    if workers == 1:
        with suppress(KeyboardInterrupt):
            work()
    else:
        _supervise(work, workers)


def serve_beside(app: Any, address: Address) -> None:
    """Serve for operators, in a thread of this process, for as long as it lives."""
    server = BoundedServer(app, address, ConnectionLimits(most=64, strangers=32, per_address=16))
    sockets = [address.listen()]
    threading.Thread(
        target=server.run, kwargs={"sockets": sockets}, daemon=True, name="watch"
    ).start()


class BoundedServer(uvicorn.Server):
    """Uvicorn behind a door."""

    def __init__(self, app: Any, address: Address, limits: ConnectionLimits) -> None:
        proxied = bool(limits.proxies)
        config = uvicorn.Config(
            app,
            ssl_certfile=address.certificate,
            ssl_keyfile=None if address.key is None else str(address.key),
            log_config=None,  # its messages come to our log
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=5,
            timeout_keep_alive=_KEEP,
            # who a stranger says it comes from is believed of a proxy alone
            proxy_headers=proxied,
            forwarded_allow_ips=list(limits.proxies) if proxied else None,
        )
        super().__init__(config)
        self._limits = limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)

        def make(visitor: Visitor, limits: ConnectionLimits) -> BoundedProtocol:
            made = BoundedProtocol(self.config, self.server_state, self.lifespan.state)
            made.visitor, made.limits = visitor, limits
            return made

        doors: Any = [Door(each, make, self.config.ssl, self._limits) for each in sockets or ()]
        self.servers = doors
        self.started = True


def allow_many_files() -> int:
    """As many connections as the system lets this process have, instead of the usual thousand; how
    many that is.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems say more than they allow
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


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
