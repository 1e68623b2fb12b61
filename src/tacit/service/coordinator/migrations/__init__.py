"""The tables of a database, brought to this release and back, by Alembic.

Each file in `versions` is one step, there and back again; the database says in `alembic_version`
which was the last. Before the first step tables had no version: a database without one is of then.
A step is a part of the transaction that it is given, in SQLite as in PostgreSQL, so whoever is
killed in the middle leaves the tables as they were.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, inspect

from tacit.service.coordinator.sql import StoreError
from tacit.service.coordinator.tables import metadata

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
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def _run(
    connection: Connection, steps: Callable[[ScriptDirectory, Any], Iterable[Any]], to: str
) -> None:
    """Go so many steps, in the transaction of the connection."""
    scripts = _scripts()

    def walk(now: Any, context: Any) -> Any:
        return steps(scripts, now)

    with EnvironmentContext(Config(), scripts, fn=walk, destination_rev=to) as environment:
        environment.configure(
            connection=connection, target_metadata=metadata, transactional_ddl=False
        )
        environment.run_migrations()
