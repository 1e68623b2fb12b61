"""The keys at a coordinator: its own, in their line, its helper's as far as that is known, those
that peers go by, and those of administrators.

A campaign goes by its first key for good: owners' keys, pins and signed requests name that one.
What is signed is signed with the key in use; what the database holds is signed anew when a key was
replaced, in one transaction, and its digests, by which reports and ledgers know questions, stay
what they were. What was sealed to a key of before is opened with it.

Peers are known by the key that they came with. What an old and a new one signed is kept with the
turn from which it holds, and others get it with that turn.

Administrators have names, keys of their own and roles: to look, to steer (pause, go on), to admit
(give tokens, revoke). Of a key only its hash is kept.
"""

import logging
import secrets
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy import ColumnElement, Connection, func, insert, inspect, select, update

from tacit._util.checks import bad
from tacit._util.stopping import alone_in, replace_file
from tacit.learners.query import PURPOSE
from tacit.service.coordinator import tables
from tacit.service.coordinator.store import COORDINATOR, Store, rename
from tacit.service.coordinator.tables import (
    ENDED,
    ENDING,
    OPEN,
    acts,
    campaign,
    owners,
    questions,
    renewals,
    reports,
    rosters,
    signed_place,
)
from tacit.service.protocol.peer_replay import MOST_RENEWED, ROSTER
from tacit.service.protocol.succession import (
    CAMPAIGN,
    HELPER,
    MOST,
    SAID,
    KeyRing,
    Renewal,
    Successions,
    read_successions,
    sum_key,
)
from tacit.sums.secure_sum import SumRefusedError
from tacit.wire import WireError, encode
from tacit.wire.envelopes import sign_bytes, verify

log = logging.getLogger(__name__)
LOOK, STEER, ADMIT = ROLES = "look", "steer", "admit"
FIRST = "admin"  # the name of whoever has the first key, and every role
# who else acts in a log: no administrator goes by one of these names
_OTHERS = frozenset({FIRST, "coordinator", "operator", "owner", "unknown"})


class CampaignKeys:
    """The keys of one campaign, kept in a folder; without one they are this process's alone."""

    def __init__(self, ring: KeyRing, folder: Path | None = None) -> None:
        self._ring, self.folder = ring, folder
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
    def statements(self) -> Successions:
        """What owners are told of keys; another worker may have heard from the helper."""
        if self._file is not None and self._file.exists():
            changed = self._file.stat().st_mtime_ns
            if changed != self._seen:
                self._seen, self._said = changed, read_successions(self._file)
        return self._said

    def count(self) -> int:
        """How many statements owners should know."""
        said = self.statements
        return len(said.campaign) + len(said.helper)

    def sealing_keys(self, helper: bytes) -> tuple[bytes, bytes]:
        """What new halves are sealed to, where the terms name this helper."""
        said = self.statements.helper
        theirs = HELPER.line(said, helper).current if said else helper
        return self._ring.line.sealing[-1], theirs

    def secret_of(self, sealed_to: bytes) -> X25519PrivateKey:
        """The secret of a key that halves were sealed to."""
        secret = self._ring.secrets.get(sealed_to)
        if secret is None:
            raise SumRefusedError("the key that these halves were sealed to was deleted")
        return sum_key(Ed25519PrivateKey.from_private_bytes(secret))

    def hear_helper(self, said: tuple[bytes, ...], helper: bytes) -> None:
        """Take what the helper says of its keys, if it goes on from what is known."""
        if said == self.statements.helper:
            return
        try:
            HELPER.line(said, helper)
        except WireError:
            return
        with nullcontext() if self._file is None else alone_in(self._file.parent):
            known = self.statements  # the campaign's key may be replaced by now
            told = replace(known, helper=said)
            if told.follows(known):
                self._said = told
                if self._file is not None:
                    replace_file(self._file, encode(told))


def renew_signatures(store: Store, keys: CampaignKeys) -> None:
    """Sign all that a database holds with the key in use, if it was signed with one before it."""
    with store.transaction() as connection:
        if not inspect(connection).has_table("campaign"):
            return
        tables.upgrade(connection)
        replaced = select(campaign.c.id, campaign.c.key).where(campaign.c.key.in_(keys.before))
        # nothing is put meanwhile; rows may refer to it: who holds a question may write some
        held = replaced.with_for_update(key_share=True)
        known = connection.execute(held).first()
        if known is None:
            return
        old = Ed25519PublicKey.from_public_bytes(known.key)
        for table, purpose in ((questions, PURPOSE), (rosters, ROSTER)):
            mine = table.c.campaign == known.id
            every = select(table.c.number, table.c.data).where(mine)
            rows = connection.execute(every.order_by(table.c.number)).all()  # as all who hold some
            for row in rows:
                place = signed_place(table, "data", known.id, row.number)
                data = store.storage.open_signed(row.data, place)
                renewed = sign_bytes(verify(data, purpose, old), purpose, keys.key)
                if table is rosters:  # questions are for everybody
                    renewed = store.storage.seal_signed(renewed, place)
                one = update(table).where(mine, table.c.number == row.number)
                connection.execute(one.values(data=renewed))
        current = keys.key.public_key().public_bytes_raw()
        connection.execute(update(campaign).where(campaign.c.id == known.id).values(key=current))
        done = {"campaign": known.id, "at": time.time(), "who": COORDINATOR, "what": "rekey"}
        line = {**done, "about": current.hex(), "source": "", "outcome": "200"}
        connection.execute(insert(acts).values(**line))


class PeerRenewals:
    """Keys that took the place of others among the peers of a campaign."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def take(self, owner: str, said: Renewal, statement: bytes) -> int:
        """Have a peer go by another key from a turn on, as both keys signed; the status to answer
        with. The same again changes nothing.

        The turn must be one that nobody has been told of and in which the old key has not spoken:
        409 where it is not. Nothing is put or closed meanwhile.
        """
        with self._store.transaction() as connection:
            # of this campaign alone: others of the database go on
            mine = select(campaign.c.state).where(self._store.mine(campaign))
            state = connection.execute(mine.with_for_update(key_share=True)).scalar_one()
            is_open = self._store.mine(questions) & (questions.c.state == OPEN)
            put = select(questions.c.number).where(is_open).order_by(questions.c.number)
            connection.execute(put.with_for_update()).all()
            this = select(renewals.c.data).where(self._mine, renewals.c.old == owner)
            before = connection.execute(this).scalar()
            if before is not None:
                return 200 if before == statement else 403
            live = owners.c.revoked.is_(False) & (owners.c.owner == owner)
            known = select(owners.c.id).where(self._store.mine(owners), live)
            owner_id = connection.execute(known).scalar()
            if owner_id is None or self._is_taken(connection, owner_id, said.new.hex()):
                return 403
            if state in (ENDING, ENDED):
                return 410
            if said.turn not in self._free_turns(connection, owner_id):
                return 409
            if not rename(connection, self._store.id, owner, said.new.hex()):
                return 403  # it left meanwhile, or somebody else goes by that key now
            row = {"campaign": self._store.id, "old": owner, "owner": owner_id, "turn": said.turn}
            connection.execute(insert(renewals).values(**row, data=statement))
            return 200

    def knows(self, owner: str) -> bool:
        """Whether a key is a peer's, or was."""
        this = select(renewals.c.old).where(self._mine, renewals.c.old == owner)
        with self._store.snapshot() as connection:
            was = connection.execute(this).first() is not None
        return was or self._store.is_revoked(owner) is False

    def first_keys(self, connection: Connection) -> tuple[dict[int, str], set[str]]:
        """The keys that owners came with who go by another now, and all that were replaced."""
        every = select(renewals.c.owner, renewals.c.old).where(self._mine)
        rows = connection.execute(every.order_by(renewals.c.turn.desc())).all()
        return {row.owner: row.old for row in rows}, {row.old for row in rows}

    def of_turn(self, connection: Connection, turn: int) -> tuple[bytes, ...]:
        """What was signed of keys that hold from a turn on."""
        these = select(renewals.c.data).where(self._mine, renewals.c.turn == turn)
        return tuple(connection.execute(these.order_by(renewals.c.old)).scalars())

    def of_owner(self, connection: Connection, owner_id: int) -> tuple[bytes, ...]:
        """What an owner's keys signed, in the order in which they were in use."""
        these = select(renewals.c.data).where(self._mine, renewals.c.owner == owner_id)
        return tuple(connection.execute(these.order_by(renewals.c.turn)).scalars())

    def since(self, connection: Connection, owner_id: int) -> int:
        """The turn from which on an owner goes by its key; 0: from the beginning."""
        last = select(func.max(renewals.c.turn)).where(self._mine, renewals.c.owner == owner_id)
        return connection.execute(last).scalar() or 0

    @property
    def _mine(self) -> ColumnElement[bool]:
        return self._store.mine(renewals)

    def _is_taken(self, connection: Connection, owner_id: int, new: str) -> bool:
        """Whether a key is, or was, somebody's, or an owner has had as many as it may."""
        _, replaced = self.first_keys(connection)
        theirs = select(owners.c.id).where(self._store.mine(owners), owners.c.owner == new)
        many = len(self.of_owner(connection, owner_id)) >= MOST
        return many or new in replaced or connection.execute(theirs).first() is not None

    def _free_turns(self, connection: Connection, owner_id: int) -> list[int]:
        """Turns from which on an owner may go by another key: that of the open question, if it has
        not answered it, and the next. One turn is the first of one of its keys at most.
        """
        every = select(questions.c.number, questions.c.state).where(self._store.mine(questions))
        last = connection.execute(every.order_by(questions.c.number.desc())).first()
        number, is_open = (0, False) if last is None else (last.number, last.state == OPEN)
        spoke = select(reports.c.owner).where(self._store.about(reports, number))
        answered = connection.execute(spoke.where(reports.c.owner == owner_id)).first()
        wanted = [number, number + 1] if is_open and answered is None else [number + 1]
        since = self.since(connection, owner_id)
        return [
            turn
            for turn in wanted
            if turn > since and len(self.of_turn(connection, turn)) < MOST_RENEWED
        ]


@dataclass(frozen=True)
class Administrator:
    """A person, and what it may do."""

    name: str
    roles: tuple[str, ...]


class Administrators:
    """Who may do what, by the hash of a key; files have a line for each: name, roles, hash. The
    `first` one's key is told, or is what a file has in it. A file that has changed is read anew:
    who is added there, or taken out, or has another key, is so at once. A line that cannot be read
    is nobody's, as is a file, and the log says so: others are not locked out.
    """

    def __init__(self, first: str | Path, files: Sequence[Path] = ()) -> None:
        self._first = first
        self._files = tuple(files)
        self._read: tuple[object, ...] | None = None
        self._known: dict[bytes, Administrator] = {}

    def find(self, key: bytes) -> Administrator | None:
        """Whose key it is. Hashes are compared, so time says nothing about a key."""
        own = (self._first,) if isinstance(self._first, Path) else ()
        now = tuple(_state_of(file) for file in (*own, *self._files))
        if now != self._read:
            every = [line for file in self._files for line in _lines(file)]
            self._known = self._first_one() | dict(every)
            self._read = now
        return self._known.get(_hash(key))

    def _first_one(self) -> dict[bytes, Administrator]:
        """Whoever has the first key; nobody, while its file is empty or away."""
        key = self._first if isinstance(self._first, str) else " ".join(_readable(self._first))
        return {_hash(key.strip().encode()): Administrator(FIRST, ROLES)} if key.strip() else {}


def _state_of(file: Path) -> tuple[int, int, int] | None:
    """What differs when a file has changed."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _lines(file: Path) -> list[tuple[bytes, Administrator]]:
    """The administrators in a file, by the hashes of their keys."""
    found = []
    for number, line in enumerate(_readable(file), 1):
        try:
            name, roles, digest = line.split()
            found.append((bytes.fromhex(digest), Administrator(name, tuple(roles.split(",")))))
        except ValueError:
            log.warning("%s: line %d is no administrator: name, roles, hash", file, number)
    return found


def _readable(file: Path) -> list[str]:
    """The lines of such a file, as far as they can be read."""
    try:
        return _text_of(file)
    except OSError as problem:
        log.warning("%s cannot be read, and is nobody's: %s", file, problem.strerror)
        return []


def _text_of(file: Path) -> list[str]:
    """The lines of a file of administrators, without empty ones; nothing, if there is no file."""
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return [line for line in text.splitlines() if line.strip()]


def _names_of(lines: Sequence[str]) -> list[str]:
    return [line.split()[0] for line in lines]


def add_administrator(file: Path, name: str, roles: Sequence[str]) -> str:
    """Write an administrator down; its new key, which is kept nowhere."""
    if not (name.isascii() and name.isidentifier() and name not in _OTHERS):
        raise bad("name", f"letters, digits and _, and none of {', '.join(sorted(_OTHERS))}", name)
    if not (roles and set(roles) <= set(ROLES)):
        raise bad("roles", f"some of {', '.join(ROLES)}", ", ".join(roles))
    key = secrets.token_urlsafe(32)
    with alone_in(file.parent):
        lines = _text_of(file)
        if name in _names_of(lines):
            raise bad("name", "new; see tacit admin dismiss, tacit identity administrator", name)
        _write(file, [*lines, f"{name} {','.join(roles)} {_hash(key.encode()).hex()}"])
    return key


def dismiss_administrator(file: Path, name: str) -> None:
    """Take an administrator out of a file: its key is good for nothing from now on."""
    with alone_in(file.parent):
        lines = _text_of(file)
        if name not in _names_of(lines):
            raise bad("name", f"one of {file}: {', '.join(_names_of(lines)) or 'nobody'}", name)
        _write(file, [line for line in lines if line.split()[0] != name])


def _write(file: Path, lines: Sequence[str]) -> None:
    replace_file(file, "\n".join([*lines, ""]).encode())


def replace_administrator(state: Path, name: str) -> str:
    """Put a new key in the place of an administrator's, in the folder of a campaign; the key. The
    first one's is kept in a file of its own.
    """
    key, others = secrets.token_urlsafe(32), state / "administrators"
    if name == FIRST and (state / "admin.key").exists():
        replace_file(state / "admin.key", key.encode())
        return key
    with alone_in(state):
        lines = _text_of(others)
        if name not in _names_of(lines):
            raise bad("name", f"that of an administrator in {state}", name)
        changed = (_with_key(line, key) if line.split()[0] == name else line for line in lines)
        _write(others, list(changed))
    return key


def _with_key(line: str, key: str) -> str:
    name, roles, _ = line.split()
    return f"{name} {roles} {_hash(key.encode()).hex()}"


def _hash(key: bytes) -> bytes:
    return sha256(key).digest()
