"""The program `tacit`, and what Ctrl-C does from its start to its end.

    with on_interrupt()         while modules are imported: one line, exit status 130, at once
    with on_interrupt(notice)   work worth keeping: the first asks to stop, the second interrupts

Else it is an exception, which a command may catch.

A `KeyboardInterrupt` in the middle of somebody else's import may be swallowed, or end in a
traceback; as long as no command has done anything there is nothing to keep, so leaving at once is
safe. This file is imported before all others, so it imports nothing heavy. The command line may
import it, and papers that extend it.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_NOTHING_DONE = "stopped: nothing was done yet"
_INTERRUPTED = 130  # 128 and the number of SIGINT, as shells count


def main() -> None:
    """Run the command line, whose import takes a moment in which Ctrl-C should not end in a
    traceback.
    """
    with on_interrupt():
        from tacit.cli import main as run
    run()


@contextmanager
def on_interrupt(notice: str = "") -> Iterator[Callable[[], bool]]:
    """What Ctrl-C does meanwhile. Without a notice there is nothing to keep, and it ends the
    program; where it is ignored (as by nohup) it stays so. With one the first asks to stop, and
    `notice` tells what a second one does; whether somebody pressed it is what a `with` is given.
    """
    pressed = False
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # written directly: a handler may come in the middle of any other writing
        os.write(2, f"\ntacit: {notice}\n".encode())

    if notice or before is signal.default_int_handler:
        signal.signal(signal.SIGINT, note if notice else _leave)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(number: int, frame: FrameType | None) -> None:
    if "--json" in sys.argv:
        os.write(1, f'{{"stopped": "{_NOTHING_DONE}"}}\n'.encode())
    os.write(2, f"tacit: {_NOTHING_DONE}\n".encode())
    os._exit(_INTERRUPTED)
