"""Splits that take long to make are kept in the user's cache folder."""

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from tacit.datasets.files import cache_folder
from tacit.datasets.split import Split


def kept(name: str, version: int, parameters: Mapping[str, object], make: Callable[[], Split]) -> Split:
    """The split kept under name, version and parameters; else `make()`, which is then kept.

    The file is written whole or not at all. One that cannot be read is made again; a folder that cannot be written is
    no error.
    """
    spec = repr((name, version, sorted(parameters.items())))
    path = cache_folder() / f"{name}-v{version}-{hashlib.sha256(spec.encode()).hexdigest()[:16]}.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return Split(name, **{key: arrays[key] for key in arrays.files})
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
        split = make()
    with suppress(OSError):
        _write(path, split)
    return split


def _write(path: Path, split: Split) -> None:
    """Writes beside `path`, then moves there in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **split.arrays())
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
