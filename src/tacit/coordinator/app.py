"""The coordinator as an ASGI service: few routes, small bodies, the same shape for every error.

Owners sign their requests; administrators send the admin key; everybody may read the page, the status and the model.
Nothing an outsider sends reaches a log or an answer, and no error says more than its kind.
"""

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.campaign.requests import UnsignedError, signer
from tacit.coordinator.batches import Batches, BusyError
from tacit.coordinator.driver import Driver
from tacit.coordinator.guard import Guard
from tacit.coordinator.intake import Intake
from tacit.coordinator.store import ENDED, PAUSED, RUNNING, Store
from tacit.coordinator.view import openapi, page, status
from tacit.engines.collector import Outcome

log = logging.getLogger(__name__)
Handler = Callable[[Request], Awaitable[Response]]
_POLL = 2  # seconds that an owner should wait before it asks again
_STEP = 0.2  # seconds between looks of the driver
_STATUS = {
    Outcome.COUNTED: 200,
    Outcome.REPEATED: 200,
    Outcome.CONTRADICTED: 409,
    Outcome.STRANGE: 403,
    Outcome.MALFORMED: 400,
    Outcome.LATE: 410,
}


def refused(kind: str, code: int) -> JSONResponse:
    """Every error: its kind, nothing else."""
    return JSONResponse({"error": kind}, status_code=code)


class Coordinator:
    """The routes, around a store."""

    def __init__(self, store: Store, intake: Intake, driver: Driver | None, admin: str, campaign: bytes) -> None:
        self._store = store
        self._batches = Batches(intake)
        self._driver = driver
        self._admin = sha256(admin.encode()).digest()
        self._campaign = campaign

    def app(self) -> Starlette:
        """The ASGI application."""
        get, post = ["GET"], ["POST"]
        routes = [
            Route("/", self.page, methods=get),
            Route("/openapi.json", self.document, methods=get),
            Route("/v1/status", self.status, methods=get),
            Route("/v1/campaign", self.campaign, methods=get),
            Route("/v1/model", self.model, methods=get),
            Route("/v1/enrol", self.enrol, methods=post),
            Route("/v1/question", self.question, methods=get),
            Route("/v1/report", self.report, methods=post),
            Route("/v1/admin/tokens", self.tokens, methods=post),
            Route("/v1/admin/revoke", self.revoke, methods=post),
            Route("/v1/admin/state", self.state, methods=post),
        ]
        handlers = {HTTPException: self._http_error, UnsignedError: self._unsigned, Exception: self._broken}
        return Starlette(
            routes=routes,
            lifespan=self._lifespan,
            middleware=[Middleware(Guard)],
            exception_handlers=handlers,  # type: ignore[arg-type]  # handlers of one exception each
        )

    # For everybody -----------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        return Response(await run_in_threadpool(page, self._store), media_type="text/html; charset=utf-8")

    async def document(self, request: Request) -> Response:
        return JSONResponse(openapi())

    async def status(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(status, self._store))

    async def campaign(self, request: Request) -> Response:
        return Response(self._campaign, media_type="application/octet-stream")

    async def model(self, request: Request) -> Response:
        model = (await run_in_threadpool(self._store.standing)).model
        return refused("not yet", 404) if model is None else Response(model, media_type="application/octet-stream")

    # For owners --------------------------------------------------------------------------------------

    async def enrol(self, request: Request) -> Response:
        owner, body = await self._signed(request)
        try:
            token, label = (part.decode() for part in body.split(b"\n", 1))
        except ValueError:
            return refused("malformed", 400)
        if not (1 <= len(token) <= 200 and len(label) <= 200):
            return refused("malformed", 400)
        done = await run_in_threadpool(self._store.enrol, owner, token, label)
        return JSONResponse({"enrolled": True}) if done else refused("forbidden", 403)

    async def question(self, request: Request) -> Response:
        owner, _ = await self._signed(request)
        data = await run_in_threadpool(self._store.question_for, owner)
        if data is not None:
            return Response(data, media_type="application/octet-stream")
        ended = (await run_in_threadpool(self._store.standing)).state == ENDED
        return Response(status_code=410 if ended else 204, headers={"retry-after": str(_POLL)})

    async def report(self, request: Request) -> Response:
        owner, body = await self._signed(request)
        try:
            outcome = await self._batches.put((owner, body))
        except BusyError:
            return refused("busy", 503)
        return JSONResponse({"outcome": outcome.name.lower()}, status_code=_STATUS[outcome])

    # For administrators ------------------------------------------------------------------------------

    async def tokens(self, request: Request) -> Response:
        body = await self._authorised(request)
        new = body.decode("ascii", "replace").split()
        if not (new and all(16 <= len(token) <= 200 for token in new)):
            return refused("malformed", 400)
        await run_in_threadpool(self._store.add_tokens, new)
        return JSONResponse({"tokens": len(new)})

    async def revoke(self, request: Request) -> Response:
        body = await self._authorised(request)
        done = await run_in_threadpool(self._store.revoke, body.decode("ascii", "replace").strip().lower())
        return JSONResponse({"revoked": True}) if done else refused("not found", 404)

    async def state(self, request: Request) -> Response:
        body = await self._authorised(request)
        wanted = body.decode("ascii", "replace").strip()
        if wanted not in (RUNNING, PAUSED):
            return refused("malformed", 400)
        await run_in_threadpool(self._store.set_state, wanted)
        return JSONResponse({"state": wanted})

    # What is behind ----------------------------------------------------------------------------------

    async def _signed(self, request: Request) -> tuple[str, bytes]:
        body = await request.body()
        return signer(request.method, request.url.path, dict(request.headers), body, time.time()), body

    async def _authorised(self, request: Request) -> bytes:
        given = sha256(request.headers.get("x-tacit-admin", "").encode()).digest()
        if not hmac.compare_digest(given, self._admin):
            raise HTTPException(401)
        return await request.body()

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """The batches and the driver live as long as the service."""
        tasks = [asyncio.create_task(self._batches.run())]
        if self._driver is not None:
            tasks.append(asyncio.create_task(self._drive(self._driver)))
        yield
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._store.close()

    async def _drive(self, driver: Driver) -> None:
        """Step after step; a database that is away for a while only makes it wait."""
        going = True
        while going:
            try:
                going = await run_in_threadpool(driver.step)
            except Exception as problem:
                log.warning("the driver waits after %s", type(problem).__name__)
            await asyncio.sleep(_STEP)

    async def _http_error(self, request: Request, problem: HTTPException) -> Response:
        kinds = {401: "unauthorised", 404: "not found", 405: "method", 413: "too large", 429: "too many"}
        return refused(kinds.get(problem.status_code, "refused"), problem.status_code)

    async def _unsigned(self, request: Request, problem: UnsignedError) -> Response:
        return refused("unsigned", 401)

    async def _broken(self, request: Request, problem: Exception) -> Response:
        log.error("a request failed with %s", type(problem).__name__)
        return refused("unavailable", 503)
