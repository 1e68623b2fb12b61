"""A limit of seconds on many short waits, with one timer for all of them."""

import asyncio
from types import TracebackType


class Patience:
    """`with patience:` raises TimeoutError in a task that stays inside for longer than `seconds`.

    Like `asyncio.timeout`, at a fraction of its cost: nearly all waits end at once, so instead of a timer for each
    there is one that looks at the oldest. A wait may last up to twice as long as it should.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[asyncio.Task[object], float] = {}  # in the order they came
        self._late: set[asyncio.Task[object]] = set()
        self._looking = False

    def __enter__(self) -> None:
        loop, task = asyncio.get_running_loop(), _current()
        self._since[task] = loop.time()
        if not self._looking:
            self._looking = True
            loop.call_later(self._seconds, self._look, loop)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = _current()
        self._since.pop(task, None)
        if task in self._late:
            self._late.discard(task)
            if task.uncancel() == 0 and kind is asyncio.CancelledError:  # nobody else wants it to end
                raise TimeoutError from problem

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel whoever has waited too long; look again for as long as anybody waits."""
        now = loop.time()
        for task, since in list(self._since.items()):
            if now - since < self._seconds:
                break
            del self._since[task]
            self._late.add(task)
            task.cancel()
        self._looking = bool(self._since)
        if self._looking:
            loop.call_later(self._seconds, self._look, loop)


def _current() -> asyncio.Task[object]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("patience is for tasks")
    return task
