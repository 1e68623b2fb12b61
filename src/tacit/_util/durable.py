"""What is on disk is there whole or not at all, whoever is killed: small files, and SQLite."""

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_WAIT = 60.0  # seconds for another process that is at the same file
_PAUSE = 0.01  # seconds between two tries


def use_journal(connection: sqlite3.Connection) -> None:
    """Make commits survive a loss of power, let readers be beside one writer, wait for others.

    While one process makes a new file such a one, SQLite tells others at once that it is locked,
    whatever their patience; so they try again here.
    """
    connection.execute(f"PRAGMA busy_timeout = {_WAIT * 1000:.0f}")
    until = time.monotonic() + _WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
    connection.execute("PRAGMA synchronous = FULL")


def make_private(path: Path) -> None:
    """Have a file that its user alone can read, empty if there was none; SQLite gives its journals
    the same rights.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(handle).st_mode & 0o077:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def read_or_create(path: Path, make: Callable[[], bytes]) -> bytes:
    """The content of a file that its user alone can read; made on first use, and never again.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     key = Path(folder) / "new" / "key"
    ...     read_or_create(key, lambda: b"first"), read_or_create(key, lambda: b"second")
    (b'first', b'first')
    """
    with suppress(FileNotFoundError):
        return path.read_bytes()
    draft = _write_draft(path, make())
    try:
        with suppress(FileExistsError):  # another process was faster: its content counts
            os.link(draft, path)
    finally:
        os.unlink(draft)
    _keep_folder(path.parent)
    return path.read_bytes()


def replace_file(path: Path, content: bytes) -> None:
    """Put content in the place of a file that its user alone can read: all of it, or what was
    there.
    """
    os.replace(_write_draft(path, content), path)
    _keep_folder(path.parent)


def _write_draft(path: Path, content: bytes) -> str:
    """The name of a file beside `path` with its content to be, on disk."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _keep_folder(path: Path) -> None:
    """Have names in a folder on disk, too."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
