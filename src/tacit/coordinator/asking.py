"""Owners asking whether there is a question for them, many at a time: one look at the database for all."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from tacit.coordinator.batches import Sent
from tacit.coordinator.bulk import seats
from tacit.coordinator.guard import Answer
from tacit.coordinator.pace import Pace
from tacit.coordinator.store import ENDED, OPEN, Store
from tacit.coordinator.tables import campaign, questions

_NONE = 0  # the number of no question
_STRANGER = Answer.of(403, b'{"error":"forbidden"}')


class Asking:
    """What owners get that ask: their question, when to ask again, or that there is nothing more to come."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pace = Pace(store)
        self._questions: dict[int, bytes] = {}  # open ones, as they are sent: they never change, so read once

    def answers(self, batch: Sequence[Sent]) -> list[Answer]:
        """For each that asked, in the order of the batch; what else was sent does not matter."""
        names = [owner for owner, _ in batch]
        with self._store.reading() as connection:
            found = self._found(connection, names)
            ended = connection.execute(select(campaign.c.state)).scalar_one() == ENDED
        again = Answer.of(410 if ended else 204, b"", more={"retry-after": str(self._pace.seconds())})
        put = {data: Answer.of(200, data, "application/octet-stream") for data in set(found.values()) if data}
        return [_STRANGER if name not in found else put.get(found[name], again) for name in names]

    def _found(self, connection: Connection, names: Sequence[str]) -> dict[str, bytes]:
        """For every member among some names the first open question it has not answered, or nothing."""
        is_open = select(questions.c.number).where(questions.c.state == OPEN).order_by("number")
        numbers = list(connection.execute(is_open).scalars())
        known = self._questions
        if not set(numbers) <= known.keys():
            data = select(questions.c.number, questions.c.data).where(questions.c.number.in_(numbers))
            known = self._questions = {row.number: row.data for row in connection.execute(data)}
        found: dict[str, bytes] = {}
        for number in numbers or [_NONE]:
            for name, seat in seats(connection, number, names).items():
                invited = seat.place is not None and seat.report is None
                found[name] = found.get(name) or (known[number] if invited else b"")
        return found
