"""Ctrl-C while the program is still being imported: one line and exit status 130, at once. Imports
nothing heavy.

A `KeyboardInterrupt` in the middle of somebody else's import may be swallowed, or end in a
traceback; as long as no command has begun there is nothing to keep, so leaving at once is safe.

Ctrl-C that lets the piece at hand be finished: the first one asks to stop, the second one
interrupts.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SAID = "stopped: nothing was done yet"
_INTERRUPTED = 130


def starting() -> None:
    """From now on Ctrl-C ends the program; where it is ignored (as by nohup) it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def started() -> None:
    """A command begins: Ctrl-C is again an exception, which it may catch."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    if "--json" in sys.argv:
        os.write(1, f'{{"stopped": "{_SAID}"}}\n'.encode())
    os.write(2, f"tacit: {_SAID}\n".encode())
    os._exit(_INTERRUPTED)


@contextmanager
def stopping(notice: str) -> Iterator[Callable[[], bool]]:
    """Whether somebody pressed Ctrl-C; `notice` tells them what is going on and what a second
    one does.
    """
    asked = False
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(
            2, f"\ntacit: {notice}\n".encode()
        )  # a handler may come in the middle of any other writing

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
