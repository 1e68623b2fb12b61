"""Whether a file has the bytes that it had: its size, what a parquet file says of itself, and a
checksum of the parts that are read.

Times and numbers of files tell less: a copy on another node has others, and whoever writes can set
them. A checksum takes a hundredth of the time in which rows are read.
"""

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from zlib import crc32

from tacit._util.file_checks import PARQUET, refused

_PIECE = 1 << 20  # bytes at a time
_END = 8  # bytes after the footer: how long it is, and four letters
Span = tuple[int, int]  # where bytes begin, and how many there are


def identity(path: Path) -> tuple[int, bytes]:
    """The size of a file, and a digest of the footer of a parquet file."""
    try:
        size = path.stat().st_size
        if path.suffix.lower() not in PARQUET:
            return size, b""
        with path.open("rb") as content:
            content.seek(max(0, size - _END))
            footer = int.from_bytes(content.read(4), "little")
            content.seek(max(0, size - _END - footer))
            return size, blake2b(content.read(footer), digest_size=16).digest()
    except OSError as problem:
        raise refused(path, problem) from None


def checksum(path: Path, spans: Iterable[Span]) -> int:
    """Of some parts of a file."""
    found = 0
    try:
        with path.open("rb") as content:
            for start, size in spans:
                content.seek(start)
                for at in range(0, size, _PIECE):
                    found = crc32(content.read(min(_PIECE, size - at)), found)
    except OSError as problem:
        raise refused(path, problem) from None
    return found


def changed(path: Path) -> ValueError:
    """What is said of a file that is no longer what it was."""
    return ValueError(
        f"{path} has changed since it was first read: begin again, and let nobody write to it "
        "meanwhile"
    )
