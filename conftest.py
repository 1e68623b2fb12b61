"""Keeps compiled kernels apart for every state of the sources, and what is imported apart from
garbage.

numba's disk cache looks only at the file of the compiled function: a kernel that calls another
file's would survive a change there. Tests must never run yesterday's kernel.

A test process holds a million objects before its first test, all of which stay: nobody looks
through them for garbage while they are made, nor later.
"""

import gc
import hashlib
import os
from collections.abc import Generator
from pathlib import Path

import pytest

gc.disable()

_ROOT = Path(__file__).parent
_SOURCES = sorted([*(_ROOT / "src").rglob("*.py"), *(_ROOT / "papers").rglob("*.py")])
_STATE = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:16]
os.environ["NUMBA_CACHE_DIR"] = str(_ROOT / ".cache" / f"numba-{_STATE}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
