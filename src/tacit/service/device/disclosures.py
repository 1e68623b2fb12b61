"""What an owner is shown of what leaves it: before it joins, what would leave and what that would
cost (nothing is sent and nothing is charged); afterwards, its ledger in the browser.

The ledger's page is for this machine, and for whoever was given the address. That holds a secret
drawn at every start, because other users of the machine can reach its ports. A request that names
another host is refused: a page elsewhere cannot have its own name point here and read along.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.learners.owners.sum_query import SealedQuery
from tacit.learners.query import pack, report_size, write_bound
from tacit.mechanisms.streams import rational, secure
from tacit.owner.ledger import Ledger, LedgerError
from tacit.owner.ledger_entries import Entry
from tacit.owner.policy import Policy
from tacit.owner.spending import figures, owners, round_up
from tacit.render.pages import environment
from tacit.service.device.client import Link
from tacit.service.device.join import Joining
from tacit.service.protocol.web import HEADERS, static_routes

_SHOWN = 160  # digits of an example


@dataclass(frozen=True)
class Preview:
    """The same for people and for programs."""

    lines: list[str]
    figures: dict[str, Any]


async def preview(joining: Joining, link: Link, pinned: bytes | None) -> Preview:
    """For the owner alone: it shows a report that is never sent."""
    greeted, members = await joining.members(link, pinned, pin=False)
    terms, template = greeted.terms, greeted.template
    query = template.forms[0].example
    policy = joining.policy
    level = policy.level(query.epsilons, rational(0))
    objection = template.refusal(policy)
    told = joining.enrolment_facts(terms)
    sealed = isinstance(query, SealedQuery)
    from_whom = "either of two servers, but not from both" if sealed else "everybody but you"
    lines = [
        f"campaign: {terms.name}, to predict {joining.label or terms.label}",
        f"asks for: {terms.words.asks_for or f'the {query.what} share of your rows'} "
        f"({query.width} numbers), "
        f"through {query.how_in_words}",
        f"hides: everything about one {query.unit} ({query.adjacency}), from {from_whom}",
        f"offered epsilons: {', '.join(f'{e:g}' for e in query.epsilons)} each time; your "
        "policy allows "
        f"{float(policy.epsilon_per_release):g} per release, {float(policy.epsilon_total):g} "
        "in all, "
        f"{policy.releases} release{'' if policy.releases == 1 else 's'}",
        f"owners in your file: {len(members)}",
        *template.lines(),
        f"told at enrolment: {_facts_in_words(told)}",
    ]
    figures = {
        "campaign": terms.name,
        "label": joining.label or terms.label,
        "asks_for": query.what,
        "numbers": query.width,
        "mechanism": query.how,
        "unit": query.unit,
        "adjacency": query.adjacency,
        "offered_epsilons": list(query.epsilons),
        "owners": len(members),
        "told_at_enrolment": told,
        "columns": list(template.columns),
        "trust": template.trust,
    }
    if objection or level is None:
        why = (
            f"refuses it: {objection}; nothing would leave"
            if objection
            else "allows none of them: nothing would leave"
        )
        return Preview(
            [*lines, f"your policy {why}"],
            figures | {"allowed": False, "objection": objection or "epsilons"},
        )
    epsilon = query.epsilons[level]
    in_all = template.cost(policy) or Fraction(0)
    _, cohort = joining.rows(terms)
    notes = terms.notes(policy, {member.label: member.pin for member in members})
    example = pack(bytes(32), level, query.release(cohort[:1], np.array([epsilon]), secure()))
    lines += [
        f"would leave: {report_size(query)} bytes per owner, {_often(terms.answers)}; "
        f"it would cost epsilon {round_up(in_all)} in all",
        f"for example (drawn now for your eyes, never sent): {_short(example.hex())}",
        *notes.lines,
    ]
    figures |= {
        "allowed": True,
        "bytes": report_size(query),
        "times": terms.answers,
        "epsilon": epsilon,
        "epsilon_in_all": float(in_all),
        "example": example.hex(),
        **notes.figures,
    }
    return Preview([*lines, "nothing was sent and nothing was charged"], figures)


def _facts_in_words(told: Mapping[str, Any]) -> str:
    """What the coordinator learns before it asks anything."""
    words = ["a public key made for this campaign and your token"]
    if "name" in told:
        words.append(f"the name {told['name']!r}")
    if "attributes" in told:
        words.append(f"that you hold the attributes {', '.join(told['attributes'])}")
    return "; ".join(words)


def _often(times: int) -> str:
    return "once" if times == 1 else f"up to {times} times"


def _short(digits: str) -> str:
    return digits if len(digits) <= _SHOWN else f"{digits[:_SHOWN]}… ({len(digits) // 2} bytes)"


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
            Route(f"{self.root}/ledger.json", self.export, methods=["GET"]),
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
        return await self._told(lambda: HTMLResponse(self._html()))

    async def export(self, request: Request) -> Response:
        """Every release, as `tacit ledger show --json` prints it."""
        return await self._told(self._json)

    async def _told(self, make: Callable[[], Response]) -> Response:
        try:
            return await run_in_threadpool(make)
        except LedgerError as problem:
            text = _TEMPLATES.get_template("ledger_problem.html").render(
                root=self.root, problem=str(problem), **_TITLE
            )
            return HTMLResponse(text, 503)

    def _entries(self) -> list[Entry]:
        ledger = Ledger(self._file, self._mark, self._also)
        try:
            return ledger.entries()
        finally:
            ledger.close()

    def _json(self) -> Response:
        entries = self._entries()
        told = {"releases": [figures(entry) for entry in entries]}
        return JSONResponse(
            told | {"owners": owners(entries, self._policy)},
            headers={"content-disposition": 'attachment; filename="ledger.json"'},
        )

    def _html(self) -> str:
        entries = self._entries()
        releases = [
            {
                **figures(entry),
                "cost": round_up(entry.cost),
                "size": len(entry.report),
                "odds": odds_in_words(entry.cost),
            }
            for entry in reversed(entries[-_MOST:])
        ]
        return _TEMPLATES.get_template("ledger.html").render(
            root=self.root,
            file=self._file,
            releases=releases,
            count=len(entries),
            owners=owners(entries, self._policy),
            policy=self._policy,
            spent=round_up(sum((entry.cost for entry in entries), Fraction(0))),
            campaigns=len({(entry.campaign, entry.key) for entry in entries}),
            **_TITLE,
        )


_TITLE = {"title": "Your ledger"}


def odds_in_words(epsilon: Fraction) -> str:
    """By what factor a release of this epsilon changes odds at most.

    >>> odds_in_words(Fraction(2)), odds_in_words(Fraction(1, 4)), odds_in_words(Fraction(0))
    ('\N{MULTIPLICATION SIGN}7.39', '\N{MULTIPLICATION SIGN}1.29', '\N{MULTIPLICATION SIGN}1')
    """
    return f"\N{MULTIPLICATION SIGN}{write_bound(exp(min(float(epsilon), _LARGEST_POWER)))}"


_LARGEST_POWER = 700.0  # of e that a float holds


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
