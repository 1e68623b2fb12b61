"""Where commands speak and write: tables for people or one JSON document for machines, progress
and notices on standard error.

With --json the document is all that standard output gets, `{"error": ..., "status": ...}` when
something went wrong. Progress shows the time left; it is not drawn where nobody watches or a
machine reads.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import timedelta
from functools import cached_property
from importlib.metadata import version
from math import ceil, isfinite
from platform import python_version
from typing import Any, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import tacit
from tacit.cli._options import INTERRUPTED

_OTHERS = 48  # columns of the terminal for bar, time and time left


@dataclass
class Screen:
    """What one run of a command says.

    `console` is for people, and quiet where a machine reads; `errors` is for progress, and quiet
    then, too.
    """

    as_json: bool = False
    _document: dict[str, Any] = field(init=False, default_factory=dict)
    _closed: bool = field(init=False, default=False)

    @cached_property
    def console(self) -> Console:
        return Console(quiet=self.as_json, highlight=False, emoji=False)

    @cached_property
    def errors(self) -> Console:
        return Console(stderr=True, quiet=self.as_json, highlight=False, emoji=False)

    def tell(self, **figures: Any) -> None:
        """Add figures to the document."""
        self._document |= figures

    def say(self, line: str) -> None:
        """A line for people, as long as it is."""
        self.console.print(visible(line), markup=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """A line on standard error, whoever reads."""
        typer.echo(f"tacit: {visible(' '.join(text.split()))}", err=True)

    def stop(self, text: str = "") -> NoReturn:
        """End after Ctrl-C: say what is kept."""
        said = f"stopped: {text}" if text else "stopped"
        self.tell(stopped=said)
        self.note(said)
        raise typer.Exit(INTERRUPTED)

    def close(self) -> None:
        """Print the document, once; services do it when they begin to serve."""
        if self.as_json and not self._closed:
            typer.echo(json.dumps(plain(self._document)))
        self._closed = True

    def fail(self, status: int, text: str) -> None:
        """The document of an error, in place of any other."""
        self._document = {"error": text, "status": status}
        self.close()


def visible(text: str) -> str:
    """A text in which names of other people are, for a terminal: what would steer it is shown as a
    mark.

    >>> visible("age\x1b[2K")
    'age\ufffd[2K'
    """
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)


def plain(value: Any) -> Any:
    """What JSON can say of a value: dataclasses as objects, numbers that are none as null, anything
    else as text.

    >>> import numpy as np
    >>> plain({"means": (1.0, float("nan")), 3: np.int64(4), "ok": True})
    {'means': [1.0, None], '3': 4, 'ok': True}
    """
    if type(value).__module__ == "numpy":  # which need not be loaded to speak of a missing file
        return plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def table_of(title: str = "") -> Table:
    """An empty table that spends no columns on its looks: most have to fit 80."""
    return Table(
        title=title or None,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def percent(mean: float, std: float, across: int) -> str:
    """A mean and its deviation in percent; one below the other where many columns stand side by
    side.

    >>> percent(0.931, 0.012, across=3), percent(0.931, 0.012, across=6)
    ('93.1 ± 1.2', '93.1\\n± 1.2')
    """
    gap = "\n" if across > 4 else " "
    return f"{100 * mean:.1f}{gap}± {100 * std:.1f}"


class _Left(ProgressColumn):
    """The time left, until the time that a task's field `ends` names; nothing once that was too
    early.
    """

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        ends = task.fields.get("ends")
        left = 0.0 if ends is None else ends - time.monotonic()
        return Text(f"about {timedelta(seconds=ceil(left))} left" if left > 0 else "", "cyan")


class _What(ProgressColumn):
    """What is being done, in the room that the other columns leave."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def render(self, task: Task) -> Text:
        text = Text(task.description)
        text.truncate(self.width, overflow="ellipsis")
        return text


def bars(screen: Screen) -> Progress:
    """Bars that vanish when they are done."""
    columns = (
        _What(max(16, screen.errors.width - _OTHERS)),
        BarColumn(16),
        TimeElapsedColumn(),
        _Left(),
    )
    unseen = screen.as_json or not screen.errors.file.isatty()
    return Progress(*columns, console=screen.errors, transient=True, disable=unseen)


@dataclass
class Bar:
    """One bar, told how much is done, of how much, and what; the time left follows from the pace so
    far.

    What is done when it is first told is not counted in the pace: it was done before. `guess` is
    how long a unit might take, as long as none was seen; 0: nobody knows.
    """

    progress: Progress
    task: TaskID
    guess: float = 0.0
    _first: float | None = None
    _began: float = 0.0

    def __call__(self, done: float, total: float, what: str) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = done, now
        worked = done - self._first
        each = (now - self._began) / worked if worked > 0 else self.guess
        ends = now + each * (total - done) if each else None
        self.progress.update(
            self.task, completed=done, total=total, description=what, ends=ends, visible=True
        )


@contextmanager
def bar(screen: Screen, guess: float = 0.0) -> Iterator[Bar]:
    """A bar on standard error."""
    with bars(screen) as progress:
        yield Bar(progress, progress.add_task("starting", total=None), guess)


@dataclass
class Pace:
    """How long a step of weight 1 takes, as seen so far; may be handed from one row of steps to
    the next.
    """

    seconds: float = 0.0
    weight: float = 0.0

    def seconds_for(self, weight: float) -> float | None:
        """Seconds for so much work, None as long as nothing was seen."""
        return self.seconds / self.weight * weight if self.weight else None


@dataclass
class Steps:
    """Work in named steps; a step's weight says how much of the whole it is."""

    progress: Progress
    task: TaskID
    left: float
    pace: Pace
    _weight: float = 0.0
    _began: float = field(default_factory=time.monotonic)

    def __call__(self, what: str, weight: float = 1.0) -> None:
        """Begin the next step, which ends the one before."""
        now = time.monotonic()
        self.pace.seconds += now - self._began if self._weight else 0.0
        self.pace.weight += self._weight
        self.left -= self._weight
        left = self.pace.seconds_for(self.left)
        ends = None if left is None else now + left
        self.progress.update(self.task, advance=self._weight, description=what, ends=ends)
        self._weight, self._began = weight, now


@contextmanager
def steps(screen: Screen, total: float, pace: Pace | None = None) -> Iterator[Steps]:
    """Steps on standard error, of this weight in all."""
    with bars(screen) as progress:
        step = Steps(progress, progress.add_task("starting", total=total), total, pace or Pace())
        yield step
        step("done", 0.0)


def versions(seed: int) -> tuple[tuple[str, str], ...]:
    """Seed and versions, by name."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = tuple((name, version(name)) for name in names)
    return ("seed", str(seed)), ("tacit", tacit.__version__), ("Python", python_version()), *found
