"""Routes of campaigns of peers: what one peer signed goes to all others, as it is."""

import time
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.campaign.requests import Claim, signer
from tacit.campaign.spoken import SPOKEN, Spoken
from tacit.coordinator.batches import Batches, BusyError
from tacit.coordinator.direct import STATUS
from tacit.coordinator.rosters import Rosters
from tacit.coordinator.store import Store
from tacit.engines.collector import Outcome
from tacit.wire import WireError
from tacit.wire.signed import opened


class Relay:
    """Takes what peers sign, and gives it to peers; for campaigns of other kinds there is nothing to take or give."""

    def __init__(self, store: Store, batches: Batches[Outcome], rosters: Rosters | None) -> None:
        self._store = store
        self._batches = batches
        self._rosters = rosters

    def routes(self) -> list[Route]:
        return [
            Route("/v1/spoken", self.spoken, methods=["POST"]),
            Route("/v1/rosters/{number:int}", self.roster, methods=["GET"]),
            Route("/v1/turns/{number:int}", self.turn, methods=["GET"]),
        ]

    async def spoken(self, request: Request) -> Response:
        """A signed report: kept for the others, then counted like any report. Twice the same changes nothing."""
        body = await request.body()
        claim = Claim.of("POST", request.url.path, request.headers, body)
        owner = claim.read(time.time()).check()
        try:
            said = opened(body, Spoken, SPOKEN, Ed25519PublicKey.from_public_bytes(bytes.fromhex(owner)))
        except WireError:
            return _said(Outcome.MALFORMED)
        if self._rosters is None:
            return _said(Outcome.STRANGE)
        kept = await run_in_threadpool(self._rosters.keep, owner, said.digest, body)
        if kept is None:
            return _said(Outcome.STRANGE)
        if kept != body:
            return _said(Outcome.CONTRADICTED)
        try:
            return _said(await self._batches.put(claim, said.report))
        except BusyError:
            return JSONResponse({"error": "busy"}, 503)

    async def roster(self, request: Request) -> Response:
        return await self._given(request, None if self._rosters is None else self._rosters.roster)

    async def turn(self, request: Request) -> Response:
        return await self._given(request, None if self._rosters is None else self._rosters.turn)

    async def _given(self, request: Request, find: Callable[[int], bytes | None] | None) -> Response:
        """What there is, for members; 204: nothing yet."""
        owner = signer("GET", request.url.path, request.headers, await request.body(), time.time())
        if not await run_in_threadpool(self._store.member, owner):
            return JSONResponse({"error": "forbidden"}, 403)
        number = request.path_params["number"]
        found = await run_in_threadpool(find, number) if find is not None and number < _MOST else None
        return Response(status_code=204) if found is None else Response(found, media_type="application/octet-stream")


_MOST = 1 << 31  # what a database takes for a number


def _said(outcome: Outcome) -> JSONResponse:
    return JSONResponse({"outcome": outcome.name.lower()}, STATUS[outcome])
