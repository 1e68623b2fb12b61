"""Moments as a coordinator sees them: when a member's report leaves, and when a peer polls.

`through_member` is a door for the clock (clock.py): a member with its link polls, hands the
question to the gate, and posts what it says; time runs from the question's leaving the coordinator
to the report's arrival there.

A peer makes a model of its own from exact rows when all turns are over. `audit_polls` lets two
peers do so again and again, one with few records and one with many, in pairs, and looks at when the
coordinator hears from them.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.audit.clock import ClockRow, compare_pairs
from tacit.audit.device import POLICY, Table, World, parts, person
from tacit.audit.recorder import ADDRESS, Recorder
from tacit.audit.staging import names
from tacit.mechanisms.streams import SeededStream
from tacit.owner.gate import Gate
from tacit.service.device.client import Link
from tacit.service.device.join import Joining
from tacit.service.device.member import GateQueue, Member
from tacit.service.device.peer import PeerMember

_FEW, _MANY = 20, 40_000  # records of the two peers
_POLLS = 3


class _Asker(httpx.AsyncBaseTransport):
    """Hands out one question, and notes when the report comes."""

    def __init__(self, question: bytes) -> None:
        self._question = question
        self.handed, self.came = 0.0, 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        if request.url.path == "/v1/question":
            self.handed = time.perf_counter()
            return httpx.Response(200, content=self._question)
        self.came = time.perf_counter()
        return httpx.Response(200)


def through_member(gate: Gate, question: bytes) -> float:
    """Seconds from a question's leaving the coordinator to its report's arrival."""
    asker = _Asker(question)

    async def take_part() -> None:
        link = Link([httpx.AsyncClient(transport=asker, base_url=ADDRESS)])
        key = Ed25519PrivateKey.from_private_bytes(bytes(32))
        try:
            await Member(names(1)[0], key, GateQueue(gate), link).take_part(once=True)
        finally:
            await link.close()

    asyncio.run(take_part())
    return asker.came - asker.handed


def audit_polls(
    stream: SeededStream, pairs: int = 14, kind: type[Joining] = Joining
) -> Iterator[ClockRow]:
    """Whether polls tell how many records a peer has."""
    with ExitStack() as stack:
        many, few = (stack.enter_context(_settled(count, kind)) for count in (_MANY, _FEW))
        yield compare_pairs("records of a peer, by its polls", (many, few), pairs, stream)


@contextmanager
def _settled(records: int, kind: type[Joining]) -> Iterator[Callable[[], float]]:
    """A peer that has spoken; asked, it polls until the campaign ends, and makes its own model."""
    (part,) = (each for each in parts() if each.terms.relay is not None)
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    recorder = Recorder(part.terms, key, polls=_POLLS)
    with TemporaryDirectory() as name, person(Path(name)) as home:
        file = World("records.csv", _records(records)).write(Path(name))
        joining = kind(file, None, POLICY, home, name="north")

        async def begin() -> PeerMember:
            _, (member,) = await joining.members(recorder.link())
            await member.enrol("token")
            await member.take_part()
            if not isinstance(member, PeerMember):
                raise TypeError("a campaign of peers has peers")
            return member

        member = asyncio.run(begin())

        def poll() -> float:
            recorder.begin_again()
            member.made.clear()
            member.making.clear()
            asyncio.run(member.take_part())
            return recorder.sent[-1].at - recorder.sent[0].at

        yield poll


def _records(count: int) -> Table:
    rng = np.random.default_rng(count)
    ages = rng.uniform(0, 100, count)
    return {
        "age": ages.tolist(),
        "town": rng.choice(["n", "s"], count).tolist(),
        "ill": np.where(ages + 20 * rng.normal(size=count) > 50, "yes", "no").tolist(),
    }
