"""Progress: how the time left is found, and that it is shown on a terminal."""

import os
import subprocess
import sys

import pytest

from tacit.cli import _output
from tacit.cli._output import Screen


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr("tacit.cli._output.time.monotonic", lambda: now[0])
    return now


def left(shown, clock):
    (task,) = shown.progress.tasks
    ends = task.fields.get("ends")
    return None if ends is None else ends - clock[0]


def test_the_time_left_follows_from_the_pace(clock):
    with _output.bar(Screen()) as shown:
        shown(0, 10, "first")
        assert left(shown, clock) is None
        clock[0] += 8
        shown(2, 10, "second")
        assert left(shown, clock) == pytest.approx(32)


def test_what_was_done_before_took_no_time(clock):
    with _output.bar(Screen()) as shown:
        shown(90, 100, "90 cells were done before")
        clock[0] += 5
        shown(95, 100, "one more")
        assert left(shown, clock) == pytest.approx(5)


def test_a_guess_counts_until_something_is_seen(clock):
    with _output.bar(Screen(), guess=0.5) as shown:
        shown(0, 100, "first")
        assert left(shown, clock) == pytest.approx(50)
        clock[0] += 1
        shown(10, 100, "second")
        assert left(shown, clock) == pytest.approx(9)


def test_steps_hand_their_pace_on(clock):
    pace = _output.Pace()
    with _output.steps(Screen(), 4.0, pace) as step:
        step("reading", 1.0)
        clock[0] += 3
        step("fitting", 3.0)
        assert left(step, clock) == pytest.approx(9)
        clock[0] += 9
    assert pace.seconds_for(1.0) == pytest.approx(3)


def test_a_bar_is_drawn_on_a_terminal():
    code = """
import time
from tacit.cli._output import Screen, bar
with bar(Screen()) as shown:
    for done in range(3):
        shown(done, 60, "x" * 200)
        time.sleep(0.3)
"""
    ours, theirs = pytest.importorskip("pty").openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, env={**os.environ, "COLUMNS": "80"}
    ) as process:
        process.wait(timeout=60)
        os.close(theirs)
        drawn = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "xxx…" in drawn
    assert "left" in drawn
