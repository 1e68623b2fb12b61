"""Files of SQLite that several processes make at once."""

import errno
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tacit._util import stopping
from tacit._util.stopping import make_private, read_or_create, replace_file, use_journal


@pytest.fixture
def connections(tmp_path):
    """Two to the same new file; the first is about to write, in the old way."""
    first, second = (
        sqlite3.connect(tmp_path / "x", isolation_level=None, check_same_thread=False)
        for _ in range(2)
    )
    first.execute("BEGIN IMMEDIATE")
    yield first, second
    first.close()
    second.close()


def mode(connection):
    return connection.execute("PRAGMA journal_mode").fetchone()[0]


def test_who_comes_second_waits_for_the_first(connections):
    first, second = connections
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        second.execute("PRAGMA journal_mode = WAL")  # what SQLite itself says, without waiting
    later = threading.Timer(0.2, first.execute, ["COMMIT"])
    later.start()
    use_journal(second)
    later.join()
    assert mode(second) == "wal"
    use_journal(first)
    assert mode(first) == "wal"


def test_patience_ends(connections, monkeypatch):
    monkeypatch.setattr(stopping, "_WAIT", 0.05)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        use_journal(connections[1])


def test_other_errors_are_told_at_once(tmp_path):
    (tmp_path / "x").write_bytes(b"no database" * 1000)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        use_journal(sqlite3.connect(tmp_path / "x"))


def test_what_is_no_database_keeps_its_rights(tmp_path, monkeypatch):
    """What was named by mistake became one that its user alone can read: a list, a database of
    another program, a device.
    """
    notes, other = tmp_path / "notes.txt", tmp_path / "other.db"
    notes.write_text("bread and milk")
    with closing(sqlite3.connect(other)) as made:
        made.execute("CREATE TABLE songs (name)")
    for file in (notes, other):
        file.chmod(0o644)
    before, changed = other.read_bytes(), []
    monkeypatch.setattr(os, "fchmod", lambda *given: changed.append(given))
    for wrong in (notes, other, tmp_path, Path(os.devnull)):
        with pytest.raises(ValueError, match="holds no budget: name a file that Budget made"):
            make_private(wrong, "charges", "budget", "Budget")
    assert not changed
    assert other.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [notes, other]


def test_what_is_a_database_becomes_its_users_alone(tmp_path):
    file = tmp_path / "mine.db"
    with closing(sqlite3.connect(file)) as made:
        made.execute("CREATE TABLE charges (epsilon)")
    for _ in range(2):
        file.chmod(0o644)
        make_private(file, "charges", "budget", "Budget")
        assert file.stat().st_mode & 0o777 == 0o600
        file.write_bytes(b"")  # as one that somebody makes just now
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("is_new", [True, False])
def test_of_a_file_that_could_not_be_written_nothing_is_left(tmp_path, monkeypatch, is_new):
    """On a full disk a part of it stayed, under a name that nobody knows: of a kit, of a key."""

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def write(path):
        read_or_create(path, lambda: b"key") if is_new else replace_file(path, b"key")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "secret")
    assert list(tmp_path.iterdir()) == []
