"""What is known of an owner, and what is forgotten; what administrators do, and did.

Retention. While a campaign runs, its replay needs who was asked, what was reported to closed
questions and, where those who take part go by names, the names. All else about an owner can go when
it has left: the key it signed with, its token's hash, a report to an open question. When the
campaign has ended the model is made, and every report can go, too. `forget` deletes what can go now
and says what stays and why; it can be called again after the end.

Every act of an administrator is written down with its outcome, refusals too: who, when, what, about
whom, from where; and who enrolled and left. What is done and that it was done is one transaction:
neither is there without the other. Acts name owners by their public key; when an owner is forgotten
its key goes from there as well.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    delete,
    func,
    insert,
    select,
    update,
)
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.service.coordinator.keys import ADMIT, LOOK, STEER, Administrators
from tacit.service.coordinator.sql import leave_out
from tacit.service.coordinator.status import View
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import (
    ALL,
    ENDED,
    ENDING,
    FORGOTTEN,
    PAUSED,
    READER,
    RUNNING,
    Excerpt,
    NoRoomError,
    OverError,
    acts,
    campaign,
    contradictions,
    invitations,
    owners,
    questions,
    reader_name,
    renewals,
    reports,
    rosters,
    spoken,
    tokens,
)
from tacit.service.protocol.waiting import Allowances, network_of, plain_host
from tacit.service.protocol.web import error

OWNER = "owner"  # who acts for itself
OPERATOR = "operator"  # who types commands where the database is
DONE, BEGUN, REFUSED = "200", "begun", "refused"  # outcomes of what is typed
INVITE = "invite"  # about a name, and so many tokens
WITHDRAW = "withdraw"  # about so many tokens
TOKEN_DIGITS = 12  # of a token's hash: enough to tell tokens apart


@dataclass(frozen=True)
class Act:
    """What somebody did, or was refused."""

    who: str
    what: str
    about: str
    source: str
    outcome: str
    at: float = 0.0
    number: int = 0  # in the order of acts, once it is written down


class Records:
    """What the database of a campaign holds beside what the campaign computes with."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, act: Act) -> int:
        """Write an act down, as of now; its number."""
        row = {**act.__dict__, "at": time.time(), "campaign": self._store.id}
        del row["number"]  # which it is given
        with self._store.transaction() as connection:
            added = insert(acts).values(**row).returning(acts.c.number)
            return int(connection.execute(added).scalar_one())

    def note_command(self, what: str, about: str = "", outcome: str = DONE) -> int:
        """Write down what was typed where the database is; its number."""
        return self.note(Act(OPERATOR, what, about, "command line", outcome))

    def settle(self, number: int, outcome: str) -> None:
        """What became of an act that was written down as begun."""
        mine = self._store.mine(acts), acts.c.number == number, acts.c.outcome == BEGUN
        with self._store.transaction() as connection:
            connection.execute(update(acts).where(*mine).values(outcome=outcome))

    def leave(self, owner: str) -> bool:
        """Have an owner go that says so itself; whether there is one. Said again it changes
        nothing, and of strangers nothing is written.
        """
        known = self._store.is_revoked(owner)
        if known is not False:
            return known is not None
        with self._store.transaction() as connection:
            # meanwhile it may have left by another worker, or go by another key
            went = leave_out(connection, self._store.id, owner)
            if went:  # from where an owner comes is nobody's business
                self.note(Act(OWNER, "leave", owner, "", "200"))
        return went is not None

    def acts(self, excerpt: Excerpt = ALL) -> list[Act]:
        """Acts, in their order."""
        names = "who", "what", "about", "source", "outcome", "at", "number"
        mine = select(*(acts.c[name] for name in names)).where(self._store.mine(acts))
        with self._store.snapshot() as connection:
            return [Act(*row) for row in excerpt.of(connection, mine, acts.c.number)]

    def owners(self, excerpt: Excerpt = ALL) -> list[dict[str, Any]]:
        """Who has enrolled, in their order: key, name, how each stands."""
        mine = self._store.mine
        with self._store.snapshot() as connection:
            rows = excerpt.of(connection, select(owners).where(mine(owners)), owners.c.id)
            answered = select(reports.c.owner, func.count().label("n")).where(mine(reports))
            if rows:
                span = reports.c.owner.between(rows[0].id, rows[-1].id)
                answered = answered.where(span).group_by(reports.c.owner)
            heard = {row.owner: row.n for row in connection.execute(answered)} if rows else {}
        return [
            {
                "number": row.id,
                "owner": row.owner,
                "name": self._store.storage.open_name(row.label),
                "state": _state(row, heard.get(row.id, 0)),
                "answered": heard.get(row.id, 0),
            }
            for row in rows
        ]

    def tokens(self, excerpt: Excerpt = ALL) -> list[dict[str, Any]]:
        """Tokens, by the beginning of their hashes: when each was made and by whom, until when it
        holds, how it stands.
        """
        mine, place = self._store.mine, (tokens.c.made, tokens.c.token)
        counted = select(tokens, func.row_number().over(order_by=place).label("number"))
        every = counted.where(mine(tokens)).subquery()
        with self._store.snapshot() as connection:
            rows = excerpt.of(connection, select(every), every.c.number)
            came = select(owners.c.token, owners.c.owner).where(mine(owners))
            if excerpt.limit is not None:
                came = came.where(owners.c.token.in_([row.token for row in rows]))
            used_by = {row.token: row.owner for row in connection.execute(came)}
        now = time.time()
        return [
            {
                "number": row.number,
                "token": row.token[:TOKEN_DIGITS],
                "made": row.made,
                "maker": row.maker,
                "expires": row.expires,
                "state": _token_state(row, now),
                "owner": used_by.get(row.token, ""),
            }
            for row in rows
        ]

    def withdraw_tokens(self, beginning: str = "") -> int:
        """Delete the tokens that nobody has used, or those of them whose hash begins so; how many
        there were.
        """
        with self._store.transaction() as connection:
            unused = self._store.mine(tokens) & tokens.c.used.is_(False)
            these = unused & tokens.c.token.startswith(beginning, autoescape=True)
            # in the order of those who enrol, so that neither waits for the other for ever
            held = select(tokens.c.token).where(these).order_by(tokens.c.token).with_for_update()
            connection.execute(held)
            return connection.execute(delete(tokens).where(these)).rowcount

    def archive(self, *, keep_readers: bool = False) -> bool:
        """Keep of a campaign that has ended its model and its last figures alone, and the log; with
        `keep_readers` also hashes of the keys of those who took part, so that they may read what is
        for members. False: it has not ended, or is archived.
        """
        key = Ed25519PublicKey.from_public_bytes(self._store.standing().key)
        figures = View(self._store, key).status()
        with self._store.transaction() as connection:
            # all of them, and first, as whoever holds some does: neither waits for ever
            put = select(questions.c.number).where(self._store.mine(questions))
            connection.execute(put.order_by(questions.c.number).with_for_update()).all()
            every = select(owners.c.owner, owners.c.revoked).where(self._store.mine(owners))
            held = connection.execute(every.order_by(owners.c.id).with_for_update()).all()
            keys = [row.owner for row in held if not row.revoked]
            done = self._store.archive(json.dumps({**figures, "voices": []}))
            if done and keep_readers and keys:
                names = [reader_name(self._store.id, each) for each in sorted(keys)]
                rest = {"campaign": self._store.id, "label": "", "held": "", "revoked": False}
                rows = [{**rest, "owner": name, "token": name} for name in sorted(names)]
                connection.execute(insert(owners), rows)
        self._store.scrub()
        return done

    def describe_owner(self, owner: str) -> dict[str, Any] | None:
        """All that the database holds of an owner, by its public key; None: nothing."""
        with self._store.snapshot() as connection:
            row = connection.execute(select(owners).where(self._is(owner))).first()
            if row is None:
                return None
            mine = {
                "invitations": _of(connection, invitations, row.id),
                "reports": _of(connection, reports, row.id),
                "contradictions": _of(connection, contradictions, row.id),
                "renewals": _of(connection, renewals, row.id),
            }
            about = select(func.count()).select_from(acts).where(self._store.mine(acts))
            about = about.where(acts.c.about == owner)
            named = {"acts": connection.execute(about).scalar_one()}
        return {
            "owner": row.owner,
            "name": self._store.storage.open_name(row.label),
            "attributes": row.held,
            "token_hash": row.token,
            "revoked": bool(row.revoked),
            "asked_in_question": row.asked,
            **mine,
            **named,
        }

    def forget(self, owner: str) -> dict[str, list[str]] | None:
        """Leave an owner out and delete what can go; what went and what stays, and by which name
        the rest is to be deleted after the end. None: no such owner.
        """
        with self._store.transaction() as connection:
            leave_out(connection, self._store.id, owner)  # first: from here on it keeps its key
            row = connection.execute(select(owners).where(self._is(owner))).first()
            if row is None:
                return None
            state = select(campaign.c.state).where(self._store.mine(campaign))
            is_over = connection.execute(state).scalar_one() == ENDED
            went, stays = ["its key", "its token's hash"], [f"that owner {row.id} was invited"]
            gone = {"owner": f"{FORGOTTEN} {row.id}", "token": f"{FORGOTTEN} {row.id}"}
            if is_over or not row.label:
                gone |= {"label": "", "held": ""}
                if row.label:
                    self._rename_kit(connection, row.label, gone["owner"])
                    went.append("its name")
            else:
                stays.append("its name, until the campaign has ended: reports are read in order")
            connection.execute(update(owners).where(owners.c.id == row.id).values(**gone))
            its_token = self._store.mine(tokens) & (tokens.c.token == row.token)
            connection.execute(delete(tokens).where(its_token))
            named = self._store.mine(acts) & (acts.c.about == owner)
            connection.execute(update(acts).where(named).values(about=gone["owner"]))
            mine = self._store.mine(rosters)
            if is_over:
                self._drop_reports(connection, row.id)
                went.append("its reports")
                if connection.execute(delete(rosters).where(mine)).rowcount:
                    went.append("rosters, with all who were on them")
            elif _of(connection, reports, row.id):
                stays.append("its reports to closed questions, until the campaign has ended")
            if not is_over and connection.execute(select(rosters.c.number).where(mine)).first():
                stays.append(
                    "its name and key on rosters, until then: others check turns with them"
                )
            if not is_over and _of(connection, renewals, row.id):
                stays.append("what it signed of its keys, until then: others check turns with it")
        self._store.scrub()
        return {"deleted": went, "stays": stays, "again": [] if is_over else [gone["owner"]]}

    def _is(self, owner: str) -> ColumnElement[bool]:
        names = owner, reader_name(self._store.id, owner)
        return self._store.mine(owners) & owners.c.owner.in_(names)

    def _rename_kit(self, connection: Connection, label: str, number: str) -> None:
        """Have the log name nobody for whom a kit was made that went by the name on it."""
        told = f"{self._store.storage.open_name(label)}, "
        mine = self._store.mine(acts) & (acts.c.what == INVITE)
        kits = mine & acts.c.about.startswith(told, autoescape=True)
        rest = func.substr(acts.c.about, len(told) - 1)
        connection.execute(update(acts).where(kits).values(about=number + rest))

    def _drop_reports(self, connection: Connection, owner_id: int) -> None:
        """Everything that an owner has said."""
        mine = self._store.mine
        heard = select(reports.c.question).where(reports.c.owner == owner_id)
        relayed = mine(spoken) & spoken.c.question.in_(heard)
        # of questions that were put to it alone: what it signed for the others
        alone = select(invitations.c.question).where(mine(invitations))
        alone = alone.group_by(invitations.c.question).having(func.count() == 1)
        connection.execute(delete(spoken).where(relayed, spoken.c.question.in_(alone)))
        connection.execute(delete(reports).where(reports.c.owner == owner_id))
        for table in (contradictions, renewals):
            connection.execute(delete(table).where(table.c.owner == owner_id))


def _of(connection: Connection, table: Table, owner_id: int) -> int:
    """How many rows of a table are about an owner."""
    mine = select(func.count()).select_from(table).where(table.c.owner == owner_id)
    return connection.execute(mine).scalar_one()


def _token_state(row: Any, now: float) -> str:
    if row.used:
        return "used"
    return "expired" if row.expires is not None and row.expires <= now else "free"


def _state(row: Any, answered: int) -> str:
    if row.owner.startswith(FORGOTTEN):
        return FORGOTTEN
    if row.owner.startswith(READER):
        return READER
    if row.revoked:
        return "revoked"
    if answered:
        return "answered"
    return "waits" if row.asked is None else "asked"


ADMIN = b"x-tacit-admin"
ADMINISTRATION = "/v1/admin/"  # what addresses of administrators begin with
TOKENS = f"{ADMINISTRATION}tokens"
_TOKEN = re.compile(rb"[!-~]{16,200}")  # printable, without spaces
_OWNER = re.compile(rb"[0-9a-f]{64}")
_HASH = re.compile(rb"[0-9a-f]{12,64}")
_NUMBER = re.compile("[0-9]{1,9}")
LINES, _MOST_LINES = 100, 1000  # of a list in one answer, where nothing else is said, and at most
_MOMENT = re.compile("[0-9]{0,12}")  # seconds since 1970; nothing: never
_LAST_MOMENT = 253_402_300_799  # of the year 9999, with which calendars end
_GUESSES, _ALL_GUESSES = 10, 200  # of an admin key, that are written down of an address, of all
_ACTS = 5000  # of one administrator that are
_HOUR = 3600.0  # seconds in which so many are


def _read_excerpt(request: Request) -> Excerpt | None:
    """The part of a list that an address asks for; None: it cannot be read."""
    said = {name: request.query_params.get(name) for name in ("limit", "after", "before")}
    given = {name: text for name, text in said.items() if text is not None}
    if not all(_NUMBER.fullmatch(text) for text in given.values()):
        return None
    asked = {"limit": LINES} | {name: int(text) for name, text in given.items()}
    return Excerpt(**asked) if 1 <= asked["limit"] <= _MOST_LINES else None


def is_listed_token(text: str) -> bool:
    """Whether a text names one token, as lists do: by the beginning of its hash."""
    return _HASH.fullmatch(text.encode()) is not None


def key_sent(request: Request) -> bytes:
    """The key that whoever asks as an administrator sends along; empty: none."""
    return request.headers.get(ADMIN.decode(), "").encode("latin-1")


class AdminRoutes:
    """The routes of administrators: each act needs a role, and is written down."""

    def __init__(self, store: Store, view: View, administrators: Administrators, root: str) -> None:
        self._store, self._view, self._root = store, view, root
        self._records = Records(store)
        self.administrators = administrators
        self._guesses = Allowances(_GUESSES, _GUESSES / _HOUR)
        self._all_guesses = Allowances(_ALL_GUESSES, _ALL_GUESSES / _HOUR)
        self._acts = Allowances(_ACTS, _ACTS / _HOUR)

    def routes(self) -> list[Route]:
        """By paths under the campaign's root."""
        get, post = ["GET"], ["POST"]
        return [
            Route(TOKENS, self.tokens, methods=[*get, *post]),
            Route("/v1/admin/revoke", self.revoke, methods=post),
            Route("/v1/admin/state", self.state, methods=post),
            Route("/v1/admin/withdraw", self.withdraw, methods=post),
            Route("/v1/admin/acts", self.acts, methods=get),
            Route("/v1/admin/owners", self.owners, methods=get),
        ]

    async def tokens(self, request: Request) -> Response:
        """List tokens, by the beginning of their hashes, or add some."""
        if request.method != "POST":
            return await self._show(request, "tokens", self._records.tokens)

        def add(body: bytes, who: str) -> tuple[Response, str]:
            until = request.query_params.get("expires", "")
            new = body.split(b"\n")
            if new[-1] == b"":
                new.pop()  # the last line may end like the others
            good = _MOMENT.fullmatch(until) and int(until or 0) <= _LAST_MOMENT
            if not (new and good and all(_TOKEN.fullmatch(token) for token in new)):
                return error("malformed", 400), ""
            expires = float(until) if until else None
            added = [token.decode() for token in new]
            try:
                self._store.add_tokens(added, expires=expires, maker=who)
            except OverError:
                return error("ended", 409), ""
            except NoRoomError:
                return error("full", 507), ""
            return JSONResponse({"tokens": len(new)}), f"{len(new)} tokens"

        return await self._act(request, ADMIT, add)

    async def revoke(self, request: Request) -> Response:
        def revoke(owner: bytes, who: str) -> tuple[Response, str]:
            if not _OWNER.fullmatch(owner):
                return error("malformed", 400), ""
            done = self._store.revoke(owner.decode())
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
            over = now == ENDED or (now == ENDING) != (wanted == ENDED)
            return error("ended", 409) if over else JSONResponse({"state": now}), wanted

        return await self._act(request, STEER, steer)

    async def withdraw(self, request: Request) -> Response:
        """Unused tokens, all or by the beginning of their hash."""

        def withdraw(body: bytes, who: str) -> tuple[Response, str]:
            if not (body == b"all" or _HASH.fullmatch(body)):
                return error("malformed", 400), ""
            beginning = "" if body == b"all" else body.decode()
            gone = self._records.withdraw_tokens(beginning)
            return JSONResponse({"withdrawn": gone}), f"{gone} tokens"

        return await self._act(request, ADMIT, withdraw)

    async def acts(self, request: Request) -> Response:
        """The log of what administrators did."""

        def find(excerpt: Excerpt) -> list[dict[str, Any]]:
            return [act.__dict__ for act in self._records.acts(excerpt)]

        return await self._show(request, "acts", find)

    async def owners(self, request: Request) -> Response:
        """Who has enrolled, and how each stands."""
        return await self._show(request, "owners", self._records.owners)

    async def _show(
        self, request: Request, what: str, find: Callable[[Excerpt], list[dict[str, Any]]]
    ) -> Response:
        """Some lines of a list, as the address says which."""
        excerpt = _read_excerpt(request)

        def show(body: bytes, who: str) -> tuple[Response, str]:
            if excerpt is None:
                return error("malformed", 400), ""
            return JSONResponse({what: find(excerpt)}), ""

        return await self._act(request, LOOK, show)

    async def _act(
        self, request: Request, role: str, work: Callable[[bytes, str], tuple[Response, str]]
    ) -> Response:
        """Have an administrator with this role do some work, and write down that it did, or that
        it was refused.
        """
        who = self.administrators.find(key_sent(request))
        source = plain_host(request.client.host) if request.client else ""
        what = request.url.path.removeprefix(f"{self._root}/v1/admin/")
        if who is None or role not in who.roles:
            name = "unknown" if who is None else who.name
            if self._acts.take(name) if who is not None else self._is_written_down(source):
                refused = Act(name, what, "", source, "refused")
                await run_in_threadpool(self._records.note, refused)
            raise HTTPException(401 if who is None else 403)
        if not self._acts.take(who.name):
            return error("too many", 429)  # what is not written down is not done
        answer = await run_in_threadpool(
            self._do, work, await request.body(), Act(who.name, what, "", source, "")
        )
        self._view.forget()
        return answer

    def _do(
        self, work: Callable[[bytes, str], tuple[Response, str]], body: bytes, act: Act
    ) -> Response:
        """Work that an act asks for, and the act, or neither."""
        with self._store.transaction():
            answer, about = work(body, act.who)
            self._records.note(replace(act, about=about, outcome=str(answer.status_code)))
        return answer

    def _is_written_down(self, source: str) -> bool:
        """Whether one more guess from there is: strangers may fill a log, not a database."""
        return self._guesses.take(network_of(source)) and self._all_guesses.take("")

    def _steer(self, wanted: str) -> str:
        """The state after this was wanted."""
        if wanted == ENDED:
            self._store.finish()
        elif wanted == PAUSED:
            self._store.pause()
        elif not self._store.go_on():
            self._store.begin()
        return self._store.standing().state
