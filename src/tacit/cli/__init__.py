"""The command line; one file per command, imported when it is asked for: an owner need not load what papers need."""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

import tacit
from tacit.owner.ledger import LedgerError

COMMANDS = ("demo", "audit", "reproduce", "serve", "helper", "join", "ledger")  # each is a file with a function or app


class Commands(TyperGroup):
    """Finds a command in the file of its name."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"tacit.cli.{cmd_name}")
        group = getattr(module, "app", None)
        if group is None:
            group = typer.Typer(add_completion=False)
            group.command(cmd_name)(getattr(module, cmd_name))
        made = typer.main.get_command(group)
        made.name = cmd_name
        return made


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Many owners train one model; each speaks once, in noise it can prove.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tacit {tacit.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Run a command; a bad parameter is one line, not a traceback."""
    try:
        app()
    except (ValueError, LedgerError, ModuleNotFoundError) as problem:
        typer.echo(f"tacit: {problem}", err=True)
        sys.exit(2)
