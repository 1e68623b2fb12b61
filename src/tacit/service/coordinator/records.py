"""What is known of an owner, and what is forgotten; what administrators may do, and did.

Retention. While a campaign runs, its replay needs who was asked, what was reported to closed
questions and, where those who take part go by names, the names. All else about an owner can go when
it has left: the key it signed with, its token's hash, a report to an open question. When the
campaign has ended the model is made, and every report can go, too. `forget` deletes what can go now
and says what stays and why; it can be called again after the end.

Administrators have names, keys of their own and roles: to look, to steer (pause, go on), to admit
(give tokens, revoke). Of a key only its hash is kept. Every act of one is written down with its
outcome, refusals too: who, when, what, about whom, from where; and who enrolled and left. Acts name
owners by their public key; when an owner is forgotten its key goes from there as well.
"""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from tacit._util.checks import bad
from tacit._util.durable import make_private, replace_file
from tacit.service.coordinator.status import View
from tacit.service.coordinator.store import Store, leave_out
from tacit.service.coordinator.tables import (
    ENDED,
    acts,
    campaign,
    contradictions,
    invitations,
    owners,
    reports,
    spoken,
    tokens,
)

LOOK, STEER, ADMIT = ROLES = "look", "steer", "admit"
OWNER = "owner"  # who acts for itself
FIRST = "admin"  # the name of whoever has the first key, and every role
TOKEN_DIGITS = 12  # of a token's hash: enough to tell tokens apart
FORGOTTEN = "forgotten"  # what a key begins with that was deleted


@dataclass(frozen=True)
class Administrator:
    """A person, and what it may do."""

    name: str
    roles: tuple[str, ...]


class Administrators:
    """Who may do what, by the hash of a key; files have a line for each: name, roles, hash. A file
    that has changed is read anew: who is added there, or taken out, is so at once.
    """

    def __init__(self, first: str, files: Sequence[Path] = ()) -> None:
        self._first = {_hash(first.encode()): Administrator(FIRST, ROLES)}
        self._files = tuple(files)
        self._read: tuple[object, ...] = ()
        self._known = self._first

    def find(self, key: bytes) -> Administrator | None:
        """Whose key it is. Hashes are compared, so time says nothing about a key."""
        now = tuple(_state_of(file) for file in self._files)
        if now != self._read:
            every = [line for file in self._files if file.exists() for line in _lines(file)]
            self._known = self._first | dict(every)
            self._read = now
        return self._known.get(_hash(key))


def _state_of(file: Path) -> tuple[int, int, int] | None:
    """What differs when a file has changed."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _lines(file: Path) -> list[tuple[bytes, Administrator]]:
    """The administrators in a file, by the hashes of their keys."""
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    return [
        (bytes.fromhex(digest), Administrator(name, tuple(roles.split(","))))
        for name, roles, digest in lines
    ]


def add_administrator(file: Path, name: str, roles: Sequence[str]) -> str:
    """Write an administrator down; its new key, which is kept nowhere."""
    if not (name.isidentifier() and name != FIRST):
        raise bad("name", f"letters, digits and _, and not {FIRST}", name)
    if not (roles and set(roles) <= set(ROLES)):
        raise bad("roles", f"some of {', '.join(ROLES)}", ", ".join(roles))
    make_private(file)
    lines = file.read_text(encoding="utf-8").splitlines()
    if name in [line.split()[0] for line in lines]:
        raise bad("name", f"new; to replace a key delete the line of {file} first", name)
    key = secrets.token_urlsafe(32)
    file.write_text(
        "\n".join([*lines, f"{name} {','.join(roles)} {_hash(key.encode()).hex()}", ""]),
        encoding="utf-8",
    )
    return key


def replace_administrator(state: Path, name: str) -> str:
    """Put a new key in the place of an administrator's, in the folder of a campaign; the key. The
    first one's is kept in a file of its own.
    """
    key, others = secrets.token_urlsafe(32), state / "administrators"
    if name == FIRST and (state / "admin.key").exists():
        replace_file(state / "admin.key", key.encode())
        return key
    lines = others.read_text(encoding="utf-8").splitlines() if others.exists() else []
    if name not in [line.split()[0] for line in lines]:
        raise bad("name", f"that of an administrator in {state}", name)
    renewed = [_with_key(line, key) if line.split()[0] == name else line for line in lines]
    replace_file(others, "\n".join([*renewed, ""]).encode())
    return key


def _with_key(line: str, key: str) -> str:
    name, roles, _ = line.split()
    return f"{name} {roles} {_hash(key.encode()).hex()}"


def _hash(key: bytes) -> bytes:
    return sha256(key).digest()


@dataclass(frozen=True)
class Act:
    """What somebody did, or was refused."""

    who: str
    what: str
    about: str
    source: str
    outcome: str
    at: float = 0.0


class Records:
    """What the database of a campaign holds beside what the campaign computes with."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, act: Act) -> None:
        """Write an act down, as of now."""
        row = {**act.__dict__, "at": time.time(), "campaign": self._store.id}
        with self._store.transaction() as connection:
            connection.execute(insert(acts).values(**row))

    def acts(self) -> list[Act]:
        """All acts, in their order."""
        columns = [acts.c[name] for name in ("who", "what", "about", "source", "outcome", "at")]
        with self._store.reading() as connection:
            mine = select(*columns).where(self._store.mine(acts)).order_by(acts.c.number)
            rows = connection.execute(mine).all()
        return [Act(*row) for row in rows]

    def owners(self) -> list[dict[str, Any]]:
        """Everybody who has enrolled, in their order: key, name, how it stands."""
        mine = self._store.mine
        answered = select(reports.c.owner, func.count().label("n")).where(mine(reports))
        with self._store.reading() as connection:
            heard = {
                row.owner: row.n for row in connection.execute(answered.group_by(reports.c.owner))
            }
            rows = connection.execute(
                select(owners).where(mine(owners)).order_by(owners.c.id)
            ).all()
        return [
            {
                "owner": row.owner,
                "name": self._store.storage.open_name(row.label),
                "state": _state(row, heard.get(row.id, 0)),
                "answered": heard.get(row.id, 0),
            }
            for row in rows
        ]

    def tokens(self) -> list[dict[str, Any]]:
        """All tokens, by the beginning of their hashes: when each was made and by whom, until when
        it holds, how it stands.
        """
        mine = self._store.mine
        came = select(owners.c.token, owners.c.owner).where(mine(owners))
        every = select(tokens).where(mine(tokens)).order_by(tokens.c.made, tokens.c.token)
        with self._store.reading() as connection:
            used_by = {row.token: row.owner for row in connection.execute(came)}
            rows = connection.execute(every).all()
        now = time.time()
        return [
            {
                "token": row.token[:TOKEN_DIGITS],
                "made": row.made,
                "maker": row.maker,
                "expires": row.expires,
                "state": _token_state(row, now),
                "owner": used_by.get(row.token, ""),
            }
            for row in rows
        ]

    def withdraw_tokens(self, beginning: str = "") -> int:
        """Delete the tokens that nobody has used, or those of them whose hash begins so; how many
        there were.
        """
        with self._store.transaction() as connection:
            unused = self._store.mine(tokens) & tokens.c.used.is_(False)
            these = unused & tokens.c.token.startswith(beginning, autoescape=True)
            return connection.execute(delete(tokens).where(these)).rowcount

    def archive(self) -> bool:
        """Keep of a campaign that has ended its model and its last figures alone, and the log;
        False: it has not ended, or is archived.
        """
        key = Ed25519PublicKey.from_public_bytes(self._store.standing().key)
        figures = View(self._store, key).status()
        return self._store.archive(json.dumps({**figures, "voices": []}))

    def known(self, owner: str) -> dict[str, Any] | None:
        """All that the database holds of an owner, by its public key; None: nothing."""
        with self._store.reading() as connection:
            row = connection.execute(select(owners).where(self._is(owner))).first()
            if row is None:
                return None
            mine = {
                "invitations": _of(connection, invitations, row.id),
                "reports": _of(connection, reports, row.id),
                "contradictions": _of(connection, contradictions, row.id),
            }
            about = select(func.count()).select_from(acts).where(self._store.mine(acts))
            about = about.where(acts.c.about == owner)
            named = {"acts": connection.execute(about).scalar_one()}
        return {
            "owner": row.owner,
            "name": self._store.storage.open_name(row.label),
            "attributes": row.held,
            "token_hash": row.token,
            "revoked": bool(row.revoked),
            "asked_in_question": row.asked,
            **mine,
            **named,
        }

    def forget(self, owner: str) -> dict[str, list[str]] | None:
        """Leave an owner out and delete what can go; what went and what stays. None: no such
        owner.
        """
        with self._store.transaction() as connection:
            row = connection.execute(select(owners).where(self._is(owner))).first()
            if row is None:
                return None
            leave_out(connection, self._store.id, owner)
            state = select(campaign.c.state).where(self._store.mine(campaign))
            is_over = connection.execute(state).scalar_one() == ENDED
            went, stays = ["its key", "its token's hash"], [f"that owner {row.id} was invited"]
            gone = {"owner": f"{FORGOTTEN} {row.id}", "token": f"{FORGOTTEN} {row.id}"}
            if is_over or not row.label:
                gone |= {"label": "", "held": ""}
                went += ["its name"] if row.label else []
            else:
                stays.append("its name, until the campaign has ended: reports are read in order")
            connection.execute(update(owners).where(owners.c.id == row.id).values(**gone))
            its_token = self._store.mine(tokens) & (tokens.c.token == row.token)
            connection.execute(delete(tokens).where(its_token))
            named = self._store.mine(acts) & (acts.c.about == owner)
            connection.execute(update(acts).where(named).values(about=gone["owner"]))
            if is_over:
                self._drop_reports(connection, row.id)
                went.append("its reports")
            elif _of(connection, reports, row.id):
                stays.append("its reports to closed questions, until the campaign has ended")
        return {"deleted": went, "stays": stays}

    def _is(self, owner: str) -> ColumnElement[bool]:
        return self._store.mine(owners) & (owners.c.owner == owner)

    def _drop_reports(self, connection: Connection, owner_id: int) -> None:
        """Everything that an owner has said."""
        mine = self._store.mine
        heard = select(reports.c.question).where(reports.c.owner == owner_id)
        relayed = mine(spoken) & spoken.c.question.in_(heard)
        # of questions that were put to it alone: what it signed for the others
        alone = select(invitations.c.question).where(mine(invitations))
        alone = alone.group_by(invitations.c.question).having(func.count() == 1)
        connection.execute(delete(spoken).where(relayed, spoken.c.question.in_(alone)))
        connection.execute(delete(reports).where(reports.c.owner == owner_id))
        connection.execute(delete(contradictions).where(contradictions.c.owner == owner_id))


def _of(connection: Connection, table: Table, owner_id: int) -> int:
    """How many rows of a table are about an owner."""
    mine = select(func.count()).select_from(table).where(table.c.owner == owner_id)
    return connection.execute(mine).scalar_one()


def _token_state(row: Any, now: float) -> str:
    if row.used:
        return "used"
    return "expired" if row.expires is not None and row.expires <= now else "free"


def _state(row: Any, answered: int) -> str:
    if row.owner.startswith(FORGOTTEN):
        return FORGOTTEN
    if row.revoked:
        return "revoked"
    if answered:
        return "answered"
    return "waits" if row.asked is None else "asked"
