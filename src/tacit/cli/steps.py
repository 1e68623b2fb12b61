"""Progress on standard error, with the time left; nothing is drawn where nobody watches."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text


class _Left(ProgressColumn):
    """The time left: by the pace of a task, or until the time that its field `ends` names."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        ends = task.fields.get("ends")
        left = task.time_remaining if ends is None else max(0.0, ends - time.monotonic())
        return Text("" if left is None else f"about {timedelta(seconds=round(left))} left", "cyan")


def bar(console: Console) -> Progress:
    """A progress bar that vanishes when it is done."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn(), _Left())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@dataclass
class Pace:
    """How long a step of weight 1 takes, as seen so far; may be handed from one row of steps to the next."""

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
def steps(total: float, pace: Pace | None = None) -> Iterator[Steps]:
    """Steps on standard error, of this weight in all."""
    with bar(Console(stderr=True)) as progress:
        step = Steps(progress, progress.add_task("starting", total=total), total, pace or Pace())
        yield step
        step("done", 0.0)
