"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Seed = Annotated[int, typer.Option(help="Seed of the simulation: reproducible, not private.", min=0)]
Label = Annotated[str, typer.Option(help="The column to predict.")]
SchemaFile = Annotated[
    Path | None, typer.Option(help="Bounds, categories and classes (TOML) instead of what public rows show.")
]
Categories = Annotated[list[str] | None, typer.Option(help="A column of numbers that are codes; repeat for more.")]
LeaveOut = Annotated[list[str] | None, typer.Option(help="A column that is no feature; repeat for more.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object per line.")]


def key_of(text: str, what: str = "campaign") -> bytes:
    """A key as it is printed."""
    if len(text) != 64 or set(text.lower()) - set("0123456789abcdef"):
        raise ValueError(f"{what} must be a key of 64 hexadecimal digits, got {text!r}")
    return bytes.fromhex(text)


def warn_of_rehearsal() -> None:
    """Say loudly what a rehearsal is not."""
    line = "REHEARSAL: REPRODUCIBLE, NOT PRIVATE. Whoever knows the seed can undo every report. Use made-up rows."
    typer.secho(line, fg=typer.colors.RED, bold=True, err=True)
