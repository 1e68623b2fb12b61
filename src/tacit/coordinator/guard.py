"""Around everything: limits on what comes in, headers on what goes out, one shape for every failure.

A body is read here, whole, against a limit of bytes and of seconds, before a route sees the request. An address whose
requests keep being refused is put off for a while. Whatever breaks inside is told to nobody: outside it is
`{"error": "unavailable"}`, inside it is the name of the exception, without its text, which may hold what was sent.
"""

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.coordinator.patience import Patience
from tacit.pages.headers import DATA_HEADERS, HEADERS

log = logging.getLogger(__name__)
BODY = "tacit.body"  # where the scope of a request keeps its body, once it has been read
_PAGE, _DATA = ([(name.encode(), value.encode()) for name, value in some.items()] for some in (HEADERS, DATA_HEADERS))
_NAMES = frozenset(name for name, _ in _PAGE)
_ANNOUNCING = frozenset((b"content-length", b"transfer-encoding"))
_ADDRESSES = 10_000  # addresses remembered
_CHARGED = (400, 401, 403, 404, 405, 408, 413)  # answers that count as refusals


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request, and one address, may take.

    body : bytes of a body.  seconds : until a body must be here.
    burst, per_second : refused requests that an address may make at once, and on and on.
    """

    body: int = 1 << 20
    seconds: float = 20.0
    burst: float = 100.0
    per_second: float = 20.0


class RefusedError(Exception):
    """A request that goes no further; `kind` and `status` are all that is said."""

    def __init__(self, kind: str, status: int) -> None:
        super().__init__(kind)
        self.kind, self.status = kind, status


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._patience = Patience(limits.seconds)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address: refusals left, when

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        begun = False

        async def headed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = [pair for pair in message.get("headers", ()) if pair[0] not in _NAMES]
                message["headers"] = own + (_PAGE if _is_page(own) else _DATA)
                if message["status"] in _CHARGED:
                    self._charge(address)
                    log.info("refused", extra={"status": message["status"], "route": _route(scope)})
            await send(message)

        try:
            if not self._allowance(address) >= 1:
                raise RefusedError("too many", 429)
            await self._app(scope, await self._whole(scope, receive), headed)
        except RefusedError as refused:
            closing = {"connection": "close", "retry-after": "1"}
            answer = JSONResponse({"error": refused.kind}, refused.status, closing)
            await answer(scope, receive, headed)
        except _GoneError:
            return  # nobody is there to be told
        except Exception as problem:
            log.error("failed", extra={"kind": type(problem).__name__, "route": _route(scope)})
            if not begun:
                await JSONResponse({"error": "unavailable"}, 503)(scope, receive, headed)

    async def _whole(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body; what the application then receives is one message with all of it."""
        announced = [pair for pair in scope["headers"] if pair[0] in _ANNOUNCING]
        if not announced:
            return receive
        length = dict(announced).get(b"content-length", b"0")
        if not (length.isdigit() and len(length) <= 18):
            raise RefusedError("malformed", 400)
        if not int(length) <= self._limits.body:
            raise RefusedError("too large", 413)
        try:
            async with self._patience:
                body = await self._read(receive)
        except TimeoutError:
            raise RefusedError("too slow", 408) from None
        scope[BODY] = body  # for whoever needs nothing else
        given = False

        async def replayed() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return replayed

    async def _read(self, receive: Receive) -> bytes:
        parts, taken, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            parts.append(message.get("body", b""))
            taken += len(parts[-1])
            if not taken <= self._limits.body:
                raise RefusedError("too large", 413)
            more = message.get("more_body", False)
        return b"".join(parts)

    def _allowance(self, address: str) -> float:
        left, at = self._left.get(address, (self._limits.burst, 0.0))
        return min(self._limits.burst, left + (time.monotonic() - at) * self._limits.per_second)

    def _charge(self, address: str) -> None:
        self._left[address] = (self._allowance(address) - 1, time.monotonic())
        self._left.move_to_end(address)
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)


class _GoneError(Exception):
    """The other side hung up."""


def _is_page(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether an answer is shown, or loaded by what is shown; not data for programs."""
    kind = next((value for name, value in headers if name == b"content-type"), b"")
    return not kind.startswith((b"application/json", b"application/octet-stream"))


def _route(scope: Scope) -> str:
    """The name of what was to answer, never the path as it was sent."""
    return getattr(scope.get("endpoint"), "__name__", "-")
