"""What the coordinator of peers writes down beside questions: who takes part, and what was signed;
and the routes by which what one peer signed goes to all others, as it is.

A roster is written once and never changed, and knows a peer by the key that it came with; under
which it goes now its renewals say, which others are told with the turn from which they hold. What a
peer signs is the only way in for its report, so all others can check what counts.
"""

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from sqlalchemy import Connection, Row, Table, insert, select
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.algorithms.peers import Peer, Roster
from tacit.learners.query import tag_of
from tacit.service.coordinator.intake import Intake, Outcome, Sent
from tacit.service.coordinator.keys import PeerRenewals
from tacit.service.coordinator.sql import hold, owner_statuses, revoke
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import (
    CLOSED,
    FORGOTTEN,
    VOID,
    Question,
    contradictions,
    invitations,
    owners,
    questions,
    rosters,
    signed_place,
    spoken,
)
from tacit.service.protocol.guard import prove
from tacit.service.protocol.handshake import Claim
from tacit.service.protocol.peer_replay import (
    ROSTER,
    SPOKEN,
    TURN,
    Contradiction,
    RelayTerms,
    RenewedContradiction,
    RenewedTurn,
    Spoken,
    Turn,
)
from tacit.service.protocol.succession import SAID_COUNT
from tacit.wire import WireError, encode
from tacit.wire.envelopes import open_signed, public_bytes, sign

log = logging.getLogger(__name__)
_SIGNATURE = 64  # bytes before what is signed


class _Kept:
    """How what was signed lies in the database of a campaign."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def seal(self, data: bytes, table: Table, number: int, column: str = "data") -> bytes:
        place = signed_place(table, column, self._store.id, number)
        return self._store.storage.seal_signed(data, place)

    def open(self, data: bytes, table: Table, number: int, column: str = "data") -> bytes:
        place = signed_place(table, column, self._store.id, number)
        return self._store.storage.open_signed(data, place)


class Rosters:
    """The rosters and signed reports of one campaign, whose `first` key, where it was replaced, is
    given beside the one in use.
    """

    def __init__(
        self, store: Store, terms: RelayTerms, key: Ed25519PrivateKey, first: bytes = b""
    ) -> None:
        self._store, self._kept = store, _Kept(store)
        self._terms = terms
        self._key = key
        self._campaign = first or public_bytes(key.public_key())
        self.renewals = PeerRenewals(store)

    # Who takes part
    # ----------------------------------------------------------------------------------

    def read(self) -> list[Roster]:
        """All rosters, in order."""
        with self._store.snapshot() as connection:
            mine = select(rosters.c.number, rosters.c.data).where(self._store.mine(rosters))
            rows = connection.execute(mine.order_by(rosters.c.number)).all()
        data = [self._kept.open(row.data, rosters, row.number) for row in rows]
        return [open_signed(each, Roster, ROSTER, self._key.public_key()) for each in data]

    def write_roster(self, now: float) -> bool:
        """Write the next roster down, if somebody has come or gone since the last; whether it
        was.
        """
        known = self.read()
        before = known[-1] if known else Roster()
        with self._store.transaction() as connection:
            self._store.hold_key(connection)
            after = self._after(before, self._members(connection))
            if after is None:
                return False
            number = len(known) + 1
            data = self._kept.seal(sign(after, ROSTER, self._key), rosters, number)
            row = {"campaign": self._store.id, "number": number, "at": now, "data": data}
            connection.execute(insert(rosters).values(**row))
        return True

    def is_over(self, asked: Sequence[Question], now: float) -> bool:
        """Whether the time for newcomers is over, counted from when the last turn was given; before
        the first, never.

        Times are the campaign's.
        """
        with self._store.snapshot() as connection:
            mine = select(rosters.c.at).where(self._store.mine(rosters))
            last = connection.execute(mine.order_by(rosters.c.number.desc())).scalars().first()
        if last is None:
            return False
        since: float = max([last, *(question.opened for question in asked)])
        return now >= since + self._terms.newcomers

    def owner_ids(self, numbers: Sequence[int]) -> list[int]:
        """Participants with these numbers, as owners are numbered; those who left are left out."""
        peers = self.read()[-1].peers
        keys = {peers[number].key.hex() for number in numbers}
        with self._store.snapshot() as connection:
            members = self._members(connection)
        return [row.id for first, row in members.items() if first in keys and not row.revoked]

    def _members(self, connection: Connection) -> dict[str, Row[Any]]:
        """Who has enrolled, by the key that it came with. Whoever comes with a key that was
        replaced is nobody: on a roster it would be taken for the other.
        """
        first, replaced = self.renewals.first_keys(connection)
        every = select(owners).where(self._store.mine(owners)).order_by(owners.c.id)
        rows = [row for row in connection.execute(every) if row.owner not in replaced]
        return {first.get(row.id, row.owner): row for row in rows}

    def _after(self, before: Roster, members: Mapping[str, Row[Any]]) -> Roster | None:
        """The roster of these members, numbered after those before, in the order of their names;
        None: no change.
        """
        known = {peer.key.hex(): peer.number for peer in before.peers}
        new = sorted(
            (self._store.storage.open_name(row.label), first, row.held)
            for first, row in members.items()
            if not (first in known or row.revoked)
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
        here = {first for first, row in members.items() if not row.revoked}
        gone = tuple(number for first, number in known.items() if first not in here)
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

    def find_signed(self, number: int) -> bytes:
        """What was signed for a question; empty: nothing."""
        this = select(spoken.c.data).where(self._store.about(spoken, number))
        with self._store.snapshot() as connection:
            found = connection.execute(this).scalar()
        return b"" if found is None else self._kept.open(found, spoken, number)

    # For peers
    # ---------------------------------------------------------------------------------------

    def roster(self, number: int) -> bytes | None:
        """The signed roster with this number; None: not yet."""
        this = select(rosters.c.data).where(self._store.mine(rosters), rosters.c.number == number)
        with self._store.snapshot() as connection:
            found = connection.execute(this).scalar()
        return None if found is None else self._kept.open(found, rosters, number)

    def turn(self, number: int) -> bytes | None:
        """The turn of a question that is over, signed; None: not yet, or not any more."""
        this = self._store.mine(questions) & (questions.c.number == number)
        wanted = select(questions.c.data, questions.c.state).where(this)
        first = select(rosters.c.number).where(self._store.mine(rosters)).limit(1)
        with self._store.snapshot() as connection:
            found = connection.execute(wanted).first()
            said = self.renewals.of_turn(connection, number)
            # somebody was forgotten after the end: its turns would look as if nobody had spoken
            is_over = connection.execute(first).first() is None
        if found is None or found.state not in (CLOSED, VOID) or is_over:
            return None
        signed = self.find_signed(number) if found.state == CLOSED else b""
        turn = RenewedTurn(found.data, signed, said) if said else Turn(found.data, signed)
        return sign(turn, TURN, self._key)

    def lie(self, number: int) -> bytes | None:
        """The first, second, ... proof that somebody lied; None: there are not so many."""
        every = (
            select(contradictions, owners.c.owner.label("key"), owners.c.id)
            .join(owners, owners.c.id == contradictions.c.owner)
            .where(self._store.mine(contradictions), ~owners.c.owner.startswith(FORGOTTEN))
            .order_by(contradictions.c.question)
        )
        with self._store.snapshot() as connection:
            found = connection.execute(every.offset(number - 1).limit(1)).first()
            if found is None:
                return None
            first, _ = self.renewals.first_keys(connection)
            said = self.renewals.of_owner(connection, found.id)
        one, other = (
            self._kept.open(data, contradictions, found.question, column)
            for column, data in (("first", found.first), ("second", found.second))
        )
        words = bytes.fromhex(first.get(found.id, found.key)), one, other
        if not said:
            return encode(Contradiction(*words))
        return encode(RenewedContradiction(*words, campaign=self._campaign, renewals=said))


class Testimony:
    """Takes what peers sign: a report and its signature enter once, together, or not at all.

    A peer that signs two things for one question has lied, by whichever of its keys. Both are kept,
    as proof for everybody; the peer is left out, with its report if the question is still open, and
    the campaign goes on.
    """

    def __init__(self, store: Store, intake: Intake) -> None:
        self._store, self._kept = store, _Kept(store)
        self._intake = intake
        self._renewals = PeerRenewals(store)

    def write(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Judge and keep what some peers signed; outcomes in the order of the batch."""
        with self._store.transaction() as connection:
            known = owner_statuses(connection, self._store.id, 0, [owner for owner, _ in batch])
            words = [
                _read_word(owner, body) if owner in known else Outcome.STRANGE
                for owner, body in batch  # and nothing of a stranger's was parsed
            ]
            said = {word.digest for word in words if isinstance(word, Spoken)}
            # all at once: any of them may be left out, whoever else is in a batch beside this one
            are_open = hold(connection, self._store.id, known, said) if said else []
            return [
                self._take(connection, owner, body, word, are_open)
                if isinstance(word, Spoken)
                else word
                for (owner, body), word in zip(batch, words, strict=True)
            ]

    def _take(
        self,
        connection: Connection,
        owner: str,
        body: bytes,
        said: Spoken,
        are_open: Collection[int],
    ) -> Outcome:
        mine, about = self._store.mine, self._store.about
        live = mine(owners) & (owners.c.owner == owner) & owners.c.revoked.is_(False)
        # another worker was told what it is left out for; or it came before in this batch
        owner_id = connection.execute(select(owners.c.id).where(live)).scalar()
        if owner_id is None:
            return Outcome.STRANGE
        invited = (
            select(questions.c.number)
            .join(invitations, invitations.c.question == questions.c.number)
            .where(mine(questions), mine(invitations))
            .where(questions.c.digest == said.digest, invitations.c.owner == owner_id)
        )
        number = connection.execute(invited).scalar()
        if number is None:
            return Outcome.STRANGE
        kept = connection.execute(select(spoken.c.data).where(about(spoken, number))).scalar()
        first = None if kept is None else self._kept.open(kept, spoken, number)
        row = {"campaign": self._store.id, "question": number}
        if first is not None and first[_SIGNATURE:] != body[_SIGNATURE:]:
            both = {
                column: self._kept.seal(data, contradictions, number, column)
                for column, data in (("first", first), ("second", body))
            }
            connection.execute(insert(contradictions).values(**row, owner=owner_id, **both))
            revoke(connection, self._store.id, owner, are_open)
            log.warning("a peer has signed two reports to question %d: it is left out", number)
            return Outcome.CONTRADICTED
        if tag_of(said.digest) != said.report[1:7]:
            return Outcome.MALFORMED
        if first is None and number < self._renewals.since(connection, owner_id):
            return Outcome.STRANGE  # the key before this one was to speak then
        (outcome,) = self._intake.take(connection, [(owner, said.report)])
        if outcome is Outcome.COUNTED:
            sealed = self._kept.seal(body, spoken, number)
            connection.execute(insert(spoken).values(**row, data=sealed))
        return outcome


def _read_word(owner: str, body: bytes) -> Spoken | Outcome:
    """What a peer has signed."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(owner))
        return open_signed(body, Spoken, SPOKEN, key)
    except WireError:
        return Outcome.MALFORMED


class PeerRoutes:
    """Gives peers what was signed. Where keys were replaced, they hear how many `statements` say
    so.
    """

    def __init__(
        self,
        store: Store,
        campaign: bytes,
        rosters: Rosters,
        statements: Callable[[], int],
        root: str = "",
    ) -> None:
        self._store = store
        self._statements = statements
        self._campaign = campaign
        self._rosters = rosters
        self._root = root

    def routes(self) -> list[Route]:
        return [
            Route("/v1/rosters/{number}", self.roster, methods=["GET"]),
            Route("/v1/turns/{number}", self.turn, methods=["GET"]),
            Route("/v1/lies/{number}", self.lie, methods=["GET"]),
        ]

    async def roster(self, request: Request) -> Response:
        return await self._send(request, self._rosters.roster)

    async def turn(self, request: Request) -> Response:
        return await self._send(request, self._rosters.turn)

    async def lie(self, request: Request) -> Response:
        return await self._send(request, self._rosters.lie)

    async def _send(self, request: Request, find: Callable[[int], bytes | None]) -> Response:
        """What there is, for members; 204: nothing yet."""
        route = "GET", request.url.path.removeprefix(self._root)
        claim = Claim.of(self._campaign, route, request.headers, await request.body())
        owner = claim.signer(time.time())
        if not await run_in_threadpool(self._store.is_member, owner):
            return JSONResponse({"error": "forbidden"}, 403)
        prove(request.scope, owner.encode())
        number = request.path_params["number"]
        if not _NUMBER.fullmatch(number):
            raise HTTPException(404)
        found = await run_in_threadpool(find, int(number))
        if found is None:
            return Response(status_code=204)
        count = self._statements()
        more = {SAID_COUNT: str(count)} if count else {}
        return Response(found, media_type="application/octet-stream", headers=more)


# what a database takes for a number, and counts from: one spelling of each
_NUMBER = re.compile("[1-9][0-9]{0,8}")
