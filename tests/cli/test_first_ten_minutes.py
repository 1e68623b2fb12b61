"""The commands of docs/first-ten-minutes.md do what the page says, on fewer rows."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tests.cli.made import people, write_csv

PAGE = (Path(__file__).parents[2] / "docs" / "first-ten-minutes.md").read_text()
OWN_FILE = PAGE[PAGE.index("## A file of one's own") :]
COMMANDS = [
    (block.splitlines()[0], block.splitlines()[1:])
    for block in re.findall(r"```console\n\$ (tacit .*?)```", OWN_FILE, flags=re.S)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made, rows = tmp_path_factory.mktemp("own"), people(80 + 300 + 3000)
    parts = {"ours": slice(0, 80), "held_out": slice(80, 380), "customers": slice(380, None)}
    for name, part in parts.items():
        write_csv(
            made / f"{name}.csv",
            {column: values[part] for column, values in rows.items()},
            delimiter=";",
        )
    write_csv(
        made / "new.csv",
        {name: values[80:380] for name, values in rows.items() if name != "rich"},
        ";",
    )
    return made


def test_the_page_has_its_commands():
    assert [shlex.split(command)[1] for command, _ in COMMANDS] == ["fit", "plan", "fit", "predict"]


@pytest.mark.parametrize("number", range(len(COMMANDS)))
def test_a_command_does_what_the_page_says(number, folder, monkeypatch):
    monkeypatch.chdir(folder)
    command, said = COMMANDS[number]
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    refused = said[0].startswith("tacit: ")
    told = f"tacit: {result.exception}" if refused else result.output
    assert (result.exception is None) != refused, told
    sure = [
        line
        for line in said
        if line.startswith(("tacit: ", "note: column", "unit", "Each owner's"))
    ]
    assert sure
    for line in sure:
        assert line in told


def test_the_page_shows_the_file_that_is_tried(folder):
    heading = (folder / "customers.csv").read_text().splitlines()[0]
    assert f"```text\n{heading}\n" in OWN_FILE
