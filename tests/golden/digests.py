"""Digests of all cases, by a process of its own with an arithmetic that many machines have.

The last digits of a product of matrices depend on the kernels that OpenBLAS and NumPy choose for
the processor, and those of the feature map "waves" also on the number of threads. So digests
belong to one thread and to kernels of AVX2 (x86-64-v3), which newer processors have too; elsewhere
they mean nothing. `python -m tests.golden.digests` prints them as the process at hand computes.
"""

import json
import os
import platform
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("digests.json")
ARITHMETIC = {
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
Digests = dict[str, dict[str, str]]


def comparable() -> bool:
    """Whether this processor can compute as the digests were computed."""
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    return (
        platform.system() == "Linux"
        and platform.machine() == "x86_64"
        and bool(features.get("AVX2"))
    )


def written() -> Digests:
    """The digests in the repository."""
    found: Digests = json.loads(FILE.read_text())
    return found


def compute() -> Digests:
    """The digests of the sources at hand, by a process with the arithmetic that they belong to."""
    command = [sys.executable, "-m", "tests.golden.digests"]
    root = Path(__file__).parents[2]
    child = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, **ARITHMETIC},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: Digests = json.loads(child.stdout)
    return found


def differences(expected: Digests, found: Digests) -> list[str]:
    """Parts of cases that are missing, new or other than expected, as "case: part"."""
    names = sorted(expected.keys() | found.keys())
    parts = {name: expected.get(name, {}).keys() | found.get(name, {}).keys() for name in names}
    return [
        f"{name}: {part}"
        for name in names
        for part in sorted(parts[name])
        if expected.get(name, {}).get(part) != found.get(name, {}).get(part)
    ]


def main() -> None:
    """Print the digests of all cases."""
    from tests.golden.cases import CASES

    found = {
        name: {
            part: f"{len(data)} {sha256(data).hexdigest()}" for part, data in sorted(case().items())
        }
        for name, case in CASES.items()
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
