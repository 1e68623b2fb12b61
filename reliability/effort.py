"""How much to try: everything for `make reliability`, a little for `--quick`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Sizes of all experiments."""

    kills: int
    questions: int
    bounds_checked: bool  # compile kernels anew so that every index is checked
    report_bytes: int
    flipped: int  # invitations of which every bit is flipped
    schedules: int
    canary_owners: int
    sites: int  # hostile questions to sites
    releases: int  # timed
    repetitions: int
    audited: bool  # time tacit audit too


FULL = Effort(
    kills=1_000,
    questions=100_000,
    bounds_checked=True,
    report_bytes=10_000_000,
    flipped=6,
    schedules=10_000,
    canary_owners=400,
    sites=100_000,
    releases=300,
    repetitions=5,
    audited=True,
)

QUICK = Effort(
    kills=8,
    questions=150,
    bounds_checked=False,
    report_bytes=12_000,
    flipped=1,
    schedules=30,
    canary_owners=25,
    sites=150,
    releases=20,
    repetitions=2,
    audited=False,
)
