"""A database to keep campaigns in, SQLite made durable or PostgreSQL as it is, and statements for
many owners at once: one text and a few parameters, however many there are.

A list travels as one text, with commas or as JSON, so that statements never meet a limit of
parameters, and little is done for each element.

Tables grow from nothing to a hundred thousand rows between two counts of PostgreSQL's own, so no
statement may depend on them: none is prepared, since a plan that was made for sixty owners reads
all of a hundred thousand for each that asks, and owners are looked up one by one, each by the whole
of a unique key.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Table,
    TextClause,
    create_engine,
    delete,
    event,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Engine
from sqlalchemy.pool import QueuePool

from tacit._util.stopping import make_private, use_journal
from tacit.service.coordinator.tables import (
    OPEN,
    SIGNED,
    Outline,
    StoreError,
    campaign,
    owners,
    questions,
    reports,
    signed_place,
    spoken,
    storage,
    tokens,
)
from tacit.wire.envelopes import Vault, check_storage


class Storage:
    """How what deserves it lies in a database: as it is, or encrypted with a `vault`. Those are the
    names that owners typed, and rosters of them, reports (sealed halves among them) and what peers
    signed, and the hashes of tokens.
    """

    def __init__(self, vault: Vault | None = None) -> None:
        self.vault = vault

    def seal_name(self, name: str) -> str:
        """No name stays none: an index knows it by that."""
        if self.vault is None or not name:
            return name
        return self.vault.seal(name.encode(), "name").hex()

    def open_name(self, name: str) -> str:
        if self.vault is None or not name:
            return name
        return self._require_open(self.vault.open(bytes.fromhex(name), "name")).decode()

    def hide_token(self, digest: str) -> str:
        """What is looked up instead of a token's hash."""
        return digest if self.vault is None else self.vault.hash(digest)

    def seal_report(self, data: bytes, question: int, owner_id: int) -> bytes:
        if self.vault is None:
            return data
        return self.vault.seal(data, f"report {question} {owner_id}")

    def open_report(self, data: bytes, question: int, owner_id: int) -> bytes:
        if self.vault is None:
            return data
        return self._require_open(self.vault.open(data, f"report {question} {owner_id}"))

    def seal_signed(self, data: bytes, place: str) -> bytes:
        return data if self.vault is None else self.vault.seal(data, place)

    def open_signed(self, data: bytes, place: str) -> bytes:
        """What is verified wherever it is read; releases of before wrote it in the clear."""
        found = None if self.vault is None else self.vault.open(data, place)
        return data if found is None else found

    def _require_open(self, found: bytes | None) -> bytes:
        if found is None:
            raise StoreError("something in the database is not what was encrypted there")
        return found

    def check(self, connection: Connection) -> bool:
        """Whether the database is encrypted, with this key; another, or none, is refused."""
        mark = connection.execute(select(storage.c.mark)).scalar()
        check_storage(self.vault, mark, "the database")
        return mark is not None

    def settle(self, connection: Connection) -> None:
        """Encrypt what was written in the clear, if there is a key for the first time."""
        was_encrypted = self.check(connection)
        if self.vault is None:
            return
        self._settle_signed(connection)
        if was_encrypted:
            return
        known = select(owners.c.id, owners.c.label, owners.c.token)
        for place, name, token in connection.execute(known).all():
            sealed = {"label": self.seal_name(name), "token": self.hide_token(token)}
            connection.execute(update(owners).where(owners.c.id == place).values(**sealed))
        for (token,) in connection.execute(select(tokens.c.token).distinct()).all():
            mine = update(tokens).where(tokens.c.token == token)
            connection.execute(mine.values(token=self.hide_token(token)))
        about = reports.c.campaign, reports.c.question, reports.c.owner
        for row in connection.execute(select(*about, reports.c.data)).all():
            places = [column == value for column, value in zip(about, row[:3], strict=True)]
            data = self.seal_report(row.data, row.question, row.owner)
            connection.execute(update(reports).where(*places).values(data=data))
        connection.execute(insert(storage).values(one=1, mark=self.vault.mark))

    def _settle_signed(self, connection: Connection) -> None:
        """What releases of before left in the clear."""
        for table, number, column in SIGNED:
            whose, at, content = table.c.campaign, table.c[number], table.c[column]
            for row in connection.execute(select(whose, at, content)).all():
                place = signed_place(table, column, *row[:2])
                if self.open_signed(row[2], place) == row[2]:
                    this = update(table).where(whose == row[0], at == row[1])
                    connection.execute(this.values({column: self.seal_signed(row[2], place)}))


# nobody waits for ever: for a table that somebody has locked, or a machine that went without a
# word; whoever sent something is told to come again
_POSTGRESQL: dict[str, Any] = {
    "prepare_threshold": None,
    "connect_timeout": 10,
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 20,
}
_LOCKED = "SET LOCAL lock_timeout = '20s'"  # with each transaction: poolers take no settings


def open_engine(url: str, kept: Storage | None = None) -> Engine:
    """An engine for `sqlite:///file` or `postgresql://...`; SQLite is made durable and begins
    with its write lock. Its connections know how things are `kept`.
    """
    if not url.startswith(("sqlite:///", "postgresql://")):
        kind = url.partition(":")[0][:40]  # not all of it: there may be a password
        raise StoreError(
            "database must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, got "
            f"{kind!r}..."
        )
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    given = _POSTGRESQL if url.startswith("postgresql") else {}
    engine = create_engine(
        url,
        pool_pre_ping=True,
        hide_parameters=True,
        execution_options={"storage": kept or Storage()},
        connect_args=given,
    )
    if engine.dialect.name == "sqlite":
        make_private(Path(engine.url.database or ""), "campaign", "campaigns", "tacit serve")

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, record: object) -> None:
            connection.isolation_level = None  # we say BEGIN ourselves
            use_journal(connection)
            connection.execute("PRAGMA foreign_keys = ON")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            reading = connection.get_execution_options().get("reading", False)
            connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    else:

        @event.listens_for(engine, "begin")
        def limit_waits(connection: Connection) -> None:
            connection.exec_driver_sql(_LOCKED)

    return engine


_LAST_WORDS = 30.0  # seconds a transaction has to end when its database is closed


class Database:
    """A database of campaigns, which share its connections."""

    def __init__(self, url: str, vault: Vault | None = None) -> None:
        self.storage = Storage(vault)
        self._engine = open_engine(url, self.storage)
        sqlite = self._engine.dialect.name == "sqlite"
        # better than to poll for SQLite's own lock
        self._turn = threading.Lock() if sqlite else nullcontext()
        self._change = threading.Condition()
        self._uses = 0
        self._is_closed = False  # whoever still comes gives back what it had
        self._outer = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction: all of it, or nothing. What a thread does inside one is a part of it,
        whether it is called a transaction or a snapshot.
        """
        outer: Connection | None = getattr(self._outer, "connection", None)
        if outer is not None:
            yield outer
            return
        with self._use(), self._turn, self._engine.begin() as connection:
            self._outer.connection, self._outer.is_to_scrub = connection, False
            try:
                yield connection
            finally:
                self._outer.connection = None
        if self._outer.is_to_scrub:
            self.scrub()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """One transaction that only reads: in SQLite it waits for no writer."""
        outer: Connection | None = getattr(self._outer, "connection", None)
        if outer is not None:
            yield outer
            return
        with (
            self._use(),
            self._engine.connect().execution_options(reading=True) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _use(self) -> Iterator[None]:
        with self._change:
            self._uses += 1
        try:
            yield
        finally:
            with self._change:
                self._uses -= 1
                self._change.notify_all()
                if self._is_closed and not self._uses:  # a thread that was late
                    self._engine.dispose()

    def scrub(self) -> None:
        """Have nothing on disk that was deleted or written over, in SQLite's journal either;
        PostgreSQL does so when it cleans up. Inside a transaction it is done when that has ended.
        """
        if getattr(self._outer, "connection", None) is not None:
            self._outer.is_to_scrub = True
        elif self._engine.dialect.name == "sqlite":
            with self._use(), self._turn, closing(self._engine.raw_connection()) as kept:
                kept.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let threads end what they are writing, and give connections back: the engine forgets
        those that are still in use, and nobody would close them.
        """
        with self._change:
            self._is_closed = True
            self._change.wait_for(lambda: not self._uses, _LAST_WORDS)
        self._engine.dispose()

    def figures(self) -> dict[tuple[str, str, str], dict[str, float]]:
        """How it fares, for operators: how long a look takes, and connections of this process."""
        began = time.perf_counter()
        self.campaigns()
        look = "tacit_database_seconds", "", "Seconds that a look at the database takes."
        open_ = "tacit_database_connections", "state", "Connections of the worker that answers."
        pool = self._engine.pool
        counts = {"busy": 0.0, "idle": 0.0}
        if isinstance(pool, QueuePool):
            counts = {"busy": float(pool.checkedout()), "idle": float(pool.checkedin())}
        return {look: {"": time.perf_counter() - began}, open_: counts}

    def campaigns(self) -> dict[int, str]:
        """The slugs of its campaigns by number, in the order they came."""
        every = select(campaign.c.id, campaign.c.slug).order_by(campaign.c.id)
        with self.snapshot() as connection:
            return {row.id: row.slug for row in connection.execute(every)}

    def outlines(self) -> dict[str, Outline]:
        """How its campaigns stand, by slug, in the order they came; nothing large is read."""
        columns = campaign.c.name, campaign.c.key, campaign.c.state, campaign.c.archive.is_not(None)
        with self.snapshot() as connection:
            every = select(campaign.c.slug, *columns).order_by(campaign.c.id)
            rows = connection.execute(every).all()
        return {slug: Outline(*about) for slug, *about in rows}


def _among(statement: str, locked: str = "") -> dict[str, TextClause]:
    """A statement that ends with a column, for rows where that is in a list of names; `locked`
    where workers meet.
    """
    return {
        "postgresql": text(f"{statement} = ANY(string_to_array(:names, ',')) {locked}"),
        "sqlite": text(f"{statement} IN (SELECT value FROM json_each(:names))"),  # noqa: S608 - constants of this file
    }


_STATUSES = {
    "postgresql": text(
        "SELECT o.owner, i.owner, r.data FROM unnest(string_to_array(:names, ',')) AS sent (name) "
        "CROSS JOIN LATERAL (SELECT id, owner FROM owners WHERE campaign = :campaign "
        "AND owner = sent.name AND NOT revoked LIMIT 1) o "
        "LEFT JOIN LATERAL (SELECT owner FROM invitations WHERE campaign = :campaign "
        "AND question = :question AND owner = o.id LIMIT 1) i ON TRUE "
        "LEFT JOIN LATERAL (SELECT data FROM reports WHERE campaign = :campaign "
        "AND question = :question AND owner = i.owner LIMIT 1) r ON TRUE"
    ),
    "sqlite": text(
        "SELECT o.owner, i.owner, r.data FROM owners o LEFT JOIN invitations i "
        "ON i.campaign = :campaign AND i.question = :question AND i.owner = o.id "
        "LEFT JOIN reports r ON r.campaign = :campaign AND r.question = :question "
        "AND r.owner = i.owner WHERE o.campaign = :campaign AND NOT o.revoked "
        "AND o.owner IN (SELECT value FROM json_each(:names))"
    ),
}
_FREE = _among(
    "SELECT token FROM tokens WHERE campaign = :campaign AND NOT used "
    "AND (expires IS NULL OR expires > :now) AND token",
    locked="ORDER BY token FOR UPDATE",
)
_TOKENS = _among("SELECT owner, token, revoked FROM owners WHERE campaign = :campaign AND owner")
_USE = _among("UPDATE tokens SET used = TRUE WHERE campaign = :campaign AND token")
_ENROL = {
    "postgresql": text(
        "INSERT INTO owners (campaign, owner, label, held, token, revoked) "
        "SELECT :campaign, owner, label, held, token, FALSE "
        "FROM json_to_recordset(CAST(:rows AS json)) "
        "AS new (owner text, label text, held text, token text) "
        "ON CONFLICT DO NOTHING RETURNING owner"
    ),
    "sqlite": text(
        "INSERT INTO owners (campaign, owner, label, held, token, revoked) "
        "SELECT :campaign, json_extract(value, '$.owner'), json_extract(value, '$.label'), "
        "json_extract(value, '$.held'), json_extract(value, '$.token'), FALSE "
        "FROM json_each(:rows) WHERE TRUE ON CONFLICT DO NOTHING RETURNING owner"
    ),
}
_INVITE = {
    "postgresql": text(
        "INSERT INTO invitations (campaign, question, owner) "
        "SELECT :campaign, :question, CAST(owner AS integer) "
        "FROM unnest(string_to_array(:owners, ',')) AS invited (owner)"
    ),
    "sqlite": text(
        "INSERT INTO invitations (campaign, question, owner) "
        "SELECT :campaign, :question, value FROM json_each(:owners)"
    ),
}
_SPEND = {
    "postgresql": text(
        "UPDATE owners SET asked = :question "
        "WHERE campaign = :campaign AND id = ANY(CAST(string_to_array(:owners, ',') AS integer[])) "
        "AND asked IS NULL AND NOT revoked"
    ),
    "sqlite": text(
        "UPDATE owners SET asked = :question WHERE campaign = :campaign "
        "AND id IN (SELECT value FROM json_each(:owners)) AND asked IS NULL AND NOT revoked"
    ),
}


@dataclass(frozen=True, slots=True)
class OwnerStatus:
    """How an owner stands to a question: its number if it was invited, and its report if that is
    here.
    """

    owner_id: int | None
    report: bytes | None


def storage_of(connection: Connection) -> Storage:
    """How what deserves it lies where a connection leads."""
    kept: Storage = connection.get_execution_options()["storage"]
    return kept


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say what to do about a row that is there already."""
    return (
        postgresql.insert(table)
        if connection.dialect.name == "postgresql"
        else sqlite.insert(table)
    )


def owner_statuses(
    connection: Connection, campaign: int, question: int, names: Sequence[str]
) -> dict[str, OwnerStatus]:
    """How some owners stand to a question; those that are not enrolled, or revoked, are left
    out.
    """
    kind = connection.dialect.name
    given = {"campaign": campaign, "question": question, "names": as_list(kind, names)}
    rows = connection.execute(_STATUSES[kind], given).all()
    kept = storage_of(connection)
    return {
        name: OwnerStatus(
            owner_id, None if data is None else kept.open_report(data, question, owner_id)
        )
        for name, owner_id, data in rows
    }


def free_tokens(
    connection: Connection, campaign: int, tokens: Sequence[str], now: float
) -> set[str]:
    """Which of some hashed tokens nobody has used and still hold; nobody else uses any of them
    until the end of this transaction.
    """
    kind = connection.dialect.name
    given = {"campaign": campaign, "names": as_list(kind, tokens), "now": now}
    return set(connection.execute(_FREE[kind], given).scalars())


def use_tokens(connection: Connection, campaign: int, tokens: Sequence[str]) -> None:
    """Mark tokens as used."""
    kind = connection.dialect.name
    connection.execute(_USE[kind], {"campaign": campaign, "names": as_list(kind, tokens)})


def tokens_of(connection: Connection, campaign: int, names: Sequence[str]) -> dict[str, str | None]:
    """The hashed tokens that some owners came with, None for those that are revoked; newcomers
    are left out.
    """
    kind = connection.dialect.name
    given = {"campaign": campaign, "names": as_list(kind, names)}
    rows = connection.execute(_TOKENS[kind], given).all()
    return {owner: None if revoked else token for owner, token, revoked in rows}


def write_owners(
    connection: Connection, campaign: int, rows: Sequence[Mapping[str, str]]
) -> set[str]:
    """Write newcomers; the names of those that were not there. Another worker may have been
    faster with some.
    """
    given = {"campaign": campaign, "rows": json.dumps([dict(row) for row in rows])}
    return set(connection.execute(_ENROL[connection.dialect.name], given).scalars())


def spend(connection: Connection, campaign: int, question: int, owner_ids: Sequence[int]) -> int:
    """Mark owners as asked, each for the first and only time; how many could be."""
    kind = connection.dialect.name
    given = {"campaign": campaign, "question": question, "owners": as_list(kind, owner_ids)}
    return connection.execute(_SPEND[kind], given).rowcount


def invite(connection: Connection, campaign: int, question: int, owner_ids: Sequence[int]) -> None:
    """Put a question to some owners."""
    kind = connection.dialect.name
    given = {"campaign": campaign, "question": question, "owners": as_list(kind, owner_ids)}
    connection.execute(_INVITE[kind], given)


def leave_out(connection: Connection, number: int, owner: str) -> bool | None:
    """Revoke an owner of a campaign: whether it took part until now; None: there is none. What it
    said to open questions is taken out; what is closed has been told to others, and stays.

    The lock on open questions keeps this apart from reports being written and from closing.
    """
    numbers = hold(connection, number, [owner])
    return revoke(connection, number, owner, numbers)


def hold(
    connection: Connection, number: int, names: Collection[str], digests: Collection[bytes] = ()
) -> list[int]:
    """Until the end of the transaction the questions of a campaign that are open, and those with
    one of these digests, stay as they are, and so do owners: which questions are open.

    Whoever wants several rows takes questions first, then owners, each in the order of their
    numbers, and none of either afterwards: of two that want the same, neither waits for the other
    for ever. Where a question was put while an owner was waited for, all are let go and taken anew.
    """
    mine, now = questions.c.campaign == number, questions.c.state == OPEN
    these = now | questions.c.digest.in_(sorted(digests)) if digests else now
    put = select(questions.c.number).where(mine, these).order_by(questions.c.number)
    named = (owners.c.campaign == number) & owners.c.owner.in_(sorted(names))
    whose = select(owners.c.id).where(named).order_by(owners.c.id)
    while True:
        with connection.begin_nested() as taking:
            held = set(connection.execute(put.with_for_update()).scalars())
            connection.execute(whose.with_for_update(key_share=True)).all()
            are_open = list(
                connection.execute(select(questions.c.number).where(mine, now)).scalars()
            )
            if held >= set(are_open):
                return are_open
            taking.rollback()


def revoke(
    connection: Connection, number: int, owner: str, are_open: Collection[int]
) -> bool | None:
    """`leave_out` where the owner and the questions that `are_open` are held."""
    this = (owners.c.campaign == number) & (owners.c.owner == owner)
    gone = update(owners).where(this, owners.c.revoked.is_(False)).values(revoked=True)
    owner_id = connection.execute(gone.returning(owners.c.id)).scalar()
    if owner_id is None:
        return (
            None if connection.execute(select(owners.c.id).where(this)).first() is None else False
        )
    said = reports.c.question.in_(are_open) & (reports.c.owner == owner_id)
    taken = connection.execute(
        delete(reports).where(reports.c.campaign == number, said).returning(reports.c.question)
    )
    heard = list(taken.scalars())
    # where reports are signed for others, a question is put to one alone
    signed = (spoken.c.campaign == number) & spoken.c.question.in_(heard)
    connection.execute(delete(spoken).where(signed))
    return True


def as_list(kind: str, values: Sequence[int] | Sequence[str]) -> str:
    """Numbers, or words without commas, in one text."""
    return ",".join(map(str, values)) if kind == "postgresql" else json.dumps(list(values))
