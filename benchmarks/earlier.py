"""A fit by these sources beside one by earlier ones, on the same rows:

    python -m benchmarks.earlier --owners 1000000 --features 50 --commit eaaa9cd^

`eaaa9cd` is the first commit that made fits faster, so what is before it is what they are compared
with. Its sources are taken out of the repository into a folder of their own. Each tree takes its
turn in a fresh process and fits the same rows twice: the first fit says how much memory it takes,
the second how long, since what is loaded and compiled once does not count. The least of its turns
counts. Seconds pass on the wall, seconds of processor are those of all threads together; memory is
the peak beyond what was held after a fit of 4,000 rows, in tables.
"""

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tarfile
import time
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_ROOT = Path(__file__).parents[1]
_BEFORE = "eaaa9cd^"
_GOAL, _MOST = 3.0, 1.3  # times faster, tables of memory
_PUBLIC, _WARM = 400, 4000
_KB = 1024


def make_rows(owners: int, features: int) -> tuple[FloatArray, IntArray]:
    """Rows and classes of so many owners, one each, before them those of the data user."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((owners + min(owners, _PUBLIC), features))
    lead = X[:, : features // 2].sum(axis=1) + rng.standard_normal(len(X)) * features**0.5 / 2
    return X, (lead > 0).astype(np.int64)


def checksum(X: FloatArray, y: IntArray) -> int:
    """Differs where rows differ."""
    return zlib.crc32(y.data, zlib.crc32(X.data))


def fit(owners: int, features: int) -> dict[str, float]:
    """What a fit takes by whichever sources are found first, and a checksum of what was fitted."""
    from tacit import PrivateClassifier

    X, y = make_rows(owners, features)
    rows = checksum(X, y)
    own = len(X) - owners

    def run(asked: int) -> None:
        end, public = own + asked, (X[:own], y[:own])
        PrivateClassifier(1.0, random_state=1).fit(X[own:end], y[own:end], public=public)

    if owners > _WARM:
        run(_WARM)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(owners)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, worked = time.perf_counter(), time.process_time()
    run(owners)
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - worked,
        "tables": _KB * (most - held) / X.nbytes,
        "rows": rows,
    }


def take_out(commit: str, folder: Path) -> Path:
    """The sources of a commit, in a folder."""
    packed = subprocess.run(
        ["git", "-C", str(_ROOT), "archive", "--format=tar", commit, "src", "reliability"],
        capture_output=True,
        check=False,
    )
    if packed.returncode:
        raise SystemExit(f"--commit must be one of this repository, got {commit!r}")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as content:
        content.extractall(folder, filter="data")
    return folder / "src"


def measure(sources: Path, kernels: Path, owners: int, features: int) -> dict[str, float]:
    """The same in a fresh process, by these sources; compiled kernels are kept apart by tree."""
    settings = {"PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(kernels)}
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(owners), str(features)],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print what both take, and how many times faster these sources are; exit status 1 if they
    miss a goal of time or memory.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.earlier", description=__doc__)
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--owners", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--commit", default=_BEFORE, help="what to compare with")
    parser.add_argument("--turns", type=int, default=2, help="of each, one after the other")
    wish = parser.parse_args()
    if wish.child:
        print(json.dumps(fit(*wish.child)))
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        trees = {"before": take_out(wish.commit, folder), "now": _ROOT / "src"}
        least: dict[str, dict[str, float]] = {}
        for _ in range(wish.turns):
            for tree, sources in trees.items():
                kernels = folder / f"kernels-{tree}"
                found = measure(sources, kernels, wish.owners, wish.features)
                known = least.setdefault(tree, found)
                least[tree] = {key: min(known[key], value) for key, value in found.items()}
    if not least["before"]["rows"] == least["now"]["rows"]:
        raise SystemExit("the trees made other rows, so their fits cannot be compared")
    for tree, found in least.items():
        took = f"{found['seconds']:.1f} s, {found['processor']:.1f} s of processor"
        print(f"{tree}: {took}, memory {found['tables']:.2f} tables")
    faster = {key: least["before"][key] / least["now"][key] for key in ("seconds", "processor")}
    print(f"{faster['seconds']:.2f} times faster, {faster['processor']:.2f} by processor")
    sys.exit(int(not (faster["seconds"] >= _GOAL and least["now"]["tables"] <= _MOST)))


if __name__ == "__main__":
    main()
