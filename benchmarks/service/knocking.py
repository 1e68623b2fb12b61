"""Many connections of one process that post ready-made requests: each waits for its answer, then
posts the next.
"""

import asyncio
import re
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import uvloop

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_DATE = re.compile(rb"date: [^\r]*\r\n", re.IGNORECASE)
_AT_ONCE = 64  # connections that are being made


@dataclass
class Knocked:
    """How long it took from the first request to the last answer, and how often each status was
    answered.
    """

    seconds: float = 0.0
    effort: float = 0.0  # of whoever answers, as its own clock tells
    statuses: Counter[int] = field(default_factory=Counter)
    answer: bytes = b""  # one of them, without the date


def knock(
    port: int,
    requests: Sequence[bytes],
    connections: int,
    trust: ssl.SSLContext | None,
    effort: Callable[[], float],
) -> Knocked:
    """Post all requests over so many keep-alive connections, made before the clocks start."""
    return uvloop.run(_knock(port, requests, connections, trust, effort))


async def _knock(
    port: int,
    requests: Sequence[bytes],
    connections: int,
    trust: ssl.SSLContext | None,
    effort: Callable[[], float],
) -> Knocked:
    loop = asyncio.get_running_loop()
    queue, found = iter(requests), Knocked()
    made: list[_Connection] = []
    while len(made) < connections:
        some = [
            loop.create_connection(
                lambda: _Connection(queue, found, loop.create_future()),
                "127.0.0.1",
                port,
                ssl=trust,
            )
            for _ in range(min(_AT_ONCE, connections - len(made)))
        ]
        made += [protocol for _, protocol in await asyncio.gather(*some)]
    began, spent = time.perf_counter(), effort()
    for connection in made:
        connection.go_on()
    await asyncio.gather(*(connection.end for connection in made))
    found.seconds, found.effort = time.perf_counter() - began, effort() - spent
    for connection in made:
        connection.close()
    return found


class _Connection(asyncio.Protocol):
    """One connection; answers are told apart by their content-length."""

    def __init__(self, queue: Iterator[bytes], found: Knocked, end: asyncio.Future[None]) -> None:
        self._queue, self._found, self.end = queue, found, end
        self._got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # of a stream protocol

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, body = self._got.partition(b"\r\n\r\n")
        if not found:
            return
        length = _LENGTH.search(head)
        if length is not None and len(body) >= int(length[1]):
            self._found.statuses[int(head[9:12])] += 1
            self._found.answer = self._found.answer or _DATE.sub(b"", self._got)
            self._got = b""
            self.go_on()

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.end.done():
            self.end.set_exception(problem or ConnectionError("the server hung up"))

    def go_on(self) -> None:
        """Post the next request; without one, this is the end."""
        request = next(self._queue, None)
        if request is not None:
            self._transport.write(request)
        elif not self.end.done():
            self.end.set_result(None)

    def close(self) -> None:
        self._transport.close()
