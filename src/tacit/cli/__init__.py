"""The command line: one file per command, imported when it is asked for, so that an owner need not
load what a data user needs; `reproduce` comes from another distribution. Nothing imports this room
but that distribution.

A command is a function whose last argument is a screen: its command gets --json instead, and its
help ends with an example.
"""

import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from importlib.metadata import entry_points
from itertools import pairwise
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

import tacit
from tacit._util.stopping import on_interrupt
from tacit.cli._options import BAD_INPUT, BROKEN, DONE, INTERRUPTED, TABLE, failure, in_plain_words
from tacit.cli._output import Screen

_UsageError: Any = typer.BadParameter.__mro__[1]  # its own name moved between releases of typer

# Each is a file with a function or app of its name; the list of commands says this of it, without
# importing it.
COMMANDS = {
    "demo": "See what owners add to public rows, method by method.",
    "plan": "Say what asking owners should bring, before anybody is asked.",
    "fit": "Fit a private model: every owner speaks at most once, in noise.",
    "predict": "Predict new rows with a saved model.",
    "explain": "Show why a saved model says what it says.",
    "export": "Write a saved model as ONNX or JSON, or a card of it.",
    "audit": "Check mechanisms and gate from outside.",
    "reproduce": "Run the papers' experiments, measured against published.",
    "serve": "Run the coordinator: invite owners, publish the model.",
    "helper": "Run the second server of a campaign's sums.",
    "invite": "Make a kit for each who is to take part.",
    "admin": "Look after a campaign: owners, administrators, the database.",
    "join": "Take part in a campaign: your rows stay here.",
    "model": "Fetch a campaign's model, also one for members alone.",
    "leave": "Leave a campaign: not to be asked again.",
    "vectors": "Replay test vectors of the proofs behind sums.",
    "identity": "Replace keys in the middle of a campaign.",
    "ledger": "See what an owner has released, to whom, and what is left.",
}
_LISTING = "tacit.listing"
# Commands of other distributions, which say so by an entry point of this group.
_ELSEWHERE = {"reproduce": "tacit-papers"}
_GROUP = "tacit.commands"
_FILES = {
    "leave": "join",
    "model": "join",
    "helper": "serve",
    "vectors": "serve",
    "export": "explain",
}  # commands in the file of another

Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document and nothing else on standard output."),
]
_EXAMPLE = "Example:\n"


def add(app: typer.Typer, function: Callable[..., None], name: str | None = None) -> None:
    """Make a command of a function whose last argument is a `screen` and whose docstring ends
    with an example; it is called as the function is, or by a `name`.
    """
    words, _, example = inspect.cleandoc(function.__doc__ or "").partition(_EXAMPLE)
    told = "\n\n".join(" ".join(paragraph.split()) for paragraph in words.strip().split("\n\n"))
    lines = [_EXAMPLE.strip(), *(line.strip() for line in example.strip().splitlines())]
    command = app.command(name or function.__name__, help=told, epilog="\n".join(lines))
    command(with_screen(function))


def with_screen(function: Callable[..., None]) -> Callable[..., None]:
    """The function with --json in place of its screen, whose document is printed when it ends,
    however it ends.
    """

    @wraps(function)
    def command(*, as_json: bool, **given: Any) -> None:
        screen = Screen(as_json)
        try:
            try:
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


class Commands(TyperGroup):
    """Finds a command in the file of its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Refuse what is empty: an unset variable of a shell would stand for the folder that one
        is in, and be served, or have a new key made in it.
        """
        for before, word in pairwise(["", *args]):
            if not word or (word.startswith("--") and word.endswith("=")):
                where = f" after {before}" if before.startswith("-") and not word else ""
                raise _UsageError(
                    f"{word or 'what is given'}{where} is empty, as from an unset variable"
                )
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        ctx.meta[_LISTING] = True
        super().format_help(ctx, formatter)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if _LISTING in ctx.meta:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name])
        with on_interrupt():
            module = _module_of(cmd_name)
        group = getattr(module, "app", None)
        if group is None:
            group = typer.Typer(add_completion=False)
            add(group, getattr(module, cmd_name))
        made = typer.main.get_command(group)
        made.name = cmd_name
        return made


def _module_of(command: str) -> Any:
    """The file of a command; one of another distribution may not be installed."""
    if command not in _ELSEWHERE:
        return import_module(f"tacit.cli.{_FILES.get(command, command)}")
    for entry in entry_points(group=_GROUP, name=command):
        return entry.load()
    raise ValueError(
        f"tacit {command} comes with {_ELSEWHERE[command]}: "
        f"pip install {_ELSEWHERE[command]} (in a clone: pip install ./papers)"
    )


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
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Run a command. What its user can put right is one line, not a traceback; exit statuses are
    those of `exits`.
    """
    try:
        sys.exit(app(prog_name="tacit", standalone_mode=False) or DONE)
    except _UsageError as wrong:
        if type(wrong).__name__ == "NoArgsIsHelpError":  # the help is the message
            typer.echo(wrong.format_message())
        else:
            said = in_plain_words(wrong)
            if "--json" in sys.argv:  # no command got as far as to say it
                typer.echo(json.dumps({"error": said, "status": BAD_INPUT}))
            _say(said)
        sys.exit(BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):  # before any command began
        _say("stopped")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # whoever read the output has gone: so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BAD_INPUT)
    except Exception as problem:
        status, said = failure(problem)
        if status == BROKEN:
            traceback.print_exc()
        _say(said)
        sys.exit(status)


def _say(text: str) -> None:
    typer.echo(f"tacit: {text}", err=True)
