"""Reports coming in, many at a time: one transaction for all that arrived while the last one was being written.

A report counts at most once, whatever is sent, repeated, reordered or late, and through whichever worker it comes: the
place (question, owner) exists once in the database. A sender gets its answer after the commit.
"""

import time
from collections import Counter
from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Connection, select

from tacit.coordinator.bulk import add_reports, heard_from, places_of
from tacit.coordinator.store import COUNTED, OPEN, Store
from tacit.coordinator.tables import outcomes, questions
from tacit.engines.collector import Outcome
from tacit.learners.invitation import PURPOSE, Invitation, tag_of, unpack
from tacit.wire.signed import opened

Sent = tuple[str, bytes]  # owner, report


class Intake:
    """Writes batches of reports to the store."""

    def __init__(self, store: Store, key: Ed25519PublicKey) -> None:
        self._store = store
        self._key = key
        self._asked: dict[bytes, tuple[int, bytes, Invitation]] = {}  # by tag: questions never change, so read once

    def write(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Judge and keep some reports; outcomes in the order of the batch."""
        with self._store.transaction() as connection:
            places = places_of(connection, [owner for owner, _ in batch])
            tags = [data[1:7] for _, data in batch]
            if not set(tags) <= self._asked.keys():
                self._read_new(connection)
            found = [Outcome.MALFORMED] * len(batch)
            candidates: dict[bytes, list[int]] = {}
            for at, (owner, _) in enumerate(batch):
                if owner not in places:
                    found[at] = Outcome.STRANGE
                elif tags[at] in self._asked:
                    candidates.setdefault(tags[at], []).append(at)
            for tag, items in sorted(candidates.items()):
                sent = [(places[batch[at][0]], batch[at][1]) for at in items]
                for at, outcome in zip(items, self._judged(connection, tag, sent), strict=True):
                    found[at] = outcome
            numbers = [self._asked[tag][0] if tag in self._asked else 0 for tag in tags]
            self._count(connection, numbers, found)
        return found

    def _read_new(self, connection: Connection) -> None:
        """Read questions that have been put since."""
        known = max((number for number, _, _ in self._asked.values()), default=0)
        wanted = select(questions.c.number, questions.c.digest, questions.c.data).where(questions.c.number > known)
        for row in connection.execute(wanted):
            invitation = opened(row.data, Invitation, PURPOSE, self._key)
            self._asked[tag_of(row.digest)] = (row.number, row.digest, invitation)

    def _judged(self, connection: Connection, tag: bytes, sent: list[tuple[int, bytes]]) -> list[Outcome]:
        """Outcomes of reports to one question; those that count are written."""
        number, digest, invitation = self._asked[tag]
        held = select(questions.c.state).where(questions.c.number == number).with_for_update(read=True)
        state = connection.execute(held).scalar_one()  # it stays so until the end of this transaction
        heard = heard_from(connection, number, [place for place, _ in sent])
        good, _, _ = unpack([data for _, data in sent], digest, invitation.query)
        found: list[Outcome] = []
        fresh: dict[int, bytes] = {}
        for (place, data), valid in zip(sent, good.tolist(), strict=True):
            before = fresh.get(place, heard.get(place))
            if place not in heard:
                found.append(Outcome.STRANGE)
            elif before is not None:
                found.append(Outcome.REPEATED if before == data else Outcome.CONTRADICTED)
            elif not valid:
                found.append(Outcome.MALFORMED)
            elif state != OPEN:
                found.append(Outcome.LATE)
            else:
                fresh[place] = data
                found.append(Outcome.COUNTED)
        if fresh:
            taken = add_reports(connection, number, fresh, time.time())
            if len(taken) != len(fresh):  # another worker was faster with the same report
                found = [
                    Outcome.REPEATED if what is Outcome.COUNTED and place not in taken else what
                    for (place, _), what in zip(sent, found, strict=True)
                ]
        return found

    def _count(self, connection: Connection, numbers: list[int], found: list[Outcome]) -> None:
        """Count what did not count; reports that did can be counted themselves."""
        names = (outcome.name.lower() for outcome in found)
        tally = Counter(pair for pair in zip(numbers, names, strict=True) if pair[1] != COUNTED)
        if tally:
            rows = [{"question": q, "outcome": what, "count": n} for (q, what), n in sorted(tally.items())]
            added = self._store.upsert(outcomes)
            more = {"count": outcomes.c.count + added.excluded.count}
            connection.execute(added.on_conflict_do_update(index_elements=["question", "outcome"], set_=more), rows)
