"""Reports coming in, many at a time: one transaction for all that arrived while the last one was being written.

A report counts at most once, whatever is sent, repeated, reordered or late, and through whichever worker it comes: the
place (question, owner) exists once in the database. A sender gets its answer after the commit.
"""

import time
from collections import Counter
from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Connection, select

from tacit.coordinator.store import OPEN, Store
from tacit.coordinator.tables import invitations, outcomes, owners, questions, reports
from tacit.engines.collector import Outcome
from tacit.learners.invitation import PURPOSE, Invitation, tag_of, unpack
from tacit.wire.signed import opened

Sent = tuple[str, bytes]  # owner, report


class Intake:
    """Writes batches of reports to the store."""

    def __init__(self, store: Store, key: Ed25519PublicKey) -> None:
        self._store = store
        self._key = key
        self._asked: dict[int, tuple[bytes, Invitation]] = {}  # questions never change: read once

    def write(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Judge and keep some reports; outcomes in the order of the batch."""
        with self._store.transaction() as connection:
            known = self._questions(connection)
            places = self._places(connection, {owner for owner, _ in batch})
            by_tag = {tag_of(digest): number for number, (digest, _) in self._asked.items()}
            found: list[Outcome | None] = [None] * len(batch)
            candidates: dict[int, list[int]] = {}
            for at, (owner, data) in enumerate(batch):
                number = by_tag.get(data[1:7])
                if owner not in places:
                    found[at] = Outcome.STRANGE
                elif number is None:
                    found[at] = Outcome.MALFORMED
                else:
                    candidates.setdefault(number, []).append(at)
            for number, items in candidates.items():
                sent = [(places[batch[at][0]], batch[at][1]) for at in items]
                for at, outcome in zip(items, self._judged(connection, number, known[number], sent), strict=True):
                    found[at] = outcome
            final = [Outcome.MALFORMED if outcome is None else outcome for outcome in found]
            self._count(connection, [by_tag.get(data[1:7], 0) for _, data in batch], final)
        return final

    def _questions(self, connection: Connection) -> dict[int, str]:
        """The state of every question, held still until the end of this transaction."""
        rows = connection.execute(select(questions.c.number, questions.c.state).with_for_update(read=True)).all()
        missing = [row.number for row in rows if row.number not in self._asked]
        if missing:
            wanted = select(questions.c.number, questions.c.digest, questions.c.data)
            for row in connection.execute(wanted.where(questions.c.number.in_(missing))):
                self._asked[row.number] = (row.digest, opened(row.data, Invitation, PURPOSE, self._key))
        return {row.number: row.state for row in rows}

    def _places(self, connection: Connection, names: set[str]) -> dict[str, int]:
        live = select(owners.c.owner, owners.c.place).where(owners.c.owner.in_(names), owners.c.revoked.is_(False))
        return {row.owner: row.place for row in connection.execute(live)}

    def _judged(self, connection: Connection, number: int, state: str, sent: list[tuple[int, bytes]]) -> list[Outcome]:
        """Outcomes of reports to one question; those that count are written."""
        places = {place for place, _ in sent}
        mine = invitations.c.question == number
        invited = set(
            connection.execute(select(invitations.c.owner).where(mine, invitations.c.owner.in_(places))).scalars()
        )
        there = select(reports.c.owner, reports.c.data).where(reports.c.question == number, reports.c.owner.in_(places))
        before = {row.owner: row.data for row in connection.execute(there)}
        digest, invitation = self._asked[number]
        good, _, _ = unpack([data for _, data in sent], digest, invitation.query)
        found: list[Outcome] = []
        fresh: dict[int, bytes] = {}
        for (place, data), valid in zip(sent, good.tolist(), strict=True):
            if place not in invited:
                found.append(Outcome.STRANGE)
            elif place in before or place in fresh:
                same = before.get(place, fresh.get(place)) == data
                found.append(Outcome.REPEATED if same else Outcome.CONTRADICTED)
            elif not valid:
                found.append(Outcome.MALFORMED)
            elif state != OPEN:
                found.append(Outcome.LATE)
            else:
                fresh[place] = data
                found.append(Outcome.COUNTED)
        if fresh:
            now = time.time()
            rows = [{"question": number, "owner": p, "data": d, "received": now} for p, d in fresh.items()]
            written = self._store.upsert(reports).on_conflict_do_nothing().returning(reports.c.owner)
            taken = set(connection.execute(written, rows).scalars())
            if len(taken) != len(fresh):  # another worker was faster with the same report
                found = [
                    Outcome.REPEATED if what is Outcome.COUNTED and place not in taken else what
                    for (place, _), what in zip(sent, found, strict=True)
                ]
        return found

    def _count(self, connection: Connection, numbers: list[int], final: list[Outcome]) -> None:
        tally = Counter(zip(numbers, (outcome.name.lower() for outcome in final), strict=True))
        rows = [{"question": q, "outcome": what, "count": n} for (q, what), n in sorted(tally.items())]
        added = self._store.upsert(outcomes)
        more = {"count": outcomes.c.count + added.excluded.count}
        connection.execute(added.on_conflict_do_update(index_elements=["question", "outcome"], set_=more), rows)
