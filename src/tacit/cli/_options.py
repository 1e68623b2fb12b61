"""How a function becomes a command: it gets a screen, its command gets --json, and the help ends
with an example.

Options that several commands share.

Ports to listen on, checked before a service says where it is.

Files to be written, checked before the work begins.

What a run depends on, for those who want to repeat it.
"""

import inspect
import os
import socket
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from tempfile import NamedTemporaryFile
from typing import Annotated, Any

import typer

import tacit
from tacit._util.interrupts import raise_on_interrupt
from tacit.cli._exits import failure
from tacit.cli._screen import Screen

Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document and nothing else on standard output."),
]
_EXAMPLE = "Example:\n"


def add(app: typer.Typer, function: Callable[..., None]) -> None:
    """Make a command of a function whose last argument is a `screen` and whose docstring ends
    with an example.
    """
    words, _, example = inspect.cleandoc(function.__doc__ or "").partition(_EXAMPLE)
    told = "\n\n".join(" ".join(paragraph.split()) for paragraph in words.strip().split("\n\n"))
    lines = [_EXAMPLE.strip(), *(line.strip() for line in example.strip().splitlines())]
    app.command(function.__name__, help=told, epilog="\n".join(lines))(speaking(function))


def speaking(function: Callable[..., None]) -> Callable[..., None]:
    """The function with --json in place of its screen, whose document is printed when it ends,
    however it ends.
    """

    @wraps(function)
    def command(*, as_json: bool, **given: Any) -> None:
        screen = Screen(as_json)
        try:
            try:
                raise_on_interrupt()
                function(**given, screen=screen)
            except KeyboardInterrupt:
                screen.stop()
        except (typer.Exit, BrokenPipeError):
            screen.close()
            raise
        except Exception as problem:
            screen.fail(*failure(problem))
            raise
        screen.close()

    plain = inspect.signature(function)
    asked = inspect.Parameter(
        "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json
    )
    kept = [each for each in plain.parameters.values() if each.name != "screen"]
    vars(command)["__signature__"] = plain.replace(parameters=[*kept, asked])
    return command


Seed = Annotated[
    int, typer.Option(help="Seed of the simulation: reproducible, not private.", min=0)
]
Label = Annotated[str, typer.Option(help="The column to predict.")]
SchemaFile = Annotated[
    Path | None,
    typer.Option(help="Bounds, categories and classes (TOML) instead of what public rows show."),
]
Categories = Annotated[
    list[str] | None, typer.Option(help="A column of numbers that are codes; repeat for more.")
]
LeaveOut = Annotated[
    list[str] | None, typer.Option(help="A column that is no feature; repeat for more.")
]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object per line.")]


def key_of(text: str, what: str = "campaign") -> bytes:
    """A key as it is printed."""
    if len(text) != 64 or set(text.lower()) - set("0123456789abcdef"):
        raise ValueError(f"{what} must be a key of 64 hexadecimal digits, got {text!r}")
    return bytes.fromhex(text)


def warn_of_rehearsal() -> None:
    """Say loudly what a rehearsal is not."""
    line = (
        "REHEARSAL: REPRODUCIBLE, NOT PRIVATE. Whoever knows the seed can undo every report. "
        "Use made-up rows."
    )
    typer.secho(line, fg=typer.colors.RED, bold=True, err=True)


def checked_port(host: str, port: int) -> None:
    """Refuse a port that is taken, before anything is said of it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        several = hasattr(socket, "SO_REUSEPORT")  # workers share a port with those they replace
        socket.create_server((host, port), family=family, reuse_port=several).close()
    except (OSError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ValueError(
            f"cannot listen on {host}, port {port} ({why}): choose another --port or --host"
        ) from None


def writable(option: str, out: Path) -> None:
    """Make the folder of a file; an hour's work should not end at a wrong name."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(
            f"{option} {out}: its folder cannot be made ({problem.strerror}); choose another"
        ) from None
    if out.is_dir():
        raise ValueError(f"{option} must be a file, and {out} is a folder: give a name in it")
    if out.exists() and not os.access(out, os.W_OK):
        raise ValueError(f"{option} {out} is there and must not be changed: choose another name")
    _try(option, out.parent)


def folder(option: str, out: Path) -> None:
    """Make a folder to write to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(
            f"{option} {out}: this folder cannot be made ({problem.strerror}); choose another"
        ) from None
    _try(option, out)


def _try(option: str, place: Path) -> None:
    """Rights alone do not tell: a disk may be full, or forbid it to everybody."""
    try:
        with NamedTemporaryFile(dir=place, prefix=".tacit-"):
            pass
    except OSError as problem:
        raise ValueError(
            f"{option}: {place} cannot be written to ({problem.strerror}); choose another"
        ) from None


def versions(seed: int) -> tuple[tuple[str, str], ...]:
    """Seed and versions, by name."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = tuple((name, version(name)) for name in names)
    return ("seed", str(seed)), ("tacit", tacit.__version__), ("Python", python_version()), *found
