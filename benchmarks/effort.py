"""How much to measure: everything for `make bench`, a little for `--quick`."""

from dataclasses import dataclass

DIM = 50


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
    owners=100_000,
    repetitions=3,
    rival_values=10_000,
    memory_owners=(100_000, 1_000_000),
    error_owners=4_000,
    error_repetitions=2,
    mechanism_owners=10_000,
)
