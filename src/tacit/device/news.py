"""Owners behind one gateway tell each other when a question is out, so that none sleeps through it."""

import asyncio
from contextlib import suppress


class News:
    """Shared by the owners of a gateway: whoever waits is woken when one of them is asked something new."""

    def __init__(self) -> None:
        self._last = b""
        self._told = asyncio.Event()

    def tell(self, question: bytes) -> None:
        """Wake those that wait, if this is not the question they were woken for the last time."""
        if question != self._last:
            self._last = question
            self._told.set()
            self._told = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Until there is something new, but no longer than so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), seconds)
