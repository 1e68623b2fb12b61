"""Measurements in fresh processes: how a parent asks for one, and how a child takes it.

The peak is Linux's VmHWM, set back just before the work, and what the process held then is
subtracted. (ru_maxrss would not do: a child inherits its parent's peak through exec.)
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_REPETITIONS = 3  # the least of them counts


def figures_of(module: str, *arguments: object) -> dict[str, float]:
    """What `python -m module arguments` prints as JSON, with this process's search path."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def measure(work: Callable[[], object]) -> tuple[int, float]:
    """Bytes by which the peak exceeds what was held before, and the least seconds of a few runs."""
    # where it is refused the older peak stands, and the answer is too large, never too small
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    least = float("inf")
    for _ in range(_REPETITIONS):
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
    return _status("VmHWM") - before, least


def _status(field: str) -> int:
    """A field of this process's status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"the system does not tell {field}")
