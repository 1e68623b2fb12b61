"""The data user's side of one question: reports come in, in any order, and each owner counts once.

Whatever is sent, an owner moves the mean by at most what one honest report can: bytes that are not on the mechanism's
grid are left out, a second report of an owner is left out, and so is one for another question, from a stranger, or
after the end. Everything left out is counted.
"""

from collections import Counter
from collections.abc import Collection
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

from tacit.learners.invitation import Invitation, unpack
from tacit.learners.query import Answer, Estimates
from tacit.mechanisms.reports import Reports
from tacit.types import IntArray

_BLOCK = 4096  # reports kept before they are added up


class Outcome(Enum):
    """What became of a report."""

    COUNTED = "counted"
    REPEATED = "repeated: the same bytes again"
    CONTRADICTED = "contradicted: other bytes of an owner that has reported"
    STRANGE = "strange: from somebody who was not invited"
    MALFORMED = "malformed: not a report to this question"
    LATE = "late: after the end"


class Collector:
    """Collects the reports to one invitation from the owners that were invited."""

    def __init__(self, invitation: Invitation, invited: Collection[str]) -> None:
        self.invitation = invitation
        self.counts: Counter[Outcome] = Counter()
        self._digest = invitation.digest
        self._waiting = set(invited)
        self._seen: dict[str, bytes] = {}
        self._block: list[tuple[IntArray, Reports]] = []
        self._collected: Any = None
        self._closed = False

    def accept(self, owner: str, data: bytes) -> Outcome:
        """Take one report, or leave it out and say why."""
        outcome = self._judge(owner, data)
        self.counts[outcome] += 1
        return outcome

    def close(self) -> Answer | Estimates | None:
        """End the collection; the answer to the question, None when nobody counted."""
        self._closed = True
        self._flush()
        return None if self._collected is None else self.invitation.query.answer(self._collected)

    @property
    def counted(self) -> int:
        return self.counts[Outcome.COUNTED]

    def _judge(self, owner: str, data: bytes) -> Outcome:
        if owner in self._seen:
            return Outcome.REPEATED if self._seen[owner] == _hash(data) else Outcome.CONTRADICTED
        if owner not in self._waiting:
            return Outcome.STRANGE
        if self._closed:
            return Outcome.LATE
        good, levels, reports = unpack([data], self._digest, self.invitation.query)
        if not good.all():
            return Outcome.MALFORMED
        self._waiting.discard(owner)
        self._seen[owner] = _hash(data)
        self._block.append((levels, reports))
        if len(self._block) >= _BLOCK:
            self._flush()
        return Outcome.COUNTED

    def _flush(self) -> None:
        """Add up the reports at hand; sums are whole numbers, so blocks and order do not matter."""
        if not self._block:
            return
        query = self.invitation.query
        epsilons = np.array(query.epsilons)[np.concatenate([levels for levels, _ in self._block])]
        reports = Reports(
            np.concatenate([report.points for _, report in self._block]),
            np.concatenate([report.indices for _, report in self._block]),
        )
        added = query.collect(reports, epsilons)
        self._collected = added if self._collected is None else self._collected + added
        self._block.clear()


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
