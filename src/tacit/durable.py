"""Small files that are there whole or not at all, whatever is killed and whenever."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def kept(path: Path, make: Callable[[], bytes]) -> bytes:
    """The content of a file that its user alone can read; made on first use, and never again.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     kept(Path(folder) / "new" / "key", lambda: b"first"), kept(Path(folder) / "new" / "key", lambda: b"second")
    (b'first', b'first')
    """
    with suppress(FileNotFoundError):
        return path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(make())
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was faster: its content counts
            os.link(draft, path)
    finally:
        os.unlink(draft)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return path.read_bytes()
