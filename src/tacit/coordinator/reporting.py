"""POST /v1/report, without a framework in between: it is what everybody does once, and all at the same time."""

import time
from typing import Any

from starlette.types import Receive, Scope, Send

from tacit.campaign.requests import OWNER, SIGNATURE, TIME, UnsignedError, claimed
from tacit.coordinator.batches import Batches, BusyError
from tacit.engines.collector import Outcome

_STATUS = {
    Outcome.COUNTED: 200,
    Outcome.REPEATED: 200,
    Outcome.CONTRADICTED: 409,
    Outcome.STRANGE: 403,
    Outcome.MALFORMED: 400,
    Outcome.LATE: 410,
}
_OWNER, _TIME, _SIGNATURE = OWNER.encode(), TIME.encode(), SIGNATURE.encode()


def _answer(status: int, body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    return (
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": body},
    )


_ANSWERS = {what: _answer(status, b'{"outcome":"%s"}' % what.name.lower().encode()) for what, status in _STATUS.items()}
_BUSY = _answer(503, b'{"error":"busy"}')


class Reporting:
    """An ASGI application for one route; whoever sends gets the answer when the report is safe in the database."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body", False):
            message = await receive()
            body += message.get("body", b"")
        found = {name: value for name, value in scope["headers"] if name.startswith(b"x-tacit-")}
        try:
            owner, at, signature = (found[name].decode("ascii") for name in (_OWNER, _TIME, _SIGNATURE))
            claim = claimed("POST", scope["path"], owner, at, signature, body, time.time())
        except (KeyError, UnicodeDecodeError):
            raise UnsignedError from None
        try:
            start, rest = _ANSWERS[await self._batches.put(claim, body)]
        except BusyError:
            start, rest = _BUSY
        await send({**start, "headers": list(start["headers"])})  # the layers around add theirs
        await send(rest)
