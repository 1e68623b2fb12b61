"""Files to be written, checked before the work begins."""

import os
from pathlib import Path


def writable(option: str, out: Path) -> None:
    """Make the folder of a file; an hour's work should not end at a wrong name."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"{option} {out}: its folder cannot be made ({problem.strerror}); choose another") from None
    if out.is_dir():
        raise ValueError(f"{option} must be a file, and {out} is a folder: give a name in it")
    if not os.access(out.parent, os.W_OK) or (out.exists() and not os.access(out, os.W_OK)):
        raise ValueError(f"{option} {out} cannot be written: choose a place where you may write")


def folder(option: str, out: Path) -> None:
    """Make a folder to write to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"{option} {out}: this folder cannot be made ({problem.strerror}); choose another") from None
    if not os.access(out, os.W_OK):
        raise ValueError(f"{option} {out} cannot be written: choose a folder where you may write")
