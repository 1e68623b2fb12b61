"""Work on private rows where it can be stopped: in a process of its own, with a deadline and a
limit of memory.

A worker is a process that was forked when its gate was made. It holds the rows, answers over a
pipe, and has no file, socket or output of its gate's. `prepare` runs in it and stays in its memory
(kernels that are compiled, constants); `compute` runs in a process forked from it for that one
piece of work, which ends at its deadline by an alarm that the system rings, whatever it is doing
then, or where it asks for more memory than was allowed. So nothing is left of work that was
abandoned, and the next piece begins as if it had not been.

What failed, whatever the reason, is None; no words, and no output, tell one reason from another.
"""

import io
import logging
import os
import resource
import select
import signal
import struct
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tacit._util.types import IntArray
from tacit.learners.query import Invitation
from tacit.wire import message

JOB_LARGEST = 1 << 30  # bytes: both sides are ours


@message("gate job")
@dataclass(frozen=True, eq=False)
class Job:
    """Owners by their places in the gate's cohort, the level that each of them answers at, and
    whether it pays (1) or has no rows (0).
    """

    invitation: Invitation
    places: IntArray
    levels: IntArray
    paid: IntArray


@message("gate reports")
@dataclass(frozen=True)
class Done:
    """One report for each owner of a job."""

    reports: tuple[bytes, ...]


Work = Callable[[bytes], bytes]
_HEADER = struct.Struct("<cdqq")  # what is asked, seconds, bytes of memory, length of the request
_LENGTH = struct.Struct("<q")
_PREPARE, _COMPUTE = b"p", b"c"
_FAILED = -1  # in place of the length of a reply
_PATIENCE = 600.0  # seconds for preparing: kernels are compiled where none are kept on disk
_GRACE = 10.0  # seconds beyond a deadline before the worker itself is given up
_SLACK = 1 << 29  # bytes that libraries take for themselves


class Timetable:
    """When the results leave of pieces of work that a worker does one after the other, by their
    bounds alone, whatever they really take: `margin` seconds after a piece is over. Threads may
    share it.
    """

    def __init__(self, margin: float) -> None:
        self._margin = margin
        self._lock = threading.Lock()
        self._free = 0.0

    def moment_of(self, seconds: float) -> float:
        """Of work of so many seconds that comes now, on a clock that never jumps."""
        with self._lock:
            self._free = max(time.monotonic(), self._free) + seconds
            return self._free + self._margin

    def wait(self) -> None:
        """Until all that was given a moment has left: whoever finds the worker busy, or free, in
        between learns how long it really took.
        """
        with self._lock:
            last = self._free + self._margin
        left = last - time.monotonic()
        if left > 0:
            time.sleep(left)


class Worker:
    """A process that prepares and computes; `prepare` and `compute` are functions of bytes that
    run there. Threads may share it: they wait for each other.
    """

    def __init__(self, prepare: Work, compute: Work) -> None:
        self._prepare, self._compute = prepare, compute
        self._lock = threading.Lock()
        self._running: bool = False
        self._owed: bool = False  # a reply that nobody waited for is still to come
        self._start()

    def prepare(self, request: bytes) -> bytes | None:
        """What `prepare` makes of a request; None: it failed."""
        return self._ask(_PREPARE, request, _PATIENCE, 0)

    def compute(
        self, request: bytes, seconds: float, memory: int, patience: float | None = None
    ) -> bytes | None:
        """What `compute` makes of a request within these limits; None: nothing. With `patience` a
        reply is looked at when its time is over, not before, and waited for no longer than that
        beyond: neither when work was done nor how long it takes to end what was abandoned shows.
        """
        return self._ask(_COMPUTE, request, seconds, memory, patience)

    def _ask(
        self,
        kind: bytes,
        request: bytes,
        seconds: float,
        memory: int,
        patience: float | None = None,
    ) -> bytes | None:
        until = time.monotonic() + seconds
        last = until + (_GRACE if patience is None else patience)
        with self._lock:
            seconds = until - time.monotonic()
            if not seconds > 0:  # others took all of its time
                return None
            if not (self._running and self._parent == os.getpid()):  # a worker is not shared
                self._start()
            try:
                if self._owed:
                    if not _comes(self._from, min(_GRACE, last - time.monotonic())):
                        raise TimeoutError
                    _read_reply(self._from, time.monotonic() + _GRACE)
                    self._owed = False
                _write(self._to, _HEADER.pack(kind, seconds, memory, len(request)) + request)
                if patience is not None:
                    time.sleep(max(0.0, min(until, last) - time.monotonic()))
                self._owed = not _comes(self._from, max(0.0, last - time.monotonic()))
                return None if self._owed else _read_reply(self._from, until + _GRACE)
            except (OSError, EOFError):  # it is gone, or late: another one next time
                self._running = False
                self._stop()
                return None

    def _start(self) -> None:
        """Fork the process that holds the rows as they are now."""
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that other threads stay behind
            process = os.fork()
        if not process:
            _serve(theirs_in, theirs_out, self._prepare, self._compute)
        os.close(theirs_in)
        os.close(theirs_out)
        self._from, self._to = ours_in, ours_out
        self._running, self._owed = True, False
        self._parent: int = os.getpid()
        self._stop: Callable[[], object] = weakref.finalize(
            self, _end, self._parent, process, ours_in, ours_out
        )

    def __repr__(self) -> str:
        return "Worker()"


def run_apart(work: Callable[[], None]) -> bool:
    """Work whose time nobody may see, done in a process of its own that steps back behind all
    others; whether it ended well.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that other threads stay behind
        child = os.fork()
    if not child:
        try:
            _leave_everything()
            os.nice(10)
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _serve(requests: int, replies: int, prepare: Work, compute: Work) -> None:
    """The life of a worker; it ends with its pipe, and does not return."""
    try:
        _leave_everything(requests, replies)
        while True:
            kind, seconds, memory, length = _HEADER.unpack(_read(requests, _HEADER.size))
            request = _read(requests, length)
            reply: bytes | None = None
            with suppress(Exception):
                reply = (
                    prepare(request)
                    if kind == _PREPARE
                    else _compute_apart(compute, request, seconds, memory)
                )
            _write(replies, _frame(reply))
    finally:
        os._exit(1)


def _compute_apart(compute: Work, request: bytes, seconds: float, memory: int) -> bytes | None:
    """One piece of work in a process of its own, which its deadline ends."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(ours)
            _limit(seconds, memory)
            _write(theirs, _frame(compute(request)))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(theirs)
    try:
        return _read_reply(ours, time.monotonic() + seconds)
    finally:
        os.close(ours)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _limit(seconds: float, memory: int) -> None:
    """An alarm that ends this process, and no more memory than this beyond what it has."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    most = now + memory + _SLACK
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _leave_everything(*pipes: int) -> None:
    """Let go of what was the gate's: its ledger, its sockets, its terminal. Nothing is logged."""
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):  # a child is waited for
        signal.signal(name, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted gate closes the pipe
    # files become nothing instead of being closed: libraries that still believe in theirs (an event
    # loop after a fork) would close what has got the same number meanwhile
    nowhere = os.open(os.devnull, os.O_RDWR)
    for file in {0, 1, 2, *map(int, os.listdir("/dev/fd"))} - {nowhere, *pipes}:
        os.dup2(nowhere, file)
    sys.stdout = sys.stderr = io.StringIO()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")


def _end(parent: int, process: int, *pipes: int) -> None:
    """Let a worker go; a process that was forked from its parent has no say in it, and may have
    other files under these numbers.
    """
    if parent != os.getpid():
        return
    for pipe in pipes:
        with suppress(OSError):
            os.close(pipe)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(process, 0)


def _frame(reply: bytes | None) -> bytes:
    return _LENGTH.pack(_FAILED) if reply is None else _LENGTH.pack(len(reply)) + reply


def _read_reply(pipe: int, until: float) -> bytes | None:
    """A reply, if all of it comes in time; else `TimeoutError` or `EOFError`."""
    (length,) = _LENGTH.unpack(_read(pipe, _LENGTH.size, until))
    return None if length < 0 else _read(pipe, length, until)


def _read(pipe: int, size: int, until: float | None = None) -> bytes:
    """So many bytes; `EOFError` where the pipe ends before, `TimeoutError` where time does."""
    read = bytearray()
    while len(read) < size:
        if until is not None and not _comes(pipe, max(0.0, until - time.monotonic())):
            raise TimeoutError
        piece = os.read(pipe, min(size - len(read), 1 << 20))
        if not piece:
            raise EOFError
        read += piece
    return bytes(read)


def _comes(pipe: int, seconds: float) -> bool:
    """Whether there is something to read, or an end, within so many seconds."""
    waiting = select.poll()  # `select` knows no file beyond the first 1,024
    waiting.register(pipe, select.POLLIN)
    return bool(waiting.poll(1000 * seconds))


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
