"""A bad network between owners and coordinator: doubles, delays, reorders and damages requests, and
loses answers.

It sits on loopback and knows just enough HTTP to cut requests out of a stream; what goes wrong is
drawn from a seed.
"""

import asyncio
import random
import threading
from collections import Counter
from dataclasses import dataclass, field

_HEAD = b"\r\n\r\n"


@dataclass(frozen=True)
class Mischief:
    """How likely each thing is to happen to a request."""

    doubled: float = 0.2
    delayed: float = 0.2
    replayed: float = 0.1  # once more, later, after others
    damaged: float = 0.1
    unanswered: float = 0.1
    longest: float = 1.0  # seconds of a delay


@dataclass
class Proxy:
    """Listens on `port` and passes requests on to `target`, with mischief; runs in a thread of
    its own.
    """

    port: int
    target: int
    mischief: Mischief = field(default_factory=Mischief)
    seed: int = 1
    done: Counter[str] = field(default_factory=Counter)

    def __enter__(self) -> "Proxy":
        self._loop = asyncio.new_event_loop()
        self._random = random.Random(self.seed)  # noqa: S311 - mischief, not secrets
        self._later: set[asyncio.Task[bytes]] = set()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *problem: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, started: threading.Event) -> None:
        async def serve() -> None:
            self._stop = asyncio.Event()
            server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
            started.set()
            await self._stop.wait()
            server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        self._loop.run_until_complete(serve())
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                answer = await self._mistreated(await _message(reader))
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (
            OSError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
            ValueError,
            asyncio.CancelledError,
        ):
            pass  # cancelled at the end of all, where nobody awaits it
        finally:
            writer.close()

    async def _mistreated(self, request: bytes) -> bytes | None:
        """What the sender gets back; None: nothing, the connection breaks."""
        chance, mischief = self._random.random, self.mischief
        self.done["requests"] += 1
        if chance() < mischief.delayed:
            self.done["delayed"] += 1
            await asyncio.sleep(chance() * mischief.longest)
        if chance() < mischief.damaged:
            self.done["damaged"] += 1
            at = self._random.randrange(len(request))
            request = (
                request[:at]
                + bytes([request[at] ^ self._random.randrange(1, 256)])
                + request[at + 1 :]
            )
        if chance() < mischief.replayed:
            self.done["replayed"] += 1
            task = self._loop.create_task(self._again(request, chance() * 3 * mischief.longest))
            self._later.add(task)
            task.add_done_callback(self._later.discard)
        if chance() < mischief.doubled:
            self.done["doubled"] += 1
            answers = await asyncio.gather(self._passed_on(request), self._passed_on(request))
            answer = self._random.choice(answers)
        else:
            answer = await self._passed_on(request)
        if chance() < mischief.unanswered:
            self.done["unanswered"] += 1
            return None
        return answer or None

    async def _again(self, request: bytes, seconds: float) -> bytes:
        await asyncio.sleep(seconds)
        return await self._passed_on(request)

    async def _passed_on(self, request: bytes) -> bytes:
        """The coordinator's answer over a connection of its own; empty when there is none."""
        try:
            async with asyncio.timeout(10.0):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.target)
                try:
                    writer.write(request)
                    await writer.drain()
                    return await _message(reader)
                finally:
                    writer.close()
        except (
            OSError,
            TimeoutError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
            ValueError,
        ):
            return b""


async def _message(reader: asyncio.StreamReader) -> bytes:
    """One request or answer: head, and as much body as it says."""
    head = await reader.readuntil(_HEAD)
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    return head + (await reader.readexactly(length) if length else b"")
