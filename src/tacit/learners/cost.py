"""What answering a question takes at most, from public facts alone: work in steps, memory in bytes.

A step is some ten machine instructions: one entry of an array looked at, added or compared. `CALL`
is what a call into a library costs whatever the size of what it is given, `FLOP` how many products
of a matrix product go into a step. Bounds are for the worst rows that the public number of rows
allows; they say nothing about the rows that are there, so that a gate may act on them.

Claim: `seconds` bounds the time of one core that is at least a fifth as quick as a processor of
2020. tests/learners/test_cost.py measures bounds against clocks; a machine that is slower loses
its own answers, never its privacy (owner/gate.md).
"""

from collections.abc import Callable
from dataclasses import dataclass

from tacit.data.cohort import ROWS_IN_BLOCK

STEP = 1e-8  # seconds
CALL = 5_000  # steps
FLOP = 16  # products in a step
NUMBER = 8  # bytes


@dataclass(frozen=True)
class Cost:
    """Bounds that add up: of parts done one after the other, whose memory may stay in use. `calls`
    into libraries are made once for all owners that are answered in one go.

    >>> Cost(10, 100, 1) + Cost(5, 50, 2)
    Cost(work=15, memory=150, calls=3)
    >>> Cost(10, 100, 1).times(3)
    Cost(work=30, memory=300, calls=1)
    """

    work: int = 0
    memory: int = 0
    calls: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.work + other.work, self.memory + other.memory, self.calls + other.calls)

    def times(self, owners: int) -> "Cost":
        """Of so many owners in one go."""
        return Cost(owners * self.work, owners * self.memory, self.calls)

    @property
    def seconds(self) -> float:
        """The time that it takes at most."""
        return (self.work + CALL * self.calls) * STEP


def in_blocks(cost: Callable[[int], Cost], rows: int) -> Cost:
    """What takes `cost` of so many rows, done block by block (`Cohort.row_blocks`): the work of
    all rows, the memory of two blocks (one is made while the last is still there), and calls again
    for every block.

    >>> in_blocks(lambda rows: Cost(rows, 8 * rows, 1), 10 * ROWS_IN_BLOCK)
    Cost(work=90960, memory=65536, calls=1)
    """
    whole, block = cost(rows), cost(min(rows, ROWS_IN_BLOCK))
    again = -(-rows * CALL * whole.calls // ROWS_IN_BLOCK)
    return Cost(whole.work + again, 2 * block.memory, whole.calls)


def table(rows: int, columns: int, passes: int = 1) -> Cost:
    """A table of numbers that is made and gone over several times."""
    size = rows * columns
    return Cost(passes * size, NUMBER * size, 1)
