"""The command line; one file per command, imported when it is asked for: an owner need not load what papers need."""

import os
import sys
import traceback
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

import tacit
from tacit.cli.exits import BAD_INPUT, BROKEN, INTERRUPTED, TABLE

_UsageError: Any = typer.BadParameter.__mro__[1]  # its own name moved between releases of typer
# What a user can put right: options, files, keys, other machines. Errors of our own classes were raised to be read.
_USERS_OWN = (ValueError, OSError, ModuleNotFoundError, MemoryError)
_READABLE = ("tacit.", "sqlalchemy.exc", "httpx")

# Each is a file with a function or app of its name.
COMMANDS = ("demo", "plan", "fit", "predict", "audit", "reproduce", "serve", "helper", "join", "leave", "ledger")


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
    epilog=TABLE,
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
    """Run a command. What its user can put right is one line, not a traceback; exit statuses are those of `exits`."""
    try:
        status = app(prog_name="tacit", standalone_mode=False) or 0
        if status == INTERRUPTED:
            _say("stopped")
        sys.exit(status)
    except _UsageError as wrong:
        command = wrong.ctx.command_path if wrong.ctx is not None else "tacit"
        if type(wrong).__name__ == "NoArgsIsHelpError":  # the help is the message
            typer.echo(wrong.format_message())
        else:
            _say(f"{wrong.format_message()} See: {command} --help")
        sys.exit(BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        _say("stopped")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # whoever read the output has gone: so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BAD_INPUT)
    except _USERS_OWN as problem:
        _say(str(problem) or type(problem).__name__)
        sys.exit(BAD_INPUT)
    except Exception as problem:
        if type(problem).__module__.startswith(_READABLE):
            _say((str(problem).splitlines() or [type(problem).__name__])[0])
            sys.exit(BAD_INPUT)
        traceback.print_exc()
        _say(f"this is a fault of tacit {tacit.__version__}; please report it with the lines above")
        sys.exit(BROKEN)


def _say(text: str) -> None:
    typer.echo(f"tacit: {' '.join(text.split())}", err=True)
