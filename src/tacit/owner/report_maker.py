"""Where an owner's rows are touched: shares computed and randomised with fresh coins, and nothing
decided. What may be asked, what it costs and when it leaves is the gate's.

Nothing here tells of rows but by a report: rows that a learner stumbles over count as none, owners
that do not pay have none, a warning about numbers is not given.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numba  # noqa: F401 - loaded once, before workers are forked: kernels would load it in each
import numpy as np

from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort
from tacit.learners.query import Invitation, Query, pack
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream, secure
from tacit.owner.policy import Policy
from tacit.owner.worker import JOB_LARGEST, Done, Job, Worker
from tacit.wire import decode, encode

PACKING = 0.05  # seconds before its moment that work on rows ends: for the way back


class DueReport(NamedTuple):
    """An answer to be given: whose, at which of the offered epsilons, and whether it is paid for.
    One that is not says what an owner without rows says.
    """

    owner: str
    level: int
    paid: bool


class ReportMaker:
    """Makes reports of the owners of `cohort`, named by `owners`; of each as many rows as the
    policy allows, the first ones.
    """

    def __init__(self, cohort: Cohort, owners: Sequence[str], policy: Policy) -> None:
        self._cohort = cohort
        self._policy = policy
        self._place = {owner: place for place, owner in enumerate(owners)}
        self._first = {
            unit: _first_rows(cohort, most)
            for unit, most in (("owner", policy.rows), ("record", policy.records))
        }
        self._worker: Worker | None = None
        if self._computes_apart:
            self._worker = Worker(self._try_there, self._make_there)

    @property
    def _computes_apart(self) -> bool:
        """Whether rows are worked on in a process of their own: always, but in trials."""
        return self._policy.time_step > 0

    def _make_reports(self, invitation: Invitation, due: list[DueReport]) -> list[bytes]:
        """Reports of owners; those that do not pay have no rows, and rows that a learner stumbles
        over count as none.
        """
        query, digest = invitation.query, invitation.digest
        places = np.array([self._place[each.owner] for each in due])
        epsilons = np.array([query.epsilons[each.level] for each in due])
        first, coins = self._first[query.unit], self._coins(query).of(places)
        spans = first.spans[places]
        spans[[i for i, each in enumerate(due) if not each.paid]] = 0
        cohort = Cohort(first.table, first.labels, spans)
        with suppress(Exception):
            reports = self._release(query, cohort, epsilons, coins)
            return [pack(digest, each.level, reports[i : i + 1]) for i, each in enumerate(due)]
        if len(due) > 1:  # in halves, so that nobody's report depends on another's rows
            half = len(due) // 2
            return [
                *self._make_reports(invitation, due[:half]),
                *self._make_reports(invitation, due[half:]),
            ]
        (one,) = due
        reports = self._release(query, self._nobody(1), epsilons, coins)
        return [pack(digest, one.level, reports)]

    def _release(
        self, query: Query, cohort: Cohort, epsilons: FloatArray, coins: Stream
    ) -> Reports:
        with np.errstate(all="ignore"):  # a warning about numbers would tell of rows
            return query.release(cohort, epsilons, coins)

    def _nobody(self, owners: int) -> Cohort:
        """Owners without rows."""
        return Cohort(self._cohort.X[:0], self._cohort.y[:0], np.zeros(owners + 1, dtype=np.int64))

    def _somebody(self) -> Cohort:
        """An owner with two made-up rows, as public as the schema."""
        rows, labels = np.zeros((2, self._cohort.table.shape[1])), np.array([0, 1])
        return Cohort(rows, labels, np.array([0, 2]))

    def _coins(self, query: Query) -> Stream:
        """Fresh coins from the operating system. A gate takes no seed."""
        return secure()

    def _works(self, invitation: Invitation, highest: int) -> bool:
        """Whether the question works at all, tried where it will be answered: what can be
        compiled is compiled then, before time counts.
        """
        if self._worker is None:
            return self._harmless(invitation.query, highest)
        nobody = np.zeros(0, dtype=np.int64)
        job = Job(invitation, nobody, np.array([highest]), nobody)
        return self._worker.prepare(encode(job)) is not None

    def _harmless(self, query: Query, highest: int) -> bool:
        """Whether it works at all, tried at owners without rows: a question that fails must fail
        for everybody. Then at one with a few made-up rows, so that no owner's rows are the first.
        """
        epsilons = np.array([query.epsilons[0], query.epsilons[highest]])
        try:
            coins = self._coins(query)
            reports = self._release(query, self._nobody(len(epsilons)), epsilons, coins)
            works = bool(query.valid(reports, epsilons).all())
        except Exception:  # whatever it is: no rows were looked at
            return False
        if self._computes_apart:
            with suppress(Exception):
                self._release(query, self._somebody(), epsilons[:1], coins)
        return works

    def _try_there(self, request: bytes) -> bytes:
        """`_works`, in the worker."""
        job = decode(request, Job, JOB_LARGEST)
        if not self._harmless(job.invitation.query, int(job.levels[0])):
            raise ValueError("it fails for everybody")
        return b""

    def _compute_apart(
        self, invitation: Invitation, due: list[DueReport], until: float, memory: int
    ) -> list[bytes] | None:
        """What the worker makes of owners' rows; None: nothing, in that time and memory."""
        if self._worker is None:
            raise RuntimeError("this gate has no worker")
        job = Job(
            invitation,
            np.array([self._place[each.owner] for each in due]),
            np.array([each.level for each in due]),
            np.array([int(each.paid) for each in due]),
        )
        seconds = until - time.monotonic()
        said = self._worker.compute(encode(job), seconds, memory, patience=PACKING)
        if said is None:
            return None
        reports = decode(said, Done, JOB_LARGEST).reports
        return list(reports) if len(reports) == len(due) else None

    def _make_there(self, request: bytes) -> bytes:
        """`_make_reports`, in the worker."""
        job = decode(request, Job, JOB_LARGEST)
        names = list(self._place)
        each = zip(job.places.tolist(), job.levels.tolist(), job.paid.tolist(), strict=True)
        due = [DueReport(names[place], level, bool(paid)) for place, level, paid in each]
        return encode(Done(tuple(self._make_reports(job.invitation, due))))


def _first_rows(cohort: Cohort, most: int) -> Cohort:
    """The first so many rows of every owner; no copy."""
    first, last = cohort.spans[:, 0], cohort.spans[:, 1]
    spans = np.stack([first, np.minimum(last, first + most)], axis=1)
    return Cohort(cohort.table, cohort.labels, spans)
