"""Memory that is no longer used goes back to the system, holes and all."""

import ctypes
import subprocess
import sys

import pytest

HOLES = """
import time
from pathlib import Path
from tacit.service.protocol.serving import settle

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

settle(SECONDS)
before = resident()
blocks = [bytes(5000) for _ in range(40_000)]
kept = blocks[::500]  # free memory between them, never at the end
full = resident()
del blocks
until = time.monotonic() + PATIENCE
while resident() > before + 50 and time.monotonic() < until:
    time.sleep(0.05)
print(before, full, resident(), len(kept))
"""


def megabytes(seconds: float, patience: float) -> list[float]:
    """Resident memory before, with and after two hundred megabytes."""
    code = HOLES.replace("SECONDS", str(seconds)).replace("PATIENCE", str(patience))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()[:3]]


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no malloc_trim"
)
def test_holes_are_given_back():
    before, full, after = megabytes(0.1, patience=60.0)
    assert full > before + 150
    assert after < before + 50
    before, _, after = megabytes(1000.0, patience=0.5)
    assert after > before + 100, "nothing to give back: the test would pass without trimming"
