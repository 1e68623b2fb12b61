"""Keeps compiled kernels apart for every state of the sources.

numba's disk cache looks only at the file of the compiled function: a kernel that calls another
file's would survive a change there. Tests must never run yesterday's kernel.
"""

import hashlib
import os
from pathlib import Path

_ROOT = Path(__file__).parent
_SOURCES = sorted([*(_ROOT / "src").rglob("*.py"), *(_ROOT / "papers").rglob("*.py")])
_STATE = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:16]
os.environ["NUMBA_CACHE_DIR"] = str(_ROOT / ".cache" / f"numba-{_STATE}")
