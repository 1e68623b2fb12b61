"""One owner's part in a campaign, from enrolment to the end: its place before the gate, and the
loop that polls, asks the gate, and posts the report.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar, Protocol

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import LedgerError
from tacit.service.device.client import Link
from tacit.wire.envelopes import public_bytes

log = logging.getLogger(__name__)
_POLL = 2.0  # seconds, where the coordinator names none
_LONGEST = 3600.0  # seconds, whatever it names
_REFUSED = {403, 401, 400}
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

    @property
    def name(self) -> str:
        """The owner's public key in hex: its name in the campaign."""
        return public_bytes(self.key.public_key()).hex()

    async def enrol(self, token: str) -> None:
        """Introduce the owner by its public key and a token, and what was typed; doing it again
        with the same token changes nothing.
        """
        held = ",".join(str(number) for number in self.held)
        body = "\n".join([token, self.label, held]).rstrip("\n").encode()
        response = await self.link.call("POST", "/v1/enrol", self.key, body)
        if response.status_code != 200:
            raise EnrolmentError(
                f"owner {self.owner!r} was not enrolled: the token is unknown, another owner "
                f"used it{_or_name(self.label)}"
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
                    "left, or was revoked"
                )
            else:
                await self._idle()
            await self.link.news.wait(_pause(response, self.link.coin()))

    async def _answer(self, question: bytes) -> Reason | None:
        """Pass one question to the gate and post what it returns; the reason when the gate
        refuses.
        """
        try:
            report = await self.gate.answer(question, self.owner)
        except RefusedError as refused:
            log.info("refused: %s", refused.reason.name)
            self.link.became[refused.reason.value] += 1
            return refused.reason
        status = await self._post(question, report)
        self.link.became[COUNTED if status == 200 else NOT_COUNTED] += 1
        if status != 200:
            log.warning("the report was not counted: status %d", status)
        return None

    async def _post(self, question: bytes, report: bytes) -> int:
        """Send a report until it is safe; the status of the answer."""
        return (await self.link.call("POST", "/v1/report", self.key, report)).status_code

    async def _idle(self) -> None:
        """There was nothing to answer."""


def _or_name(label: str) -> str:
    return f", or another goes by the name {label!r}" if label else ""


def _pause(response: httpx.Response, coin: float) -> float:
    """On average as long as the coordinator asks us to wait; owners that came together should
    not come so again.
    """
    value = response.headers.get("retry-after", "")
    told = float(value) if value.isascii() and value.isdigit() else _POLL
    return min(told, _LONGEST) * (0.25 + 1.5 * coin)


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
