"""A folder below TMPDIR for rows that are brought together, which goes with whoever needs it.

Rows of owners lie in it, so it must not stay. It is deleted when its holder goes, or the program
ends; where the program was killed, when the next one on this machine makes one: who is alive holds
a lock in its folder.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from platform import node
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from weakref import finalize

_NAME = "tacit-rows-"
_HELD = ".held"  # is locked while the folder is used, and says on which machine


class ScratchFolder:
    """A folder of this user's alone, that goes with whoever holds it."""

    def __init__(self) -> None:
        _delete_left()
        self.path = Path(mkdtemp(prefix=_NAME))
        with using(self.path):
            held = os.open(self.path / _HELD, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX)
            os.write(held, node().encode())
        finalize(self, _delete, self.path, held)


def _delete(folder: Path, held: int) -> None:
    rmtree(folder, ignore_errors=True)
    os.close(held)


def _delete_left() -> None:
    """Delete what was left by programs of this user, on this machine, that were killed."""
    for folder in Path(gettempdir()).glob(f"{_NAME}*"):
        with suppress(OSError):  # of somebody else, or gone meanwhile
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            held = os.open(folder / _HELD, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error where it is used
                if os.read(held, 1 << 10) == node().encode():
                    rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


@contextmanager
def using(folder: Path) -> Iterator[None]:
    """What goes wrong with such a folder, in words: a disk that is full, somebody who tidies up."""
    try:
        yield
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        raise ValueError(
            f"{folder}, where the rows of owners are brought together, cannot be used ({why}): "
            "let TMPDIR name a folder that has room and stays; nothing was written"
        ) from None
