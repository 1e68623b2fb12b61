"""Progress on standard error, with the time left; nothing is drawn where nobody watches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def bar(console: Console) -> Progress:
    """A progress bar that vanishes when it is done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


class Steps:
    """Work in named steps; a step's weight says how much of the whole it is."""

    def __init__(self, progress: Progress, total: float) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("starting", total=total)
        self._weight = 0.0

    def __call__(self, what: str, weight: float = 1.0) -> Self:
        """Begin the next step, which ends the one before."""
        self._progress.update(self._task, advance=self._weight, description=what)
        self._weight = weight
        return self


@contextmanager
def steps(total: float) -> Iterator[Steps]:
    """Steps on standard error."""
    with bar(Console(stderr=True)) as progress:
        yield Steps(progress, total)
