"""Many connections of one process that post ready-made requests: each waits for its answer, then posts the next."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import uvloop

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def knock(port: int, requests: Sequence[bytes], connections: int) -> Counter[int]:
    """Post all requests over so many keep-alive connections; how often each status was answered."""
    return uvloop.run(_knock(port, requests, connections))


async def _knock(port: int, requests: Sequence[bytes], connections: int) -> Counter[int]:
    loop = asyncio.get_running_loop()
    queue, statuses = iter(requests), Counter[int]()
    ends = []
    for _ in range(connections):
        end = loop.create_future()
        ends.append(end)
        await loop.create_connection(lambda end=end: _Connection(queue, statuses, end), "127.0.0.1", port)  # type: ignore[misc]  # mypy does not infer defaults of lambdas
    await asyncio.gather(*ends)
    return statuses


class _Connection(asyncio.Protocol):
    """One connection; answers are told apart by their content-length."""

    def __init__(self, queue: Iterator[bytes], statuses: Counter[int], end: asyncio.Future[None]) -> None:
        self._queue, self._statuses, self._end = queue, statuses, end
        self._got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # of a stream protocol
        self._next()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, body = self._got.partition(b"\r\n\r\n")
        if not found:
            return
        length = _LENGTH.search(head)
        if length is not None and len(body) >= int(length[1]):
            self._statuses[int(head[9:12])] += 1
            self._got = b""
            self._next()

    def connection_lost(self, problem: Exception | None) -> None:
        if not self._end.done():
            self._end.set_exception(problem or ConnectionError("the server hung up"))

    def _next(self) -> None:
        request = next(self._queue, None)
        if request is not None:
            self._transport.write(request)
        elif not self._end.done():
            self._end.set_result(None)
            self._transport.close()
