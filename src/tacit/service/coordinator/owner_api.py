"""Owners that introduce themselves, many at a time: a token admits one owner, whoever is faster.

The same owner with the same token again is enrolled still; so a request that is repeated, also to
another worker at the same moment, does no harm. Tokens are locked before anything is read, in the
same order by everybody: whoever holds the lock of a token decides about it alone, and two workers
never wait for each other.

Owners asking whether there is a question for them, many at a time: one look at the database for
all.

What every owner does, and all at the same time: enrol, ask for the question, report.

These are direct routes of the guard, with ready-made answers. Each request waits for its batch,
whose signatures are checked in one loop and whose work is one transaction, and is answered after
the commit.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, select

from tacit.service.coordinator import sql
from tacit.service.coordinator.batching import Batches, BusyError, Pace, Sent
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.sql import campaign, questions, seats
from tacit.service.coordinator.store import ENDED, OPEN, Store, hashed
from tacit.service.protocol.guard import Answer, Direct
from tacit.service.protocol.signed_requests import OWNER, SIGNATURE, TIME, Claim, UnsignedError

_HELD = re.compile(r"(\d{1,6}(,\d{1,6}){0,999})?", re.ASCII)  # numbers of attributes
_LONGEST = 200  # characters of a token, and of a label


class Enrolled(Enum):
    """What became of a request to be enrolled."""

    YES = "yes"
    NO = "no"
    MALFORMED = "malformed"


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
            token, label, *more = (part.decode() for part in body.split(b"\n", 2))
        except ValueError:
            return None
        held = "".join(more)
        good = (
            1 <= len(token) <= _LONGEST and len(label) <= _LONGEST and (token + label).isprintable()
        )
        return cls(owner, token, label, held) if good and _HELD.fullmatch(held) else None


class Enrolling:
    """Writes newcomers to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def enrol(self, batch: Sequence[Sent]) -> list[Enrolled]:
        """What becomes of some requests, in their order."""
        read = [Newcomer.read(owner, body) for owner, body in batch]
        taken = iter(self.admit([newcomer for newcomer in read if newcomer is not None]))
        return [Enrolled.MALFORMED if newcomer is None else next(taken) for newcomer in read]

    def admit(self, newcomers: Sequence[Newcomer]) -> list[Enrolled]:
        """Enrol those whose token nobody has used, each owner once."""
        if not newcomers:
            return []
        hashes = [hashed(newcomer.token) for newcomer in newcomers]
        with self._store.transaction() as connection:
            free = sql.free_tokens(connection, hashes)
            known = sql.tokens_of(connection, [newcomer.owner for newcomer in newcomers])
            rows = {}
            for newcomer, token in zip(newcomers, hashes, strict=True):
                if newcomer.owner not in known and token in free:
                    free.remove(token)
                    known[newcomer.owner] = token
                    rows[newcomer.owner] = {
                        "owner": newcomer.owner,
                        "label": newcomer.label,
                        "held": newcomer.held,
                        "token": token,
                    }
            written = sql.write_owners(connection, [rows[owner] for owner in sorted(rows)])
            sql.use_tokens(connection, [rows[owner]["token"] for owner in written])
        refused = (
            rows.keys() - written
        )  # came with another token to another worker at the same moment
        return [
            Enrolled.YES
            if known.get(newcomer.owner) == token and newcomer.owner not in refused
            else Enrolled.NO
            for newcomer, token in zip(newcomers, hashes, strict=True)
        ]


_NONE = 0  # the number of no question
_STRANGER = Answer.of(403, b'{"error":"forbidden"}')


class Asking:
    """What owners get that ask: their question, when to ask again, or that there is nothing more
    to come.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pace = Pace(store)
        self._questions: dict[
            int, bytes
        ] = {}  # open ones, as they are sent: they never change, so read once

    def answers(self, batch: Sequence[Sent]) -> list[Answer]:
        """For each that asked, in the order of the batch; what else was sent does not matter."""
        names = [owner for owner, _ in batch]
        with self._store.reading() as connection:
            found = self._found(connection, names)
            ended = connection.execute(select(campaign.c.state)).scalar_one() == ENDED
        again = Answer.of(
            410 if ended else 204, b"", more={"retry-after": str(self._pace.seconds())}
        )
        put = {
            data: Answer.of(200, data, "application/octet-stream")
            for data in set(found.values())
            if data
        }
        return [_STRANGER if name not in found else put.get(found[name], again) for name in names]

    def _found(self, connection: Connection, names: Sequence[str]) -> dict[str, bytes]:
        """For every member among some names the first open question it has not answered, or
        nothing.
        """
        is_open = select(questions.c.number).where(questions.c.state == OPEN).order_by("number")
        numbers = list(connection.execute(is_open).scalars())
        known = self._questions
        if not set(numbers) <= known.keys():
            data = select(questions.c.number, questions.c.data).where(
                questions.c.number.in_(numbers)
            )
            known = self._questions = {row.number: row.data for row in connection.execute(data)}
        found: dict[str, bytes] = {}
        for number in numbers or [_NONE]:
            for name, seat in seats(connection, number, names).items():
                invited = seat.place is not None and seat.report is None
                found[name] = found.get(name) or (known[number] if invited else b"")
        return found


ENROL, QUESTION, REPORT = ("POST", "/v1/enrol"), ("GET", "/v1/question"), ("POST", "/v1/report")
STATUS = {
    Outcome.COUNTED: 200,
    Outcome.REPEATED: 200,
    Outcome.CONTRADICTED: 409,
    Outcome.STRANGE: 403,
    Outcome.MALFORMED: 400,
    Outcome.LATE: 410,
}
_SIGNED = OWNER.encode(), TIME.encode(), SIGNATURE.encode()
_COUNTED = {
    what: Answer.of(status, b'{"outcome":"%s"}' % what.name.lower().encode())
    for what, status in STATUS.items()
}
_ENROLLED = {
    Enrolled.YES: Answer.of(200, b'{"enrolled":true}'),
    Enrolled.NO: Answer.of(403, b'{"error":"forbidden"}'),
    Enrolled.MALFORMED: Answer.of(400, b'{"error":"malformed"}'),
}
_BUSY = Answer.of(503, b'{"error":"busy"}')
_UNSIGNED = Answer.of(401, b'{"error":"unsigned"}')
Said = TypeVar("Said")


class OwnerRoutes:
    """The three calls of an owner; `reports` is where reports that come by other ways go, too."""

    def __init__(self, store: Store, intake: Intake) -> None:
        self.reports = Batches(intake.write)
        self._newcomers = Batches(Enrolling(store).enrol)
        self._asking = Batches(Asking(store).answers)

    def routes(self) -> dict[tuple[str, str], Direct]:
        """By method and path."""
        return {ENROL: self.enrol, QUESTION: self.question, REPORT: self.report}

    async def run(self) -> None:
        """Work on what comes, for as long as the service lives."""
        await asyncio.gather(self.reports.run(), self._newcomers.run(), self._asking.run())

    async def enrol(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        return await _told(self._newcomers, _claim(ENROL, headers, body), _ENROLLED.__getitem__)

    async def question(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        return await _told(self._asking, _claim(QUESTION, headers, body), lambda answer: answer)

    async def report(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        return await _told(self.reports, _claim(REPORT, headers, body), _COUNTED.__getitem__)


def _claim(route: tuple[str, str], headers: Mapping[bytes, bytes], body: bytes) -> Claim:
    owner, at, signature = [headers.get(name, b"").decode("latin-1") for name in _SIGNED]
    return Claim(*route, owner, at, signature, body)


async def _told(batches: Batches[Said], claim: Claim, answer: Callable[[Said], Answer]) -> Answer:
    """What a request gets when it is done, or was not signed, or cannot be done now."""
    try:
        return answer(await batches.put(claim, claim.body))
    except UnsignedError:
        return _UNSIGNED
    except BusyError:
        return _BUSY
