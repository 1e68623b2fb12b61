"""Reports coming in, many at a time: between many requests and one transaction.

Whatever has arrived while the last batch was being written is checked and written together. A
report counts at most once, whatever is sent, repeated, reordered or late, and through whichever
worker it comes: the place for it, its invitation, exists once in the database. A sender gets its
answer after the commit.

Signatures of a batch are checked with libsodium in one compiled loop, while other threads run.
libsodium takes about half the time of OpenSSL, with the same verdicts on RFC 8032 signatures, and
refuses public keys of small order, with which anybody could sign. Called from Python once per
signature, a busy event loop would keep each call waiting for the interpreter's lock longer than the
check itself takes; so a batch is one call, without the lock.
"""

import asyncio
import ctypes
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cache
from itertools import repeat
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from anyio import CapacityLimiter, to_thread
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl._sodium import ffi, lib  # type: ignore[import-not-found]  # private: an address has no public name
from sqlalchemy import Connection, delete, select, text
from starlette.concurrency import run_in_threadpool

from tacit._util.kernels import kernel_here
from tacit._util.types import BoolArray, ByteArray, IntArray
from tacit.learners.query import PURPOSE, Invitation, tag_of, unpack
from tacit.service.coordinator.sql import (
    OwnerStatus,
    as_list,
    owner_statuses,
    storage_of,
    upsert,
)
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import COUNTED, OPEN, invitations, outcomes, questions
from tacit.service.protocol.handshake import Claim, Signed, UnsignedError
from tacit.wire.envelopes import KEY, SIGNATURE, open_signed

log = logging.getLogger(__name__)
Sent = tuple[str, bytes]  # who signed, and what
Result = TypeVar("Result")
_TAKERS = 3  # batches in work
# requests in a transaction: while one batch is written, the next is checked and a third comes in
_LARGEST = 512
_PAUSE = 0.002  # seconds without a request, after which a batch is whole
_WAITING = 20_000  # requests in memory; more are told to come again
_NONE, _NO_TAG = 0, b""  # the number of no question, and its tag
_WORD = 8  # bytes of the length that libsodium writes


class BusyError(Exception):
    """Too much is waiting, or the database is away: the sender should come again with the same
    bytes.
    """


class Batches(Generic[Result]):
    """Collects requests while others are being worked on, then takes all that came.

    `work` does what the signed ones ask for, in their order; it runs in a thread, several times at
    once. `observe` is told how many requests each batch has.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Sent]], Sequence[Result]],
        observe: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._work = work
        self._observe = observe
        self._waiting: list[tuple[Claim, bytes, asyncio.Future[Result]]] = []
        self._some = asyncio.Event()
        self._is_over = False

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def put(self, claim: Claim, body: bytes) -> Result:
        """What became of a request, after it is done; `UnsignedError` if its owner did not sign
        it.
        """
        if self._is_over or len(self._waiting) >= _WAITING:
            raise BusyError
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((claim, body, future))
        self._some.set()
        return await future

    async def run(self) -> None:
        """Work on batch after batch, until it is cancelled; one is checked while another is
        written. Whoever waits then is told to come again.
        """
        self._is_over = False
        try:
            await run_in_threadpool(signers, ())  # compiled before anybody waits for it
            # threads of their own: members do not stand in line behind what strangers look at
            own = CapacityLimiter(_TAKERS)
            await asyncio.gather(*(self._take(own) for _ in range(_TAKERS)))
        finally:
            self._is_over = True
            _tell((future for _, _, future in self._waiting), repeat(BusyError()))

    async def _take(self, threads: CapacityLimiter) -> None:
        while True:
            await self._some.wait()
            await self._gather()
            batch, self._waiting = self._waiting[:_LARGEST], self._waiting[_LARGEST:]
            if not self._waiting:
                self._some.clear()
            if not batch:
                continue
            self._observe(len(batch))
            claims, bodies, futures = zip(*batch, strict=True)
            outcomes: Iterable[Result | Exception] = repeat(BusyError())  # also if it is cancelled
            try:
                outcomes = await to_thread.run_sync(self._do, claims, bodies, limiter=threads)
            except Exception as problem:  # whatever it was, the next batch must still be worked on
                log.warning("a batch could not be done: %s", type(problem).__name__)
            finally:
                _tell(futures, outcomes)

    async def _gather(self) -> None:
        """Wait while more keeps coming: a transaction costs as much as a hundred requests."""
        before = 0
        while before < len(self._waiting) < _LARGEST:
            before = len(self._waiting)
            await asyncio.sleep(_PAUSE)

    def _do(self, claims: Sequence[Claim], bodies: Sequence[bytes]) -> list[Result | Exception]:
        """Check signatures, which is most of the work and needs no lock, then do what is signed."""
        now = time.time()
        owners = signers([claim.read(now) for claim in claims])
        sent = [
            (owner, body) for owner, body in zip(owners, bodies, strict=True) if owner is not None
        ]
        outcomes = iter(self._work(sent) if sent else ())
        return [UnsignedError() if owner is None else next(outcomes) for owner in owners]


def _tell(
    futures: Iterable[asyncio.Future[Result]], outcomes: Iterable[Result | Exception]
) -> None:
    """What became of requests, to those who still wait for it."""
    for future, outcome in zip(futures, outcomes, strict=False):
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


_Loop = Callable[[ByteArray, IntArray, ByteArray, ByteArray, BoolArray], None]


def signers(claims: Sequence[Signed]) -> list[str | None]:
    """The owners (public keys in hex) that signed some claims, None where nobody did."""
    whole = [len(claim.signature) == SIGNATURE and len(claim.owner) == KEY for claim in claims]
    checked = [claim for claim, sound in zip(claims, whole, strict=True) if sound]
    verdicts = iter(_verdicts(checked).tolist())
    return [
        claim.owner.hex() if sound and next(verdicts) else None
        for claim, sound in zip(claims, whole, strict=True)
    ]


def _verdicts(claims: Sequence[Signed]) -> BoolArray:
    signed = [claim.signature + claim.preimage for claim in claims]
    ends = np.cumsum([0, *map(len, signed)])
    keys = b"".join(claim.owner for claim in claims)
    # room for the opened message and its length
    room = np.empty(max(map(len, signed), default=0) + _WORD, dtype=np.uint8)
    good = np.zeros(len(claims), dtype=np.bool_)
    _loop()(
        np.frombuffer(b"".join(signed), np.uint8), ends, np.frombuffer(keys, np.uint8), room, good
    )
    return good


@cache
def _loop() -> _Loop:
    """The loop, compiled around the place where libsodium is in this process."""
    address = int(ffi.cast("uintptr_t", ffi.addressof(lib, "crypto_sign_open")))
    pointer, length = ctypes.c_void_p, ctypes.c_ulonglong
    sodium_open = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer, length, pointer)(
        address
    )

    @kernel_here
    def loop(
        signed: ByteArray, ends: IntArray, keys: ByteArray, room: ByteArray, good: BoolArray
    ) -> None:
        for at in range(len(good)):
            start, size = ends[at], ends[at + 1] - ends[at]
            length_at = room.ctypes.data + room.size - _WORD
            key = keys.ctypes.data + KEY * at
            good[at] = (
                sodium_open(room.ctypes.data, length_at, signed.ctypes.data + start, size, key) == 0
            )

    return loop


class Outcome(Enum):
    """What became of a report, or of the word that there will be none."""

    COUNTED = "counted"
    DECLINED = "declined: the owner's policy forbids the question"
    REPEATED = "repeated: the same bytes again"
    CONTRADICTED = "contradicted: other bytes of an owner that has reported"
    STRANGE = "strange: from somebody who was not invited"
    MALFORMED = "malformed: not a report to this question"
    LATE = "late: after the end"


class Asked(NamedTuple):
    """A question as it was put."""

    number: int
    digest: bytes
    invitation: Invitation


class Intake:
    """Writes batches of reports to the store."""

    def __init__(self, store: Store, key: Ed25519PublicKey) -> None:
        self._store = store
        self._key = key
        self._asked: dict[bytes, Asked] = {}  # by tag: questions never change, so read once

    def write(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Judge and keep some reports; outcomes in the order of the batch."""
        with self._store.transaction() as connection:
            return self.take(connection, batch)

    def take(self, connection: Connection, batch: Sequence[Sent]) -> list[Outcome]:
        """`write` as a part of a transaction."""
        found = [Outcome.MALFORMED] * len(batch)
        if not {data[1:7] for _, data in batch} <= self._asked.keys():
            self._read_new(connection)
        # what fits no question is looked at together: however it is spelled, it costs as much
        tags = [tag if (tag := data[1:7]) in self._asked else _NO_TAG for _, data in batch]
        numbers = [self._asked[tag].number if tag in self._asked else _NONE for tag in tags]
        for number, tag in sorted(set(zip(numbers, tags, strict=True))):
            items = [at for at, each in enumerate(tags) if each == tag]
            judged = self._judge(connection, number, tag, [batch[at] for at in items])
            for at, outcome in zip(items, judged, strict=True):
                found[at] = outcome
        self._count(connection, numbers, found)
        return found

    def decline(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Take the word of some owners that they do not answer the question with a digest, so that
        nobody waits for them; outcomes in the order of the batch.
        """
        with self._store.transaction() as connection:
            known = owner_statuses(connection, self._store.id, _NONE, [owner for owner, _ in batch])
            # what fits no question is looked at together, and what comes twice once
            digests = {digest for owner, digest in batch if owner in known}
            mine = self._store.mine(questions) & questions.c.digest.in_(sorted(digests))
            put = select(questions.c.digest, questions.c.number, questions.c.state).where(mine)
            asked = {bytes(row.digest): (row.number, row.state) for row in connection.execute(put)}
            said: dict[Sent, Outcome] = {}
            found = []
            for owner, digest in batch:
                if owner not in known:
                    outcome = Outcome.STRANGE
                elif digest not in asked:
                    outcome = Outcome.MALFORMED
                elif (before := said.get((owner, digest))) is not None:  # it was asked, and is not
                    outcome = Outcome.STRANGE if before is Outcome.DECLINED else before
                else:
                    outcome = self._decline(connection, owner, *asked[digest])
                    said[owner, digest] = outcome
                found.append(outcome)
            return found

    def _decline(self, connection: Connection, owner: str, number: int, state: str) -> Outcome:
        """What becomes of the word of a member about one question."""
        this = self._store.mine(questions) & (questions.c.number == number)
        status = owner_statuses(connection, self._store.id, number, [owner]).get(owner)
        if status is None or status.owner_id is None:
            return Outcome.STRANGE
        if state != OPEN:  # and never will be: locks are for the one that is
            return Outcome.LATE
        # the lock keeps this apart from reports being written and from closing
        held = select(questions.c.state).where(this).with_for_update()
        is_open = connection.execute(held).scalar() == OPEN
        status = owner_statuses(connection, self._store.id, number, [owner]).get(owner)
        if status is None or status.owner_id is None:
            return Outcome.STRANGE  # it said so a moment ago, to another worker
        if status.report is not None or not is_open:
            return Outcome.LATE
        place = self._store.about(invitations, number) & (invitations.c.owner == status.owner_id)
        connection.execute(delete(invitations).where(place))
        self._count(connection, [number], [Outcome.DECLINED])
        return Outcome.DECLINED

    def _read_new(self, connection: Connection) -> None:
        """Read questions that have been put since."""
        known = max((asked.number for asked in self._asked.values()), default=_NONE)
        wanted = select(questions.c.number, questions.c.digest, questions.c.data).where(
            self._store.mine(questions), questions.c.number > known
        )
        for row in connection.execute(wanted):
            invitation = open_signed(row.data, Invitation, PURPOSE, self._key)
            self._asked[tag_of(row.digest)] = Asked(row.number, row.digest, invitation)

    def _judge(
        self, connection: Connection, number: int, tag: bytes, sent: list[Sent]
    ) -> list[Outcome]:
        """Outcomes of reports with one tag; those that count are written."""
        is_open = self._state(connection, number) == OPEN
        known = owner_statuses(connection, self._store.id, number, [owner for owner, _ in sent])
        # what a stranger sends is not even looked at
        heard = [data if owner in known else b"" for owner, data in sent]
        good = self._good(tag, heard)
        fresh: dict[int, bytes] = {}
        found = []
        for (owner, data), valid in zip(sent, good, strict=True):
            status = known.get(owner)
            if status is not None and number == _NONE:
                found.append(Outcome.MALFORMED)
            else:
                found.append(_outcome(status, data, valid, is_open, fresh))
        if not fresh:
            return found
        first = write_reports(connection, self._store.id, number, fresh, time.time())
        return [
            # another worker was faster with the same report
            Outcome.REPEATED
            if outcome is Outcome.COUNTED and known[owner].owner_id not in first
            else outcome
            for (owner, _), outcome in zip(sent, found, strict=True)
        ]

    def _state(self, connection: Connection, number: int) -> str | None:
        """The state of a question, which stays so until the end of this transaction."""
        this = self._store.mine(questions) & (questions.c.number == number)
        held = select(questions.c.state).where(this).with_for_update(read=True)
        return connection.execute(held).scalar()

    def _good(self, tag: bytes, reports: list[bytes]) -> list[bool]:
        """Which of some bytes are reports to the question with this tag."""
        if tag not in self._asked:
            return [False] * len(reports)
        asked = self._asked[tag]
        good: list[bool] = unpack(reports, asked.digest, asked.invitation.query)[0].tolist()
        return good

    def _count(self, connection: Connection, numbers: list[int], found: list[Outcome]) -> None:
        """Count what did not count; reports that did can be counted themselves."""
        names = (outcome.name.lower() for outcome in found)
        tally = Counter(pair for pair in zip(numbers, names, strict=True) if pair[1] != COUNTED)
        if tally:
            rows = [
                {"campaign": self._store.id, "question": q, "outcome": what, "count": n}
                for (q, what), n in sorted(tally.items())
            ]
            added = upsert(connection, outcomes)
            more = {"count": outcomes.c.count + added.excluded.count}
            same = ["campaign", "question", "outcome"]
            connection.execute(added.on_conflict_do_update(index_elements=same, set_=more), rows)


_WRITE = {
    "postgresql": text(
        "INSERT INTO reports (campaign, question, owner, data, received) "
        "SELECT :campaign, :question, CAST(owner AS integer), decode(data, 'hex'), :now "
        "FROM unnest(string_to_array(:owners, ','), string_to_array(:data, ',')) AS sent "
        "(owner, data) ON CONFLICT DO NOTHING RETURNING owner"
    ),
    "sqlite": text(
        "INSERT INTO reports (campaign, question, owner, data, received) "
        "VALUES (:campaign, :question, :owner, :data, :now)"
    ),
}


def write_reports(
    connection: Connection, campaign: int, question: int, reports: dict[int, bytes], now: float
) -> set[int]:
    """Write reports by owner; the owners whose report is the first. Another worker may have been
    faster with some.
    """
    kept = storage_of(connection)
    reports = {place: kept.seal_report(data, question, place) for place, data in reports.items()}
    about = {"campaign": campaign, "question": question, "now": now}
    if connection.dialect.name == "sqlite":
        # one writer: what was not there when this transaction began is not there
        rows = [{**about, "owner": owner_id, "data": data} for owner_id, data in reports.items()]
        connection.execute(_WRITE["sqlite"], rows)
        return set(reports)
    # the same order in every worker: two that wait for each other would wait for ever
    ids = sorted(reports)
    data = ",".join(reports[owner_id].hex() for owner_id in ids)
    given = {**about, "owners": as_list("postgresql", ids), "data": data}
    return set(connection.execute(_WRITE["postgresql"], given).scalars())


def _outcome(
    status: OwnerStatus | None, data: bytes, valid: bool, is_open: bool, fresh: dict[int, bytes]
) -> Outcome:
    """What becomes of one report; one that counts is added to the `fresh` ones of its batch."""
    if status is None or status.owner_id is None:
        return Outcome.STRANGE
    before = fresh.get(status.owner_id, status.report)
    if before is not None:
        return Outcome.REPEATED if before == data else Outcome.CONTRADICTED
    if not valid:
        return Outcome.MALFORMED
    if not is_open:
        return Outcome.LATE
    fresh[status.owner_id] = data
    return Outcome.COUNTED
