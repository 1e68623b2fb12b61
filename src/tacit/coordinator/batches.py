"""Between many requests and one transaction: whatever has arrived is written together."""

import asyncio
import logging

from starlette.concurrency import run_in_threadpool

from tacit.coordinator.intake import Intake, Sent
from tacit.engines.collector import Outcome

log = logging.getLogger(__name__)
_LARGEST = 2000  # reports in a transaction
_WAITING = 20_000  # reports in memory; more are told to come again


class BusyError(Exception):
    """Too much is waiting, or the database is away: the sender should come again with the same bytes."""


class Batches:
    """Collects reports while a transaction runs, then writes them all in the next one."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._waiting: list[tuple[Sent, asyncio.Future[Outcome]]] = []
        self._some = asyncio.Event()

    async def put(self, sent: Sent) -> Outcome:
        """What became of a report, after it is safe in the database."""
        if len(self._waiting) >= _WAITING:
            raise BusyError
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((sent, future))
        self._some.set()
        return await future

    async def run(self) -> None:
        """Write batch after batch, for as long as the service lives."""
        while True:
            await self._some.wait()
            batch, self._waiting = self._waiting[:_LARGEST], self._waiting[_LARGEST:]
            if not self._waiting:
                self._some.clear()
            try:
                outcomes = await run_in_threadpool(self._intake.write, [sent for sent, _ in batch])
            except Exception as problem:  # whatever it was, the next batch must still be written
                log.warning("a batch could not be written: %s", type(problem).__name__)
                for _, future in batch:
                    if not future.done():
                        future.set_exception(BusyError())
                continue
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)
