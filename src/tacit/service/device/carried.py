"""Taking part where somebody else carries the messages: a fabric that calls an owner, and brings
back what it says. Requests and answers are those of HTTP, signed by whom they always are; the
carrier sees what the network would see, and can drop and not forge.

A fabric calls a program anew for every letter, so nothing is kept between letters but the owner's
home. A letter holds the answers that matter for where the owner stands; `reply_to` runs the same
steps as over HTTP from their beginning, with these answers, up to the first requests that have
none: those are the reply. Doing it again changes nothing: enrolment and report say the same when
they are made twice, and a gate repeats what it said.

Pins, template, policy, ledger and gate are those of `join`. What is not a greeting of the pinned
campaign, or a signed question of it, is not answered; what went wrong is said here and not there.
"""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from math import ceil, inf

import httpx

from tacit._util.checks import bad
from tacit.service.device.client import TRANSIENT, Link, UnreachableError
from tacit.service.device.join import Joining
from tacit.service.device.member import EnrolmentError, Member
from tacit.service.protocol.handshake import OWNER, SIGNATURE, TIME
from tacit.wire import decode, encode, message

log = logging.getLogger(__name__)
LARGEST = 1 << 28  # bytes of a letter
GREETING, QUESTION = "/v1/campaign", "/v1/question"
_SIGNED = (OWNER, TIME, SIGNATURE)
_LEFT_OUT = {"date", "content-length", "transfer-encoding", "connection", "retry-after"}
STEP = 30.0  # seconds: a reply leaves after a whole number of these, however long rows took


@message("carried request")
@dataclass(frozen=True)
class CarriedRequest:
    """A request as its owner signed it."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def owner(self) -> str:
        """Who says to have signed it; nobody's are for everybody."""
        return dict(self.headers).get(OWNER, "")


@message("carried answer")
@dataclass(frozen=True)
class CarriedAnswer:
    """What the coordinator said to the request of an owner."""

    owner: str
    method: str
    path: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @classmethod
    def of(cls, request: CarriedRequest, response: httpx.Response) -> "CarriedAnswer":
        kept = tuple(
            (name, value) for name, value in response.headers.items() if name not in _LEFT_OUT
        )
        where = request.owner, request.method, request.path
        return cls(*where, status=response.status_code, headers=kept, body=response.content)


@message("carried letter")
@dataclass(frozen=True)
class Letter:
    """What a fabric brings to an owner: answers, and when it was sent."""

    sent: int
    answers: tuple[CarriedAnswer, ...]


@message("carried reply")
@dataclass(frozen=True)
class CarriedReply:
    """What it takes back: requests; none if the owner is done, or will not take part."""

    requests: tuple[CarriedRequest, ...]


class UnansweredError(Exception):
    """There is no answer yet: the request is to be carried."""


class Carried(httpx.AsyncBaseTransport):
    """The other side, as far as a letter has its answers; what it has none to is `waiting`."""

    def __init__(self, letter: Letter) -> None:
        self._answers = {(each.owner, each.method, each.path): each for each in letter.answers}
        self._date = formatdate(letter.sent, usegmt=True)
        self.waiting: list[CarriedRequest] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        signed = tuple((name, request.headers[name]) for name in _SIGNED if name in request.headers)
        asked = CarriedRequest(request.method, request.url.path, signed, body)
        where = asked.owner, asked.method, asked.path
        # what is said to everybody is the letter's, however often it is asked for
        known = self._answers.pop(where, None) if asked.owner else self._answers.get(where)
        if known is None:
            self.waiting.append(asked)
            raise UnansweredError
        # what is asked next has no answer in this letter: there is nothing to wait for
        headers = [*known.headers, ("date", self._date), ("retry-after", "0")]
        return httpx.Response(known.status, headers=headers, content=known.body)


@dataclass(frozen=True)
class CarriedPart:
    """What an owner brings to a campaign that is carried: its rows, policy and home, its tokens,
    the campaign's key that it pinned, and the name under which it knows the coordinator.

    `step` is in seconds. A third of it is for reading the rows, which every letter does again: it
    passes whether they take it or not. The gate's moments count from there, in the policy's
    `time_step`; a reply leaves half of one after whole steps, so that no moment is near.
    """

    joining: Joining
    tokens: tuple[str, ...]
    pinned: bytes
    address: str
    step: float = STEP

    def __post_init__(self) -> None:
        if not 0 < self.step < inf:
            raise bad("step", "seconds above 0", self.step)

    def check_step(self) -> None:
        """Read the rows as a letter would, before anything is sent: refuse a step that is too
        short for them, since replies would tell how many they are.
        """
        began = time.monotonic()
        self.joining.read_text()
        took = time.monotonic() - began
        if not took <= self.step / 3:
            raise ValueError(
                f"step must be at least three times as long as it takes to read the rows, got "
                f"{self.step:g} seconds for {took:.2g}: set step = {ceil(4 * took)} or more"
            )

    def reply_to(self, data: bytes) -> bytes:
        """The reply to a letter, whatever it is; one that cannot be answered is answered by
        nothing. When it leaves depends on the question, and not on rows that are read in a third of
        a step.
        """
        began = time.monotonic()
        requests: tuple[CarriedRequest, ...] = ()
        try:
            requests = asyncio.run(self._go_on(decode(data, Letter, LARGEST), began))
        except Exception as problem:  # what it says may be about rows, or about this machine
            log.warning("a letter was not answered (%s)", type(problem).__name__, exc_info=True)
        moment = float(self.joining.policy.time_step)
        if moment > 0:
            first = began + self.step / 3 + moment / 2
            time.sleep((first - time.monotonic()) % self.step)
        return encode(CarriedReply(requests))

    async def _go_on(self, letter: Letter, began: float) -> tuple[CarriedRequest, ...]:
        """Do what `join` does as far as it is answered; what is to be carried next."""
        carried = Carried(letter)
        async with httpx.AsyncClient(transport=carried, base_url=self.address) as client:
            link = Link([client], patience=0.0, shortest=0.0)
            with suppress(UnansweredError):
                greeted, members = await self.joining.members(link, self.pinned)
                if self.joining.policy.time_step > 0:
                    await asyncio.sleep(began + self.step / 3 - time.monotonic())
                if len(self.tokens) < len(members):
                    raise ValueError(f"tokens must be one for each of {len(members)} owners")
                once = greeted.terms.once
                given = zip(members, self.tokens, strict=False)
                await asyncio.gather(*(_take_part(*each, once=once) for each in given))
        return tuple(carried.waiting)


async def _take_part(member: Member, token: str, *, once: bool) -> None:
    """What befalls one owner of a node is no reason for the others to be silent."""
    with suppress(UnansweredError):
        try:
            await member.enrol(token)
            await member.take_part(once=once)
            await member.finish()
        except (EnrolmentError, UnreachableError) as problem:
            log.warning("an owner takes no part (%s)", problem)


class Courier:
    """At the data user: takes owners' requests to the coordinator, and keeps of its answers what a
    letter has to hold.
    """

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._enrolled: dict[str, CarriedAnswer] = {}
        self._latest: dict[str, list[CarriedAnswer]] = {}

    async def letter(self, owners: set[str]) -> bytes:
        """The letter to whoever these owners are with; at first they are nobody."""
        greeting = CarriedRequest("GET", GREETING, (), b"")
        answers = [await self._ask(greeting)]
        for owner in sorted(owners):
            answers += [self._enrolled[owner]] if owner in self._enrolled else []
            answers += self._latest.get(owner, [])
        return encode(Letter(int(time.time()), tuple(answers)))

    async def take(self, reply: bytes) -> set[str]:
        """Make the requests of a reply; whose they are. Nobody's: nothing is to be brought back."""
        requests = [each for each in decode(reply, CarriedReply, LARGEST).requests if each.owner]
        for request in requests:
            answer = await self._ask(request)
            if answer.status in TRANSIENT:
                continue  # it is asked again
            if request.path == "/v1/enrol":
                self._enrolled[request.owner] = answer
            elif request.path == QUESTION:
                self._latest[request.owner] = [answer]
            else:
                self._latest.setdefault(request.owner, []).append(answer)
        return {request.owner for request in requests}

    async def _ask(self, request: CarriedRequest) -> CarriedAnswer:
        response = await self._client.request(
            request.method, request.path, headers=dict(request.headers), content=request.body
        )
        return CarriedAnswer.of(request, response)
