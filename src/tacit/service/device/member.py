"""One owner's part in a campaign, from enrolment to the end: its place before the gate, and the
loop that polls, asks the gate, and posts the report. A peer follows, checks, speaks in turn and
signs, and makes a model of its own.

What a peer has taken in is kept in its folder, so that a coordinator cannot show it another past
later: each roster and each turn is a file, written once after it was checked, and read again after
a restart.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, Protocol

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit._util.stopping import read_or_create
from tacit.algorithms.peers import Released
from tacit.data.cohort import Cohort
from tacit.learners.query import Invitation
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import LedgerError
from tacit.owner.worker import run_apart
from tacit.service.device.client import Link
from tacit.service.protocol.peer_replay import (
    SPOKEN,
    Following,
    ForgeryError,
    RelayTerms,
    Spoken,
)
from tacit.wire import decode
from tacit.wire.envelopes import SIGNATURE, public_bytes, sign

log = logging.getLogger(__name__)
_POLL = 2.0  # seconds, where the coordinator names none
_LONGEST = 3600.0  # seconds, whatever it names
_REFUSED, _NOT_SERVED = {403, 401, 400}, 404
COUNTED, NOT_COUNTED = "counted", "sent too late, or twice: it did not count"


class EnrolmentError(RuntimeError):
    """The coordinator does not take this owner: the message says what to look at."""


class Follower(Protocol):
    """Who looks whether the campaign's keys were replaced."""

    async def follow(self, headers: Mapping[str, str]) -> None: ...


@dataclass(frozen=True)
class Member:
    """An owner behind a gate, with its key and a link to the coordinator."""

    owner: str
    key: Ed25519PrivateKey
    gate: "GateQueue"
    link: Link
    label: str = ""  # what it is called at the coordinator: typed by its owner, where at all
    held: tuple[int, ...] = ()  # numbers of the attributes that it has, where it matters
    follow: "Follower | None" = None  # who goes by the campaign's keys
    declined: set[bytes] = field(default_factory=set)  # digests of questions

    @property
    def name(self) -> str:
        """The owner's public key in hex: its name in the campaign."""
        return public_bytes(self.key.public_key()).hex()

    @property
    def pin(self) -> str:
        """The key in hex that others may know it by."""
        return self.name

    async def enrol(self, token: str) -> None:
        """Introduce the owner by its public key and a token, and what was typed; doing it again
        with the same token changes nothing. A campaign that is not served now is asked again.
        """
        held = ",".join(str(number) for number in self.held)
        body = "\n".join([token, self.label, held]).rstrip("\n").encode()
        response = await self.link.call("POST", "/v1/enrol", self.key, body)
        while response.status_code == _NOT_SERVED:
            await asyncio.sleep(_pause(response, self.link))
            response = await self.link.call("POST", "/v1/enrol", self.key, body)
        if response.status_code != 200:
            raise EnrolmentError(
                f"owner {self.owner!r} was not enrolled: the token is unknown, has expired or was "
                f"withdrawn, another owner used it{_or_name(self.label)}, or the campaign has ended"
            )

    async def take_part(self, once: bool = True) -> int:
        """Answer questions until the campaign ends, or one is answered (`once`); how many were."""
        answered = 0
        while True:
            response = await self.link.call("GET", "/v1/question", self.key)
            if self.follow is not None:
                await self.follow.follow(response.headers)
            if response.status_code == 200:
                self.link.news.tell(response.content)
                try:
                    refusal = await self._answer(response.content)
                except LedgerError as problem:
                    if not isinstance(problem.__cause__, OSError | sqlite3.OperationalError):
                        raise
                    log.warning(
                        "the ledger cannot be written now (a full disk?): nothing was "
                        "released; trying again"
                    )
                else:
                    answered += refusal is None
                    if once and refusal in (None, Reason.SPENT):
                        return answered
            elif response.status_code == 410:
                return answered
            elif response.status_code in _REFUSED:
                raise EnrolmentError(
                    f"owner {self.owner!r} is not enrolled (give its token: --token @FILE), has "
                    "left, or was revoked; or the campaign is over, and archived"
                )
            else:
                await self._idle()
            await self.link.news.wait(_pause(response, self.link))

    async def finish(self) -> None:
        """What is left to do when nothing is sent any more, and connections are closed."""

    async def _answer(self, question: bytes) -> Reason | None:
        """Pass one question to the gate and post what it returns; the reason when the gate
        refuses.
        """
        try:
            report = await self.gate.answer(question, self.owner)
        except RefusedError as refused:
            log.info("refused: %s", refused.reason.name)
            self.link.became[refused.reason.value] += 1
            if refused.reason is Reason.FORBIDDEN:
                await self._decline(question)
            return refused.reason
        status = await self._post(question, report)
        self.link.became[COUNTED if status == 200 else NOT_COUNTED] += 1
        if status != 200:
            log.warning("the report was not counted: status %d", status)
        return None

    async def _decline(self, question: bytes) -> None:
        """Say once that the policy forbids a question, which the gate has verified: nobody waits
        for an answer then. What was spent elsewhere is not told so, and shows in nothing.
        """
        digest = decode(question[SIGNATURE:], Invitation).digest
        if digest not in self.declined:
            self.declined.add(digest)
            await self.link.call("POST", "/v1/decline", self.key, digest)

    async def _post(self, question: bytes, report: bytes) -> int:
        """Send a report until it is safe; the status of the answer."""
        return (await self.link.call("POST", "/v1/report", self.key, report)).status_code

    async def _idle(self) -> None:
        """There was nothing to answer."""


def _or_name(label: str) -> str:
    return f", another goes by the name {label!r}" if label else ""


def _pause(response: httpx.Response, link: Link) -> float:
    """On average as long as the coordinator asks us to wait; owners that came together should
    not come so again.
    """
    value = response.headers.get("retry-after", "")
    told = float(value) if value.isascii() and value.isdigit() else _POLL
    return min(max(told, link.shortest), _LONGEST) * (0.25 + 1.5 * link.coin())


Answered = asyncio.Future[bytes]


class GateQueue:
    """One gate for many owners, whoever comes when; an owner alone does not wait.

    Those that come with the same question meanwhile are answered together: a gate writes down what
    it releases before it leaves, on disk, which takes as long for many owners as for one. A few
    such batches are at the gate at a time: while one waits for its moment, the rows of another are
    worked on. Another question waits until they are done.
    """

    largest: ClassVar[int] = 500  # owners in one transaction: they share one bound of work
    at_gate: ClassVar[int] = 3  # batches at a time

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._waiting: dict[bytes, list[tuple[str, Answered]]] = {}  # by question
        self._work: asyncio.Task[None] | None = None
        # its own: in a pool, answers would wait for whatever else is done with rows
        self._thread = ThreadPoolExecutor(1)

    async def answer(self, question: bytes, owner: str) -> bytes:
        """The report of one owner, or `RefusedError`, or why the ledger could not be written."""
        future: Answered = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(question, []).append((owner, future))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        return await future

    async def _answer_all(self) -> None:
        """Batch after batch, until nobody waits."""
        at_gate: set[asyncio.Task[None]] = set()
        question = b""
        while self._waiting or at_gate:
            if not at_gate:
                question = next(iter(self._waiting))
            while question in self._waiting and len(at_gate) < self.at_gate:
                waiting = self._waiting.pop(question)
                if waiting[self.largest :]:
                    self._waiting[question] = waiting[self.largest :]
                batch = self._answer_batch(question, waiting[: self.largest])
                at_gate.add(asyncio.create_task(batch))
            _, at_gate = await asyncio.wait(at_gate, return_when=asyncio.FIRST_COMPLETED)

    async def _answer_batch(self, question: bytes, batch: list[tuple[str, Answered]]) -> None:
        """One batch through the gate."""
        answers = await self._ask_gate(question, [owner for owner, _ in batch])
        for (_, future), each in zip(batch, answers, strict=True):
            if future.done():  # cancelled: nobody wants to know any more
                continue
            if isinstance(each, Exception):
                future.set_exception(each)
            else:
                future.set_result(each)

    async def _ask_gate(
        self, question: bytes, owners: list[str]
    ) -> list[bytes | RefusedError] | list[Exception]:
        """What the gate says to each; what befalls the batch befalls every owner in it."""
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._gate.answers, question, owners)
        except Exception as problem:
            # refused for everybody, or a disk that is full: its members know what to do
            return [problem for _ in owners]


class Relayed:
    """A peer's run of the campaign, and its files in `folder`."""

    def __init__(
        self,
        folder: Path,
        terms: RelayTerms,
        keys: Sequence[Ed25519PublicKey],
        known: Collection[bytes] | None = None,
        mine: Collection[bytes] = (),
    ) -> None:
        self._folder = folder
        self.terms = terms
        self._turn = asyncio.Lock()  # a gateway holds several peers that follow one campaign
        # what lies here was checked when it came, by the key of then
        self.following = Following(terms, *keys, known=known, mine=mine)
        while self._file.exists():
            self.following.take(self._file.read_bytes())
        self.following.keys = (keys[-1],)

    async def catch_up(
        self, link: Link, key: Ed25519PrivateKey, follow: Follower | None = None
    ) -> None:
        """Fetch and take in all there is, by the keys that `follow` goes by. What was on its way
        while they were replaced is fetched again. `ForgeryError`: it does not follow.
        """
        async with self._turn:
            while True:
                before = self.following.keys
                response = await link.call("GET", self.following.wants, key)
                if response.status_code != 200:
                    break
                if follow is not None:
                    await follow.follow(response.headers)
                if self.following.keys != before:
                    continue
                data, file = response.content, self._file
                self.following.take(data)
                read_or_create(file, partial(bytes, data))

    @property
    def position(self) -> tuple[int, int]:
        """How far it has come."""
        return self.following.rosters, self.following.turns

    @property
    def _file(self) -> Path:
        """The file of what comes next."""
        return self._folder / self.following.wants.removeprefix("/v1/").replace("/", "-")


@dataclass(frozen=True, kw_only=True)
class PeerMember(Member):
    """A participant behind its gate; `rows` are its own, for the model that it keeps in `model`.

    `made` has how far it had come when models were made. They are made beside the polling, in a
    process of their own: how long that takes depends on the exact rows, when to poll does not.
    """

    relayed: Relayed
    rows: Cohort
    model: Path
    made: set[tuple[int, int]] = field(default_factory=set)
    making: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def pin(self) -> str:
        return self.relayed.following.first_key(public_bytes(self.key.public_key())).hex()

    async def take_part(self, once: bool = False) -> int:
        """Answer in turn until the campaign ends; how many questions were answered.
        `ForgeryError`: no more.
        """
        answered = await super().take_part(once=False)
        await self.relayed.catch_up(self.link, self.key, self.follow)
        return answered

    async def finish(self) -> None:
        """Make the last model of the own rows. When it is done depends on these: nothing is sent
        afterwards, nor does a connection end then.
        """
        await asyncio.gather(*self.making)
        self._make_model()
        await asyncio.gather(*self.making)

    async def _answer(self, question: bytes) -> Reason | None:
        """Answer the next question of the campaign, and no other, and sign what the gate returns
        for all to check.
        """
        await self.relayed.catch_up(self.link, self.key, self.follow)
        self._check_myself()
        if self.relayed.following.is_of_before(question):
            return Reason.UNREADABLE  # it is asked for again
        self.relayed.following.admit(question, public_bytes(self.key.public_key()))
        return await super()._answer(question)

    async def _post(self, question: bytes, report: bytes) -> int:
        # it was admitted; the campaign's key may have been replaced while the gate was at work
        digest = decode(question[SIGNATURE:], Invitation).digest
        body = sign(Spoken(digest, report), SPOKEN, self.key)
        return (await self.link.call("POST", "/v1/spoken", self.key, body)).status_code

    async def _idle(self) -> None:
        """Take in what others said; when all turns are over, make the own model anew."""
        await self.relayed.catch_up(self.link, self.key, self.follow)
        self._make_model()

    def _make_model(self) -> None:
        mine, now = self._check_myself(), self.relayed.position
        busy = any(not task.done() for task in self.making)
        if mine is not None and self.relayed.following.is_settled and not busy | (now in self.made):
            self.made.add(now)
            released = self.relayed.following.model
            self.making.append(asyncio.create_task(self._keep_model(mine, released)))

    def _check_myself(self) -> int | None:
        """My number; None: I am not on the roster yet. `ForgeryError`: it says something else
        about me.
        """
        mine = self.relayed.following.me(public_bytes(self.key.public_key()))
        if mine is not None and mine.held != self.held:
            raise ForgeryError("the roster says that you hold other attributes than you do")
        return None if mine is None else mine.number

    async def _keep_model(self, me: int, released: Released) -> None:
        keep = partial(self.relayed.terms.keep_own_model, self.model, self.rows, released, me)
        if await asyncio.to_thread(run_apart, keep):
            log.info("your own model was written; it knows your rows and is for you alone")
        else:
            log.warning("your own model could not be written to %s", self.model)
