"""What the coordinator of peers writes down beside questions: who takes part, and what was signed;
and the routes by which what one peer signed goes to all others, as it is.

A roster is written once and never changed. Of what a peer signs for a question the first counts; a
report without it counts as silence, because nobody else could check it.
"""

import time
from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from sqlalchemy import Row, insert, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.algorithms.peers import Peer, Roster
from tacit.service.coordinator.batching import Batches, BusyError
from tacit.service.coordinator.intake import Outcome
from tacit.service.coordinator.owner_api import STATUS
from tacit.service.coordinator.sql import upsert
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import (
    CLOSED,
    OPEN,
    VOID,
    Question,
    invitations,
    owners,
    questions,
    rosters,
    spoken,
)
from tacit.service.protocol.peer_replay import ROSTER, SPOKEN, TURN, RelayTerms, Spoken, Turn
from tacit.service.protocol.signed_requests import Claim, signer
from tacit.wire import WireError
from tacit.wire.envelopes import opened, sign


class Rosters:
    """The rosters and signed reports of one campaign."""

    def __init__(self, store: Store, terms: RelayTerms, key: Ed25519PrivateKey) -> None:
        self._store = store
        self._terms = terms
        self._key = key

    # Who takes part
    # ----------------------------------------------------------------------------------

    def read(self) -> list[Roster]:
        """All rosters, in order."""
        with self._store.reading() as connection:
            data = (
                connection.execute(select(rosters.c.data).order_by(rosters.c.number))
                .scalars()
                .all()
            )
        return [opened(each, Roster, ROSTER, self._key.public_key()) for each in data]

    def write_roster(self, now: float) -> bool:
        """Write the next roster down, if somebody has come or gone since the last; whether it
        was.
        """
        known = self.read()
        before = known[-1] if known else Roster()
        with self._store.transaction() as connection:
            members = connection.execute(select(owners)).all()
            after = self._after(before, members)
            if after is None:
                return False
            data = sign(after, ROSTER, self._key)
            connection.execute(insert(rosters).values(number=len(known) + 1, at=now, data=data))
        return True

    def is_over(self, asked: Sequence[Question], now: float) -> bool:
        """Whether the time for newcomers is over, counted from when the last turn was given; before
        the first, never.

        Times are the campaign's.
        """
        with self._store.reading() as connection:
            last = (
                connection.execute(select(rosters.c.at).order_by(rosters.c.number.desc()))
                .scalars()
                .first()
            )
        if last is None:
            return False
        since: float = max([last, *(question.opened for question in asked)])
        return now >= since + self._terms.newcomers

    def owner_ids(self, numbers: Sequence[int]) -> list[int]:
        """Participants with these numbers, as owners are numbered; those who left are left out."""
        peers = self.read()[-1].peers
        keys = {peers[number].key.hex() for number in numbers}
        with self._store.reading() as connection:
            live = select(owners.c.id).where(owners.c.owner.in_(keys), owners.c.revoked.is_(False))
            return list(connection.execute(live).scalars())

    def _after(self, before: Roster, members: Sequence[Row[tuple[object, ...]]]) -> Roster | None:
        """The roster of these members, numbered after those before, in the order of their names;
        None: no change.
        """
        known = {peer.key.hex(): peer.number for peer in before.peers}
        new = sorted(
            (row.label, row.owner, row.held)
            for row in members
            if not (row.owner in known or row.revoked)
        )
        able = [
            (label, owner, columns)
            for label, owner, held in new
            if (columns := self._columns(held))
        ]
        newcomers = [
            Peer(number, bytes.fromhex(owner), label, columns)
            for number, (label, owner, columns) in enumerate(able, start=len(before.peers))
        ]
        gone = tuple(
            sorted(known[row.owner] for row in members if row.owner in known and row.revoked)
        )
        after = Roster((*before.peers, *newcomers), len(before.peers), gone)
        return after if newcomers or gone != before.gone else None

    def _columns(self, held: str) -> tuple[int, ...]:
        """The attributes that a peer has said it holds, of those there are."""
        every = range(self._terms.attributes)
        return (
            tuple(every)
            if not held
            else tuple(sorted({int(each) for each in held.split(",")} & set(every)))
        )

    # What was signed
    # ---------------------------------------------------------------------------------

    def keep_signed(self, owner: str, digest: bytes, data: bytes) -> bytes | None:
        """Keep what a peer signed for the open question that it has; what was kept first, None:
        it has no such one.
        """
        mine = (
            select(questions.c.number, questions.c.state)
            .join(invitations, invitations.c.question == questions.c.number)
            .join(owners, owners.c.id == invitations.c.owner)
            .where(
                questions.c.digest == digest, owners.c.owner == owner, owners.c.revoked.is_(False)
            )
        )
        with self._store.transaction() as connection:
            asked = connection.execute(mine.with_for_update(read=True, of=questions)).first()
            if asked is None:
                return None
            if asked.state == OPEN:  # and stays so until the end of this transaction
                kept = upsert(connection, spoken).values(question=asked.number, data=data)
                connection.execute(kept.on_conflict_do_nothing())
            return connection.execute(
                select(spoken.c.data).where(spoken.c.question == asked.number)
            ).scalar()

    def find_signed(self, number: int) -> bytes:
        """What was signed for a question; empty: nothing."""
        with self._store.reading() as connection:
            return (
                connection.execute(
                    select(spoken.c.data).where(spoken.c.question == number)
                ).scalar()
                or b""
            )

    # For peers
    # ---------------------------------------------------------------------------------------

    def roster(self, number: int) -> bytes | None:
        """The signed roster with this number; None: not yet."""
        with self._store.reading() as connection:
            return connection.execute(
                select(rosters.c.data).where(rosters.c.number == number)
            ).scalar()

    def turn(self, number: int) -> bytes | None:
        """The turn of a question that is over, signed; None: not yet."""
        wanted = select(questions.c.data, questions.c.state).where(questions.c.number == number)
        with self._store.reading() as connection:
            found = connection.execute(wanted).first()
        if found is None or found.state not in (CLOSED, VOID):
            return None
        return sign(
            Turn(found.data, self.find_signed(number) if found.state == CLOSED else b""),
            TURN,
            self._key,
        )


class PeerRoutes:
    """Takes what peers sign, and gives it to peers; for campaigns of other kinds there is
    nothing to take or give.
    """

    def __init__(self, store: Store, batches: Batches[Outcome], rosters: Rosters | None) -> None:
        self._store = store
        self._batches = batches
        self._rosters = rosters

    def routes(self) -> list[Route]:
        return [
            Route("/v1/spoken", self.report, methods=["POST"]),
            Route("/v1/rosters/{number:int}", self.roster, methods=["GET"]),
            Route("/v1/turns/{number:int}", self.turn, methods=["GET"]),
        ]

    async def report(self, request: Request) -> Response:
        """A signed report: kept for the others, then counted like any report. Twice the same
        changes nothing.
        """
        body = await request.body()
        claim = Claim.of("POST", request.url.path, request.headers, body)
        owner = claim.read(time.time()).check()
        try:
            signed = opened(
                body, Spoken, SPOKEN, Ed25519PublicKey.from_public_bytes(bytes.fromhex(owner))
            )
        except WireError:
            return _reply(Outcome.MALFORMED)
        if self._rosters is None:
            return _reply(Outcome.STRANGE)
        kept = await run_in_threadpool(self._rosters.keep_signed, owner, signed.digest, body)
        if kept is None:
            return _reply(Outcome.STRANGE)
        if kept != body:
            return _reply(Outcome.CONTRADICTED)
        try:
            return _reply(await self._batches.put(claim, signed.report))
        except BusyError:
            return JSONResponse({"error": "busy"}, 503)

    async def roster(self, request: Request) -> Response:
        return await self._send(request, None if self._rosters is None else self._rosters.roster)

    async def turn(self, request: Request) -> Response:
        return await self._send(request, None if self._rosters is None else self._rosters.turn)

    async def _send(self, request: Request, find: Callable[[int], bytes | None] | None) -> Response:
        """What there is, for members; 204: nothing yet."""
        owner = signer("GET", request.url.path, request.headers, await request.body(), time.time())
        if not await run_in_threadpool(self._store.is_member, owner):
            return JSONResponse({"error": "forbidden"}, 403)
        number = request.path_params["number"]
        found = (
            await run_in_threadpool(find, number) if find is not None and number < _MOST else None
        )
        return (
            Response(status_code=204)
            if found is None
            else Response(found, media_type="application/octet-stream")
        )


_MOST = 1 << 31  # what a database takes for a number


def _reply(outcome: Outcome) -> JSONResponse:
    return JSONResponse({"outcome": outcome.name.lower()}, STATUS[outcome])
