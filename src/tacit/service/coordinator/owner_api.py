"""What every owner does, and all at the same time: enrol, ask for the question, report (peers:
signed for all others), or say that there will be no report.

These are direct routes of the guard, with ready-made replies. Each request waits for its batch,
whose signatures are checked in one loop and whose work is one transaction, and is answered after
the commit.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, insert, select

from tacit.learners.query import report_size
from tacit.owner.template import QuestionForm, Template
from tacit.service.coordinator import sql
from tacit.service.coordinator.intake import Batches, BusyError, Outcome, Sent
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import ENDED, OPEN, acts, campaign, questions
from tacit.service.protocol.guard import Direct, Limits
from tacit.service.protocol.handshake import (
    OWNER,
    SIGNATURE,
    TIME,
    Claim,
    UnsignedError,
    plain_name,
)
from tacit.service.protocol.succession import SAID_COUNT
from tacit.service.protocol.web import Reply


class Admission(Enum):
    """What became of a request to be enrolled."""

    YES = "yes"
    NO = "no"
    MALFORMED = "malformed"


ENROL, QUESTION = ("POST", "/v1/enrol"), ("GET", "/v1/question")
REPORT, SPOKEN = ("POST", "/v1/report"), ("POST", "/v1/spoken")
DECLINE = ("POST", "/v1/decline")
STATUS = {
    Outcome.COUNTED: 200,
    Outcome.DECLINED: 200,
    Outcome.REPEATED: 200,
    Outcome.CONTRADICTED: 409,
    Outcome.STRANGE: 403,
    Outcome.MALFORMED: 400,
    Outcome.LATE: 410,
}
_SIGNED = OWNER.encode(), TIME.encode(), SIGNATURE.encode()
_COUNTED = {
    what: Reply.of(status, b'{"outcome":"%s"}' % what.name.lower().encode())
    for what, status in STATUS.items()
}
_ADMITTED = {
    Admission.YES: Reply.of(200, b'{"enrolled":true}'),
    Admission.NO: Reply.of(403, b'{"error":"forbidden"}'),
    Admission.MALFORMED: Reply.of(400, b'{"error":"malformed"}'),
}
_BUSY = Reply.of(503, b'{"error":"busy"}')
_UNSIGNED = Reply.of(401, b'{"error":"unsigned"}')
Result = TypeVar("Result")


Write = Callable[[Sequence[Sent]], Sequence[Outcome]]


def refuse(outcome: Outcome) -> Write:
    """What becomes of reports that come by a way which the campaign does not have."""
    return lambda batch: [outcome] * len(batch)


class OwnerRoutes:
    """The calls of an owner to the campaign with a key; what is posted to a route goes to what
    `writes` has for it. `observe` is told the path and size of every batch.
    """

    def __init__(
        self,
        store: Store,
        campaign: bytes,
        writes: Mapping[tuple[str, str], Write],
        looks: "QuestionLookup",
        observe: Callable[[str, int], None],
    ) -> None:
        self._campaign = campaign
        self._writes = {
            route: Batches(write, partial(observe, route[1])) for route, write in writes.items()
        }
        self._newcomers = Batches(Enrolment(store).enrol, partial(observe, ENROL[1]))
        self._asking = Batches(looks.answers, partial(observe, QUESTION[1]))

    def queue_lengths(self) -> dict[str, float]:
        """How many requests wait for their batch, by path."""
        writing = {route[1]: float(len(batches)) for route, batches in self._writes.items()}
        asking = {ENROL[1]: float(len(self._newcomers)), QUESTION[1]: float(len(self._asking))}
        return asking | writing

    def routes(self) -> dict[tuple[str, str], Direct]:
        """By method and path."""
        return {
            ENROL: self.enrol,
            QUESTION: self.question,
            REPORT: self.report,
            SPOKEN: self.take_spoken,
            DECLINE: self.decline,
        }

    async def run(self) -> None:
        """Work on what comes, for as long as the service lives."""
        writing = (batches.run() for batches in self._writes.values())
        await asyncio.gather(self._newcomers.run(), self._asking.run(), *writing)

    async def enrol(self, headers: Mapping[bytes, bytes], body: bytes) -> Reply:
        claim = self._claim(ENROL, headers, body)
        return await _answer(self._newcomers, claim, _ADMITTED.__getitem__)

    async def question(self, headers: Mapping[bytes, bytes], body: bytes) -> Reply:
        claim = self._claim(QUESTION, headers, body)
        return await _answer(self._asking, claim, lambda answer: answer)

    async def report(self, headers: Mapping[bytes, bytes], body: bytes) -> Reply:
        claim = self._claim(REPORT, headers, body)
        return await _answer(self._writes[REPORT], claim, _COUNTED.__getitem__)

    async def take_spoken(self, headers: Mapping[bytes, bytes], body: bytes) -> Reply:
        claim = self._claim(SPOKEN, headers, body)
        return await _answer(self._writes[SPOKEN], claim, _COUNTED.__getitem__)

    async def decline(self, headers: Mapping[bytes, bytes], body: bytes) -> Reply:
        claim = self._claim(DECLINE, headers, body)
        return await _answer(self._writes[DECLINE], claim, _COUNTED.__getitem__)

    def _claim(self, route: tuple[str, str], headers: Mapping[bytes, bytes], body: bytes) -> Claim:
        owner, at, signature = [headers.get(name, b"").decode("latin-1") for name in _SIGNED]
        return Claim(self._campaign, *route, owner=owner, time=at, signature=signature, body=body)


async def _answer(
    batches: Batches[Result], claim: Claim, answer: Callable[[Result], Reply]
) -> Reply:
    """What a request gets when it is done, or was not signed, or cannot be done now."""
    try:
        return answer(await batches.put(claim, claim.body))
    except UnsignedError:
        return _UNSIGNED
    except BusyError:
        return _BUSY


_HELD = re.compile(r"(\d{1,6}(,\d{1,6}){0,999})?", re.ASCII)  # numbers of attributes
_LONGEST = 200  # characters of a token, and of a label


class Newcomer(NamedTuple):
    """An owner with its token; `held` are the numbers of the attributes that it has, empty: all."""

    owner: str
    token: str
    label: str = ""
    held: str = ""

    @classmethod
    def read(cls, owner: str, body: bytes) -> "Newcomer | None":
        """From the lines of a request; None: malformed."""
        try:
            token, *more = (part.decode() for part in body.split(b"\n", 2))
        except ValueError:
            return None
        label, held = [*more, "", ""][:2]
        short = 1 <= len(token) <= _LONGEST and len(label) <= _LONGEST
        # whoever looks like another would be taken for it
        good = short and (token + label).isprintable() and label == plain_name(label)
        return cls(owner, token, label, held) if good and _HELD.fullmatch(held) else None


class Enrolment:
    """Writes newcomers to the store: a token admits one owner, whoever is faster.

    The same owner with the same token again is enrolled still; so a request that is repeated, also
    to another worker at the same moment, does no harm. Tokens are locked before anything is read,
    in the same order by everybody: whoever holds the lock of a token decides about it alone, and
    two workers never wait for each other.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def enrol(self, batch: Sequence[Sent]) -> list[Admission]:
        """What becomes of some requests, in their order."""
        read = [Newcomer.read(owner, body) for owner, body in batch]
        taken = iter(self.admit([newcomer for newcomer in read if newcomer is not None]))
        return [Admission.MALFORMED if newcomer is None else next(taken) for newcomer in read]

    def admit(self, newcomers: Sequence[Newcomer]) -> list[Admission]:
        """Enrol those whose token nobody has used, each owner once."""
        if not newcomers:
            return []
        hashes = [self._store.hide(newcomer.token) for newcomer in newcomers]
        with self._store.transaction() as connection:
            campaign_id = self._store.id
            free = sql.free_tokens(connection, campaign_id, hashes, time.time())
            known = sql.tokens_of(
                connection, campaign_id, [newcomer.owner for newcomer in newcomers]
            )
            rows: dict[str, dict[str, str]] = {}
            for newcomer, token in zip(newcomers, hashes, strict=True):
                if newcomer.owner not in known and token in free:
                    free.remove(token)
                    known[newcomer.owner] = token
                    rows[newcomer.owner] = {
                        "owner": newcomer.owner,
                        "label": self._store.storage.seal_name(newcomer.label),
                        "held": newcomer.held,
                        "token": token,
                    }
            new = [rows[owner] for owner in sorted(rows)]
            written = sql.write_owners(connection, campaign_id, new)
            used = [rows[owner]["token"] for owner in written]
            sql.use_tokens(connection, campaign_id, used)
            named = {newcomer.owner for newcomer in newcomers if newcomer.label} & set(written)
            self._note(connection, sorted(named), len(written) - len(named))
        # came with another token to another worker at the same moment
        refused = rows.keys() - written
        return [
            Admission.YES
            if known.get(newcomer.owner) == token and newcomer.owner not in refused
            else Admission.NO
            for newcomer, token in zip(newcomers, hashes, strict=True)
        ]

    def _note(self, connection: Connection, named: Sequence[str], others: int) -> None:
        """Write down who has enrolled: those who go by names each, of the many how many."""
        many = f"{others} owner{'s' if others > 1 else ''}"
        about = [*named, *([many] if others else [])]
        row = {"campaign": self._store.id, "at": time.time(), "who": "owner", "what": "enrol"}
        if about:
            lines = [{**row, "about": each, "source": "", "outcome": "200"} for each in about]
            connection.execute(insert(acts), lines)


_NONE = 0  # the number of no question
_STRANGER = Reply.of(403, b'{"error":"forbidden"}')


class QuestionLookup:
    """What owners get that ask: their question, when to ask again, or that nothing more is to come;
    one look at the database for all of a batch. Where keys were replaced, they hear how many
    `statements` say so.
    """

    def __init__(self, store: Store, statements: Callable[[], int] = lambda: 0) -> None:
        self._store = store
        self._statements = statements
        self._pace = PollingPace(store)
        # open ones, as they are sent: they never change, so read once
        self._questions: dict[int, bytes] = {}

    def answers(self, batch: Sequence[Sent]) -> list[Reply]:
        """For each that asked, in the order of the batch; what else was sent does not matter."""
        names = [owner for owner, _ in batch]
        with self._store.snapshot() as connection:
            waiting = self._first_open(connection, names)
            mine = select(campaign.c.state).where(self._store.mine(campaign))
            ended = connection.execute(mine).scalar_one() == ENDED
        count = self._statements()
        more = {SAID_COUNT: str(count)} if count else {}
        wait = {"retry-after": str(self._pace.seconds()), **more}
        again = Reply.of(410 if ended else 204, b"", more=wait)
        put = {
            data: Reply.of(200, data, "application/octet-stream", more)
            for data in set(waiting.values())
            if data
        }
        return [
            _STRANGER if name not in waiting else put.get(waiting[name], again) for name in names
        ]

    def _first_open(self, connection: Connection, names: Sequence[str]) -> dict[str, bytes]:
        """For every member among some names the first open question it has not answered, or
        nothing.
        """
        mine = self._store.mine(questions)
        is_open = select(questions.c.number).where(mine, questions.c.state == OPEN)
        is_open = is_open.order_by(questions.c.number)
        numbers = list(connection.execute(is_open).scalars())
        known = self._questions
        if not set(numbers) <= known.keys():
            data = select(questions.c.number, questions.c.data).where(
                mine, questions.c.number.in_(numbers)
            )
            known = self._questions = {row.number: row.data for row in connection.execute(data)}
        found: dict[str, bytes] = {}
        for number in numbers or [_NONE]:
            for name, status in sql.owner_statuses(
                connection, self._store.id, number, names
            ).items():
                invited = status.owner_id is not None and status.report is None
                found[name] = found.get(name) or (known[number] if invited else b"")
        return found


_RATE = 200  # questions a second, from everybody
_SHORTEST_WAIT, _LONGEST_WAIT = 2, 600  # seconds
_FRESH = 5.0  # seconds that a count is good for


class PollingPace:
    """Seconds to wait before asking again, by how many owners wait: all of them together ask about
    two hundred times a second.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seconds = _SHORTEST_WAIT
        self._until = 0.0

    def seconds(self) -> int:
        now = time.monotonic()
        if now > self._until:
            self._until = now + _FRESH
            self._seconds = min(
                max(self._store.owner_counts()["waiting"] // _RATE, _SHORTEST_WAIT), _LONGEST_WAIT
            )
        return self._seconds


_ENROLMENT = 8 << 10  # bytes: a token, a name, the numbers of a thousand attributes
_SIGNATURE_ROOM = 1 << 10  # bytes that a peer's signature and digest add to a report


def body_sizes(template: Template) -> dict[str, int]:
    """Bytes that the bodies of owners' routes may have: as many as the largest report that the
    campaign may ask for, where that is more than any route takes.
    """
    largest = max(_largest_report(form) for form in template.forms)
    report = max(largest, Limits().body)
    return {ENROL[1]: _ENROLMENT, REPORT[1]: report, SPOKEN[1]: report + _SIGNATURE_ROOM}


def _largest_report(form: QuestionForm) -> int:
    query = form.example
    width = max((bound.most for bound in form.bounds if bound.name == "width"), default=0)
    return -(-report_size(query) * max(width, query.width) // query.width)
