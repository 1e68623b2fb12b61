"""Strangers, and members that are no better, at a service: what each kind does without end."""

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.protocol.handshake import Request, request_headers

PATIENCE = 30.0


@dataclass(frozen=True)
class Asked:
    """What somebody signs: by which secret key, for which campaign, on which route; with which
    body, and headers besides.
    """

    key: bytes
    campaign: bytes
    method: str
    path: str
    body: bytes = b""
    more: tuple[tuple[str, str], ...] = ()

    def signed(self) -> bytes:
        """The request as it is sent now."""
        asked = Request(self.campaign, self.method, self.path, int(time.time()), self.body)
        headers = request_headers(asked, Ed25519PrivateKey.from_private_bytes(self.key))
        headers |= {"host": "x", "content-length": str(len(self.body)), **dict(self.more)}
        lines = [f"{self.method} {self.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


@dataclass(frozen=True)
class Target:
    """Where the service is; addresses that strangers come from; what members ask that are no better
    than they are, and the path of what they say and is nonsense.
    """

    port: int
    certificate: Path
    sources: tuple[str, ...]
    members: tuple[Asked, ...]
    nonsense: str

    def member_of(self, source: str) -> Asked:
        """The member that comes from an address."""
        return self.members[self.sources.index(source) % len(self.members)]

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Attack = Callable[[Target, ssl.SSLContext, str], Awaitable[None]]


async def connect(target: Target, trust: ssl.SSLContext | None, source: str) -> Stream:
    return await asyncio.wait_for(
        asyncio.open_connection("127.0.0.1", target.port, ssl=trust, local_addr=(source, 0)),
        PATIENCE,
    )


async def send_endless_heads(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """Header after header, as fast as it is taken."""
    _, writer = await connect(target, trust, source)
    writer.write(b"GET / HTTP/1.1\r\n")
    while True:
        writer.write(b"x: y\r\n" * 500)
        await writer.drain()
        await asyncio.sleep(0.01)


async def stay_silent(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """A handshake, then nothing."""
    reader, _ = await connect(target, trust, source)
    await reader.read()


async def send_slow_bodies(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """A body that comes byte by byte."""
    _, writer = await connect(target, trust, source)
    writer.write(b"POST /v1/report HTTP/1.1\r\nhost: x\r\ncontent-length: 4000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.5)


async def send_garbage(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """Random bytes where a request should be."""
    reader, writer = await connect(target, trust, source)
    writer.write(os.urandom(2000))
    await reader.read()


async def ask_for_nothing(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """Requests for what is not there, one after the other."""
    reader, writer = await connect(target, trust, source)
    while not reader.at_eof():
        writer.write(b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n")
        await writer.drain()
        await reader.read(1 << 16)


async def look_without_end(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """Requests for what everybody may look at, one after the other."""
    reader, writer = await connect(target, trust, source)
    while not reader.at_eof():
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await writer.drain()
        await reader.read(1 << 16)


async def _say_without_end(
    target: Target, trust: ssl.SSLContext, source: str, request: bytes
) -> None:
    """The same again as soon as there is an answer."""
    reader, writer = await connect(target, trust, source)
    while not reader.at_eof():
        writer.write(request)
        await writer.drain()
        await reader.read(1 << 16)


async def ask_without_end(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """A member's own requests, one after the other."""
    await _say_without_end(target, trust, source, target.members[0].signed())


async def ask_together(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """The same of several members, each from an address of its own."""
    await _say_without_end(target, trust, source, target.member_of(source).signed())


async def report_nonsense(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """What members sign, and what is no report."""
    said = replace(
        target.member_of(source), method="POST", path=target.nonsense, body=os.urandom(600)
    )
    await _say_without_end(target, trust, source, said.signed())


async def come_anew(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """One request of a member on a connection, and another connection at once."""
    request = target.member_of(source).signed()
    for _ in range(20):
        reader, writer = await connect(target, trust, source)
        writer.write(request)
        await reader.read(1 << 16)
        writer.close()


async def begin_handshakes(target: Target, trust: ssl.SSLContext, source: str) -> None:
    """A connection that does not say what a handshake begins with."""
    reader, writer = await connect(target, None, source)
    writer.write(b"\x16\x03\x01")
    await reader.read()


KINDS: dict[str, Attack] = {
    "endless headers": send_endless_heads,
    "silent connections": stay_silent,
    "slow bodies": send_slow_bodies,
    "garbage": send_garbage,
    "floods of 404": ask_for_nothing,
    "handshakes": begin_handshakes,
    "floods of pages": look_without_end,
    "a member": ask_without_end,
    "several members": ask_together,
    "members' nonsense": report_nonsense,
    "members anew": come_anew,
}


async def _keep_coming(attack: Attack, target: Target, sources: list[str]) -> None:
    """One attacker after another in the same place, whoever is turned away; a little apart."""
    trust = target.trust()

    async def one(source: str) -> None:
        while True:
            with suppress(OSError, asyncio.TimeoutError, EOFError, ssl.SSLError):
                await attack(target, trust, source)
            await asyncio.sleep(1.0)

    await asyncio.gather(*(one(source) for source in sources))


def besiege(name: str, target: Target, strangers: int) -> None:
    """A process of strangers of one kind."""
    os.nice(10)
    sources = [source for source, _ in zip(cycle(target.sources), range(strangers), strict=False)]
    asyncio.run(_keep_coming(KINDS[name], target, sources))
