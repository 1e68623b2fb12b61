"""Limits before anything is read, and headers on everything that goes out."""

import time
from collections import OrderedDict

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 1 << 20  # bytes of a body
_PER_SECOND, _BURST = 20.0, 100.0  # refused requests that one address may make
_ADDRESSES = 10_000  # addresses remembered
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "strict-transport-security": "max-age=31536000",
}
_TOO_LARGE = b'{"error":"too large"}'
_TOO_MANY = b'{"error":"too many"}'


class Guard:
    """Refuses large bodies and addresses whose requests keep being refused; sets security headers."""

    def __init__(self, app: ASGIApp, largest: int = LARGEST) -> None:
        self._app = app
        self._largest = largest
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # refusals left, when

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        if self._allowance(address) < 1:
            await _refuse(send, 429, _TOO_MANY)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not (length.isdigit() and int(length) <= self._largest):
            await _refuse(send, 413, _TOO_LARGE)
            return
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._largest:
                return {"type": "http.disconnect"}
            return message

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if message["status"] in (401, 403, 404, 405, 413):
                    self._charge(address)
            await send(message)

        await self._app(scope, limited, headed)

    def _allowance(self, address: str) -> float:
        left, at = self._left.get(address, (_BURST, 0.0))
        return min(_BURST, left + (time.monotonic() - at) * _PER_SECOND)

    def _charge(self, address: str) -> None:
        self._left[address] = (self._allowance(address) - 1, time.monotonic())
        self._left.move_to_end(address)
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)


async def _refuse(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), *((k.encode(), v.encode()) for k, v in _HEADERS.items())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
