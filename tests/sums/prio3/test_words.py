"""Kernels that several processes compile at the same time, into the same empty folder."""

import fcntl
import os
import subprocess
import sys

import pytest

KERNELS = """
import numpy as np
from tacit.sums.prio3.words import high_half, inline, on_vectors

@inline
def mixed(a, b):
    return high_half(a, b) + a

@on_vectors("(w),(w)->(w)")
def products(a, b, out):
    for i in range(len(a)):
        out[i] = mixed(a[i], b[i])

@on_vectors("(w)->(w)")
def squares(a, out):
    for i in range(len(a)):
        out[i] = mixed(a[i], a[i])

if __name__ == "__main__":
    many = np.arange(12, dtype=np.uint64).reshape(4, 3) << np.uint64(60)
    print(int(products(many, many).sum() % 1000), int(squares(many).sum() % 1000))
"""


def test_one_process_compiles_at_a_time_and_all_agree(tmp_path):
    script, cache = tmp_path / "kernels.py", tmp_path / "cache"
    script.write_text(KERNELS)
    cache.mkdir()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, str(script)]
    with (cache / "compiling.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a process does that is compiling
        waiting = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        with pytest.raises(subprocess.TimeoutExpired):
            waiting[0].wait(6)
        assert not list(cache.rglob("*.nbc"))
    said = {each.communicate(timeout=120)[0] for each in waiting}
    assert [each.returncode for each in waiting] == [0, 0, 0]
    assert len(said) == 1
    later = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert said == {later.stdout}
    assert later.stdout.strip()
