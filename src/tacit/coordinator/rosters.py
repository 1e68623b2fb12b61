"""What the coordinator of peers writes down beside questions: who takes part, and what was signed.

A roster is written once and never changed. Of what a peer signs for a question the first counts; a report without it
counts as silence, because nobody else could check it.
"""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Row, insert, select

from tacit.campaign.peer_terms import PeerTerms
from tacit.campaign.spoken import ROSTER, TURN, Turn
from tacit.coordinator.bulk import upsert
from tacit.coordinator.store import CLOSED, OPEN, VOID, Question, Store
from tacit.coordinator.tables import invitations, owners, questions, rosters, spoken
from tacit.ensembles.roster import Peer, Roster
from tacit.wire.signed import opened, sign


class Rosters:
    """The rosters and signed reports of one campaign."""

    def __init__(self, store: Store, terms: PeerTerms, key: Ed25519PrivateKey) -> None:
        self._store = store
        self._terms = terms
        self._key = key

    # Who takes part ----------------------------------------------------------------------------------

    def read(self) -> list[Roster]:
        """All rosters, in order."""
        with self._store.reading() as connection:
            data = connection.execute(select(rosters.c.data).order_by(rosters.c.number)).scalars().all()
        return [opened(each, Roster, ROSTER, self._key.public_key()) for each in data]

    def called(self, now: float) -> bool:
        """Write the next roster down, if somebody has come or gone since the last; whether it was."""
        known = self.read()
        before = known[-1] if known else Roster()
        with self._store.transaction() as connection:
            members = connection.execute(select(owners)).all()
            after = self._after(before, members)
            if after is None:
                return False
            data = sign(after, ROSTER, self._key)
            connection.execute(insert(rosters).values(number=len(known) + 1, at=now, data=data))
        return True

    def over(self, asked: Sequence[Question], now: float) -> bool:
        """Whether the time for newcomers is over, counted from when the last turn was given; before the first, never.

        Times are the campaign's.
        """
        with self._store.reading() as connection:
            called = connection.execute(select(rosters.c.at).order_by(rosters.c.number.desc())).scalars().first()
        if called is None:
            return False
        since: float = max([called, *(question.opened for question in asked)])
        return now >= since + self._terms.newcomers

    def places(self, numbers: Sequence[int]) -> list[int]:
        """Where participants with these numbers are among owners; those who left are nowhere."""
        peers = self.read()[-1].peers
        keys = {peers[number].key.hex() for number in numbers}
        with self._store.reading() as connection:
            live = select(owners.c.place).where(owners.c.owner.in_(keys), owners.c.revoked.is_(False))
            return list(connection.execute(live).scalars())

    def _after(self, before: Roster, members: Sequence[Row[tuple[object, ...]]]) -> Roster | None:
        """The roster of these members, numbered after those before, in the order of their names; None: no change."""
        known = {peer.key.hex(): peer.number for peer in before.peers}
        new = sorted((row.label, row.owner, row.held) for row in members if not (row.owner in known or row.revoked))
        able = [(label, owner, columns) for label, owner, held in new if (columns := self._columns(held))]
        newcomers = [
            Peer(number, bytes.fromhex(owner), label, columns)
            for number, (label, owner, columns) in enumerate(able, start=len(before.peers))
        ]
        gone = tuple(sorted(known[row.owner] for row in members if row.owner in known and row.revoked))
        after = Roster((*before.peers, *newcomers), len(before.peers), gone)
        return after if newcomers or gone != before.gone else None

    def _columns(self, held: str) -> tuple[int, ...]:
        """The attributes that a peer has said it holds, of those there are."""
        every = range(len(self._terms.cells))
        return tuple(every) if not held else tuple(sorted({int(each) for each in held.split(",")} & set(every)))

    # What was said -----------------------------------------------------------------------------------

    def keep(self, owner: str, digest: bytes, data: bytes) -> bytes | None:
        """Keep what a peer signed for the open question that it has; what was kept first, None: it has no such one."""
        mine = (
            select(questions.c.number, questions.c.state)
            .join(invitations, invitations.c.question == questions.c.number)
            .join(owners, owners.c.place == invitations.c.owner)
            .where(questions.c.digest == digest, owners.c.owner == owner, owners.c.revoked.is_(False))
        )
        with self._store.transaction() as connection:
            asked = connection.execute(mine.with_for_update(read=True, of=questions)).first()
            if asked is None:
                return None
            if asked.state == OPEN:  # and stays so until the end of this transaction
                kept = upsert(connection, spoken).values(question=asked.number, data=data)
                connection.execute(kept.on_conflict_do_nothing())
            return connection.execute(select(spoken.c.data).where(spoken.c.question == asked.number)).scalar()

    def said(self, number: int) -> bytes:
        """What was signed for a question; empty: nothing."""
        with self._store.reading() as connection:
            return connection.execute(select(spoken.c.data).where(spoken.c.question == number)).scalar() or b""

    # For peers ---------------------------------------------------------------------------------------

    def roster(self, number: int) -> bytes | None:
        """The signed roster with this number; None: not yet."""
        with self._store.reading() as connection:
            return connection.execute(select(rosters.c.data).where(rosters.c.number == number)).scalar()

    def turn(self, number: int) -> bytes | None:
        """The turn of a question that is over, signed; None: not yet."""
        wanted = select(questions.c.data, questions.c.state).where(questions.c.number == number)
        with self._store.reading() as connection:
            found = connection.execute(wanted).first()
        if found is None or found.state not in (CLOSED, VOID):
            return None
        return sign(Turn(found.data, self.said(number) if found.state == CLOSED else b""), TURN, self._key)
