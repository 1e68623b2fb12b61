"""Kernels are kept on disk in two pieces that must come from one process."""

import fcntl
from typing import Any

import numpy as np

from tacit._util import kernels


def doubled(a, out):
    for i in range(len(a)):
        out[i] = a[i] + a[i]


def test_one_process_compiles_at_a_time(tmp_path, monkeypatch):
    held = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(fcntl, "flock", lambda file, how: held.append((file.name, how)))
    twice: Any = kernels.on_vectors("(w)->(w)")(doubled)
    assert held == [(str(tmp_path / "compiling.lock"), fcntl.LOCK_EX)]
    assert twice(np.arange(3, dtype=np.uint64)).tolist() == [0, 2, 4]


def test_where_nothing_can_be_kept_kernels_are_compiled_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    twice: Any = kernels.on_vectors("(w)->(w)")(doubled)
    assert twice(np.arange(3, dtype=np.uint64)).tolist() == [0, 2, 4]
