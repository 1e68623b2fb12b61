"""Kernels that several processes compile at the same time, into the same empty folder."""

import os
import subprocess
import sys

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


def test_processes_that_compile_at_once_do_not_spoil_what_is_kept(tmp_path):
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    at_once = [
        subprocess.Popen(
            [sys.executable, script], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    said = {each.communicate(timeout=120)[0] for each in at_once}
    later = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert [each.returncode for each in at_once] == [0, 0, 0]
    assert said == {later.stdout}
    assert later.stdout.strip()
