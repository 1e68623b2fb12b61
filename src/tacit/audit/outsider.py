"""What an outsider sees of a gate: its answers, read for what they prove, and all that a program
does besides returning a value.

Lower bounds of epsilon come out of what leaves a gate: of two gateways that hold one data set each,
or of one that holds both. Nothing here trusts the gate: an answer may be a refusal, have any length
and any bits. An outsider reads four things out of it, each a matrix with a row per owner: what kind
of answer it is at all, the estimate of the share along the line between the two data sets' shares,
the estimate coordinate by coordinate, and the raw bits. Scores of these readings, and events of the
scores, are chosen on a part of the owners and measured on others: choosing costs no confidence.

The world is held still and watched (`watch`): records of all loggers at every level, warnings,
standard output and error (of compiled code too), files opened for writing, sockets, other programs
started, and sleeps. The clock stands, and moves by sleeping alone. While it lasts, `time` and
`logging` are changed for the whole process, so nothing else should run in it.
"""

import io
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from unittest.mock import patch

import numpy as np

from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.audit.staging import share_of
from tacit.audit.statistical import (
    best_tail,
    bin_edges,
    boldness,
    epsilon_lower_bound,
    guess,
    histogram,
)
from tacit.data.cohort import Cohort
from tacit.learners.learner import ShareQuery
from tacit.learners.query import Invitation, report_size, unpack
from tacit.owner.gate import RefusedError

Readings = Mapping[str, FloatArray]
Score = Callable[[Readings], FloatArray]
_PARTS = 6  # of the owners: one teaches scores, one chooses among them, the others measure


def of_two_runs(one: Readings, other: Readings, confidence: float) -> float:
    """What is proven by n answers on each of two data sets, by the score and the threshold that
    looked best.
    """
    part = len(one["kind"]) // _PARTS
    first, second, rest = slice(0, part), slice(part, 2 * part), slice(2 * part, None)
    best: tuple[float, FloatArray, FloatArray, float] = (0.0, np.zeros(1), np.zeros(1), np.inf)
    for score in learn_scores(_part(one, first), _part(other, first)):
        tried, fresh = (
            [score(_part(each, rows)) for each in (one, other)] for rows in (second, rest)
        )
        for a, b, new, new_other in (
            (*tried, *fresh),
            (-tried[1], -tried[0], -fresh[1], -fresh[0]),
        ):
            bound, least = best_tail(a, b, _PARTS - 2, confidence)
            if bound > best[0]:
                best = (bound, new, new_other, least)
    _, new, new_other, least = best
    hits, misses = int(np.count_nonzero(new >= least)), int(np.count_nonzero(new_other >= least))
    return epsilon_lower_bound(hits, len(new), misses, len(new_other), confidence)


def of_one_run(mixed: Readings, bits: BoolArray, confidence: float) -> float:
    """What is proven by the answers of one run in which owner i holds data set A if bits[i], else
    B.

    The bits of the first owners are set aside: they teach the score and how bold to be. The others
    are guessed.
    """
    part = len(bits) // _PARTS
    first, second, rest = np.arange(part), np.arange(part, 2 * part), np.arange(2 * part, len(bits))
    ones, others = _part(mixed, first[bits[first]]), _part(mixed, first[~bits[first]])
    if not (len(ones["kind"]) and len(others["kind"])):
        return 0.0
    best: tuple[float, FloatArray, float] = (0.0, np.zeros(0), 0.0)
    for score in learn_scores(ones, others):
        tried = score(_part(mixed, second))
        bound, least = boldness(tried, bits[second], _PARTS - 2, confidence)
        if bound > best[0]:
            best = (bound, score(_part(mixed, rest)), least)
    bound, scores, least = best
    return guess(scores, bits[rest], least, confidence) if bound > 0 else 0.0


@dataclass(frozen=True, eq=False)
class AnswerReader:
    """Reads answers to one question: are the rows of `one` or of `other` behind them?"""

    invitation: Invitation
    one: Cohort
    other: Cohort

    @property
    def query(self) -> ShareQuery:
        query = self.invitation.query
        if not isinstance(query, ShareQuery):
            raise TypeError(f"answers of unit owner can be read, got {type(query).__name__}")
        return query

    def read(self, answers: Sequence[bytes | RefusedError]) -> Readings:
        """All readings of some owners' answers."""
        query, n = self.query, len(answers)
        sent = [answer if isinstance(answer, bytes) else b"" for answer in answers]
        good, levels, reports = unpack(sent, self.invitation.digest, query)
        kinds = np.array(
            [-1.0 - len(a) if isinstance(a, bytes) else 1e6 + len(str(a)) for a in answers]
        )
        kinds[good] = levels
        estimates = np.zeros((n, query.width))
        estimates[good] = query.mechanism(np.array(query.epsilons)[levels]).estimate(reports)
        size = report_size(query)
        regular = np.array([len(each) == size for each in sent])
        bits = np.zeros((n, 8 * size))
        raw = np.frombuffer(b"".join(each for each in sent if len(each) == size), np.uint8)
        bits[regular] = np.unpackbits(raw.reshape(-1, size), axis=1, bitorder="little")
        line = share_of(query, self.one) - share_of(query, self.other)
        return {
            "kind": kinds[:, None],
            "line": (estimates @ line)[:, None],
            "coordinates": estimates,
            "bits": bits,
        }


def together(parts: Sequence[Readings]) -> Readings:
    """The readings of the same owners' answers to several questions."""
    return {name: np.hstack([part[name] for part in parts]) for name in parts[0]}


def learn_scores(one: Readings, other: Readings) -> list[Score]:
    """A score for every reading: the sum of its columns' log-likelihood ratios, as frequencies on
    pilot samples say.

    It is exact where columns are independent given the rows (Laplace), and a guess elsewhere; what
    a score proves does not rest on it.
    """
    return [_likelihood_ratio(name, one[name], other[name]) for name in one]


def _likelihood_ratio(name: str, one: FloatArray, other: FloatArray) -> Score:
    tables: list[tuple[FloatArray, FloatArray]] = []
    for a, b in zip(one.T, other.T, strict=True):
        edges = bin_edges(np.concatenate([a, b]), bins=max(4, min(64, len(a) // 16)))
        ratio = (
            (histogram(a, edges) + 0.5) / (len(a) + 1) * (len(b) + 1) / (histogram(b, edges) + 0.5)
        )
        tables.append((edges, np.log(ratio)))

    def score(readings: Readings) -> FloatArray:
        columns = readings[name].T
        parts = [
            logs[np.searchsorted(edges, c, side="right")]
            for (edges, logs), c in zip(tables, columns, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    return score


def _part(readings: Readings, rows: slice | IntArray) -> Readings:
    return {name: values[rows] for name, values in readings.items()}


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
