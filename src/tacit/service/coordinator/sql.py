"""A database to keep a campaign in, SQLite made durable or PostgreSQL as it is, and statements for
many owners at once: one text and a few parameters, however many there are.

A list travels as one text, with commas for PostgreSQL and as JSON for SQLite, so that statements
are parsed once, never meet a limit of parameters, and nothing is done for each element but to join
them.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Table, TextClause, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Engine

from tacit._util.durable import make_private, use_journal
from tacit.service.coordinator.tables import owners


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
        make_private(Path(engine.url.database or ""))

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


def _among(statement: str, locked: str = "") -> dict[str, TextClause]:
    """A statement that ends with a column, for rows where that is in a list of names; `locked`
    where workers meet.
    """
    return {
        "postgresql": text(f"{statement} = ANY(string_to_array(:names, ',')) {locked}"),
        "sqlite": text(f"{statement} IN (SELECT value FROM json_each(:names))"),  # noqa: S608 - constants of this file
    }


_STATUSES = _among(
    "SELECT o.owner, i.owner, r.data FROM owners o "
    "LEFT JOIN invitations i ON i.question = :question AND i.owner = o.id "
    "LEFT JOIN reports r ON r.question = :question AND r.owner = i.owner WHERE NOT o.revoked "
    "AND o.owner"
)
_FREE = _among("SELECT token, used FROM tokens WHERE token", locked="ORDER BY token FOR UPDATE")
_TOKENS = _among("SELECT owner, token, revoked FROM owners WHERE owner")
_USE = _among("UPDATE tokens SET used = TRUE WHERE token")
_WRITE = {
    "postgresql": text(
        "INSERT INTO reports (question, owner, data, received) "
        "SELECT :question, CAST(owner AS integer), decode(data, 'hex'), :now "
        "FROM unnest(string_to_array(:owners, ','), string_to_array(:data, ',')) AS sent "
        "(owner, data) "
        "ON CONFLICT DO NOTHING RETURNING owner"
    ),
    "sqlite": text(
        "INSERT INTO reports (question, owner, data, received) VALUES (:question, :owner, "
        ":data, :now)"
    ),
}
_SPEND = {
    "postgresql": text(
        "UPDATE owners SET asked = :question "
        "WHERE id = ANY(CAST(string_to_array(:owners, ',') AS integer[])) AND asked IS NULL "
        "AND NOT revoked"
    ),
    "sqlite": text(
        "UPDATE owners SET asked = :question WHERE id IN (SELECT value FROM json_each(:owners)) "
        "AND asked IS NULL AND NOT revoked"
    ),
}


@dataclass(frozen=True, slots=True)
class OwnerStatus:
    """How an owner stands to a question: its number if it was invited, and its report if that is
    here.
    """

    owner_id: int | None
    report: bytes | None


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say what to do about a row that is there already."""
    return (
        postgresql.insert(table)
        if connection.dialect.name == "postgresql"
        else sqlite.insert(table)
    )


def owner_statuses(
    connection: Connection, question: int, names: Sequence[str]
) -> dict[str, OwnerStatus]:
    """How some owners stand to a question; those that are not enrolled, or revoked, are left
    out.
    """
    kind = connection.dialect.name
    given = {"question": question, "names": _list(kind, names)}
    rows = connection.execute(_STATUSES[kind], given).all()
    return {name: OwnerStatus(owner_id, data) for name, owner_id, data in rows}


def write_reports(
    connection: Connection, question: int, reports: dict[int, bytes], now: float
) -> set[int]:
    """Write reports by owner; the owners whose report is the first. Another worker may have been
    faster with some.
    """
    if connection.dialect.name == "sqlite":
        # one writer: what was not there when this transaction began is not there
        rows = [
            {"question": question, "owner": owner_id, "data": data, "now": now}
            for owner_id, data in reports.items()
        ]
        connection.execute(_WRITE["sqlite"], rows)
        return set(reports)
    # the same order in every worker: two that wait for each other would wait for ever
    ids = sorted(reports)
    data = ",".join(reports[owner_id].hex() for owner_id in ids)
    given = {"question": question, "owners": _list("postgresql", ids), "data": data, "now": now}
    return set(connection.execute(_WRITE["postgresql"], given).scalars())


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


def spend(connection: Connection, question: int, owner_ids: Sequence[int]) -> int:
    """Mark owners as asked, each for the first and only time; how many could be."""
    kind = connection.dialect.name
    given = {"question": question, "owners": _list(kind, owner_ids)}
    return connection.execute(_SPEND[kind], given).rowcount


def _list(kind: str, values: Sequence[int] | Sequence[str]) -> str:
    """Numbers, or words without commas, in one text."""
    return ",".join(map(str, values)) if kind == "postgresql" else json.dumps(list(values))
