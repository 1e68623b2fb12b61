"""Being stopped, by Ctrl-C, by a kill or by a loss of power.

    with on_interrupt()         while modules are imported: one line, exit status 130, at once
    with on_interrupt(notice)   work worth keeping: the first asks to stop, the second interrupts

Else Ctrl-C is an exception, which a command may catch. A `KeyboardInterrupt` in the middle of
somebody else's import may be swallowed, or end in a traceback; as long as no command has done
anything there is nothing to keep, so leaving at once is safe. This file is imported before all
others, so it imports nothing heavy.

What is on disk is there whole or not at all, whoever is killed: small files, and SQLite.
"""

import fcntl
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType

_NOTHING_DONE = "stopped: nothing was done yet"
_SIGNALLED = 128  # and the number of a signal, as shells count
_INTERRUPTED = _SIGNALLED + signal.SIGINT


@contextmanager
def on_interrupt(notice: str = "") -> Iterator[Callable[[], bool]]:
    """What Ctrl-C does meanwhile. Without a notice there is nothing to keep, and it ends the
    program; where it is ignored (as by nohup) it stays so. With one the first asks to stop, and
    `notice` tells what a second one does; whether somebody pressed it is what a `with` is given.
    """
    pressed = False
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # written directly: a handler may come in the middle of any other writing
        os.write(2, f"\ntacit: {notice}\n".encode())

    if notice or before is signal.default_int_handler:
        signal.signal(signal.SIGINT, note if notice else _leave)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ends_in_order() -> Iterator[None]:
    """A request to end (SIGTERM) ends the program as its own end does, so that what it holds is
    given back: folders that must not stay, for one.
    """
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(_SIGNALLED + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: FrameType | None) -> None:
    if "--json" in sys.argv:
        os.write(1, f'{{"stopped": "{_NOTHING_DONE}"}}\n'.encode())
    os.write(2, f"tacit: {_NOTHING_DONE}\n".encode())
    os._exit(_INTERRUPTED)


# Files
# ------------------------------------------------------------------------------------------------

_WAIT = 60.0  # seconds for another process that is at the same file
_PAUSE = 0.01  # seconds between two tries
_SQLITE = b"SQLite format 3\0"  # what its files begin with that are not empty


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
    connection.execute("PRAGMA secure_delete = ON")  # what was deleted is not left in the file


def make_private(path: Path, table: str, content: str, maker: str) -> None:
    """Have a file of SQLite's that its user alone can read, empty if there was none; journals get
    the same rights. Whatever else is there keeps its own, and is refused: it has no `content` that
    a `maker` made, whose files have a `table` of this name.
    """
    problem = f"{path} holds no {content}: name a file that {maker} made, or one to be made"
    if path.exists() and not path.is_file():
        raise ValueError(problem)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        begins = os.read(handle, len(_SQLITE))
        if not _SQLITE.startswith(begins) or (begins and _is_anothers(path, table)):
            raise ValueError(problem)
        if os.fstat(handle).st_mode & 0o077:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def _is_anothers(path: Path, table: str) -> bool:
    """Whether another program's tables are in a file, and none of this name. It is looked at as it
    lies there: no lock is waited for, and nothing is written beside it.
    """
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    wanted = "SELECT name FROM sqlite_master WHERE type = 'table'"
    with closing(sqlite3.connect(address, uri=True)) as looking, suppress(sqlite3.Error):
        rows = looking.execute(wanted).fetchall()
        return bool(rows) and (table,) not in rows
    return False  # somebody makes it just now


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


@contextmanager
def alone_in(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Nobody else is inside for this folder, in this process or another: what is read in it inside
    is still so when it is written anew. Without `wait` a `BlockingIOError`, if somebody is.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(held)  # which lets others in


def replace_file(path: Path, content: bytes) -> None:
    """Put content in the place of a file that its user alone can read: all of it, or what was
    there.
    """
    os.replace(_write_draft(path, content), path)
    _keep_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that anybody may read, whole or not at all: until then what was there stays.
    Where it cannot be, the `OSError` names it.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None
    finally:
        draft.unlink(missing_ok=True)


def rename_file(draft: Path, path: Path) -> None:
    """Give a file another name, which takes no room; `FileExistsError`: something has it."""
    os.link(draft, path)
    _keep_folder(path.parent)
    draft.unlink()


def _write_draft(path: Path, content: bytes) -> str:
    """The name of a file beside `path` with its content to be, on disk; where that cannot be, as
    on a full one, nothing is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(draft)
        raise
    return draft


def _keep_folder(path: Path) -> None:
    """Have names in a folder on disk, too."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
