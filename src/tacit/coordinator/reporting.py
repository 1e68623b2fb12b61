"""POST /v1/report, without a framework in between: it is what everybody does once, and all at the same time."""

import time
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.campaign.requests import OWNER, SIGNATURE, TIME, UnsignedError, claimed
from tacit.coordinator.batches import Batches, BusyError
from tacit.coordinator.guard import BODY
from tacit.engines.collector import Outcome

Answer = tuple[dict[str, Any], dict[str, Any]]
PATH = "/v1/report"
STATUS = {
    Outcome.COUNTED: 200,
    Outcome.REPEATED: 200,
    Outcome.CONTRADICTED: 409,
    Outcome.STRANGE: 403,
    Outcome.MALFORMED: 400,
    Outcome.LATE: 410,
}
_OWNER, _TIME, _SIGNATURE = OWNER.encode(), TIME.encode(), SIGNATURE.encode()


def _answer(status: int, body: bytes) -> Answer:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    return (
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": body},
    )


_ANSWERS = {what: _answer(status, b'{"outcome":"%s"}' % what.name.lower().encode()) for what, status in STATUS.items()}
_BUSY = _answer(503, b'{"error":"busy"}')
_UNSIGNED = _answer(401, b'{"error":"unsigned"}')


class Reporting:
    """Takes POST /v1/report before it reaches `app`; whoever sends is answered when the report is in the database.

    Inside the guard, which has read the body.
    """

    def __init__(self, app: ASGIApp, batches: Batches) -> None:
        self._app = app
        self._batches = batches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not (scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "POST"):
            await self._app(scope, receive, send)
            return
        start, rest = await self._taken(scope, scope.get(BODY, b""))
        await send(start.copy())  # the layers around change it
        await send(rest)

    async def _taken(self, scope: Scope, body: bytes) -> Answer:
        found = {name: value for name, value in scope["headers"] if name.startswith(b"x-tacit-")}
        try:
            owner, at, signature = (found[name].decode("ascii") for name in (_OWNER, _TIME, _SIGNATURE))
            claim = claimed("POST", PATH, owner, at, signature, body, time.time())
            return _ANSWERS[await self._batches.put(claim, body)]
        except (UnsignedError, KeyError, UnicodeDecodeError):
            return _UNSIGNED
        except BusyError:
            return _BUSY
