"""Ctrl-C that lets the piece at hand be finished: the first one asks to stop, the second one interrupts."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping(notice: str) -> Iterator[Callable[[], bool]]:
    """Whether somebody pressed Ctrl-C; `notice` tells them what is going on and what a second one does."""
    asked = False
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(2, f"\ntacit: {notice}\n".encode())  # a handler may come in the middle of any other writing

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
