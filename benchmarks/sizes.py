"""Time, memory and accuracy at sizes, ours beside rivals on the same rows:

    python -m benchmarks.sizes --rivals .venv-rivals/bin/python --owners 100000 1000000 10000000

The generator's linear problem, each owner one row of 20 columns, epsilon 1, 200 public rows.
Ours never sees rows in one place; with two servers it trusts that one of them is honest. Rivals see
the whole table: diffprivlib's logistic regression and interpret's DP-EBM protect a row of it,
a logistic regression that pfl's simulation trains in ten rounds an owner (its server is trusted),
scikit-learn's nobody. Each line is a fresh process, fitted once before on
2,000 rows, so that what is loaded and compiled once does not count; memory is the peak beyond what
it held before, rows not counted.

What would take more than `--limit` seconds of processor, by its growth between the two sizes
before, is not run: its line says so, and how many seconds that is on paper.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.problems.problem import Setting, problem_of
from tacit_papers.evidence_benchmarks import BenchmarkFile

_CHILD = Path(__file__).with_name("sizes_child.py")
OURS = ("tacit, nobody trusted", "tacit, two servers")
RIVALS = ("diffprivlib LR", "DP-EBM", "LR in pfl's simulation", "pooled LR, no privacy")
_PUBLIC, _SEED = 200, 1000


def write_rows(owners: int, folder: Path) -> Path:
    """Owners' rows, public rows and test rows in a file that every interpreter reads."""
    made = problem_of(Setting("linear", _SEED, owners, _PUBLIC))
    path = folder / f"{owners}.npz"
    np.savez(
        path,
        X=made.cohort.X,
        y=made.cohort.y,
        X_public=made.public.X,
        y_public=made.public.y,
        X_test=made.X_test,
        y_test=made.y_test,
    )
    return path


def measure_method(method: str, path: Path, python: str) -> dict[str, float]:
    """Figures of one method, by the interpreter that has it."""
    done = subprocess.run(
        [python, str(_CHILD), method, str(path)], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def foretell(known: Mapping[int, float], owners: int) -> float:
    """Seconds of processor for so many owners, by the line through the last two sizes; of a size
    that is the second, in proportion; 0 of the first.

    >>> foretell({}, 10), foretell({10: 3.0}, 100), foretell({10: 3.0, 100: 12.0}, 1000)
    (0.0, 30.0, 102.0)
    """
    if not known:
        return 0.0
    *before, last = sorted(known)
    first, base = (before[-1], known[before[-1]]) if before else (0, 0.0)
    return known[last] + (known[last] - base) / (last - first) * (owners - last)


def main() -> None:
    """Print a table, a line for each size and method."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("--rivals", metavar="PYTHON", help="has what benchmarks/rivals.txt names")
    parser.add_argument("--owners", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument(
        "--without", action="append", default=[], choices=(*OURS, *RIVALS), help="leave one out"
    )
    parser.add_argument("--limit", type=float, default=1_000.0, help="seconds of processor")
    parser.add_argument("--out", type=Path, default=Path("out/sizes.json"))
    given, rows = parser.parse_args(), list[dict[str, object]]()
    file = BenchmarkFile.begin(given.out, "sizes")
    methods = [(name, sys.executable) for name in OURS]
    methods += [(name, given.rivals) for name in RIVALS] if given.rivals else []
    methods = [each for each in methods if each[0] not in given.without]
    spent = {name: dict[int, float]() for name, _ in methods}
    print("| owners | method | seconds | of processor | MB | accuracy |")
    print("|---:|---|---:|---:|---:|---:|")
    for owners in given.owners:
        with tempfile.TemporaryDirectory() as folder:
            path = write_rows(owners, Path(folder))
            for name, python in methods:
                on_paper = foretell(spent[name], owners)
                if on_paper > given.limit:
                    told, peak, right = f"{on_paper:,.0f} on paper", "", "not run"
                    print(f"| {owners:,} | {name} | | {told} | | {right} |", flush=True)
                    rows.append(_row(owners, name, told, peak, right))
                    continue
                found = measure_method(name, path, python)
                spent[name][owners] = found["cpu"]
                print(
                    f"| {owners:,} | {name} | {found['seconds']:.1f} | {found['cpu']:.1f} | "
                    f"{found['bytes'] / 1e6:.0f} | {100 * found['accuracy']:.1f} |",
                    flush=True,
                )
                figures = round(found["cpu"], 1), round(found["bytes"] / 1e6)
                rows.append(_row(owners, name, *figures, round(100 * found["accuracy"], 1)))
                file.write(rows)  # what is done is kept
    file.write(rows)


def _row(
    owners: int, method: str, seconds: float | str, peak: int | str, accuracy: float | str
) -> dict[str, object]:
    return {
        "owners": owners,
        "method": method,
        "seconds of processor": seconds,
        "peak, MB": peak,
        "accuracy": accuracy,
    }


if __name__ == "__main__":
    main()
