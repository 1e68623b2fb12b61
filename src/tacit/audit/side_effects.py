"""The world held still and watched: what a program does besides returning a value, written down in
order.

Watched: records of all loggers at every level, warnings, standard output and error (of compiled
code too), files opened for writing, sockets, other programs started, and sleeps. The clock stands,
and moves by sleeping alone. While it lasts, `time` and `logging` are changed for the whole process,
so nothing else should run in it.
"""

import io
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from unittest.mock import patch

Sighting = tuple[str, str]  # where, what
NOON = 1_000_000_000.0  # seconds since 1970, when the world is held still
_OUTWARD = (
    "socket.",
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.putenv",
    "os.rename",
    "os.mkdir",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@contextmanager
def watch(desk: Path) -> Iterator[list[Sighting]]:
    """What happens inside, in order; files under `desk` are the ledger's own affair."""
    seen: list[Sighting] = []
    with ExitStack() as stack:
        for each in (_clock, _logs, _warnings, _output):
            stack.enter_context(each(seen))
        stack.enter_context(_system(seen, desk))
        yield seen


@contextmanager
def _clock(seen: list[Sighting]) -> Iterator[None]:
    now = NOON

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        seen.append(("sleep", repr(float(seconds))))

    with ExitStack() as stack:
        for name in ("time", "monotonic", "perf_counter"):
            stack.enter_context(patch.object(time, name, lambda: now))
            stack.enter_context(patch.object(time, f"{name}_ns", lambda: int(now * 1e9)))
        stack.enter_context(patch.object(time, "sleep", sleep))
        yield


class _Notes(logging.Handler):
    """Writes down every record."""

    def __init__(self, seen: list[Sighting]) -> None:
        super().__init__(logging.NOTSET)
        self._seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        failure = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
        self._seen.append(
            ("log", f"{record.levelname} {record.name}: {record.getMessage()} {failure}".strip())
        )


@contextmanager
def _logs(seen: list[Sighting]) -> Iterator[None]:
    """Every logger speaks, at every level."""
    root = logging.getLogger()
    loggers = [
        root,
        *(each for each in root.manager.loggerDict.values() if isinstance(each, logging.Logger)),
    ]
    before = [(each, each.level, each.disabled) for each in loggers]
    notes = _Notes(seen)
    deaf = root.manager.disable
    try:
        root.manager.disable = logging.NOTSET
        for each in loggers:
            each.setLevel(logging.DEBUG)
            each.disabled = False
            if each is root or not each.propagate:
                each.addHandler(notes)
        yield
    finally:
        root.manager.disable = deaf
        for each, level, disabled in before:
            each.setLevel(level)
            each.disabled = disabled
            each.removeHandler(notes)


@contextmanager
def _warnings(seen: list[Sighting]) -> Iterator[None]:
    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        seen.append(("warning", f"{category.__name__}: {message}"))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with patch.object(warnings, "showwarning", show):
            yield


class _Writer(io.StringIO):
    """A standard stream that keeps what is written, in order with everything else."""

    def __init__(self, seen: list[Sighting], name: str) -> None:
        super().__init__()
        self._seen, self._name = seen, name

    def write(self, text: str) -> int:
        if text:
            self._seen.append((self._name, text))
        return len(text)


@contextmanager
def _output(seen: list[Sighting]) -> Iterator[None]:
    """Python's streams in order; what compiled code writes past them, at the end."""
    out, error = redirect_stdout(_Writer(seen, "stdout")), redirect_stderr(_Writer(seen, "stderr"))
    with out, error, _descriptor(seen, 1, "stdout"), _descriptor(seen, 2, "stderr"):
        yield


@contextmanager
def _descriptor(seen: list[Sighting], number: int, name: str) -> Iterator[None]:
    with TemporaryFile() as kept:
        real = os.dup(number)
        try:
            os.dup2(kept.fileno(), number)
            yield
        finally:
            os.dup2(real, number)
            os.close(real)
        kept.seek(0)
        written = kept.read()
    if written:
        seen.append((name, written.decode(errors="replace")))


@contextmanager
def _system(seen: list[Sighting], desk: Path) -> Iterator[None]:
    """Files written, sockets and programs, by the interpreter's audit events."""

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        note = _outward(event, arguments, str(desk))
        if note:
            seen.append(("system", note))

    _watchers().append(watch)
    try:
        yield
    finally:
        _watchers().remove(watch)


@cache
def _watchers() -> list[Callable[[str, tuple[Any, ...]], None]]:
    """Who is told of audit events. A hook stays as long as the interpreter, so there is one for
    all.
    """
    watchers: list[Callable[[str, tuple[Any, ...]], None]] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        for watch in watchers:
            watch(event, arguments)

    sys.addaudithook(hook)
    return watchers


def _outward(event: str, arguments: tuple[Any, ...], desk: str) -> str:
    if event == "open":
        path, mode, flags = arguments
        writes = (
            any(letter in mode for letter in "wax+")
            if isinstance(mode, str)
            else bool((flags or 0) & _WRITING)
        )
        return (
            f"open {path}" if writes and isinstance(path, str) and not path.startswith(desk) else ""
        )
    if not event.startswith(_OUTWARD) or any(str(each).startswith(desk) for each in arguments):
        return ""
    return f"{event} {arguments!r}"
