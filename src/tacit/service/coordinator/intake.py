"""Reports coming in, many at a time: one transaction for all that arrived while the last one was
being written.

A report counts at most once, whatever is sent, repeated, reordered or late, and through whichever
worker it comes: the place for it, its invitation, exists once in the database. A sender gets its
answer after the commit.
"""

import time
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Connection, select

from tacit.learners.invitation import PURPOSE, Invitation, tag_of, unpack
from tacit.service.coordinator.batching import Sent
from tacit.service.coordinator.sql import (
    OwnerStatus,
    owner_statuses,
    upsert,
    write_reports,
)
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import COUNTED, OPEN, outcomes, questions
from tacit.wire.envelopes import opened

_NONE = 0  # the number of no question


class Outcome(Enum):
    """What became of a report."""

    COUNTED = "counted"
    REPEATED = "repeated: the same bytes again"
    CONTRADICTED = "contradicted: other bytes of an owner that has reported"
    STRANGE = "strange: from somebody who was not invited"
    MALFORMED = "malformed: not a report to this question"
    LATE = "late: after the end"


class Asked(NamedTuple):
    """A question as it was put."""

    number: int
    digest: bytes
    invitation: Invitation


class Intake:
    """Writes batches of reports to the store."""

    def __init__(self, store: Store, key: Ed25519PublicKey) -> None:
        self._store = store
        self._key = key
        self._asked: dict[bytes, Asked] = {}  # by tag: questions never change, so read once

    def write(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Judge and keep some reports; outcomes in the order of the batch."""
        with self._store.transaction() as connection:
            return self.take(connection, batch)

    def take(self, connection: Connection, batch: Sequence[Sent]) -> list[Outcome]:
        """`write` as a part of a transaction."""
        tags = [data[1:7] for _, data in batch]
        found = [Outcome.MALFORMED] * len(batch)
        if not set(tags) <= self._asked.keys():
            self._read_new(connection)
        numbers = [self._asked[tag].number if tag in self._asked else _NONE for tag in tags]
        for number, tag in sorted(set(zip(numbers, tags, strict=True))):
            items = [at for at, each in enumerate(tags) if each == tag]
            judged = self._judge(connection, number, tag, [batch[at] for at in items])
            for at, outcome in zip(items, judged, strict=True):
                found[at] = outcome
        self._count(connection, numbers, found)
        return found

    def _read_new(self, connection: Connection) -> None:
        """Read questions that have been put since."""
        known = max((asked.number for asked in self._asked.values()), default=_NONE)
        wanted = select(questions.c.number, questions.c.digest, questions.c.data).where(
            questions.c.number > known
        )
        for row in connection.execute(wanted):
            invitation = opened(row.data, Invitation, PURPOSE, self._key)
            self._asked[tag_of(row.digest)] = Asked(row.number, row.digest, invitation)

    def _judge(
        self, connection: Connection, number: int, tag: bytes, sent: list[Sent]
    ) -> list[Outcome]:
        """Outcomes of reports with one tag; those that count are written."""
        is_open = self._state(connection, number) == OPEN
        known = owner_statuses(connection, number, [owner for owner, _ in sent])
        # what a stranger sends is not even looked at
        heard = [data if owner in known else b"" for owner, data in sent]
        good = self._good(tag, heard)
        fresh: dict[int, bytes] = {}
        found = []
        for (owner, data), valid in zip(sent, good, strict=True):
            status = known.get(owner)
            if status is not None and number == _NONE:
                found.append(Outcome.MALFORMED)
            else:
                found.append(_outcome(status, data, valid, is_open, fresh))
        if not fresh:
            return found
        first = write_reports(connection, number, fresh, time.time())
        return [
            # another worker was faster with the same report
            Outcome.REPEATED
            if outcome is Outcome.COUNTED and known[owner].owner_id not in first
            else outcome
            for (owner, _), outcome in zip(sent, found, strict=True)
        ]

    def _state(self, connection: Connection, number: int) -> str | None:
        """The state of a question, which stays so until the end of this transaction."""
        held = (
            select(questions.c.state).where(questions.c.number == number).with_for_update(read=True)
        )
        return connection.execute(held).scalar()

    def _good(self, tag: bytes, reports: list[bytes]) -> list[bool]:
        """Which of some bytes are reports to the question with this tag."""
        if tag not in self._asked:
            return [False] * len(reports)
        asked = self._asked[tag]
        good: list[bool] = unpack(reports, asked.digest, asked.invitation.query)[0].tolist()
        return good

    def _count(self, connection: Connection, numbers: list[int], found: list[Outcome]) -> None:
        """Count what did not count; reports that did can be counted themselves."""
        names = (outcome.name.lower() for outcome in found)
        tally = Counter(pair for pair in zip(numbers, names, strict=True) if pair[1] != COUNTED)
        if tally:
            rows = [
                {"question": q, "outcome": what, "count": n}
                for (q, what), n in sorted(tally.items())
            ]
            added = upsert(connection, outcomes)
            more = {"count": outcomes.c.count + added.excluded.count}
            connection.execute(
                added.on_conflict_do_update(index_elements=["question", "outcome"], set_=more), rows
            )


def _outcome(
    status: OwnerStatus | None, data: bytes, valid: bool, is_open: bool, fresh: dict[int, bytes]
) -> Outcome:
    """What becomes of one report; one that counts is added to the `fresh` ones of its batch."""
    if status is None or status.owner_id is None:
        return Outcome.STRANGE
    before = fresh.get(status.owner_id, status.report)
    if before is not None:
        return Outcome.REPEATED if before == data else Outcome.CONTRADICTED
    if not valid:
        return Outcome.MALFORMED
    if not is_open:
        return Outcome.LATE
    fresh[status.owner_id] = data
    return Outcome.COUNTED
