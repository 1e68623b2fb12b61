"""Between many requests and one transaction: whatever has arrived is checked and done together."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

from tacit.campaign.requests import Claim, UnsignedError
from tacit.coordinator.signatures import signers

log = logging.getLogger(__name__)
Sent = tuple[str, bytes]  # who signed, and what
Said = TypeVar("Said")
_TAKERS = 3  # batches in work
_LARGEST = 512  # requests in a transaction: while one batch is written, the next is checked and a third comes in
_PAUSE = 0.002  # seconds without a request, after which a batch is whole
_WAITING = 20_000  # requests in memory; more are told to come again


class BusyError(Exception):
    """Too much is waiting, or the database is away: the sender should come again with the same bytes."""


class Batches(Generic[Said]):
    """Collects requests while others are being worked on, then takes all that came.

    `work` does what the signed ones ask for, in their order; it runs in a thread, several times at once.
    """

    def __init__(self, work: Callable[[Sequence[Sent]], Sequence[Said]]) -> None:
        self._work = work
        self._waiting: list[tuple[Claim, bytes, asyncio.Future[Said]]] = []
        self._some = asyncio.Event()

    async def put(self, claim: Claim, body: bytes) -> Said:
        """What became of a request, after it is done; `UnsignedError` if its owner did not sign it."""
        if len(self._waiting) >= _WAITING:
            raise BusyError
        future: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self._waiting.append((claim, body, future))
        self._some.set()
        return await future

    async def run(self) -> None:
        """Work on batch after batch, for as long as the service lives; one is checked while another is written."""
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
            claims, bodies, futures = zip(*batch, strict=True)
            try:
                outcomes = await run_in_threadpool(self._done, claims, bodies)
            except Exception as problem:  # whatever it was, the next batch must still be worked on
                log.warning("a batch could not be done: %s", type(problem).__name__)
                outcomes = [BusyError()] * len(batch)
            for future, outcome in zip(futures, outcomes, strict=True):
                if future.done():
                    continue
                if isinstance(outcome, Exception):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)

    async def _gathered(self) -> None:
        """Wait while more keeps coming: a transaction costs as much as a hundred requests."""
        before = 0
        while before < len(self._waiting) < _LARGEST:
            before = len(self._waiting)
            await asyncio.sleep(_PAUSE)

    def _done(self, claims: Sequence[Claim], bodies: Sequence[bytes]) -> list[Said | Exception]:
        """Check signatures, which is most of the work and needs no lock, then do what is signed."""
        now = time.time()
        owners = signers([claim.read(now) for claim in claims])
        sent = [(owner, body) for owner, body in zip(owners, bodies, strict=True) if owner is not None]
        outcomes = iter(self._work(sent) if sent else ())
        return [UnsignedError() if owner is None else next(outcomes) for owner in owners]
