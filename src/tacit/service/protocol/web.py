"""HTTP as every service speaks it.

Requests are read within limits of size and time, connection by connection, and so is the TLS around
them; what is no HTTP gets the same kind of answer as any other error. Every answer carries the same
headers: all of them what a browser shows, some what programs read; some answers are ready-made.
Style, scripts and picture of the pages are read from the package once and served from memory.
"""

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

import httptools
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.service.protocol.door import (
    GOODBYE,
    RECORDS,
    UNREADABLE,
    VISITOR,
    ConnectionLimits,
    Visitor,
)
from tacit.service.protocol.waiting import plain_host

POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{name} {sources}" for name, sources in POLICY.items()),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "strict-transport-security": "max-age=31536000",
}
DATA_HEADERS = {
    name: HEADERS[name]
    for name in ("x-content-type-options", "cache-control", "strict-transport-security")
} | {"content-security-policy": "default-src 'none'; frame-ancestors 'none'"}


_DATA = [(name.encode(), value.encode()) for name, value in DATA_HEADERS.items()]
_NO_CONTENT = 204


class Reply(NamedTuple):
    """A reply of a direct route, ready-made: its two messages."""

    start: Message
    rest: Message

    @classmethod
    def of(
        cls,
        status: int,
        body: bytes,
        kind: str = "application/json",
        more: Mapping[str, str] | None = None,
    ) -> "Reply":
        """Some data of a kind, with the headers that every answer carries, and `more`."""
        own = {"content-type": kind} if body else {}
        if status != _NO_CONTENT:
            own["content-length"] = str(len(body))
        headers = [
            (name.encode(), value.encode()) for name, value in {**own, **(more or {})}.items()
        ]
        return cls(
            {"type": "http.response.start", "status": status, "headers": headers + _DATA},
            {"type": "http.response.body", "body": body},
        )


_ERRORS = {401: "unauthorised", 404: "not found", 405: "method"}


def error(kind: str, code: int) -> JSONResponse:
    """Every error: its kind, nothing else."""
    return JSONResponse({"error": kind}, status_code=code)


async def answer_http_error(request: Request, problem: Exception) -> Response:
    """What a framework refuses, in the same shape."""
    code, headers = (
        (problem.status_code, problem.headers)
        if isinstance(problem, HTTPException)
        else (400, None)
    )
    return JSONResponse({"error": _ERRORS.get(code, "refused")}, code, headers)


_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def static_files(*packages: str) -> dict[str, tuple[str, bytes]]:
    """Kind and content of the files that some packages keep in a folder named static, by name."""
    found = [file for package in packages for file in (files(package) / "static").iterdir()]
    return {
        file.name: (_KINDS["." + file.name.rpartition(".")[2]], file.read_bytes()) for file in found
    }


def static_routes(*packages: str, under: str = "") -> list[Route]:
    """Routes `under`/static/NAME of these files."""
    kept = static_files(*packages).items()
    return [_route(f"{under}/static/{name}", content, kind) for name, (kind, content) in kept]


def _route(path: str, data: bytes, kind: str) -> Route:
    async def send(request: Request) -> Response:
        return Response(data, media_type=kind)

    return Route(path, send, methods=["GET"])


_PIECE, _PIECES = 1 << 10, 256  # so many bytes in a piece, but for so many pieces
_LINES = 100  # headers of a request: browsers and proxies send thirty
_MUCH = 1 << 14  # bytes of a body
_AHEAD = 8  # requests that are sent before those before them were answered: owners send none
_WRAPPING = 1 << 17  # bytes around a body: the sizes and remarks of its pieces
_BODY = (b"content-length", b"transfer-encoding")  # headers of a request that has one
# records of TLS that bring nothing; what comes pays for so many, and for one in so many bytes
_RECORDS, _PAID, _RECORD = 256, 2, 16
_HEAD = 5  # bytes that a record begins with, the last two of which say how many follow
_READ = 1 << 14  # bytes that are looked at together


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    visitor: Visitor
    limits: ConnectionLimits
    records = 0.0  # of TLS, beside those that brought something
    has_begun = False  # to listen

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base
        super().connection_made(transport)
        self.has_begun = True
        if self.client is not None:
            self.client = plain_host(self.client[0]), self.client[1]
        self.visitor.protocol = self
        self._is_refused = False
        self._head_since: float | None = None if self.visitor.is_proxy else self.loop.time()
        self._reading_since: float | None = None
        self._is_in_head = False
        self._head_bytes = self._lines = self._wrapping = 0
        self._pieces = self._parts = 0.0

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.visitor.retire()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._unset_keepalive_if_required()
        self.records = max(0.0, self.records - _PAID - len(data) / _RECORD)
        if self._head_since is None and self._is_idle():
            self._head_since = self.loop.time()
        was_in_head = self._is_in_head
        self._wrapping += len(data)
        self._pieces += 1 - len(data) / _PIECE
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # it is answered as if nothing else had been asked for; what follows is not listened to
            cycle: Any = self.cycle
            cycle.keep_alive = False
            self.transport.pause_reading()
            return
        except httptools.HttpParserError:
            self._refuse()
            return
        if was_in_head and self._is_in_head:
            self._head_bytes += len(data)
        if self._is_too_large() or self._wrapping > _WRAPPING or self._pieces > _PIECES:
            self._refuse()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True
        self._head_bytes = self._lines = self._wrapping = 0
        self._pieces = self._parts = 0.0
        scope: Any = self.scope
        scope[VISITOR] = self.visitor

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines += 1
        self._count(name, value)
        if self._is_in_head:  # what comes after a body was not there when the request was judged
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_since = False, None
        if len(self.pipeline) >= _AHEAD:
            raise ValueError("too many requests wait for their answers")  # ends the parser
        if not self.url.startswith((b"/", b"*")) or b"#" in self.url:
            raise ValueError("an address has one spelling")
        if self.parser.should_upgrade() and any(name in _BODY for name, _ in self.headers):
            raise ValueError("the parser would leave the body out")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._wrapping -= len(body)
        self._parts += 1 - len(body) / _PIECE
        if self._parts > _PIECES:
            raise ValueError("a body in crumbs")  # ends the parser: each of them takes its time
        # whoever waits for the body wants all of it: woken at its end, or when there is much
        cycle = self.cycle
        if not cycle.response_complete and len(cycle.body) + len(body) <= _MUCH:
            cycle.body += body
        else:
            super().on_body(body)

    def is_overdue(self, now: float) -> bool:
        """Whether a head or a reader has taken too long."""
        if not self.transport.get_write_buffer_size():
            self._reading_since = None
        elif self._reading_since is None:
            self._reading_since = now
        waits = (self._head_since, self.limits.head), (self._reading_since, self.limits.reading)
        return any(since is not None and now > since + most for since, most in waits)

    def _count(self, *parts: bytes) -> None:
        self._head_bytes += sum(map(len, parts)) + 4  # and what is around them
        if self._is_too_large():
            raise ValueError("the head is too large")  # ends the parser

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle
        return cycle is None or bool(cycle.response_complete)

    def _is_too_large(self) -> bool:
        return self._head_bytes > self.limits.head_bytes or self._lines > _LINES

    def _refuse(self) -> None:
        """Answer what cannot be read, and hang up."""
        self.visitor.refuse(UNREADABLE)
        if self._is_idle():
            self.transport.write(_TOO_LARGE if self._is_too_large() else _MALFORMED)
        self._is_refused = True
        self.transport.pause_reading()  # whoever goes on sending is not listened to
        self.loop.call_later(GOODBYE, self.transport.abort)


class CountedRecords(asyncio.BufferedProtocol):
    """TLS around a connection whose records are counted before they are opened.

    Once hands are shaken TLS still has messages of its own (new keys), each of which costs a
    thousand times what it costs to send, and of which nobody hears who listens for requests. So
    records are counted, by their heads, which are in the clear; what they bring pays for them, and
    whoever owes too much is hung up on before the rest is opened.
    """

    def __init__(self, inside: Any, listener: BoundedProtocol) -> None:
        self._inside, self._listener = inside, listener
        self._view = memoryview(b"")
        self._skip, self._head = 0, b""  # bytes left of a record, and those there of a head

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._inside.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        self._view = memoryview(self._inside.get_buffer(sizehint))[:_READ]
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self._listener.records += self._count(bytes(self._view[:nbytes]))
        if self._listener.records > _RECORDS:
            self._listener.visitor.refuse(RECORDS)
            self._transport.abort()
        else:
            self._inside.buffer_updated(nbytes)

    def _count(self, data: bytes) -> int:
        """How many records begin in some bytes."""
        at = begun = 0
        while at < len(data):
            passed = min(self._skip, len(data) - at)
            self._skip -= passed
            at += passed
            if at == len(data):
                break
            more = data[at : at + _HEAD - len(self._head)]
            self._head += more
            at += len(more)
            if len(self._head) == _HEAD:
                self._skip, self._head = int.from_bytes(self._head[3:]), b""
                begun += 1
        return begun

    def eof_received(self) -> bool | None:
        more: bool | None = self._inside.eof_received()
        return more

    def pause_writing(self) -> None:
        self._inside.pause_writing()

    def resume_writing(self) -> None:
        self._inside.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inside.connection_lost(exc)


async def listen_to(listener: BoundedProtocol, tls: ssl.SSLContext | None) -> None:
    """Shake hands with a visitor, where there is TLS, and listen to it from then on."""
    loop, connection = asyncio.get_running_loop(), listener.visitor.connection
    if tls is None:
        await loop.connect_accepted_socket(lambda: listener, connection)
        return
    shaken: asyncio.Future[None] = loop.create_future()
    inside = _tls_of(loop)(
        loop,
        listener,
        tls,
        shaken,
        server_side=True,
        ssl_handshake_timeout=listener.limits.handshake,
        ssl_shutdown_timeout=GOODBYE,
    )
    counted = CountedRecords(inside, listener)
    transport, _ = await loop.connect_accepted_socket(lambda: counted, connection)
    try:
        await shaken
    except BaseException:
        transport.abort()
        raise
    if not listener.has_begun:
        raise ConnectionAbortedError("hung up on before hands were shaken")


def _tls_of(loop: asyncio.AbstractEventLoop) -> Any:
    """How a loop speaks TLS: uvloop has it compiled."""
    if type(loop).__module__.startswith("uvloop"):
        return import_module("uvloop.loop").SSLProtocol
    return SSLProtocol


def _refusal(line: str, kind: str) -> bytes:
    body = f'{{"error":"{kind}"}}'
    own = {"content-type": "application/json", "content-length": str(len(body))}
    every = {**own, "connection": "close", **DATA_HEADERS}
    headers = "".join(f"{name}: {value}\r\n" for name, value in every.items())
    return f"HTTP/1.1 {line}\r\n{headers}\r\n{body}".encode()


_MALFORMED = _refusal("400 Bad Request", "malformed")
_TOO_LARGE = _refusal("431 Request Header Fields Too Large", "too large")
