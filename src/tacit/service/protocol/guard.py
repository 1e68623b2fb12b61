"""Around everything: limits on what comes in, headers on what goes out, one shape for failures.

A body is read here, whole, against a limit of bytes and of seconds, before a route sees the
request. An address whose requests keep being refused is put off for a while, but for members and
administrators: who signs is judged by the signature, not by neighbours. What everybody may look at
is shown so many times a second in all; a member that asks again and again waits for its answers. So
whatever strangers or one member send, others have most of the time. Whatever breaks inside is told
to nobody: outside it is `{"error": "unavailable"}`, inside it is the name of the exception, without
its text, which may hold what was sent. What comes by the hundred thousand is answered from here
directly, without a framework in between.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import NoReturn

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.protocol.door import VISITOR
from tacit.service.protocol.handshake import OWNER, SIGNATURE
from tacit.service.protocol.waiting import Allowances, network_of
from tacit.service.protocol.web import DATA_HEADERS, HEADERS, Reply

log = logging.getLogger(__name__)
# from the headers and the body of a request
Direct = Callable[[Mapping[bytes, bytes], bytes], Awaitable["Reply"]]
_PAGE, _DATA = (
    [(name.encode(), value.encode()) for name, value in some.items()]
    for some in (HEADERS, DATA_HEADERS)
)
_NAMES = frozenset(name for name, _ in _PAGE)
_CHARGED = (400, 401, 403, 404, 405, 408, 413)  # answers that count as refusals
_KNOWN = (200, 204, 409, 410)  # answers of direct routes that members alone get
_REFUSED = 400  # statuses from here on
_TOO_MANY = 429
_REST = 10.0  # seconds that a member which asks too often waits for an answer, at most
_PIECE = 1 << 16  # bytes of an answer that are written at once
_SIGNATURE, _MEMBER, _OURS = SIGNATURE.encode(), OWNER.encode(), b"x-tacit-"
Observe = Callable[[str, int, float, str], None]
Sizes = Callable[[str, Mapping[bytes, bytes]], int | None]
Known = Callable[[str, Mapping[bytes, bytes]], bool]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request, and one address, may take.

    body : bytes of a body, where its route takes no other size.
    seconds : until a body must be here.
    burst, per_second : refused requests that an address may make at once, and on and on.
    looks, looks_per_second : the same of what everybody may look at, for all strangers together, in
    which an address has at most `look_share` of each; besides, an address has its `own_looks`, so
    that who looks now and then is not kept out by those who never stop.
    asks, asks_per_second : a member's requests that are answered at once, and on and on: agents ask
    once in some seconds.
    """

    body: int = 4 << 10
    seconds: float = 8.0
    burst: float = 100.0
    per_second: float = 5.0
    looks: float = 1000.0
    looks_per_second: float = 500.0
    look_share: float = 0.25
    own_looks: tuple[float, float] = (8.0, 1.0)
    asks: float = 200.0
    asks_per_second: float = 20.0


class RequestError(Exception):
    """A request that goes no further; `kind` and `status` are all that is said."""

    def __init__(self, kind: str, status: int) -> None:
        super().__init__(kind)
        self.kind, self.status = kind, status


class Looks:
    """What strangers look at, together and by address."""

    def __init__(self, limits: Limits) -> None:
        burst, rate = limits.looks, limits.looks_per_second
        self._all = Allowances(burst, rate)
        self._shares = Allowances(limits.look_share * burst, limits.look_share * rate)
        self._own = Allowances(*limits.own_looks)

    def take(self, address: str) -> bool:
        """Whether one from there may look once more."""
        if self._own.take(address):
            return True
        return self._shares.take(address) and self._all.take("")


class Guard:
    """The outermost layer of the service.

    `direct` has what is answered without `app`, by method and path: routes whose requests are
    signed by members, but for `open_to_all`; both may change while it serves. Routes of `app` that
    members sign are `signed`. `sizes` says how many bytes the body of a route may have, by its path
    and the headers of a request; None: what the limits say; `is_known`, whether an administrator's
    key came along. `observe` is told the route, status, seconds and name of every request, and
    `refused`, by the door in front, why a connection was closed.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        direct: Mapping[tuple[str, str], Direct] | None = None,
        *,
        open_to_all: Collection[tuple[str, str]] = (),
        signed: Collection[tuple[str, str]] = (),
        sizes: Sizes = lambda path, headers: None,
        is_known: Known = lambda path, headers: False,
        observe: Observe = lambda route, status, seconds, request: None,
        refused: Callable[[str], None] = lambda why: None,
    ) -> None:
        self.app, self.refused = app, refused
        self._limits = limits
        self._direct = direct or {}
        self._open_to_all = open_to_all
        self._signed = signed
        self._sizes = sizes
        self._is_known = is_known
        self._observe = observe
        mine = secrets.token_hex(4)  # of this process
        self._ids = (f"{mine}-{number:x}" for number in count(1))
        self._patience = Patience(limits.seconds)
        self._refusals = Allowances(limits.burst, limits.per_second)
        self._looks = Looks(limits)
        self._asks = Allowances(limits.asks, limits.asks_per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        address = network_of(scope["client"][0]) if scope.get("client") else ""
        name, began = next(self._ids), time.perf_counter()
        out = _Outgoing(send, name, lambda status: self._charge(address, status, scope, name))
        try:
            if b"%" in scope.get("raw_path", b""):
                raise RequestError("not found", 404)  # no address of ours has another spelling
            put_off = not self._refusals.tokens_left(address) >= 1 and not _is_proven(scope)
            out.is_put_off = put_off
            if not self._is_heard(scope, address, put_off):
                raise RequestError("too many", _TOO_MANY)
            await self._answer(scope, receive, out, put_off)
        except RequestError as refused:
            closing = {"connection": "close", "retry-after": "1"}
            answer = JSONResponse({"error": refused.kind}, refused.status, closing)
            await answer(scope, receive, out)
        except _GoneError:
            return  # nobody is there to be told
        except Exception as problem:
            about = {"kind": type(problem).__name__, "route": _route(scope), "request": name}
            log.error("failed", extra=about)
            if not out.has_begun:
                await JSONResponse({"error": "unavailable"}, 503)(scope, receive, out)
        finally:
            if out.has_begun:
                self._observe(_route(scope), out.status, time.perf_counter() - began, name)

    def _is_heard(self, scope: Scope, address: str, put_off: bool) -> bool:
        """Whether a request is looked at: those of members and administrators always, those of
        strangers where their address is not put off, and has not looked too often.
        """
        if _is_proven(scope) or self._is_signed(scope):
            return True
        if self._is_known(scope["path"], dict(scope["headers"])):
            return True
        is_direct = (scope["method"], scope["path"]) in self._direct
        return not put_off and (is_direct or self._looks.take(address))

    def _is_signed(self, scope: Scope) -> bool:
        """Whether a request is of those that members sign, and says that it is signed."""
        route = scope["method"], scope["path"]
        of_members = route in self._signed or (
            route in self._direct and route not in self._open_to_all
        )
        return of_members and any(name == _SIGNATURE for name, _ in scope["headers"])

    async def _answer(
        self, scope: Scope, receive: Receive, out: "_Outgoing", put_off: bool
    ) -> None:
        """Read the body, and have the request answered directly or by the application; an address
        that is put off hears of members' requests alone.
        """
        headers = dict(scope["headers"])
        if len(headers) < len(scope["headers"]) and _is_ambiguous(scope["headers"]):
            raise RequestError("malformed", 400)
        size = self._sizes(scope["path"], headers)
        body = await self._body(headers, receive, self._limits.body if size is None else size)
        direct = self._direct.get((scope["method"], scope["path"]))
        if direct is None:
            if _is_proven(scope):
                await self._pace(scope[VISITOR].member)
            await self.app(scope, receive if body is None else _replay(body, receive), out)
        else:
            scope["endpoint"] = direct
            reply = await direct(headers, body or b"")
            if put_off and reply.start["status"] in _CHARGED:
                raise RequestError("too many", _TOO_MANY)
            if reply.start["status"] in _KNOWN:
                member = headers.get(_MEMBER, b"").lower()
                prove(scope, member)
                await self._pace(member)
            await out.send_reply(reply)

    async def _pace(self, member: bytes) -> None:
        """Have a member wait that asks too often, until what it has asked since is due: however
        many connections it has, its answers are so many a second.
        """
        name = member.decode("latin-1")
        self._asks.charge(name)
        owed = -self._asks.tokens_left(name)
        if owed > 0:
            await asyncio.sleep(min(_REST, owed / self._limits.asks_per_second))

    async def _body(
        self, headers: Mapping[bytes, bytes], receive: Receive, most: int
    ) -> bytes | None:
        """The body of a request, if it announces one."""
        length = headers.get(b"content-length", b"0")
        if length == b"0" and b"transfer-encoding" not in headers:
            return None
        if not (length.isdigit() and len(length) <= 18):
            raise RequestError("malformed", 400)
        if not int(length) <= most:
            raise RequestError("too large", 413)
        try:
            with self._patience:
                return await self._read(receive, most)
        except TimeoutError:
            raise RequestError("too slow", 408) from None

    async def _read(self, receive: Receive, most: int) -> bytes:
        parts, taken, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            parts.append(message.get("body", b""))
            taken += len(parts[-1])
            if not taken <= most:
                raise RequestError("too large", 413)
            more = message.get("more_body", False)
        return b"".join(parts)

    def _charge(self, address: str, status: int, scope: Scope, name: str) -> None:
        """A refusal: one less for this address; who was put off anyway is greeted later."""
        if status in _CHARGED:
            about = {"status": status, "route": _route(scope), "request": name}
            log.info("refused", extra=about)
            self._refusals.charge(address)
        visitor = scope.get(VISITOR)
        if visitor is not None:
            visitor.doubt()


class _Outgoing:
    """Where an answer goes: headers and the request's name are put on it, a refusal is charged."""

    def __init__(self, send: Send, name: str, charge: Callable[[int], None]) -> None:
        self._send = send
        self._name = (b"x-request-id", name.encode())
        self._charge = charge
        self.status = 0
        self.is_put_off = False  # who is refused then is hung up on

    @property
    def has_begun(self) -> bool:
        return self.status != 0

    async def __call__(self, message: Message) -> None:
        """Send what an application says, with the headers that belong on it."""
        if message["type"] == "http.response.start":
            self._begin(message["status"])
            own = [pair for pair in message.get("headers", ()) if pair[0] not in _NAMES]
            if self.is_put_off and self.status in _CHARGED:
                own.append((b"connection", b"close"))
            message["headers"] = [*own, *(_PAGE if _is_page(own) else _DATA), self._name]
        await self._pass_on(message)

    async def send_reply(self, reply: Reply) -> None:
        """Send what has its headers."""
        self._begin(reply.start["status"])
        start = reply.start
        if self.status >= _REFUSED:  # which is logged by that name
            start = {**start, "headers": [*start["headers"], self._name]}
        await self._send(start)
        await self._pass_on(reply.rest)

    async def _pass_on(self, message: Message) -> None:
        """Send a message, much of it piece by piece, as it is taken: who does not listen has a few
        pieces wait, not a model.
        """
        body = message.get("body", b"")
        if len(body) <= _PIECE:
            await self._send(message)
            return
        more = message.get("more_body", False)
        for at in range(0, len(body), _PIECE):
            is_last = at + _PIECE >= len(body)
            piece = body[at : at + _PIECE]
            await self._send({**message, "body": piece, "more_body": more or not is_last})

    def _begin(self, status: int) -> None:
        self.status = status
        if status in _CHARGED or status == _TOO_MANY:
            self._charge(status)


async def leave_to_guard(request: Request, problem: Exception) -> NoReturn:
    """What an application inside does about exceptions, instead of answering itself."""
    raise problem


def prove(scope: Scope, member: bytes = b"") -> None:
    """A member, by its key, has signed this request: the connection it came by need not make room
    for others.
    """
    visitor = scope.get(VISITOR)
    if visitor is not None:
        visitor.prove(member.lower())


def _is_proven(scope: Scope) -> bool:
    """Whether a request comes by a connection of a member's; a proxy's is everybody's."""
    visitor = scope.get(VISITOR)
    return visitor is not None and visitor.is_proven and not visitor.is_proxy


class _GoneError(Exception):
    """The other side hung up."""


def _is_page(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether an answer is shown, or loaded by what is shown; not data for programs."""
    kind = next((value for name, value in headers if name == b"content-type"), b"")
    return not kind.startswith((b"application/json", b"application/octet-stream"))


def _is_ambiguous(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a header of ours, or whom it is for, comes twice: who asks whom would depend on who
    reads it.
    """
    ours = [name for name, _ in headers if name.startswith(_OURS) or name == b"host"]
    return len(set(ours)) < len(ours)


def _replay(body: bytes, receive: Receive) -> Receive:
    """What an application receives whose body has been read: one message with all of it, then
    whatever comes.
    """
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read


def _route(scope: Scope) -> str:
    """The name of what was to answer, never the path as it was sent."""
    return getattr(scope.get("endpoint"), "__name__", "-")


class Patience:
    """`with patience:` raises TimeoutError in a task that stays inside for longer than `seconds`.

    Like `asyncio.timeout`, at a fraction of its cost: nearly all waits end at once, so instead of a
    timer for each there is one for all, which ends what it has already seen the time before. A wait
    may last up to twice as long as it should.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._new: set[asyncio.Task[object]] = set()
        self._seen: set[asyncio.Task[object]] = set()
        self._late: set[asyncio.Task[object]] = set()
        self._looking = False

    def __enter__(self) -> None:
        self._new.add(_current())
        if not self._looking:
            self._looking = True
            self._look()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task = _current()
        self._new.discard(task)
        self._seen.discard(task)
        if task in self._late:
            self._late.discard(task)
            alone = task.uncancel() == 0  # nobody else wants it to end
            if alone and kind is asyncio.CancelledError:
                raise TimeoutError from problem

    def _look(self) -> None:
        """Cancel whoever was here the last time; look again for as long as anybody waits."""
        for task in self._seen:
            self._late.add(task)
            task.cancel()
        self._seen, self._new = self._new, set()
        self._looking = bool(self._seen)
        if self._looking:
            asyncio.get_running_loop().call_later(self._seconds, self._look)


def _current() -> asyncio.Task[object]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("patience is for tasks")
    return task
