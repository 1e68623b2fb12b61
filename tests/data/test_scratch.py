"""Rows that were brought together do not stay, however the program ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tacit.data.scratch import ScratchFolder

_PROGRAM = """
import time
from tacit._util.stopping import ends_in_order
from tacit.data.scratch import ScratchFolder
with ends_in_order():
    made = ScratchFolder()
    (made.path / "rows").write_text("somebody's")
    print(made.path, flush=True)
    time.sleep(100)
"""


@contextmanager
def holder(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another program, and the folder that it made in this place."""
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        env=os.environ | {"TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        assert program.stdout is not None
        try:
            yield program, Path(program.stdout.readline().strip())
        finally:
            program.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_is_asked_to_end_leaves_nothing(tmp_path, number):
    with holder(tmp_path) as (program, folder):
        assert (folder / "rows").exists()
        program.send_signal(number)
        program.wait(30)
    assert list(tmp_path.iterdir()) == []
    assert program.returncode in (-signal.SIGINT, 128 + signal.SIGTERM)


def test_what_a_killed_program_left_goes_with_the_next_and_what_is_used_stays(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "tacit-rows-of-others").mkdir()
    with holder(tmp_path) as (program, left), holder(tmp_path) as (_, used):
        program.kill()
        program.wait(30)
        assert (left / "rows").exists()
        own = ScratchFolder()
        assert not left.exists()
        assert (used / "rows").exists()
        assert own.path.exists()
        del own
    assert {each.name for each in tmp_path.iterdir()} == {"tacit-rows-of-others", used.name}


def test_what_another_machine_left_is_not_touched(tmp_path, monkeypatch):
    """Its locks may not be seen from here."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with holder(tmp_path) as (program, left):
        program.kill()
        program.wait(30)
    (left / ".held").write_text("elsewhere")
    ScratchFolder()
    assert (left / "rows").exists()
