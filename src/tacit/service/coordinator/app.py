"""The coordinator as an ASGI service: few routes, small bodies, the same shape for every error.

Owners sign their requests; administrators send the admin key; everybody may read the page, the
status and the model. Nothing an outsider sends reaches a log or an answer, and no error says more
than its kind.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Lifespan

from tacit.service.coordinator.driver import Driver
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.keys import LOOK, Administrators
from tacit.service.coordinator.openapi import DOCUMENT
from tacit.service.coordinator.owner_api import (
    DECLINE,
    ENROL,
    REPORT,
    SPOKEN,
    OwnerRoutes,
    QuestionLookup,
    Write,
    refuse,
)
from tacit.service.coordinator.page import page
from tacit.service.coordinator.peers import PeerRoutes, Rosters, Testimony
from tacit.service.coordinator.records import (
    ADMIN,
    ADMINISTRATION,
    TOKENS,
    AdminRoutes,
    Records,
    key_sent,
)
from tacit.service.coordinator.status import SharedSight, View, gauges
from tacit.service.coordinator.store import Store
from tacit.service.kinds.campaign_file import MEMBERS, PUBLIC, Readers
from tacit.service.protocol.guard import Direct, Guard, Limits, leave_to_guard, prove
from tacit.service.protocol.handshake import Claim, UnsignedError
from tacit.service.protocol.serving import Figures, Watch
from tacit.service.protocol.succession import Renewal, new_key
from tacit.service.protocol.web import answer_http_error, error, static_routes
from tacit.wire import WireError

log = logging.getLogger(__name__)
_STEP = 0.2  # seconds between looks of the driver
_MANY_TOKENS = 1 << 20  # bytes
LEAVE, REKEY = ("POST", "/v1/leave"), ("POST", "/v1/rekey")
_DOCUMENT = bytes(JSONResponse(DOCUMENT).body)


@dataclass(kw_only=True, eq=False)
class Coordinator:
    """The routes of a campaign, around a store; `greet` makes what /v1/campaign gives, which is
    made anew when there are more `statements` about keys. `campaign_key` is the public key that
    owners sign for, `administrators` who may do what. `root` is what its addresses begin with:
    nothing, where it is the only one; `watch` is that of all.
    """

    store: Store
    intake: Intake
    view: View
    driver: Driver | None
    rosters: Rosters | None
    greet: Callable[[], bytes]
    statements: Callable[[], int]
    campaign_key: bytes
    administrators: Administrators
    limits: Limits
    sizes: Mapping[str, int]  # bytes of a body, by path
    sign: Callable[[bytes], bytes]  # a model, with the campaign's key
    root: str = ""
    watch: Watch | None = None
    readers: Readers = Readers()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        self._administration = AdminRoutes(self.store, self.view, self.administrators, self.root)
        self._model: bytes | None = None  # as it is sent, once there is one
        self._greeting = self.statements(), self.greet()
        self._page = SharedSight(self.view, lambda now: page(now, self.root, self.readers).encode())
        self._figures = SharedSight(self.view, lambda now: bytes(JSONResponse(now).body))
        writes: dict[tuple[str, str], Write] = {
            REPORT: self.intake.write,
            SPOKEN: refuse(Outcome.MALFORMED),
        }
        if self.rosters is not None:  # what nobody else could check does not count
            signed = Testimony(self.store, self.intake)
            writes = {REPORT: refuse(Outcome.MALFORMED), SPOKEN: signed.write}
        writes[DECLINE] = self.intake.decline
        self.own_watch = self.watch or Watch(self.store.standing, lambda: {"": self.figures()})
        observe = self.own_watch.observe_batch
        looks = QuestionLookup(self.store, self.statements)
        self._owners = OwnerRoutes(self.store, self.campaign_key, writes, looks, observe)
        self._peers: list[Route] = []
        if self.rosters is not None:
            signed_so_far = PeerRoutes(
                self.store, self.campaign_key, self.rosters, self.statements, self.root
            )
            self._peers = signed_so_far.routes()

    def app(self) -> Guard:
        """The ASGI application of a campaign that is the only one."""
        own = [Route("/openapi.json", show_document, methods=["GET"]), *self.own_watch.routes()]
        static = static_routes("tacit.render", "tacit.service.coordinator")
        made = make_app([*self.routes(), *own, *static], self._lifespan)
        return Guard(
            made,
            self.limits,
            self.direct(),
            open_to_all=[ENROL],
            signed=self.signed(),
            sizes=self.size,
            is_known=self.knows,
            observe=self.own_watch.observe,
            refused=self.own_watch.refuse,
        )

    def direct(self) -> dict[tuple[str, str], Direct]:
        """What is answered without a framework, by method and path."""
        return self._owners.routes()

    def signed(self) -> list[tuple[str, str]]:
        """What a framework answers and members sign, by method and path."""
        told = (self.readers.status, "/v1/status"), (self.readers.model, "/v1/model")
        return [LEAVE, REKEY, *(("GET", path) for who, path in told if who == MEMBERS)]

    def routes(self) -> list[Route]:
        """What a framework answers, by paths under the campaign's root."""
        get, post = ["GET"], ["POST"]
        return [
            Route("/", self.page, methods=get),
            Route("/v1/status", self.status, methods=get),
            Route("/v1/campaign", self.campaign, methods=get),
            Route("/v1/model", self.model, methods=get),
            *(
                Route(path, _other_method, methods=[method])
                for method, path in self._owners.routes()
            ),
            Route(LEAVE[1], self.leave, methods=post),
            Route(REKEY[1], self.rekey, methods=post),
            *self._peers,
            *self._administration.routes(),
        ]

    def figures(self) -> Figures:
        """What operators see: what everybody sees, and how much waits at this worker."""
        queue = "tacit_queue_requests", "queue", "Requests that wait, at the worker that answers."
        own = {**gauges(self.view.status()), queue: self._owners.queue_lengths()}
        return own if self.watch is not None else own | self.store.database_figures()

    def size(self, path: str, headers: Mapping[bytes, bytes]) -> int | None:
        """Bytes that a body may have; many tokens come from administrators alone."""
        return (
            _MANY_TOKENS if path == TOKENS and self.knows(path, headers) else self.sizes.get(path)
        )

    def knows(self, path: str, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request has an administrator's key, and is for one."""
        key = headers.get(ADMIN, b"") if path.startswith(ADMINISTRATION) else b""
        return bool(key) and self.administrators.find(key) is not None

    # For everybody
    # -----------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        return HTMLResponse(await self._page.read())

    async def status(self, request: Request) -> Response:
        await self._check_reader(request, self.readers.status)
        return Response(await self._figures.read(), media_type="application/json")

    async def campaign(self, request: Request) -> Response:
        if self._greeting[0] != self.statements():
            self._greeting = self.statements(), await run_in_threadpool(self.greet)
        return Response(self._greeting[1], media_type="application/octet-stream")

    async def model(self, request: Request) -> Response:
        await self._check_reader(request, self.readers.model)
        if self._model is None:
            model = (await run_in_threadpool(self.store.standing)).model
            if model is None:
                return error("not yet", 404)
            self._model = await run_in_threadpool(self.sign, model)
        return Response(self._model, media_type="application/octet-stream")

    # For owners
    # --------------------------------------------------------------------------------------

    async def leave(self, request: Request) -> Response:
        owner, body = await self._read_signed(request)
        if body != b"leave":
            return error("malformed", 400)
        done = await run_in_threadpool(Records(self.store).leave, owner)
        return JSONResponse({"left": True}) if done else error("forbidden", 403)

    async def rekey(self, request: Request) -> Response:
        """Go by another key from now on, which signs that it agrees; among peers from a turn on,
        for all to check.
        """
        owner, body = await self._read_signed(request)
        status = await run_in_threadpool(self._rekey, owner, body)
        kinds = {400: "malformed", 403: "forbidden", 409: "another turn", 410: "ended"}
        return JSONResponse({"rekeyed": True}) if status == 200 else error(kinds[status], status)

    def _rekey(self, owner: str, body: bytes) -> int:
        """The status that says what became of a new key; what a stranger sends is not parsed."""
        key = bytes.fromhex(owner)
        try:
            if self.rosters is None:
                new = new_key(self.campaign_key, key, body)
                return 200 if self.store.rekey(owner, new.hex()) else 403
            if not self.rosters.renewals.knows(owner):
                return 403
            said = Renewal.open(body, self.campaign_key)
            return 400 if said.old != key else self.rosters.renewals.take(owner, said, body)
        except WireError:
            return 400

    # What is behind
    # ----------------------------------------------------------------------------------

    async def _check_reader(self, request: Request, who: str) -> None:
        """Refuse whoever the campaign file does not name: members sign, administrators send their
        key.
        """
        administrator = None if who == PUBLIC else self.administrators.find(key_sent(request))
        if who == PUBLIC or (administrator is not None and LOOK in administrator.roles):
            return
        if who != MEMBERS:
            raise HTTPException(401 if administrator is None else 403)
        owner, _ = await self._read_signed(request)
        if not await run_in_threadpool(self.store.is_member, owner):
            raise HTTPException(403)
        prove(request.scope, owner.encode())

    async def _read_signed(self, request: Request) -> tuple[str, bytes]:
        body = await request.body()
        route = request.method, request.url.path.removeprefix(self.root)
        claim = Claim.of(self.campaign_key, route, request.headers, body)
        return claim.signer(time.time()), body

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """The batches and the driver live as long as the service."""
        work = asyncio.create_task(self.run())
        yield
        await stop(work)
        self.store.close()

    async def run(self) -> None:
        """Work on what comes, and drive, until it is cancelled."""
        driving = [] if self.driver is None else [self._drive(self.driver)]
        await asyncio.gather(self._owners.run(), *driving)

    async def _drive(self, driver: Driver) -> None:
        """Step after step, in a thread of its own: one that waits for its helper keeps nobody else
        waiting. A database that is away for a while only makes it wait.
        """
        going, own = True, CapacityLimiter(1)
        while going:
            try:
                going = await to_thread.run_sync(driver.step, limiter=own)
            except Exception as problem:
                log.warning("the driver waits after %s", type(problem).__name__)
            await asyncio.sleep(_STEP)


async def stop(task: asyncio.Task[None]) -> None:
    """Cancel a task, and wait until it has ended."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def make_app(routes: Sequence[BaseRoute], lifespan: Lifespan[Starlette] | None = None) -> Starlette:
    """Routes whose errors all have the same shape."""
    made = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            HTTPException: answer_http_error,
            UnsignedError: _answer_unsigned,
            Exception: leave_to_guard,
        },
    )
    # a redirect would repeat whatever host a stranger names
    made.router.redirect_slashes = False
    return made


async def show_document(request: Request) -> Response:
    """All routes."""
    return Response(_DOCUMENT, media_type="application/json")


async def _other_method(request: Request) -> Response:
    """Only HEAD comes here: the guard answers these routes, and the framework takes it for a
    GET.
    """
    raise HTTPException(405, headers={"allow": "GET"})


async def _answer_unsigned(request: Request, problem: Exception) -> Response:
    return error("unsigned", 401)
