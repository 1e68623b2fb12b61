"""A limit of seconds on many short waits, with one timer for all of them."""

import asyncio
from types import TracebackType


class Patience:
    """`with patience:` raises TimeoutError in a task that stays inside for longer than `seconds`.

    Like `asyncio.timeout`, at a fraction of its cost: nearly all waits end at once, so instead of a timer for each
    there is one for all, which ends what it has already seen the time before. A wait may last up to twice as long as it
    should.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._new: set[asyncio.Task[object]] = set()
        self._seen: set[asyncio.Task[object]] = set()
        self._late: set[asyncio.Task[object]] = set()
        self._looking = False

    def __enter__(self) -> None:
        self._new.add(_current())
        if not self._looking:
            self._looking = True
            self._look()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = _current()
        self._new.discard(task)
        self._seen.discard(task)
        if task in self._late:
            self._late.discard(task)
            if task.uncancel() == 0 and kind is asyncio.CancelledError:  # nobody else wants it to end
                raise TimeoutError from problem

    def _look(self) -> None:
        """Cancel whoever was here the last time; look again for as long as anybody waits."""
        for task in self._seen:
            self._late.add(task)
            task.cancel()
        self._seen, self._new = self._new, set()
        self._looking = bool(self._seen)
        if self._looking:
            asyncio.get_running_loop().call_later(self._seconds, self._look)


def _current() -> asyncio.Task[object]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("patience is for tasks")
    return task
