"""Databases of before there were versions: brought here, used, taken back; a kill in the middle
leaves them as they were.
"""

import os
import signal
import subprocess
import sys

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import inspect, text

from tacit.learners.query import PURPOSE
from tacit.service.coordinator import tables
from tacit.service.coordinator.intake import write_reports
from tacit.service.coordinator.sql import open_engine
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import OPEN, Question, StoreError, metadata
from tacit.wire.envelopes import public_bytes, sign_bytes
from tests.service.coordinator.made import enrol, folder_of, running

# the tables of the last release without versions, as it made them
OLD = """
CREATE TABLE campaign (one {serial}, name TEXT NOT NULL, state TEXT NOT NULL, resumes TEXT NOT NULL,
 worked FLOAT NOT NULL, ended TEXT NOT NULL, terms {bytes} NOT NULL, model {bytes},
 progress TEXT NOT NULL, lease TEXT NOT NULL, lease_until FLOAT NOT NULL, PRIMARY KEY (one));
CREATE TABLE owners (id {serial}, owner TEXT NOT NULL, label TEXT NOT NULL, held TEXT NOT NULL,
 token TEXT NOT NULL, revoked BOOLEAN NOT NULL, asked INTEGER, PRIMARY KEY (id), UNIQUE (owner),
 UNIQUE (token));
CREATE TABLE tokens (token TEXT NOT NULL, used BOOLEAN NOT NULL, PRIMARY KEY (token));
CREATE TABLE questions (number INTEGER NOT NULL, digest {bytes} NOT NULL, data {bytes} NOT NULL,
 state TEXT NOT NULL, opened FLOAT NOT NULL, deadline FLOAT NOT NULL, answer {bytes},
 PRIMARY KEY (number), UNIQUE (digest));
CREATE TABLE invitations (question INTEGER NOT NULL, owner INTEGER NOT NULL,
 PRIMARY KEY (question, owner), FOREIGN KEY(question) REFERENCES questions (number),
 FOREIGN KEY(owner) REFERENCES owners (id));
CREATE TABLE reports (question INTEGER NOT NULL, owner INTEGER NOT NULL, data {bytes} NOT NULL,
 received FLOAT NOT NULL, PRIMARY KEY (question, owner));
CREATE TABLE outcomes (question INTEGER NOT NULL, outcome TEXT NOT NULL, count BIGINT NOT NULL,
 PRIMARY KEY (question, outcome));
CREATE TABLE rosters (number INTEGER NOT NULL, at FLOAT NOT NULL, data {bytes} NOT NULL,
 PRIMARY KEY (number));
CREATE TABLE spoken (question INTEGER NOT NULL, data {bytes} NOT NULL, PRIMARY KEY (question),
 FOREIGN KEY(question) REFERENCES questions (number))
"""
WORDS = {
    "sqlite": {"serial": "INTEGER NOT NULL", "bytes": "BLOB"},
    "postgresql": {"serial": "SERIAL NOT NULL", "bytes": "BYTEA"},
}


def make_old(url, names=("north", "south", "north", "")):
    """A campaign in old tables, with some owners."""
    engine = open_engine(url)
    with engine.begin() as connection:
        for statement in OLD.format(**WORDS[engine.dialect.name]).split(";"):
            connection.execute(text(statement))
        values = "(1,'trial','paused','running',7.5,'',:terms,NULL,'{}','',0)"
        begun = f"INSERT INTO campaign VALUES {values}"  # noqa: S608 - constants
        connection.execute(text(begun), {"terms": b"terms"})
        row = "INSERT INTO owners (owner,label,held,token,revoked) VALUES (:o,:l,'',:o,false)"
        for at, name in enumerate(names):
            connection.execute(text(row), {"o": f"{at:064x}", "l": name})
    return engine


def shape(engine):
    """Tables with their columns, and indexes, but for the version."""
    seen = inspect(engine)
    return {
        name: (
            sorted((each["name"], bool(each["nullable"])) for each in seen.get_columns(name)),
            sorted(str(each["name"]) for each in seen.get_indexes(name)),
            seen.get_pk_constraint(name)["constrained_columns"],
            sorted(each["column_names"] for each in seen.get_unique_constraints(name)),
        )
        for name in seen.get_table_names()
        if name != "alembic_version"
    }


def test_an_old_database_is_brought_here_and_taken_back_and_nothing_is_lost(database):
    engine = make_old(database)
    before = shape(engine)
    store = Store(database)
    store.create_or_resume("trial", b"terms", b"k" * 32)
    standing = store.standing()
    assert (standing.name, standing.state, standing.worked) == ("trial", "paused", 7.5)
    assert store.labels() == {1: "north", 2: "south", 3: "north (2)", 4: ""}
    store.create_or_resume("trial", b"terms", b"k" * 32)
    with pytest.raises(StoreError, match="of the key"):
        store.create_or_resume("trial", b"terms", b"o" * 32)
    with engine.begin() as connection:
        assert tables.version(connection) == tables.versions()[-1] == "0003"
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        tables.downgrade(connection)
        assert tables.version(connection) == tables.BEFORE
    assert shape(engine) == before
    store.create_or_resume("trial", b"terms", b"k" * 32)  # and here again
    assert store.labels()[3] == "north (2)"
    store.close()
    engine.dispose()


def test_new_tables_are_those_that_old_ones_become(database, tmp_path):
    old = make_old(f"sqlite:///{tmp_path}/old.db")
    Store(f"sqlite:///{tmp_path}/old.db").create_or_resume("trial", b"terms", b"key")
    new = Store(f"sqlite:///{tmp_path}/new.db")
    new.create_or_resume("trial", b"terms", b"key")
    fresh = open_engine(f"sqlite:///{tmp_path}/new.db")
    assert shape(old) == shape(fresh)


def test_tables_of_a_newer_release_are_named_for_what_they_are(database):
    store = Store(database)
    store.create_or_resume("trial", b"terms", b"key")
    with store.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="version '9999', which this release does not know"):
        store.create_or_resume("trial", b"terms", b"key")
    store.close()


def test_questions_bear_out_whose_campaign_an_old_database_was(tmp_path):
    mine, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    service = running(folder_of(tmp_path), key=mine)
    service.store.add_tokens([f"token number {i:04d}" for i in range(60)])
    with service.store.transaction() as connection:
        columns = "campaign,owner,label,held,token,revoked"
        row = f"INSERT INTO owners ({columns}) VALUES (1,:o,'','',:o,false)"  # noqa: S608 - constants
        connection.execute(text(row), [{"o": f"{at:064x}"} for at in range(60)])
    for _ in range(4):
        service.driver.step()
    assert service.store.questions()
    with service.store.transaction() as connection:
        tables.downgrade(connection)
    service.store.close()
    with pytest.raises(StoreError, match="are not signed by"):
        running(tmp_path, key=other)
    again = running(tmp_path, key=mine)
    assert again.store.questions()
    assert again.fingerprint == public_bytes(mine.public_key()).hex()


KILLED = """
import os, signal, sys
from alembic.operations import Operations
from tacit.service.coordinator.store import Store
setattr(Operations, sys.argv[2], lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))
Store(sys.argv[1]).create_or_resume("trial", b"terms", b"key")
"""


def upgrade_and_die(database, where):
    command = [sys.executable, "-c", KILLED, database, where]
    found = subprocess.run(command, env=os.environ, check=False)
    assert found.returncode == -signal.SIGKILL


def test_a_kill_in_the_middle_leaves_the_tables_as_they_were(database):
    engine = make_old(database)
    before = shape(engine)
    upgrade_and_die(database, "create_table")
    assert shape(engine) == before
    store = Store(database)
    store.create_or_resume("trial", b"terms", b"key")
    assert store.labels() == {1: "north", 2: "south", 3: "north (2)", 4: ""}
    store.close()
    engine.dispose()


def contents(engine, names):
    """All rows of some tables, as far as there are such tables."""
    names = [name for name in names if inspect(engine).has_table(name)]
    with engine.connect() as connection:
        return {
            name: sorted(map(repr, connection.execute(text(f"SELECT * FROM {name}"))))  # noqa: S608 - constants
            for name in names
        }


def test_one_campaign_in_a_database_becomes_the_first_of_several(database):
    """From the tables of the last release: killed in the middle, brought here, gone on with."""
    mine = Ed25519PrivateKey.generate()
    key = public_bytes(mine.public_key())
    store = Store(database)
    store.create_or_resume("trial", b"terms", key)
    store.add_tokens(["token number 1", "token number 2"])
    assert enrol(store, "a" * 64, "token number 1", "north")
    store.ask(
        Question(1, b"d" * 32, sign_bytes(b"data", PURPOSE, mine), OPEN, 0.0, 60.0, None),
        [1],
        spend=True,
    )
    with store.transaction() as connection:
        assert write_reports(connection, store.id, 1, {1: b"report"}, 0.0) == {1}
        connection.execute(text("UPDATE tokens SET made = 0"))  # which no earlier table holds
    now = contents(engine := open_engine(database), metadata.tables)
    now.pop("acts")  # nor that
    with engine.begin() as connection:
        tables.downgrade(connection)
    before, earlier = shape(engine), contents(engine, metadata.tables)
    assert "slug" not in str(before["campaign"])
    upgrade_and_die(database, "drop_table")  # after every row was copied
    assert (shape(engine), contents(engine, metadata.tables)) == (before, earlier)
    again = Store(database, "trial-2026")
    again.create_or_resume("trial", b"terms", key)
    later = contents(engine, metadata.tables)
    assert later.pop("campaign")[0].startswith("(1, 'trial-2026', 'trial'")
    # earlier tables do not know when tokens were made
    assert len(later.pop("tokens")) == len(now.pop("tokens")) == 2
    assert later.pop("acts") == []
    assert later == {name: rows for name, rows in now.items() if name != "campaign"}
    assert enrol(again, "b" * 64, "token number 2")
    assert again.labels() == {1: "north", 2: ""}  # numbers go on
    other = Store(database, "other")
    other.create_or_resume("another", b"terms", b"other key")
    with engine.begin() as connection, pytest.raises(ValueError, match="holds 2 campaigns"):
        tables.downgrade(connection)
    for each in (store, again, other):
        each.close()
    engine.dispose()


def test_renewed_keys_keep_a_database_here_and_others_can_go_back(database):
    store = Store(database)
    store.create_or_resume("trial", b"terms", b"key")
    store.add_tokens(["token number 1"])
    assert enrol(store, "a" * 64, "token number 1", "north")
    engine = open_engine(database)
    here = shape(engine)
    with engine.begin() as connection:
        tables.downgrade(connection, "0002")
    assert "renewals" not in shape(engine)
    store.create_or_resume("trial", b"terms", b"key")
    assert (shape(engine), store.labels()) == (here, {1: "north"})
    row = "INSERT INTO renewals VALUES (1, 'old', 1, 3, :data)"
    with engine.begin() as connection:
        connection.execute(text(row), {"data": b"signed"})
    with engine.begin() as connection, pytest.raises(ValueError, match="have renewed 1 keys"):
        tables.downgrade(connection)
    assert shape(engine) == here
    store.close()
    engine.dispose()
