"""A database to keep a campaign in: SQLite, made durable, or PostgreSQL as it is.

The tables of a campaign, the same in SQLite and PostgreSQL.

Statements for many owners at once: one text and a few parameters, however many there are.

A list travels as one text, with commas for PostgreSQL and as JSON for SQLite, so that statements
are parsed once, never meet a limit of parameters, and nothing is done for each element but to join
them.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TextClause,
    create_engine,
    event,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Engine

from tacit._util.durable import use_journal


class StoreError(RuntimeError):
    """The database cannot serve this campaign; the message says what to do."""


def open_engine(url: str) -> Engine:
    """An engine for `sqlite:///file` or `postgresql://...`; SQLite is made durable and begins
    with its write lock.
    """
    if not url.startswith(("sqlite:///", "postgresql://")):
        kind = url.partition(":")[0][:40]  # not all of it: there may be a password
        raise StoreError(
            "database must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, got "
            f"{kind!r}..."
        )
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    engine = create_engine(url, pool_pre_ping=True, hide_parameters=True)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, record: object) -> None:
            connection.isolation_level = None  # we say BEGIN ourselves
            use_journal(connection)
            connection.execute("PRAGMA foreign_keys = ON")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            reading = connection.get_execution_options().get("reading", False)
            connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


metadata = MetaData()
NOTHING_YET = "{}"  # progress of a campaign that no driver has looked at

campaign = Table(
    "campaign",
    metadata,
    Column("one", Integer, primary_key=True),  # a database holds one campaign
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),  # enrolling, running, paused, ended
    Column("resumes", Text, nullable=False, default=""),  # the state that a pause goes back to
    Column(
        "worked", Float, nullable=False, default=0.0
    ),  # the campaign's time: seconds that somebody drove it
    Column("ended", Text, nullable=False, default=""),
    Column(
        "terms", LargeBinary, nullable=False
    ),  # canonical bytes: a restart with other terms is refused
    Column("model", LargeBinary, nullable=True),
    Column("progress", Text, nullable=False, default=NOTHING_YET),
    Column("lease", Text, nullable=False, default=""),  # which worker drives,
    Column("lease_until", Float, nullable=False, default=0.0),  # and until when
)

owners = Table(
    "owners",
    metadata,
    Column("place", Integer, primary_key=True, autoincrement=True),
    Column("owner", Text, nullable=False, unique=True),  # its public key, in hex
    Column("label", Text, nullable=False, default=""),
    Column(
        "held", Text, nullable=False, default=""
    ),  # numbers of the attributes it has; empty: all
    Column("token", Text, nullable=False, unique=True),  # the hash of the token it came with
    Column("revoked", Boolean, nullable=False, default=False),
    Column("asked", Integer, nullable=True),  # the question that spent it: asked means spent
)

tokens = Table(
    "tokens",
    metadata,
    Column("token", Text, primary_key=True),  # a hash; tokens themselves are kept nowhere
    Column("used", Boolean, nullable=False, default=False),
)

questions = Table(
    "questions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("data", LargeBinary, nullable=False),  # the signed invitation
    Column("state", Text, nullable=False),  # open, adding (two servers are at it), closed, void
    Column("opened", Float, nullable=False),  # in the campaign's time, as is the deadline
    Column("deadline", Float, nullable=False),
    Column("answer", LargeBinary, nullable=True),  # what the algorithm was told: the transcript
)

invitations = Table(
    "invitations",
    metadata,
    Column("question", Integer, ForeignKey("questions.number"), primary_key=True),
    Column("owner", Integer, ForeignKey("owners.place"), primary_key=True),
)

# without foreign keys: a report is written where its invitation was read, and those are never
# deleted
reports = Table(
    "reports",
    metadata,
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("owner", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
    Column("received", Float, nullable=False),
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("outcome", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

rosters = Table(
    "rosters",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),  # in the campaign's time
    Column("data", LargeBinary, nullable=False),  # the signed roster
)

spoken = Table(
    "spoken",
    metadata,
    Column("question", Integer, ForeignKey("questions.number"), primary_key=True),
    Column("data", LargeBinary, nullable=False),  # what the peer signed, for the others
)


def _among(statement: str, locked: str = "") -> dict[str, TextClause]:
    """A statement that ends with a column, for rows where that is in a list of names; `locked`
    where workers meet.
    """
    return {
        "postgresql": text(f"{statement} = ANY(string_to_array(:names, ',')) {locked}"),
        "sqlite": text(f"{statement} IN (SELECT value FROM json_each(:names))"),  # noqa: S608 - constants of this file
    }


_SEATS = _among(
    "SELECT o.owner, i.owner AS place, r.data FROM owners o "
    "LEFT JOIN invitations i ON i.question = :question AND i.owner = o.place "
    "LEFT JOIN reports r ON r.question = :question AND r.owner = i.owner WHERE NOT o.revoked "
    "AND o.owner"
)
_FREE = _among("SELECT token, used FROM tokens WHERE token", locked="ORDER BY token FOR UPDATE")
_TOKENS = _among("SELECT owner, token, revoked FROM owners WHERE owner")
_USE = _among("UPDATE tokens SET used = TRUE WHERE token")
_WRITE = {
    "postgresql": text(
        "INSERT INTO reports (question, owner, data, received) "
        "SELECT :question, CAST(place AS integer), decode(data, 'hex'), :now "
        "FROM unnest(string_to_array(:places, ','), string_to_array(:data, ',')) AS sent "
        "(place, data) "
        "ON CONFLICT DO NOTHING RETURNING owner"
    ),
    "sqlite": text(
        "INSERT INTO reports (question, owner, data, received) VALUES (:question, :place, "
        ":data, :now)"
    ),
}
_SPEND = {
    "postgresql": text(
        "UPDATE owners SET asked = :question "
        "WHERE place = ANY(CAST(string_to_array(:places, ',') AS integer[])) AND asked IS "
        "NULL AND NOT revoked"
    ),
    "sqlite": text(
        "UPDATE owners SET asked = :question WHERE place IN (SELECT value FROM json_each(:places)) "
        "AND asked IS NULL AND NOT revoked"
    ),
}


@dataclass(frozen=True, slots=True)
class Seat:
    """How an owner stands to a question: its place if it was invited, and its report if that is
    here.
    """

    place: int | None
    report: bytes | None


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say what to do about a row that is there already."""
    return (
        postgresql.insert(table)
        if connection.dialect.name == "postgresql"
        else sqlite.insert(table)
    )


def seats(connection: Connection, question: int, names: Sequence[str]) -> dict[str, Seat]:
    """How some owners stand to a question; those that are not enrolled, or revoked, are left
    out.
    """
    kind = connection.dialect.name
    rows = connection.execute(_SEATS[kind], {"question": question, "names": _list(kind, names)})
    return {owner: Seat(place, data) for owner, place, data in rows.all()}


def write_reports(
    connection: Connection, question: int, reports: dict[int, bytes], now: float
) -> set[int]:
    """Write reports by place; the places whose report is the first. Another worker may have been
    faster with some.
    """
    if (
        connection.dialect.name == "sqlite"
    ):  # one writer: what was not there when this transaction began is not there
        rows = [
            {"question": question, "place": place, "data": data, "now": now}
            for place, data in reports.items()
        ]
        connection.execute(_WRITE["sqlite"], rows)
        return set(reports)
    places = sorted(
        reports
    )  # the same order in every worker: two that wait for each other would wait for ever
    data = ",".join(reports[place].hex() for place in places)
    given = {"question": question, "places": _list("postgresql", places), "data": data, "now": now}
    return {place for (place,) in connection.execute(_WRITE["postgresql"], given).all()}


def free_tokens(connection: Connection, tokens: Sequence[str]) -> set[str]:
    """Which of some hashed tokens nobody has used; nobody else uses any of them until the end of
    this transaction.
    """
    kind = connection.dialect.name
    rows = connection.execute(_FREE[kind], {"names": _list(kind, tokens)}).all()
    return {token for token, used in rows if not used}


def use_tokens(connection: Connection, tokens: Sequence[str]) -> None:
    """Mark tokens as used."""
    kind = connection.dialect.name
    connection.execute(_USE[kind], {"names": _list(kind, tokens)})


def tokens_of(connection: Connection, names: Sequence[str]) -> dict[str, str | None]:
    """The hashed tokens that some owners came with, None for those that are revoked; newcomers
    are left out.
    """
    kind = connection.dialect.name
    rows = connection.execute(_TOKENS[kind], {"names": _list(kind, names)}).all()
    return {owner: None if revoked else token for owner, token, revoked in rows}


def write_owners(connection: Connection, rows: Sequence[Mapping[str, str]]) -> set[str]:
    """Write newcomers; the names of those that were not there. Another worker may have been
    faster with some.
    """
    if not rows:
        return set()
    added = upsert(connection, owners).on_conflict_do_nothing().returning(owners.c.owner)
    return set(connection.execute(added, [dict(row) for row in rows]).scalars())


def spend(connection: Connection, question: int, places: Sequence[int]) -> int:
    """Mark owners as asked, each for the first and only time; how many could be."""
    kind = connection.dialect.name
    return connection.execute(
        _SPEND[kind], {"question": question, "places": _list(kind, places)}
    ).rowcount


def _list(kind: str, values: Sequence[int] | Sequence[str]) -> str:
    """Numbers, or words without commas, in one text."""
    return ",".join(map(str, values)) if kind == "postgresql" else json.dumps(list(values))
