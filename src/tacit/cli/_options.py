"""Options that several commands share, and checks of what they are given."""

import socket
import sys
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Annotated

import typer

import tacit

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
HomeFolder = Annotated[
    Path | None,
    typer.Option(
        help="Your home: identity, ledger, pins; default: tacit in the user's data folder.",
        envvar="TACIT_HOME",
    ),
]


def home_folder(given: Path | None, rehearsal: bool = False) -> Path:
    """The home that was given, else the user's; a rehearsal's lies apart."""
    from tacit.service.device.home import default_home

    if given is not None:
        return given
    return default_home() / "rehearsal" if rehearsal else default_home()


def read_token(given: str | None) -> list[str]:
    """A token as it was given, in a file (@FILE) or on standard input (-); none: no token."""
    if given == "-":
        return sys.stdin.readline().split()
    if given is not None and given.startswith("@"):
        return Path(given[1:]).read_text(encoding="utf-8").split()
    return [given] if given else []


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


def check_port(host: str, port: int) -> None:
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


def versions(seed: int) -> tuple[tuple[str, str], ...]:
    """Seed and versions, by name."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = tuple((name, version(name)) for name in names)
    return ("seed", str(seed)), ("tacit", tacit.__version__), ("Python", python_version()), *found
