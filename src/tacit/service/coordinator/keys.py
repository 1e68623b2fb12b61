"""The coordinator's keys: its own, in their line, and its helper's as far as that is known.

A campaign goes by its first key for good: owners' keys, pins and signed requests name that one.
What is signed is signed with the key in use; what the database holds is signed anew when a key was
replaced, in one transaction, and its digests, by which reports and ledgers know questions, stay
what they were. What was sealed to a key of before is opened with it.
"""

from dataclasses import replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy import inspect, select, update

from tacit._util.durable import replace_file
from tacit.learners.query import PURPOSE
from tacit.service.coordinator import migrations
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import campaign, questions, rosters
from tacit.service.protocol.peer_replay import ROSTER
from tacit.service.protocol.succession import (
    CAMPAIGN,
    HELPER,
    SAID,
    KeyRing,
    Successions,
    read_successions,
    sum_key,
)
from tacit.sums.secure_sum import SumRefusedError
from tacit.wire import WireError, encode
from tacit.wire.envelopes import sign_bytes, verify


class CampaignKeys:
    """The keys of one campaign, kept in a folder; without one they are this process's alone."""

    def __init__(self, ring: KeyRing, folder: Path | None = None) -> None:
        self._ring = ring
        self._file = None if folder is None else folder / SAID
        self._said = Successions(ring.statements)
        self._seen = 0  # when the file was last changed, in nanoseconds
        self.key = Ed25519PrivateKey.from_private_bytes(ring.secret)

    @classmethod
    def of(cls, key: Ed25519PrivateKey) -> "CampaignKeys":
        """Of a key that took nobody's place."""
        return cls(KeyRing.of(CAMPAIGN, key.private_bytes_raw()))

    @classmethod
    def at(cls, folder: Path) -> "CampaignKeys":
        return cls(KeyRing.at(folder, CAMPAIGN), folder)

    @property
    def first(self) -> bytes:
        """The key that the campaign is known by."""
        return self._ring.line.first

    @property
    def first_sealing(self) -> bytes:
        """The key that halves were sealed to when it began: a part of its terms."""
        return self._ring.line.sealing[0]

    @property
    def before(self) -> tuple[bytes, ...]:
        """Keys that were replaced."""
        return self._ring.before

    @property
    def said(self) -> Successions:
        """What owners are told of keys; another worker may have heard from the helper."""
        if self._file is not None and self._file.exists():
            changed = self._file.stat().st_mtime_ns
            if changed != self._seen:
                self._seen, self._said = changed, read_successions(self._file)
        return self._said

    def count(self) -> int:
        """How many statements owners should know."""
        said = self.said
        return len(said.campaign) + len(said.helper)

    def sealing(self, helper: bytes) -> tuple[bytes, bytes]:
        """What new halves are sealed to, where the terms name this helper."""
        said = self.said.helper
        theirs = HELPER.line(said, helper).current if said else helper
        return self._ring.line.sealing[-1], theirs

    def opening(self, sealed_to: bytes) -> X25519PrivateKey:
        """The secret of a key that halves were sealed to."""
        secret = self._ring.secrets.get(sealed_to)
        if secret is None:
            raise SumRefusedError("the key that these halves were sealed to was deleted")
        return sum_key(Ed25519PrivateKey.from_private_bytes(secret))

    def hear_helper(self, statements: tuple[bytes, ...], helper: bytes) -> None:
        """Take what the helper says of its keys, if it goes on from what is known."""
        known = self.said
        told = replace(known, helper=statements)
        if told == known or not told.follows(known):
            return
        try:
            HELPER.line(statements, helper)
        except WireError:
            return
        self._said = told
        if self._file is not None:
            replace_file(self._file, encode(told))


def renew_signatures(store: Store, keys: CampaignKeys) -> None:
    """Sign all that a database holds with the key in use, if it was signed with one before it."""
    with store.transaction() as connection:
        if not inspect(connection).has_table("campaign"):
            return
        migrations.upgrade(connection)
        replaced = select(campaign.c.id, campaign.c.key).where(campaign.c.key.in_(keys.before))
        known = connection.execute(replaced).first()
        if known is None:
            return
        old = Ed25519PublicKey.from_public_bytes(known.key)
        for table, purpose in ((questions, PURPOSE), (rosters, ROSTER)):
            mine = table.c.campaign == known.id
            rows = connection.execute(select(table.c.number, table.c.data).where(mine)).all()
            for row in rows:
                renewed = sign_bytes(verify(row.data, purpose, old), purpose, keys.key)
                one = update(table).where(mine, table.c.number == row.number)
                connection.execute(one.values(data=renewed))
        current = keys.key.public_key().public_bytes_raw()
        connection.execute(update(campaign).where(campaign.c.id == known.id).values(key=current))
