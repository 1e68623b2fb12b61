"""What operators watch: is it alive, is it ready, and what does it do, for Prometheus.

Counted are requests by route and status, seconds, refusals, connections and batches: what a service
does, by names that are in the source, never what was sent. Figures of a campaign are those that its
page shows to everybody. So nothing here depends on anybody's rows, and nothing names an owner. The
same is told of each request, with the name that logs have of it, to OpenTelemetry where wanted.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

log = logging.getLogger(__name__)
SEVERAL = "PROMETHEUS_MULTIPROC_DIR"  # the folder where counts of several workers meet
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_FAILED = 500  # statuses from here on are our own fault
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
# by name, label and help of a metric: values by the value of that label ("": it has none)
Figures = Mapping[tuple[str, str, str], Mapping[str, float]]


class Watch:
    """The counts of one service. `ready` raises when it cannot work now; `figures`, by campaign,
    are read when somebody looks.
    """

    def __init__(
        self,
        ready: Callable[[], object],
        figures: Callable[[], Mapping[str, Figures]] = dict,
    ) -> None:
        self._ready = ready
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
        if counted is None:
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(_Looked(figures))

    def observe(self, route: str, status: int, seconds: float, request: str = "") -> None:
        """A request of this name was answered."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if self._tracer is not None:
            _trace(self._tracer, route, status, seconds, request)

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
        return Starlette(
            routes=[*self.routes(), Route("/metrics", self.metrics, methods=["GET"])],
            exception_handlers={Exception: _unavailable},
        )

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readiness(self, request: Request) -> Response:
        try:
            await run_in_threadpool(self._ready)
        except Exception as problem:  # whatever it is, the answer is no
            log.warning("not ready", extra={"kind": type(problem).__name__})
            return JSONResponse({"error": "unavailable"}, 503)
        return JSONResponse({"status": "ready"})

    async def metrics(self, request: Request) -> Response:
        text = await run_in_threadpool(generate_latest, self._registry)
        return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


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
    there are several campaigns, every one says of which it is.
    """

    def __init__(self, figures: Callable[[], Mapping[str, Figures]]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        try:
            found = self._figures()
        except Exception as problem:
            log.warning("no figures", extra={"kind": type(problem).__name__})
            found = {}
        up = GaugeMetricFamily("tacit_up", "Whether the figures of the campaign could be read.")
        up.add_metric((), float(bool(found)))
        yield up
        families: dict[str, GaugeMetricFamily] = {}
        for campaign, figures in found.items():
            for (name, label, about), values in figures.items():
                labels = [each for each in ("campaign" if campaign else "", label) if each]
                family = families.setdefault(name, GaugeMetricFamily(name, about, labels=labels))
                for value, number in values.items():
                    family.add_metric([each for each in (campaign, value) if each], number)
        yield from families.values()


async def _unavailable(request: Request, problem: Exception) -> NoReturn:
    raise problem
