"""The same bytes whichever way: small campaigns' models by every way that fits them, in one table.

    python -m benchmarks.same_bytes

In one process on one core, and on all cores; from files, a block at a time, with each owner's rows
in several row groups; on a Ray of several processes, where the worker that first takes up a
question is killed; over HTTP, by a coordinator and owners' gates; and carried by a Flower
federation of three nodes. All are rehearsals of one seed. Ray and Flower have environments of their
own (`make ray`, `make flower`): ways whose environment is not there are not run, and the table
says so. Exit status 1 if any bytes differ.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pyarrow import csv, parquet
from rich.console import Console
from rich.table import Table

from benchmarks.service.flower import KINDS, SEED, Trial
from tacit._util.kernels import cores
from tacit.data.cohort import Cohort
from tacit.data.owner_blocks import RowReading, Workers
from tacit.data.survey import survey
from tacit.data.table_file import open_rows
from tacit.engines.by_block import ByBlock, ray_workers
from tacit.engines.inline import Engine, Inline
from tacit.mechanisms.streams import seeded
from tacit.service.kinds import read_spec
from tacit.wire import encode

_ROOT = Path(__file__).parents[1]
COMPARED = ("boosting", "classifier", "two servers")  # kinds whose owners every engine asks
_EPSILON = 8.0  # what owners' policies let them choose
_GROUP = 32  # rows of a row group: the rows of an owner lie in several
_SAID = "digests: "  # how a line of a child begins
_BY_FLOWER = ("HTTP, gates", "Flower")


def fit(own: Path, engine_of: Callable[[Any], Engine]) -> str:
    """The digest of the model that an engine finds for the campaign in this folder."""
    terms, public = read_spec(own / "campaign.toml").prepare(bytes(32))
    result = engine_of(terms).run(terms.run(public))
    return digest(terms.publication(result, public, 0).model)


def digest(model: Any) -> str:
    return blake2b(encode(model), digest_size=8).hexdigest()


def in_memory(own: Path) -> str:
    def engine_of(terms: Any) -> Engine:
        raw = open_rows(own / "people.csv").read_text()
        X, y, _ = RowReading(terms.schema, "ill").encode(raw, "people.csv")
        return Inline(Cohort.of(X, y, raw.column("who")), _EPSILON, seeded(SEED))

    return fit(own, engine_of)


def on_one_core(own: Path) -> str:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    return in_memory(own)


def by_block(own: Path, workers: Workers = map) -> str:
    def engine_of(terms: Any) -> Engine:
        cohort = survey(open_rows(own / "set"), RowReading(terms.schema, "ill", "who"))
        return ByBlock(cohort, _EPSILON, seeded(SEED), workers=workers)

    return fit(own, engine_of)


def on_ray(own: Path) -> str:
    """Of each question the first task kills its worker, once."""
    marks = own / "killed"
    marks.mkdir()

    def spread(work: Callable[[Any], Any], tasks: Sequence[Any]) -> Any:
        def die_once(task: Any) -> Any:
            mark = marks / f"{task.question.round} {task.question.attempt}"
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return work(task)

        return ray_workers("ray")(die_once, tasks)

    found = by_block(own, spread)
    print(f"{own.name} on a Ray: {len(list(marks.iterdir()))} workers killed", file=sys.stderr)
    return found


WAYS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "one core": ("", on_one_core),
    "all cores": ("", in_memory),
    "files, by the block": ("", by_block),
    "Ray, workers killed": ("ray", on_ray),
}


def prepare(kind: str, folder: Path) -> Trial:
    """A campaign's files, and its people's rows as a table in two files."""
    trial = Trial(kind, folder, Ed25519PrivateKey.generate(), 0)
    trial.prepare()
    _write_set(trial.own)
    return trial


def _write_set(own: Path) -> None:
    """People's rows in two files, the first rows of all owners first: an owner is everywhere."""
    rows = csv.read_csv(own / "people.csv")
    each = rows.num_rows // len(rows.column("who").unique())
    rows = rows.take(np.argsort(np.arange(rows.num_rows) % each, kind="stable"))
    (own / "set").mkdir()
    half = rows.num_rows // 2
    for name, part in {"a": rows.slice(0, half), "b": rows.slice(half)}.items():
        parquet.write_table(part, own / "set" / f"{name}.parquet", row_group_size=_GROUP)


def run_here(python: Path, way: str, own: Path) -> str:
    """A way in a process of its own, by another environment perhaps."""
    command = [str(python), "-m", "benchmarks.same_bytes", "--way", way, "--folder", str(own)]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return digests(done.stdout)[0]


def digests(printed: str) -> list[str]:
    """What children say; a Ray adds lines of its own."""
    lines = printed.splitlines()
    return [line.removeprefix(_SAID) for line in lines if line.startswith(_SAID)]


def run_flower(python: Path) -> dict[tuple[str, str], str]:
    """What HTTP and Flower publish, by kind."""
    kinds = [word for kind in COMPARED for word in ("--kind", kind)]
    command = [str(python), "-m", "benchmarks.service.flower", *kinds]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    rows = [said.split(",") for said in digests(done.stdout)]
    return {
        (kind, way): each
        for kind, *both in rows
        for way, each in zip(_BY_FLOWER, both, strict=True)
    }


def main() -> None:
    """Run all ways, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_bytes", description=__doc__)
    parser.add_argument("--ray", type=Path, default=_ROOT / ".venv-ray/bin/python")
    parser.add_argument("--flower", type=Path, default=_ROOT / ".venv-flower/bin/python")
    parser.add_argument("--way", choices=WAYS, help="one way alone, for a campaign in --folder")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.way is not None:
        print(f"{_SAID}{WAYS[given.way][1](given.folder)}")
        return
    found: dict[tuple[str, str], str] = {}
    for kind in COMPARED:
        for way, (environment, _) in WAYS.items():
            python = given.ray if environment else Path(sys.executable)
            if python.exists():
                with TemporaryDirectory(prefix="tacit-bytes-") as name:
                    found[kind, way] = run_here(python, way, prepare(kind, Path(name)).own)
    found |= run_flower(given.flower) if given.flower.exists() else {}
    sys.exit(int(not show(found)))


def show(found: dict[tuple[str, str], str]) -> bool:
    """The table; whether all that ran have the same bytes."""
    table = Table("way", *(f"{kind}, {KINDS[kind].everybody} owners" for kind in COMPARED))
    for way in (*WAYS, *_BY_FLOWER):
        cells = [found.get((kind, way), "not run: not installed") for kind in COMPARED]
        table.add_row(f"{way} ({cores()})" if way == "all cores" else way, *cells)
    console = Console(width=100, highlight=False)
    console.print(table)
    said = [{each for (of, _), each in found.items() if of == kind} for kind in COMPARED]
    same = all(len(each) == 1 for each in said)
    console.print(f"the same bytes: {'yes' if same else 'NO'}")
    return same


if __name__ == "__main__":
    main()
