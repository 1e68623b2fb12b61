"""Programs that have a real Ray of their own, which loses workers and its only node."""

import os
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: `make ray` runs these")


def run_with_own_ray(program: str) -> Any:
    """A program whose Ray is not the one of these tests."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "RAY_ADDRESS": "local"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_ray_whose_only_node_dies_is_one_line():
    """In a process with a Ray of its own. It does not say that nothing was written: cells are."""
    dying = """
import os, signal
from tacit.engines.by_block import ray_workers

def kill_node(number):
    if number == 3:
        os.kill(os.getppid(), signal.SIGKILL)
    return number

for done in ray_workers("ray")(kill_node, range(100)):
    print(done, flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", dying], capture_output=True, text=True, check=False
    )
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith("ValueError: Ray lost a task and did not bring it back (")
    assert said.endswith("look at its nodes (ray status), and begin again")


def test_what_a_ray_tells_of_lost_workers_is_not_on_standard_output(tmp_path):
    """Where a program reads the document of a command."""
    dying = f"""
import os, pathlib, signal, time
from tacit.engines.by_block import ray_workers

def die_once(number):
    mark = pathlib.Path({str(tmp_path / "mark")!r})
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number

print(list(ray_workers("ray")(die_once, range(3))))
time.sleep(5)  # what is told comes by another thread
"""
    done = run_with_own_ray(dying)
    assert done.stdout == "[0, 1, 2]\n"
    assert "(raylet)" in done.stderr
