"""A service that runs for weeks, and what operators watch of it: one process or several behind one
port, a door to each; is it alive, is it ready, and what does it do, for Prometheus.

Counted are requests by route and status, seconds, refusals, connections and batches: what a service
does, by names that are in the source, never what was sent. Figures of a campaign are those that its
page shows to everybody. So nothing here depends on anybody's rows, and nothing names an owner. The
same is told of each request, with the name that logs have of it, to OpenTelemetry where wanted.
"""

import asyncio
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
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import uvicorn
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.service.protocol.door import WHYS, ConnectionLimits, Door, Visitor
from tacit.service.protocol.waiting import Allowances
from tacit.service.protocol.web import BoundedProtocol, listen_to

_STARTUP_FAILURE = 3  # exit status, as uvicorn's own
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


class Sparing(logging.Filter):
    """So many lines of each kind at once and few a second on and on, so that whoever makes a
    service refuse or fail fills no disk with what is said of it; the next line says how many were
    left out. Counts have them all.
    """

    def __init__(self, burst: float = 200.0, per_second: float = 1.0) -> None:
        super().__init__()
        self._lines = Allowances(burst, per_second)
        self._left_out = defaultdict[str, int](int)

    def filter(self, record: logging.LogRecord) -> bool:
        kind = f"{record.name} {record.msg}"  # as it is in the source
        if not self._lines.take(kind):
            self._left_out[kind] += 1
            return False
        if left_out := self._left_out.pop(kind, 0):
            record.__dict__["left_out"] = left_out
        return True


def spare_lines() -> None:
    """Whatever this process logs has an end."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(Sparing())


def _trim_forever(trim: "ctypes._NamedFuncPointer", seconds: float) -> None:
    while True:
        time.sleep(seconds)
        trim(0)


log = logging.getLogger(__name__)
_BACKLOG = 2048  # connections that wait to be accepted
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

    spare_lines()
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
        self._refused: Callable[[str], None] = getattr(app, "refused", lambda why: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(_STARTUP_FAILURE)

        async def greet(visitor: Visitor, limits: ConnectionLimits) -> None:
            made = BoundedProtocol(self.config, self.server_state, self.lifespan.state)
            made.visitor, made.limits = visitor, limits
            await listen_to(made, self.config.ssl)

        doors: Any = [Door(each, greet, self._limits, self._refused) for each in sockets or ()]
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


SEVERAL = "PROMETHEUS_MULTIPROC_DIR"  # the folder where counts of several workers meet
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SOON = 5.0  # seconds in which it can be said whether a service is ready
_FAILED = 500  # statuses from here on are our own fault
# of batches, in the counts that are shown
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
# by name, label and help of a metric: values by the value of that label ("": it has none)
Figures = Mapping[tuple[str, str, str], Mapping[str, float]]


class Watch:
    """The counts of one service. `ready` raises when it cannot work now; `figures`, by campaign,
    are read when somebody looks; None: those of this one cannot be read.
    """

    def __init__(
        self,
        ready: Callable[[], object],
        figures: Callable[[], Mapping[str, Figures | None]] = dict,
    ) -> None:
        self._ready = ready
        self._looking: Future[object] | None = None
        self._tracer: Any = None
        self._registry = CollectorRegistry()
        # counts of several workers meet in files; then none of one process are to be shown
        counted = None if SEVERAL in os.environ else self._registry
        self._requests = Counter(
            "tacit_requests",
            "Requests by what answered them, and its status.",
            ("route", "status"),
            registry=counted,
        )
        self._seconds = Histogram(
            "tacit_request_seconds",
            "Seconds until a request was answered.",
            ("route",),
            registry=counted,
            buckets=_SECONDS,
        )
        self._batches = Histogram(
            "tacit_batch_requests",
            "Requests that were worked on together.",
            ("queue",),
            registry=counted,
            buckets=_SIZES,
        )
        self._connections = Counter(
            "tacit_refused_connections",
            "Connections that were closed before they were at their end, by why.",
            ("why",),
            registry=counted,
        )
        for why in WHYS:  # none is a count, too: a graph of it is not empty
            self._connections.labels(why)
        if counted is None:
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(_Looked(figures))

    def observe(self, route: str, status: int, seconds: float, request: str = "") -> None:
        """A request of this name was answered."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if self._tracer is not None:
            _trace(self._tracer, route, status, seconds, request)

    def refuse(self, why: str) -> None:
        """A connection was closed that was not at its end."""
        self._connections.labels(why).inc()

    def trace(self, tracer: Any) -> None:
        """Tell an OpenTelemetry tracer of every request from now on."""
        self._tracer = tracer

    def observe_batch(self, queue: str, size: int) -> None:
        """Some requests were worked on together."""
        self._batches.labels(queue).observe(size)

    def routes(self) -> list[Route]:
        """Alive and ready, for everybody: one word each."""
        return [
            Route("/healthz", self.health, methods=["GET"]),
            Route("/readyz", self.readiness, methods=["GET"]),
        ]

    def app(self) -> Starlette:
        """A service of its own for operators: the same, and the counts."""
        made = Starlette(
            routes=[*self.routes(), Route("/metrics", self.metrics, methods=["GET"])],
            exception_handlers={Exception: _unavailable},
        )
        made.router.redirect_slashes = False  # it would repeat whatever host was named
        return made

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readiness(self, request: Request) -> Response:
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._look())), _SOON)
        except Exception as problem:  # whatever it is, the answer is no
            log.warning("not ready", extra={"kind": type(problem).__name__})
            return JSONResponse({"error": "unavailable"}, 503)
        return JSONResponse({"status": "ready"})

    def _look(self) -> "Future[object]":
        """Look whether it is ready, in a thread of its own: one look at a time, however many ask
        and however long it takes.
        """
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = Future()
            threading.Thread(target=_look, args=(self._ready, looking), daemon=True).start()
        return looking

    async def metrics(self, request: Request) -> Response:
        text = await run_in_threadpool(generate_latest, self._registry)
        return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


def _look(ready: Callable[[], object], looking: "Future[object]") -> None:
    try:
        looking.set_result(ready())
    except Exception as problem:
        looking.set_exception(problem)


def tracer_of(service: str) -> Any:
    """A tracer whose spans go where the standard OTEL_* variables say; needs tacit[otel]."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("tacit")


def _trace(tracer: Any, route: str, status: int, seconds: float, request: str) -> None:
    """One span for a request that was just answered: what answered it, its status and name."""
    from opentelemetry.trace import SpanKind, StatusCode

    end = time.time_ns()
    about = {"http.route": route, "http.response.status_code": status, "tacit.request": request}
    begin = end - int(seconds * 1e9)
    span = tracer.start_span(route, kind=SpanKind.SERVER, attributes=about, start_time=begin)
    if status >= _FAILED:
        span.set_status(StatusCode.ERROR)
    span.end(end)


class _Looked:
    """Figures that are read when somebody looks; a database that is away leaves them out. Where
    there are several campaigns, every one says of which it is, and one that cannot be read leaves
    out its own.
    """

    def __init__(self, figures: Callable[[], Mapping[str, Figures | None]]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        try:
            found = self._figures()
        except Exception as problem:
            log.warning("no figures", extra={"kind": type(problem).__name__})
            found = {}
        up = GaugeMetricFamily("tacit_up", "Whether the figures of all campaigns could be read.")
        up.add_metric((), float(bool(found) and None not in found.values()))
        yield up
        families: dict[str, GaugeMetricFamily] = {}
        for campaign, figures in found.items():
            for (name, label, about), values in (figures or {}).items():
                labels = [each for each in ("campaign" if campaign else "", label) if each]
                family = families.setdefault(name, GaugeMetricFamily(name, about, labels=labels))
                for value, number in values.items():
                    family.add_metric([each for each in (campaign, value) if each], number)
        yield from families.values()


async def _unavailable(request: Request, problem: Exception) -> NoReturn:
    raise problem
