"""Progress on standard error, with the time left; nothing is drawn where nobody watches or a
machine reads.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TimeElapsedColumn
from rich.text import Text

from tacit.cli._screen import Screen

_OTHERS = 48  # columns of the terminal for bar, time and time left


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

    def expected(self, weight: float) -> float | None:
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
        expected = self.pace.expected(self.left)
        ends = None if expected is None else now + expected
        self.progress.update(self.task, advance=self._weight, description=what, ends=ends)
        self._weight, self._began = weight, now


@contextmanager
def steps(screen: Screen, total: float, pace: Pace | None = None) -> Iterator[Steps]:
    """Steps on standard error, of this weight in all."""
    with bars(screen) as progress:
        step = Steps(progress, progress.add_task("starting", total=total), total, pace or Pace())
        yield step
        step("done", 0.0)
