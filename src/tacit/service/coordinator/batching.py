"""Between many requests and one transaction: whatever has arrived is checked and done together.

Signatures of a batch are checked with libsodium in one compiled loop, while other threads run.
libsodium takes about half the time of OpenSSL, with the same verdicts on RFC 8032 signatures, and
refuses public keys of small order, with which anybody could sign. Called from Python once per
signature, a busy event loop would keep each call waiting for the interpreter's lock longer than the
check itself takes; so a batch is one call, without the lock.
"""

import asyncio
import ctypes
import logging
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Generic, TypeVar

import numpy as np
from nacl._sodium import ffi, lib  # type: ignore[import-not-found]  # private: an address has no public name
from starlette.concurrency import run_in_threadpool

from tacit._util.kernels import kernel_here
from tacit._util.types import BoolArray, ByteArray, IntArray
from tacit.service.protocol.signed_requests import Claim, Signed, UnsignedError

log = logging.getLogger(__name__)
Sent = tuple[str, bytes]  # who signed, and what
Result = TypeVar("Result")
_TAKERS = 3  # batches in work
# requests in a transaction: while one batch is written, the next is checked and a third comes in
_LARGEST = 512
_PAUSE = 0.002  # seconds without a request, after which a batch is whole
_WAITING = 20_000  # requests in memory; more are told to come again


class BusyError(Exception):
    """Too much is waiting, or the database is away: the sender should come again with the same
    bytes.
    """


class Batches(Generic[Result]):
    """Collects requests while others are being worked on, then takes all that came.

    `work` does what the signed ones ask for, in their order; it runs in a thread, several times at
    once.
    """

    def __init__(self, work: Callable[[Sequence[Sent]], Sequence[Result]]) -> None:
        self._work = work
        self._waiting: list[tuple[Claim, bytes, asyncio.Future[Result]]] = []
        self._some = asyncio.Event()

    async def put(self, claim: Claim, body: bytes) -> Result:
        """What became of a request, after it is done; `UnsignedError` if its owner did not sign
        it.
        """
        if len(self._waiting) >= _WAITING:
            raise BusyError
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((claim, body, future))
        self._some.set()
        return await future

    async def run(self) -> None:
        """Work on batch after batch, for as long as the service lives; one is checked while
        another is written.
        """
        await run_in_threadpool(signers, ())  # compiled before anybody waits for it
        await asyncio.gather(*(self._take() for _ in range(_TAKERS)))

    async def _take(self) -> None:
        while True:
            await self._some.wait()
            await self._gather()
            batch, self._waiting = self._waiting[:_LARGEST], self._waiting[_LARGEST:]
            if not self._waiting:
                self._some.clear()
            if not batch:
                continue
            claims, bodies, futures = zip(*batch, strict=True)
            try:
                outcomes = await run_in_threadpool(self._do, claims, bodies)
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

    async def _gather(self) -> None:
        """Wait while more keeps coming: a transaction costs as much as a hundred requests."""
        before = 0
        while before < len(self._waiting) < _LARGEST:
            before = len(self._waiting)
            await asyncio.sleep(_PAUSE)

    def _do(self, claims: Sequence[Claim], bodies: Sequence[bytes]) -> list[Result | Exception]:
        """Check signatures, which is most of the work and needs no lock, then do what is signed."""
        now = time.time()
        owners = signers([claim.read(now) for claim in claims])
        sent = [
            (owner, body) for owner, body in zip(owners, bodies, strict=True) if owner is not None
        ]
        outcomes = iter(self._work(sent) if sent else ())
        return [UnsignedError() if owner is None else next(outcomes) for owner in owners]


_SIGNATURE, _KEY = 64, 32
_WORD = 8  # bytes of the length that libsodium writes
_Loop = Callable[[ByteArray, IntArray, ByteArray, ByteArray, BoolArray], None]


def signers(claims: Sequence[Signed]) -> list[str | None]:
    """The owners (public keys in hex) that signed some claims, None where nobody did."""
    whole = [len(claim.signature) == _SIGNATURE and len(claim.owner) == _KEY for claim in claims]
    checked = [claim for claim, sound in zip(claims, whole, strict=True) if sound]
    verdicts = iter(_verdicts(checked).tolist())
    return [
        claim.owner.hex() if sound and next(verdicts) else None
        for claim, sound in zip(claims, whole, strict=True)
    ]


def _verdicts(claims: Sequence[Signed]) -> BoolArray:
    signed = [claim.signature + claim.preimage for claim in claims]
    ends = np.cumsum([0, *map(len, signed)])
    keys = b"".join(claim.owner for claim in claims)
    # room for the opened message and its length
    room = np.empty(max(map(len, signed), default=0) + _WORD, dtype=np.uint8)
    good = np.zeros(len(claims), dtype=np.bool_)
    _loop()(
        np.frombuffer(b"".join(signed), np.uint8), ends, np.frombuffer(keys, np.uint8), room, good
    )
    return good


@cache
def _loop() -> _Loop:
    """The loop, compiled around the place where libsodium is in this process."""
    address = int(ffi.cast("uintptr_t", ffi.addressof(lib, "crypto_sign_open")))
    pointer, length = ctypes.c_void_p, ctypes.c_ulonglong
    opened = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer, length, pointer)(address)

    @kernel_here
    def loop(
        signed: ByteArray, ends: IntArray, keys: ByteArray, room: ByteArray, good: BoolArray
    ) -> None:
        for at in range(len(good)):
            start, size = ends[at], ends[at + 1] - ends[at]
            length_at = room.ctypes.data + room.size - _WORD
            key = keys.ctypes.data + _KEY * at
            good[at] = (
                opened(room.ctypes.data, length_at, signed.ctypes.data + start, size, key) == 0
            )

    return loop
