"""Files to be written, checked before the work begins."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def writable(option: str, out: Path) -> None:
    """Make the folder of a file; an hour's work should not end at a wrong name."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"{option} {out}: its folder cannot be made ({problem.strerror}); choose another") from None
    if out.is_dir():
        raise ValueError(f"{option} must be a file, and {out} is a folder: give a name in it")
    if out.exists() and not os.access(out, os.W_OK):
        raise ValueError(f"{option} {out} is there and must not be changed: choose another name")
    _try(option, out.parent)


def folder(option: str, out: Path) -> None:
    """Make a folder to write to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"{option} {out}: this folder cannot be made ({problem.strerror}); choose another") from None
    _try(option, out)


def _try(option: str, place: Path) -> None:
    """Rights alone do not tell: a disk may be full, or forbid it to everybody."""
    try:
        with NamedTemporaryFile(dir=place, prefix=".tacit-"):
            pass
    except OSError as problem:
        raise ValueError(f"{option}: {place} cannot be written to ({problem.strerror}); choose another") from None
