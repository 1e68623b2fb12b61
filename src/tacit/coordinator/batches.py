"""Between many requests and one transaction: whatever has arrived is written together."""

import asyncio
import logging
import time

from starlette.concurrency import run_in_threadpool

from tacit.campaign.requests import Claim, UnsignedError
from tacit.coordinator.intake import Intake
from tacit.coordinator.signatures import signers
from tacit.engines.collector import Outcome

log = logging.getLogger(__name__)
Waiting = tuple[Claim, bytes, asyncio.Future[Outcome]]
_TAKERS = 3  # batches in work
_LARGEST = 512  # reports in a transaction: while one batch is written, the next is checked and a third comes in
_PAUSE = 0.002  # seconds without a report, after which a batch is whole
_WAITING = 20_000  # reports in memory; more are told to come again


class BusyError(Exception):
    """Too much is waiting, or the database is away: the sender should come again with the same bytes."""


class Batches:
    """Collects reports while others are being checked and written, then takes all that came."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._waiting: list[Waiting] = []
        self._some = asyncio.Event()

    async def put(self, claim: Claim, report: bytes) -> Outcome:
        """What became of a report, after it is safe in the database; `UnsignedError` if its owner did not sign it."""
        if len(self._waiting) >= _WAITING:
            raise BusyError
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((claim, report, future))
        self._some.set()
        return await future

    async def run(self) -> None:
        """Write batch after batch, for as long as the service lives; one is checked while another is written."""
        await run_in_threadpool(signers, ())  # compiled before anybody waits for it
        await asyncio.gather(*(self._take() for _ in range(_TAKERS)))

    async def _take(self) -> None:
        while True:
            await self._some.wait()
            await self._gathered()
            batch, self._waiting = self._waiting[:_LARGEST], self._waiting[_LARGEST:]
            if not self._waiting:
                self._some.clear()
            if not batch:
                continue
            try:
                outcomes = await run_in_threadpool(self._written, batch)
            except Exception as problem:  # whatever it was, the next batch must still be written
                log.warning("a batch could not be written: %s", type(problem).__name__)
                outcomes = [BusyError()] * len(batch)
            for (_, _, future), outcome in zip(batch, outcomes, strict=True):
                if future.done():
                    continue
                if isinstance(outcome, Exception):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)

    async def _gathered(self) -> None:
        """Wait while more keeps coming: a transaction costs as much as a hundred reports."""
        before = 0
        while before < len(self._waiting) < _LARGEST:
            before = len(self._waiting)
            await asyncio.sleep(_PAUSE)

    def _written(self, batch: list[Waiting]) -> list[Outcome | Exception]:
        """Check signatures, which is most of the work and needs no lock, then write what is signed."""
        now = time.time()
        owners = signers([claim.read(now) for claim, _, _ in batch])
        sent = [(owner, report) for owner, (_, report, _) in zip(owners, batch, strict=True) if owner is not None]
        outcomes = iter(self._intake.write(sent) if sent else ())
        return [UnsignedError() if owner is None else next(outcomes) for owner in owners]
