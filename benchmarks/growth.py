"""How time and memory of a fit grow with rows, features, classes, owners and workers:
`python -m benchmarks.growth`. Each line is a fresh process over made-up rows in parquet files.

`--way held` reads the table first, `files` fits from files a block at a time, `ray` does the same
on a Ray of this machine. Workers are cores that a fit may use, of a Ray its processes; seconds of
processor are those of all of them together. `--rows 100000 1000000 10000000` is the check that
memory stays flat.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.children import figures_of
from tacit import PrivateClassifier
from tacit._util.kernels import compile_at_once, cores
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.data.sample import Sample
from tacit.data.table_file import TableFile

_GROUP = 1 << 17  # rows of a row group
_PUBLIC = 400
_WARM = 4000  # rows: enough to compile and to load, too few to leave a block's memory behind
WAYS = ("held", "files", "ray")


@dataclass(frozen=True)
class Setting:
    """One fit: so many rows of so many columns and classes; `owners` 0: each row is one; `workers`
    0: as many as there are cores.
    """

    way: str = "files"
    rows: int = 100_000
    features: int = 20
    classes: int = 2
    owners: int = 0
    workers: int = 0


def settings(arguments: argparse.Namespace) -> Iterator[Setting]:
    """One thing is varied at a time."""
    base = Setting(way=arguments.way, rows=arguments.rows[0])
    yield from (replace(base, rows=rows) for rows in arguments.rows)
    yield from (replace(base, features=features) for features in arguments.features)
    yield from (replace(base, classes=classes) for classes in arguments.classes)
    yield from (replace(base, owners=owners) for owners in arguments.owners)
    yield from (replace(base, workers=workers) for workers in arguments.workers)


def main() -> None:
    """Print a line for each setting: what it took, and what one row took of that."""
    from tacit_papers.evidence_benchmarks import BenchmarkFile  # not for those that are measured

    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--way", choices=WAYS, default="files")
    for name, many in (
        ("rows", [100_000, 1_000_000]),
        ("features", [10, 50, 200]),
        ("classes", [5, 10]),
        ("owners", [10_000, 100_000]),
        ("workers", [1, 2]),
    ):
        parser.add_argument(f"--{name}", type=int, nargs="*", default=many)
    parser.add_argument("--out", type=Path, default=Path("out/growth.json"))
    given, found_rows = parser.parse_args(), list[dict[str, object]]()
    file = BenchmarkFile.begin(given.out, "growth")
    print(f"{'way':6} {'rows':>11} {'features':>8} {'classes':>7} {'owners':>11} {'workers':>7} "
          f"{'seconds':>8} {'cpu s':>7} {'us/row':>7} {'peak MB':>8}")  # fmt: skip
    for setting in settings(given):
        found = figures_of("benchmarks.growth", json.dumps(asdict(setting)))
        owners, workers = setting.owners or setting.rows, setting.workers or cores()
        print(
            f"{setting.way:6} {setting.rows:11,} {setting.features:8} {setting.classes:7} "
            f"{owners:11,} {workers:7} {found['seconds']:8.2f} {found['cpu']:7.2f} "
            f"{1e6 * found['cpu'] / setting.rows:7.2f} {found['bytes'] / 1e6:8.1f}",
            flush=True,
        )
        found_rows.append(
            {
                "way": setting.way,
                "rows": setting.rows,
                "columns": setting.features,
                "classes": setting.classes,
                "owners": owners,
                "workers": workers,
                "seconds of processor": round(found["cpu"], 2),
                "peak, MB": round(found["bytes"] / 1e6),
            }
        )
    file.write(found_rows)


def measure_fit(setting: Setting) -> dict[str, float]:
    """Write the rows, warm up on a few, and fit: seconds, seconds of processor, bytes of the peak
    beyond what was held before.
    """
    with TemporaryDirectory() as folder:
        warm, full = Path(folder, "warm"), Path(folder, "full")
        for place, rows, group in ((warm, _WARM, _WARM // 16), (full, setting.rows, _GROUP)):
            place.mkdir()
            _write(replace(setting, rows=rows), place, group)
        X, y = _made_up(setting, _PUBLIC, np.random.default_rng(0))
        columns = {f"x{column}": X[:, column] for column in range(setting.features)}
        sample = Sample.of(columns, y)
        own = fit_public(sample.public)
        owner = "owner" if setting.owners else None

        def fit(place: Path) -> None:
            engine = "ray" if setting.way == "ray" else "inline"
            model = PrivateClassifier(
                1.0, features="linear", rounds=1, engine=engine, random_state=1
            )
            if setting.way == "held":
                table = TableFile.open(next(place.iterdir())).read()
                owners = None if owner is None else table.column(owner)
                model.fit(table, table.column("y"), owners=owners, public=sample, baseline=own)
            else:
                model.fit(place, "y", owners=owner, public=sample, baseline=own)

        if setting.way == "ray":
            _start_ray(setting.workers or cores())
        elif setting.workers:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: setting.workers])
        compile_at_once()
        fit(warm)
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        before, began, worked = _status("VmRSS"), time.perf_counter(), _processor()
        fit(full)
        return {
            "seconds": time.perf_counter() - began,
            "cpu": _processor() - worked,
            "bytes": _status("VmHWM") - before,
        }


def _write(setting: Setting, folder: Path, group: int) -> None:
    """One file, a row group at a time; the warm one has some for every worker."""
    rng, file = np.random.default_rng(1), None
    for start in range(0, setting.rows, group):
        rows = min(group, setting.rows - start)
        X, y = _made_up(setting, rows, rng)
        columns = {f"x{column}": X[:, column] for column in range(setting.features)} | {"y": y}
        if setting.owners:
            columns["owner"] = rng.integers(0, setting.owners, rows)
        table = pa.table(columns)
        file = file or parquet.ParquetWriter(folder / "rows.parquet", table.schema)
        file.write_table(table, row_group_size=group)
    if file is not None:
        file.close()


def _made_up(setting: Setting, rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    X = rng.normal(size=(rows, setting.features))
    scores = X[:, :8] @ np.random.default_rng(2).normal(size=(X[:, :8].shape[1], setting.classes))
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def _start_ray(workers: int) -> None:
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")


def _processor() -> float:
    """Seconds of processor of this process and of all that it started, as a Ray's workers."""
    known: dict[int, tuple[int, int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            after_name = place.read_text().rpartition(")")[2].split()
            known[int(place.parent.name)] = int(after_name[1]), sum(map(int, after_name[11:13]))

    def is_ours(process: int) -> bool:
        while process in known and process != os.getpid():
            process = known[process][0]
        return process == os.getpid()

    ticks = sum(used for process, (_, used) in known.items() if is_ours(process))
    return ticks / os.sysconf("SC_CLK_TCK")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(measure_fit(Setting(**json.loads(sys.argv[1])))))
    else:
        main()
