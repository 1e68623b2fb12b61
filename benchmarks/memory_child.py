"""One memory measurement in a fresh process: `python -m benchmarks.memory_child streamed|held
OWNERS` prints JSON.

The peak is Linux's VmHWM, set back just before the work, and what the process held then is
subtracted. (ru_maxrss would not do: a child inherits its parent's peak through exec.)
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.effort import DIM
from tacit import Box, Piecewise, Reports, Totals, seeded
from tacit._util.types import FloatArray

_BLOCK = 1 << 16  # owners
_WARM = 100  # owners: enough to compile, too few to leave a block's memory behind
_REPETITIONS = 3


def blocks(owners: int) -> Iterator[slice]:
    for start in range(0, owners, _BLOCK):
        yield slice(start, min(start + _BLOCK, owners))


def draw(mechanism: Piecewise, pool: FloatArray, rows: slice) -> Reports:
    """Reports of these owners; all blocks have the same shares, so that shares cost nothing."""
    size = rows.stop - rows.start
    return mechanism.randomize(pool[:size], seeded(1).of(np.arange(rows.start, rows.stop)))


def streamed(mechanism: Piecewise, pool: FloatArray, owners: int) -> Totals:
    """Draw and add up block by block: nothing of the size of `owners` exists."""
    totals = mechanism.totals(draw(mechanism, pool, slice(0, 0)))
    for rows in blocks(owners):
        totals += mechanism.totals(draw(mechanism, pool, rows))
    return totals


def held(mechanism: Piecewise, pool: FloatArray, owners: int) -> Reports:
    """All reports at once."""
    first = draw(mechanism, pool, slice(0, 1))
    arrays = (
        np.empty((owners, mechanism.slots), array.dtype) for array in (first.points, first.indices)
    )
    reports = Reports(*arrays)
    for rows in blocks(owners):
        reports[np.arange(rows.start, rows.stop)] = draw(mechanism, pool, rows)
    return reports


def main(mode: str, owners: int) -> None:
    """Measure and print {"bytes": growth of the peak, "seconds": per owner, "held": bytes of the
    reports kept}.
    """
    pool = np.random.default_rng(1).uniform(-1, 1, (min(_BLOCK, owners), DIM))
    mechanism = Piecewise(epsilon=1.0, space=Box(dim=DIM))
    streamed(mechanism, pool, _WARM)
    if mode == "held":
        reports = held(mechanism, pool, owners)
        growth, seconds = _measured(lambda: mechanism.mean(reports))
        kept = reports.nbytes
    else:
        growth, seconds = _measured(lambda: streamed(mechanism, pool, owners))
        kept = 0
    print(json.dumps({"bytes": growth, "seconds": seconds / owners, "held": kept}))


def _measured(work: Callable[[], object]) -> tuple[int, float]:
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


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
