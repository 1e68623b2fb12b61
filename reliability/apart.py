"""Work in a process of its own: a crash is seen, and its memory can be told."""

import multiprocessing
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def apart(work: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What `work` answers for each part, every part in its own process; None for one that died."""
    context = multiprocessing.get_context("fork")  # compiled kernels come along
    started = []
    for part in parts:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(theirs, work, part))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # threads of the linear algebra library are idle here
            process.start()
        theirs.close()
        started.append((process, ours))
    answers = []
    for process, ours in started:
        try:
            answers.append(ours.recv())
        except EOFError:
            answers.append(None)
        process.join()
    return answers


def _run(pipe: Connection, work: Callable[..., Any], part: tuple[Any, ...]) -> None:
    pipe.send(work(*part))


def forget_peak() -> None:
    """Begin measuring the peak of this process's memory anew."""
    with suppress(
        OSError
    ):  # where it is refused the older peak stands, and growth looks smaller only if it was larger
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """The largest memory of this process since `forget_peak`, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
