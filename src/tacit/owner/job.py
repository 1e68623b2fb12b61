"""What a gate tells its worker, and what comes back: whose rows, which question, which reports."""

from dataclasses import dataclass

from tacit._util.types import IntArray
from tacit.learners.invitation import Invitation
from tacit.wire import message

JOB_LARGEST = 1 << 30  # bytes: both sides are ours


@message("gate job")
@dataclass(frozen=True, eq=False)
class Job:
    """Owners by their places in the gate's cohort, and the level that each of them pays."""

    invitation: Invitation
    places: IntArray
    levels: IntArray


@message("gate reports")
@dataclass(frozen=True)
class Done:
    """One report for each owner of a job."""

    reports: tuple[bytes, ...]
