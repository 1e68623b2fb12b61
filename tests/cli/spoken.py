"""Commands as they are found in the app, with the examples of their help; and the program run as
a user runs it.
"""

import json
import shlex
import sys
from functools import cache

import pytest
import typer.main

from tacit.cli import app, main


@cache
def commands():
    """Every command of the program by its name, those of groups too."""
    found = {}

    def walk(command, name):
        context = command.context_class(command, info_name=name)
        inner = command.list_commands(context) if hasattr(command, "list_commands") else []
        for each in inner:
            walk(command.get_command(context, each), f"{name} {each}".strip())
        if not inner:
            found[name] = command

    walk(typer.main.get_command(app), "")
    return found


def example(command):
    """The words of the example that a command's help ends with, without the program's own name."""
    _, _, told = command.epilog.partition("Example:\n")
    program, *words = shlex.split(told.replace("\\\n", " "))
    assert program == "tacit"
    return words


def run_program(words, monkeypatch, capfd):
    """What the program says on standard output and on standard error, and its exit status."""
    monkeypatch.setattr(sys, "argv", ["tacit", *words])
    capfd.readouterr()
    with pytest.raises(SystemExit) as end:
        main()
    said = capfd.readouterr()
    return said.out, said.err, end.value.code


def document(text):
    """The one JSON document that a text is, line end included."""
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
