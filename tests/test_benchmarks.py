"""The benchmarks run; their figures are for `make bench`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
