"""What campaigns keep in their database: the tables, the same in SQLite and PostgreSQL, and the
states that a campaign and its questions are in.

A database holds one campaign or several. Each row says whose it is, and keys begin with that: two
campaigns have a question 1 each, and an owner that takes part in both is two owners.

Tables are brought to this release and back by Alembic. Each file in `migrations/versions` is one
step, there and back again; the database says in `alembic_version` which was the last. Before the
first step tables had no version: a database without one is of then. A step is a part of the
transaction that it is given, in SQLite as in PostgreSQL, so whoever is killed in the middle leaves
the tables as they were.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
)

from tacit.learners.query import PURPOSE
from tacit.wire import WireError
from tacit.wire.envelopes import verify

log = logging.getLogger(__name__)
ENROLLING, RUNNING, PAUSED, ENDED = "enrolling", "running", "paused", "ended"
ENDING = "ending"  # an administrator has ended it: its model is still to be published
OPEN, ADDING, CLOSED, VOID = "open", "adding", "closed", "void"
COUNTED, DECLINED = "counted", "declined"
FORGOTTEN = "forgotten"  # what a key begins with that was deleted
READER = "reader"  # and one of which a hash is left, after the campaign was archived


def reader_name(campaign: int, owner: str) -> str:
    """What is kept of the key of an owner that may still read what an archived campaign left to
    those who took part.
    """
    return f"{READER} {sha256(f'tacit reader {campaign} {owner}'.encode()).hexdigest()}"


def token_hash(token: str) -> str:
    """What is kept of a token. Tokens are long and random, so a plain hash cannot be turned
    back.
    """
    return sha256(f"tacit token {token}".encode()).hexdigest()


class StoreError(RuntimeError):
    """The database cannot serve this campaign; the message says what to do."""


class OverError(StoreError):
    """The campaign has ended, and takes nobody any more."""


class NoRoomError(StoreError):
    """There is no room for so many."""


@dataclass(frozen=True)
class Question:
    """A question as it stands; `opened` and `deadline` are in the campaign's time."""

    number: int
    digest: bytes
    data: bytes
    state: str
    opened: float
    deadline: float
    answer: bytes | None


@dataclass(frozen=True)
class Standing:
    """Where the campaign is; `worked` is its time, `key` its public key, `archive` its last figures
    once it is archived.
    """

    name: str
    state: str
    worked: float
    ended: str
    terms: bytes
    key: bytes
    model: bytes | None
    progress: str
    archive: str | None = None


class Outline(NamedTuple):
    """What the list of campaigns says of one."""

    name: str
    key: bytes
    state: str
    archived: bool


metadata = MetaData()
NOTHING_YET = "{}"  # progress of a campaign that no driver has looked at

campaign = Table(
    "campaign",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    # what its address ends with, where there are several; empty in tables that were brought here
    Column("slug", Text, nullable=False, server_default=""),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),  # enrolling, running, paused, ending, ended
    Column("resumes", Text, nullable=False, default=""),  # the state that a pause goes back to
    # the campaign's time: seconds that somebody drove it
    Column("worked", Float, nullable=False, default=0.0),
    Column("ended", Text, nullable=False, default=""),
    # canonical bytes: a restart with other terms is refused
    Column("terms", LargeBinary, nullable=False),
    # the campaign's public key: so is another key; empty in tables that were brought here
    Column("key", LargeBinary, nullable=False, server_default=""),
    Column("model", LargeBinary, nullable=True),
    Column("progress", Text, nullable=False, default=NOTHING_YET),
    # the last figures of one that was archived: of its owners nothing else is left
    Column("archive", Text, nullable=True),
    Column("lease", Text, nullable=False, default=""),  # which worker drives,
    Column("lease_until", Float, nullable=False, default=0.0),  # and until when
)
_placed = text("slug != ''")
Index(
    "campaign_slug",
    campaign.c.slug,
    unique=True,
    sqlite_where=_placed,
    postgresql_where=_placed,
)


def _mine() -> Column[int]:
    """The campaign that a row belongs to."""
    return Column("campaign", Integer, primary_key=True, autoincrement=False)


def _of_question() -> ForeignKeyConstraint:
    """A row about a question that was put."""
    return ForeignKeyConstraint(
        ["campaign", "question"], ["questions.campaign", "questions.number"]
    )


owners = Table(
    "owners",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("campaign", Integer, ForeignKey("campaign.id"), nullable=False),
    Column("owner", Text, nullable=False),  # its public key, in hex
    Column("label", Text, nullable=False, default=""),
    # numbers of the attributes it has; empty: all
    Column("held", Text, nullable=False, default=""),
    Column("token", Text, nullable=False),  # the hash of the token it came with
    Column("revoked", Boolean, nullable=False, default=False),
    Column("asked", Integer, nullable=True),  # the question that spent it: asked means spent
    UniqueConstraint("campaign", "owner", name="owners_owner"),
    UniqueConstraint("campaign", "token", name="owners_token"),
)
# those who go by a name are few, and no two of them by the same
_named = text("label != '' AND NOT revoked")
Index(
    "owners_label",
    owners.c.campaign,
    owners.c.label,
    unique=True,
    sqlite_where=_named,
    postgresql_where=_named,
)

tokens = Table(
    "tokens",
    metadata,
    _mine(),
    Column("token", Text, primary_key=True),  # a hash; tokens themselves are kept nowhere
    Column("used", Boolean, nullable=False, default=False),
    Column("made", Float, nullable=False, server_default="0"),  # seconds since 1970; 0: unknown
    Column("expires", Float, nullable=True),  # seconds since 1970; none: never
    Column("maker", Text, nullable=False, server_default=""),  # the administrator
)

questions = Table(
    "questions",
    metadata,
    _mine(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, nullable=False),
    Column("data", LargeBinary, nullable=False),  # the signed invitation
    Column("state", Text, nullable=False),  # open, adding (two servers are at it), closed, void
    Column("opened", Float, nullable=False),  # in the campaign's time, as is the deadline
    Column("deadline", Float, nullable=False),
    Column("answer", LargeBinary, nullable=True),  # what the algorithm was told: the transcript
    UniqueConstraint("campaign", "digest", name="questions_digest"),
)

invitations = Table(
    "invitations",
    metadata,
    _mine(),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("owner", Integer, ForeignKey("owners.id"), primary_key=True),
    _of_question(),
)

# without foreign keys: a report is written where its invitation was read, and of an open question
# those are deleted under a lock that keeps reports out
reports = Table(
    "reports",
    metadata,
    _mine(),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("owner", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
    Column("received", Float, nullable=False),
)

outcomes = Table(
    "outcomes",
    metadata,
    _mine(),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("outcome", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

rosters = Table(
    "rosters",
    metadata,
    _mine(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),  # in the campaign's time
    Column("data", LargeBinary, nullable=False),  # the signed roster
)

spoken = Table(
    "spoken",
    metadata,
    _mine(),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),  # what the peer signed, for the others
    _of_question(),
)

# two words of one peer about one question: proof that it lied, each signed by the peer
contradictions = Table(
    "contradictions",
    metadata,
    _mine(),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("owner", Integer, ForeignKey("owners.id"), nullable=False),
    Column("first", LargeBinary, nullable=False),
    Column("second", LargeBinary, nullable=False),
    _of_question(),
)

# keys that peers went by: what old and new one signed, for the others, and the turn it holds from
renewals = Table(
    "renewals",
    metadata,
    _mine(),
    Column("old", Text, primary_key=True),  # in hex: a key is replaced once
    Column("owner", Integer, ForeignKey("owners.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

# the mark of the key that a database is encrypted with; no row: it is not
storage = Table(
    "storage",
    metadata,
    Column("one", Integer, primary_key=True),
    Column("mark", LargeBinary, nullable=False),
)

# what administrators did and were refused, who enrolled and left: who, when, what, from where
acts = Table(
    "acts",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("campaign", Integer, nullable=False),
    Column("at", Float, nullable=False),  # seconds since 1970
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("outcome", Text, nullable=False),
)

# where something lies that was signed: table, what its rows are numbered by, column
SIGNED = (
    (rosters, "number", "data"),
    (spoken, "question", "data"),
    (contradictions, "question", "first"),
    (contradictions, "question", "second"),
)


def signed_place(table: Table, column: str, campaign_id: int, number: int) -> str:
    """Where something signed lies: it opens nowhere else."""
    return f"{table.name} {column} {campaign_id} {number}"


# what is about those who took part, in an order in which it can be deleted
OF_OWNERS = (
    contradictions,
    renewals,
    spoken,
    invitations,
    reports,
    outcomes,
    rosters,
    questions,
    tokens,
    owners,
)


def verify_key(connection: Connection, number: int, key: bytes) -> bytes:
    """The key, if the questions that a campaign has put are signed with it."""
    put = select(questions.c.data).where(questions.c.campaign == number)
    first = connection.execute(put.order_by(questions.c.number)).scalar()
    try:
        if first is not None:
            verify(first, PURPOSE, Ed25519PublicKey.from_public_bytes(key))
    except WireError as problem:
        raise StoreError(
            f"the questions in the database are not signed by {key.hex()}: give the --state that "
            "the campaign was begun with"
        ) from problem
    return key


BEFORE = "base"  # the tables of before there were versions


def upgrade(connection: Connection) -> None:
    """Make the tables, or bring them to this release."""
    if not inspect(connection).has_table("campaign"):
        metadata.create_all(connection)
        MigrationContext.configure(connection).stamp(_scripts(), "head")
        return
    try:
        _run(connection, lambda scripts, now: scripts._upgrade_revs("head", now), "head")
    except CommandError as problem:
        raise StoreError(
            f"the database has tables of version {version(connection)!r}, which this release does "
            "not know: it was made by a newer one; run that, or go back with its tacit admin "
            "database --to"
        ) from problem


def downgrade(connection: Connection, to: str = BEFORE) -> None:
    """Take the tables back to a version; what only later ones hold is lost."""
    if to not in (BEFORE, *versions()):
        raise StoreError(f"to must be one of {', '.join([BEFORE, *versions()])}, got {to!r}")
    _run(connection, lambda scripts, now: scripts._downgrade_revs(to, now), to)


def version(connection: Connection) -> str:
    """The version of a database's tables."""
    return MigrationContext.configure(connection).get_current_revision() or BEFORE


def versions() -> list[str]:
    """All versions, the oldest first."""
    return [each.revision for each in _scripts().walk_revisions()][::-1]


def _scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def _run(
    connection: Connection, steps: Callable[[ScriptDirectory, Any], Iterable[Any]], to: str
) -> None:
    """Go so many steps, in the transaction of the connection."""
    scripts, before = _scripts(), version(connection)

    def walk(now: Any, context: Any) -> Any:
        return steps(scripts, now)

    with EnvironmentContext(Config(), scripts, fn=walk, destination_rev=to) as environment:
        environment.configure(
            connection=connection, target_metadata=metadata, transactional_ddl=False
        )
        environment.run_migrations()
    if version(connection) != before:
        log.info("tables of version %s are of version %s now", before, version(connection))


@dataclass(frozen=True)
class Excerpt:
    """Which lines of a list, by their numbers: those after one, or before one; at most `limit`, of
    which the last where it is not said after which.
    """

    limit: int | None = None
    after: int | None = None
    before: int | None = None

    def of(
        self, connection: Connection, lines: Select[Any], number: ColumnElement[int]
    ) -> list[Any]:
        """These rows, in their order."""
        if self.after is not None:
            lines = lines.where(number > self.after)
        if self.before is not None:
            lines = lines.where(number < self.before)
        are_last = self.limit is not None and self.after is None
        ordered = lines.order_by(number.desc() if are_last else number).limit(self.limit)
        rows = list(connection.execute(ordered).all())
        return rows[::-1] if are_last else rows


ALL = Excerpt()
