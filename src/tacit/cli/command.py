"""How a function becomes a command: it gets a screen, its command gets --json, and the help ends with an example."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from tacit.cli.exits import failure
from tacit.cli.screen import Screen
from tacit.starting import started

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]
_EXAMPLE = "Example:\n"


def add(app: typer.Typer, function: Callable[..., None]) -> None:
    """Make a command of a function whose last argument is a `screen` and whose docstring ends with an example."""
    words, _, example = inspect.cleandoc(function.__doc__ or "").partition(_EXAMPLE)
    told = "\n\n".join(" ".join(paragraph.split()) for paragraph in words.strip().split("\n\n"))
    lines = [_EXAMPLE.strip(), *(line.strip() for line in example.strip().splitlines())]
    app.command(function.__name__, help=told, epilog="\n".join(lines))(speaking(function))


def speaking(function: Callable[..., None]) -> Callable[..., None]:
    """The function with --json in place of its screen, whose document is printed when it ends, however it ends."""

    @wraps(function)
    def command(*, as_json: bool, **given: Any) -> None:
        screen = Screen(as_json)
        try:
            try:
                started()
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
    asked = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    kept = [each for each in plain.parameters.values() if each.name != "screen"]
    vars(command)["__signature__"] = plain.replace(parameters=[*kept, asked])
    return command
