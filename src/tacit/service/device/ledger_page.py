"""An owner's ledger in the browser: for this machine, and for whoever was given the address.

The address holds a secret drawn at every start, because other users of the machine can reach its
ports. A request that names another host is refused: a page elsewhere cannot have its own name point
here and read along.
"""

import secrets
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.owner.ledger import Ledger, LedgerError
from tacit.owner.policy import Policy
from tacit.owner.statement import figures, owners, rounded_up
from tacit.render.pages import environment
from tacit.service.protocol.web import HEADERS, static_routes

_TEMPLATES = environment("tacit.service.device")
_MOST = 500  # releases shown; the command line shows them all
_HERE = ["127.0.0.1", "localhost", "[::1]"]


class LedgerPage:
    """The page of one ledger."""

    def __init__(
        self, file: Path, mark: Path | None, also: Sequence[Path], policy: Policy | None
    ) -> None:
        self._file, self._mark, self._also, self._policy = file, mark, also, policy
        self.root = f"/{secrets.token_urlsafe(16)}"

    def app(self) -> Starlette:
        """The ASGI application, all of it under `root`."""
        routes = [
            Route(f"{self.root}/", self.page, methods=["GET"]),
            *static_routes("tacit.render", under=self.root),
        ]
        middleware = [
            Middleware(_SecurityHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=_HERE, www_redirect=False),
        ]
        made = Starlette(
            routes=routes, middleware=middleware, exception_handlers={HTTPException: _refuse}
        )
        made.router.redirect_slashes = False
        return made

    async def page(self, request: Request) -> Response:
        try:
            return HTMLResponse(await run_in_threadpool(self._html))
        except LedgerError as problem:
            text = _TEMPLATES.get_template("ledger_problem.html").render(
                root=self.root, problem=str(problem), **_TITLE
            )
            return HTMLResponse(text, 503)

    def _html(self) -> str:
        ledger = Ledger(self._file, self._mark, self._also)
        try:
            entries = ledger.entries()
        finally:
            ledger.close()
        releases = [
            {**figures(entry), "cost": rounded_up(entry.cost), "size": len(entry.report)}
            for entry in reversed(entries[-_MOST:])
        ]
        return _TEMPLATES.get_template("ledger.html").render(
            root=self.root,
            file=self._file,
            releases=releases,
            count=len(entries),
            owners=owners(entries, self._policy),
            policy=self._policy,
            spent=rounded_up(sum((entry.cost for entry in entries), Fraction(0))),
            campaigns=len({(entry.campaign, entry.key) for entry in entries}),
            **_TITLE,
        )


_TITLE = {"title": "Your ledger"}


class _SecurityHeaders:
    """Security headers on everything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)


async def _refuse(request: Request, problem: Exception) -> Response:
    code = problem.status_code if isinstance(problem, HTTPException) else 400
    return PlainTextResponse("refused", code)
