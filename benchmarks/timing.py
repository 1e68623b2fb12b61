"""How much to measure, and how: everything for `make bench`, a little for `--quick`; repetitions
interleaved, the least of each contestant kept, so that a busy machine disturbs little.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

import numpy as np

DIM = 50  # of shares, where a benchmark says nothing else
_LONG_ENOUGH = 0.2  # seconds of work that one disturbance cannot spoil


@dataclass(frozen=True)
class Effort:
    """Sizes of all benchmarks."""

    owners: int  # of the speed benchmark
    repetitions: int
    rival_values: int  # that a rival perturbs at a time
    memory_owners: tuple[int, ...]
    error_owners: int
    error_repetitions: int
    mechanism_owners: int


FULL = Effort(
    owners=1_000_000,
    repetitions=7,
    rival_values=100_000,
    memory_owners=(100_000, 1_000_000, 10_000_000),
    error_owners=20_000,
    error_repetitions=5,
    mechanism_owners=200_000,
)

QUICK = Effort(
    owners=20_000,
    repetitions=1,
    rival_values=10_000,
    memory_owners=(20_000, 60_000),
    error_owners=1_000,
    error_repetitions=2,
    mechanism_owners=10_000,
)


def per_item(work: Callable[[], object], count: int) -> Callable[[], float]:
    """A contestant that answers how many seconds `work` took for each of `count` things."""

    def run() -> float:
        begin = time.perf_counter()
        work()
        return (time.perf_counter() - begin) / count

    return run


def per_count(work: Callable[[], int]) -> Callable[[], float]:
    """A contestant that answers how many seconds `work` took for each of the things that it says it
    did.

    Quick work is done again until it has taken as long as slow work does, so that no contestant
    meets a lucky moment.
    """

    def run() -> float:
        begin = time.perf_counter()
        count = work()
        while time.perf_counter() - begin < _LONG_ENOUGH:
            count += work()
        return (time.perf_counter() - begin) / count

    return run


def pin(contestant: Callable[[], float]) -> Callable[[], float]:
    """The same contestant on one core: another one at every call, as somebody else may be busy
    on one of them.
    """
    turns = cycle(sorted(os.sched_getaffinity(0)))

    def run() -> float:
        with _only(next(turns)):
            return contestant()

    return run


def best(contestants: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, float]:
    """The least answer of each contestant; they take turns, so that a disturbance meets all of
    them.

    The order differs from round to round, because who runs before whom matters: caches, sleeping
    cores. The first round also compiles; being slower, it does not count.
    """
    names = list(contestants)
    least = dict.fromkeys(names, float("inf"))
    for repetition in range(repetitions):
        for place in np.random.default_rng(repetition).permutation(len(names)).tolist():
            least[names[place]] = min(least[names[place]], contestants[names[place]]())
    return least


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def _only(core: int) -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
