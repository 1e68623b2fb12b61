"""Owners of a gateway before their gate: those that come with the same question meanwhile are
answered together.

A gate writes down what it releases before it leaves, on disk, which takes as long for many owners
as for one.
"""

import asyncio

from tacit.owner.gate import Gate, RefusedError

_LARGEST = 200  # owners in one transaction of the ledger: a fraction of the usual time step
Answered = asyncio.Future[bytes]


class GateQueue:
    """One gate for many owners, whoever comes when; an owner alone does not wait."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._waiting: dict[bytes, list[tuple[str, Answered]]] = {}  # by question
        self._work: asyncio.Task[None] | None = None

    async def answer(self, question: bytes, owner: str) -> bytes:
        """The report of one owner, or `RefusedError`, or why the ledger could not be written."""
        future: Answered = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(question, []).append((owner, future))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        return await future

    async def _answer_all(self) -> None:
        """Batch after batch, until nobody waits."""
        while self._waiting:
            question = next(iter(self._waiting))
            waiting = self._waiting.pop(question)
            batch, rest = waiting[:_LARGEST], waiting[_LARGEST:]
            if rest:
                self._waiting[question] = rest
            answers = await self._ask_gate(question, [owner for owner, _ in batch])
            for (_, future), each in zip(batch, answers, strict=True):
                if future.done():  # cancelled: nobody wants to know any more
                    continue
                if isinstance(each, Exception):
                    future.set_exception(each)
                else:
                    future.set_result(each)

    async def _ask_gate(
        self, question: bytes, owners: list[str]
    ) -> list[bytes | RefusedError] | list[Exception]:
        """What the gate says to each; what befalls the batch befalls every owner in it."""
        try:
            return await asyncio.to_thread(self._gate.answers, question, owners)
        except Exception as problem:
            # refused for everybody, or a disk that is full: its members know what to do
            return [problem for _ in owners]
