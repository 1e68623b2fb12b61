"""The benchmarks run; their figures are for `make bench`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.walks import WalkRow

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the benchmarks read memory from /proc"
)
def test_quick_benchmarks_write_rows(tmp_path):
    out = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "floor" in done.stdout
    assert json.loads(out.read_text())


def test_a_walk_counts_each_function_once_and_switches_of_file():
    steps = [("tacit/cli/fit.py", "fit"), ("tacit/checks.py", "whole"), ("tacit/checks.py", "bad")]
    more = [("tacit/cli/plan.py", "plan"), ("tacit_papers/a/rows.py", "row")]
    row = WalkRow.of("fit", [*steps, steps[0], *more])
    assert (row.files, row.functions, row.rooms, row.switches) == (4, 5, 3, 3)
    assert row.verdict is not None
    assert row.verdict.met
