"""A database to keep a campaign in: SQLite, made durable, or PostgreSQL as it is."""

import sqlite3

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import Engine

from tacit.durable import journaled


class StoreError(RuntimeError):
    """The database cannot serve this campaign; the message says what to do."""


def open_engine(url: str) -> Engine:
    """An engine for `sqlite:///file` or `postgresql://...`; SQLite is made durable and begins with its write lock."""
    if not url.startswith(("sqlite:///", "postgresql://")):
        kind = url.partition(":")[0][:40]  # not all of it: there may be a password
        raise StoreError(f"database must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, got {kind!r}...")
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    engine = create_engine(url, pool_pre_ping=True, hide_parameters=True)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, record: object) -> None:
            connection.isolation_level = None  # we say BEGIN ourselves
            journaled(connection)
            connection.execute("PRAGMA foreign_keys = ON")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            reading = connection.get_execution_options().get("reading", False)
            connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine
