"""How all tables on the terminal look: narrow, with one line below the headings.

Where commands speak: tables for people, or one JSON document for machines; notices and progress on
standard error.

With --json the document is all that standard output gets, `{"error": ..., "status": ...}` when
something went wrong.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from math import isfinite
from typing import Any, NoReturn

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tacit.cli._exits import INTERRUPTED


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


@dataclass
class Screen:
    """What one run of a command says.

    `console` is for people, and quiet where a machine reads; `errors` is for progress, and quiet
    then, too.
    """

    as_json: bool = False
    console: Console = field(init=False)
    errors: Console = field(init=False)
    _document: dict[str, Any] = field(init=False, default_factory=dict)
    _closed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.console = Console(quiet=self.as_json, highlight=False)
        self.errors = Console(stderr=True, quiet=self.as_json, highlight=False)

    def tell(self, **figures: Any) -> None:
        """Add figures to the document."""
        self._document |= figures

    def say(self, line: str) -> None:
        """A line for people, as long as it is."""
        self.console.print(line, markup=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """A line on standard error, whoever reads."""
        typer.echo(f"tacit: {' '.join(text.split())}", err=True)

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


def plain(value: Any) -> Any:
    """What JSON can say of a value: dataclasses as objects, numbers that are none as null, anything
    else as text.

    >>> plain({"means": (1.0, float("nan")), 3: np.int64(4), "ok": True})
    {'means': [1.0, None], '3': 4, 'ok': True}
    """
    if isinstance(value, np.generic | np.ndarray):
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
