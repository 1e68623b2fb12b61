"""The coordinator as an ASGI service: few routes, small bodies, the same shape for every error.

Owners sign their requests; administrators send the admin key; everybody may read the page, the
status and the model. Nothing an outsider sends reaches a log or an answer, and no error says more
than its kind.
"""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Lifespan

from tacit.service.coordinator.driver import Driver
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.openapi import DOCUMENT
from tacit.service.coordinator.owner_api import (
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
    ADMIT,
    LOOK,
    OWNER,
    STEER,
    Act,
    Administrator,
    Administrators,
    Records,
)
from tacit.service.coordinator.status import View, gauges
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import ENDED, ENDING, PAUSED, RUNNING
from tacit.service.kinds.campaign_file import MEMBERS, PUBLIC, Readers
from tacit.service.protocol.door import Allowances
from tacit.service.protocol.guard import Direct, Guard, Limits, leave_to_guard
from tacit.service.protocol.handshake import Claim, UnsignedError
from tacit.service.protocol.succession import new_key
from tacit.service.protocol.watch import Figures, Watch
from tacit.service.protocol.web import static_routes
from tacit.wire import WireError

log = logging.getLogger(__name__)
_STEP = 0.2  # seconds between looks of the driver
_TOKEN = re.compile(rb"[!-~]{16,200}")  # printable, without spaces
_OWNER = re.compile(rb"[0-9a-f]{64}")
_HASH = re.compile(rb"[0-9a-f]{12,64}")
_MOMENT = re.compile("[0-9]{0,12}")  # seconds since 1970; nothing: never
_ADMIN = b"x-tacit-admin"
_GUESSES = 10  # of an admin key, by one address in an hour, that are written down
_TOKENS, _MANY_TOKENS = "/v1/admin/tokens", 1 << 20


def error(kind: str, code: int) -> JSONResponse:
    """Every error: its kind, nothing else."""
    return JSONResponse({"error": kind}, status_code=code)


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
        self.records = Records(self.store)
        self._guesses = Allowances(_GUESSES, _GUESSES / 3600)
        self._model: bytes | None = None  # as it is sent, once there is one
        self._greeting = self.statements(), self.greet()
        writes: dict[tuple[str, str], Write] = {
            REPORT: self.intake.write,
            SPOKEN: refuse(Outcome.MALFORMED),
        }
        if self.rosters is not None:  # what nobody else could check does not count
            signed = Testimony(self.store, self.intake)
            writes = {REPORT: refuse(Outcome.MALFORMED), SPOKEN: signed.write}
        self.own_watch = self.watch or Watch(self.store.standing, lambda: {"": self.figures()})
        observe = self.own_watch.observe_batch
        looks = QuestionLookup(self.store, self.statements)
        self._owners = OwnerRoutes(self.store, self.campaign_key, writes, looks, observe)
        self._peers = PeerRoutes(
            self.store, self.campaign_key, self.rosters, self.statements, self.root
        )

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
            sizes=self.size,
            observe=self.own_watch.observe,
        )

    def direct(self) -> dict[tuple[str, str], Direct]:
        """What is answered without a framework, by method and path."""
        return self._owners.routes()

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
            Route("/v1/leave", self.leave, methods=post),
            Route("/v1/rekey", self.rekey, methods=post),
            *self._peers.routes(),
            Route(_TOKENS, self.tokens, methods=[*get, *post]),
            Route("/v1/admin/revoke", self.revoke, methods=post),
            Route("/v1/admin/state", self.state, methods=post),
            Route("/v1/admin/withdraw", self.withdraw, methods=post),
            Route("/v1/admin/acts", self.acts, methods=get),
            Route("/v1/admin/owners", self.owners, methods=get),
        ]

    def figures(self) -> Figures:
        """What operators see: what everybody sees, and how much waits at this worker."""
        queue = "tacit_queue_requests", "queue", "Requests that wait, at the worker that answers."
        return {**gauges(self.view.status()), queue: self._owners.waiting()}

    def size(self, path: str, headers: Mapping[bytes, bytes]) -> int | None:
        """Bytes that a body may have; many tokens come from administrators alone."""
        if path == _TOKENS and self._administrator(headers.get(_ADMIN, b"")) is not None:
            return _MANY_TOKENS
        return self.sizes.get(path)

    def _administrator(self, key: bytes) -> Administrator | None:
        return self.administrators.find(key)

    # For everybody
    # -----------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        return HTMLResponse(
            await run_in_threadpool(lambda: page(self.view.status(), self.root, self.readers))
        )

    async def status(self, request: Request) -> Response:
        await self._check_reader(request, self.readers.status)
        return JSONResponse(await run_in_threadpool(self.view.status))

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
        done = await run_in_threadpool(self.store.revoke, owner)
        if done:  # from where an owner comes is nobody's business
            await run_in_threadpool(self.records.note, Act(OWNER, "leave", owner, "", "200"))
        return JSONResponse({"left": True}) if done else error("forbidden", 403)

    async def rekey(self, request: Request) -> Response:
        """Go by another key from now on, which signs that it agrees."""
        owner, body = await self._read_signed(request)
        try:
            new = new_key(self.campaign_key, bytes.fromhex(owner), body)
        except WireError:
            return error("malformed", 400)
        if self.rosters is not None:
            return error("not among peers", 409)  # whose rosters name keys for all to check
        done = await run_in_threadpool(self.store.rekey, owner, new.hex())
        return JSONResponse({"rekeyed": True}) if done else error("forbidden", 403)

    # For administrators
    # ------------------------------------------------------------------------------

    async def tokens(self, request: Request) -> Response:
        """List tokens, by the beginning of their hashes, or add some."""
        if request.method != "POST":
            return await self._show(request, "tokens", self.records.tokens)

        def add(body: bytes, who: str) -> tuple[Response, str]:
            until = request.query_params.get("expires", "")
            new = body.split(b"\n")
            if new[-1] == b"":
                new.pop()  # the last line may end like the others
            good = _MOMENT.fullmatch(until) and all(_TOKEN.fullmatch(token) for token in new)
            if not (new and good):
                return error("malformed", 400), ""
            expires = float(until) if until else None
            added = [token.decode() for token in new]
            self.store.add_tokens(added, expires=expires, maker=who)
            return JSONResponse({"tokens": len(new)}), f"{len(new)} tokens"

        return await self._act(request, ADMIT, add)

    async def revoke(self, request: Request) -> Response:
        def revoke(owner: bytes, who: str) -> tuple[Response, str]:
            if not _OWNER.fullmatch(owner):
                return error("malformed", 400), ""
            done = self.store.revoke(owner.decode())
            answer = JSONResponse({"revoked": True}) if done else error("not found", 404)
            return answer, owner.decode()

        return await self._act(request, ADMIT, revoke)

    async def state(self, request: Request) -> Response:
        """Pause, go on, or end; what is enrolling and told to run does not wait for more
        owners.
        """

        def steer(body: bytes, who: str) -> tuple[Response, str]:
            wanted = body.decode("ascii", "replace")
            if wanted not in (RUNNING, PAUSED, ENDED):
                return error("malformed", 400), ""
            now = self._steer(wanted)
            self.view.forget()
            over = now == ENDED or (now == ENDING) != (wanted == ENDED)
            return error("ended", 409) if over else JSONResponse({"state": now}), wanted

        return await self._act(request, STEER, steer)

    async def withdraw(self, request: Request) -> Response:
        """Unused tokens, all or by the beginning of their hash."""

        def withdraw(body: bytes, who: str) -> tuple[Response, str]:
            if not (body == b"all" or _HASH.fullmatch(body)):
                return error("malformed", 400), ""
            beginning = "" if body == b"all" else body.decode()
            gone = self.records.withdraw_tokens(beginning)
            return JSONResponse({"withdrawn": gone}), f"{gone} tokens"

        return await self._act(request, ADMIT, withdraw)

    async def acts(self, request: Request) -> Response:
        """The log of what administrators did."""
        return await self._show(request, "acts", lambda: [a.__dict__ for a in self.records.acts()])

    async def owners(self, request: Request) -> Response:
        """Who has enrolled, and how each stands."""
        return await self._show(request, "owners", self.records.owners)

    async def _show(self, request: Request, what: str, find: Callable[[], object]) -> Response:
        return await self._act(request, LOOK, lambda body, who: (JSONResponse({what: find()}), ""))

    async def _act(
        self, request: Request, role: str, work: Callable[[bytes, str], tuple[Response, str]]
    ) -> Response:
        """Have an administrator with this role do some work, and write down that it did, or that
        it was refused.
        """
        who = self._administrator(request.headers.get(_ADMIN.decode(), "").encode("latin-1"))
        source = request.client.host if request.client else ""
        what = request.url.path.removeprefix(f"{self.root}/v1/admin/")
        if who is None or role not in who.roles:
            name = "unknown" if who is None else who.name
            # strangers may fill a log, not a database
            if who is not None or self._guesses.take(source):
                refused = Act(name, what, "", source, "refused")
                await run_in_threadpool(self.records.note, refused)
            raise HTTPException(401 if who is None else 403)
        answer, about = await run_in_threadpool(work, await request.body(), who.name)
        done = Act(who.name, what, about, source, str(answer.status_code))
        await run_in_threadpool(self.records.note, done)
        return answer

    def _steer(self, wanted: str) -> str:
        """The state after this was wanted."""
        if wanted == ENDED:
            self.store.finish()
        elif wanted == PAUSED:
            self.store.pause()
        elif not self.store.go_on():
            self.store.begin()
        return self.store.standing().state

    # What is behind
    # ----------------------------------------------------------------------------------

    async def _check_reader(self, request: Request, who: str) -> None:
        """Refuse whoever the campaign file does not name: members sign, administrators send their
        key.
        """
        key = request.headers.get(_ADMIN.decode(), "").encode("latin-1")
        administrator = None if who == PUBLIC else self._administrator(key)
        if who == PUBLIC or (administrator is not None and LOOK in administrator.roles):
            return
        if who != MEMBERS:
            raise HTTPException(401 if administrator is None else 403)
        owner, _ = await self._read_signed(request)
        if not await run_in_threadpool(self.store.is_member, owner):
            raise HTTPException(403)

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
        """Step after step; a database that is away for a while only makes it wait."""
        going = True
        while going:
            try:
                going = await run_in_threadpool(driver.step)
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
            HTTPException: _http_error,
            UnsignedError: _answer_unsigned,
            Exception: leave_to_guard,
        },
    )
    # a redirect would repeat whatever host a stranger names
    made.router.redirect_slashes = False
    return made


async def show_document(request: Request) -> Response:
    """All routes."""
    return JSONResponse(DOCUMENT)


async def _other_method(request: Request) -> Response:
    """Only HEAD comes here: the guard answers these routes, and the framework takes it for a
    GET.
    """
    raise HTTPException(405, headers={"allow": "GET"})


async def _http_error(request: Request, problem: Exception) -> Response:
    code, headers = (
        (problem.status_code, problem.headers)
        if isinstance(problem, HTTPException)
        else (400, None)
    )
    kinds = {401: "unauthorised", 404: "not found", 405: "method"}
    return JSONResponse({"error": kinds.get(code, "refused")}, code, headers)


async def _answer_unsigned(request: Request, problem: Exception) -> Response:
    return error("unsigned", 401)
