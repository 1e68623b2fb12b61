"""One memory measurement in a fresh process: `python -m benchmarks.memory_child streamed|held
OWNERS` prints JSON.
"""

import json
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.children import measure
from benchmarks.timing import DIM
from tacit import Box, Piecewise, Reports, Totals, seeded
from tacit._util.types import FloatArray

_BLOCK = 1 << 16  # owners
_WARM = 100  # owners: enough to compile, too few to leave a block's memory behind


def blocks(owners: int) -> Iterator[slice]:
    for start in range(0, owners, _BLOCK):
        yield slice(start, min(start + _BLOCK, owners))


def draw(mechanism: Piecewise, pool: FloatArray, rows: slice) -> Reports:
    """Reports of these owners; all blocks have the same shares, so that shares cost nothing."""
    size = rows.stop - rows.start
    return mechanism.randomize(pool[:size], seeded(1).of(np.arange(rows.start, rows.stop)))


def add_streamed(mechanism: Piecewise, pool: FloatArray, owners: int) -> Totals:
    """Draw and add up block by block: nothing of the size of `owners` exists."""
    totals = mechanism.totals(draw(mechanism, pool, slice(0, 0)))
    for rows in blocks(owners):
        totals += mechanism.totals(draw(mechanism, pool, rows))
    return totals


def draw_all(mechanism: Piecewise, pool: FloatArray, owners: int) -> Reports:
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
    add_streamed(mechanism, pool, _WARM)
    if mode == "held":
        reports = draw_all(mechanism, pool, owners)
        growth, seconds = measure(lambda: mechanism.mean(reports))
        kept = reports.nbytes
    else:
        growth, seconds = measure(lambda: add_streamed(mechanism, pool, owners))
        kept = 0
    print(json.dumps({"bytes": growth, "seconds": seconds / owners, "held": kept}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
