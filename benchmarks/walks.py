"""How far a reader has to walk to follow a command: files, functions, rooms and switches of file.

    python -m benchmarks.walks [--json] [fit] [join] [reproduce]

Each command runs for real, in a process of its own, after every module of the project was imported.
Counted are the functions that it enters and that have a name (lambdas, comprehensions and generator
expressions belong to the function around them; kernels count as they are called), each once, in
whatever thread; only those in .py files of packages whose names begin with `tacit`.

- files: in how many files they are.
- functions: how many there are.
- rooms: folders and files directly below a package that they are in.
- switches: in the order in which functions are first entered, how often the file is another than
  that of the function before.

`fit` is the default classifier on files of made-up people, with --test. `join` is one owner in the
rehearsal of a boosting campaign on loopback in which others take part too, then the coordinator
that serves it from its start to its end, without the command line of both; their own rows have all.
`reproduce a` is `tacit reproduce a --quick` in one process. Which step a coordinator takes depends
on the moment: its counts differ by one or two from run to run.

The first count of all, by reviewers, had 61 files, 348 functions, 17 rooms and 195 switches
for fit, 91 files, 505 functions and 21 rooms for join, 84 files and 512 functions for reproduce a.
This definition gives for the same sources 61, 351, 17 and 194; 90, 499 and 21; 85 and 549.
"""

import argparse
import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from rich.console import Console

from benchmarks.tables import Row, Table, Verdict

_ROOT = Path(__file__).parents[1]
_SECONDS = 900.0  # that a command or a campaign may take, on a busy machine, too
_OTHERS = 20  # owners of the campaign beside the one whose walk is counted
_CAMPAIGN = f"""
kind = "boosting"
name = "walk"
sample = "mine.csv"
label = "income"
learner = "centroid"
epsilon = 8.0
rounds = 2
owners_per_round = {(_OTHERS + 1) // 2}
start = {_OTHERS + 1}
minimum = 2
attempts = 1
deadline = 120
"""
_COMMAND_LINE = (
    "tacit/cli/",
    "tacit/__main__.py",
    "tacit/program.py",  # where it was before
    "tacit/starting.py",
)
_SEED = ("--rehearsal", "1")
_POLICY = "epsilon_per_release = 8\nepsilon_total = 8\n"
Steps = list[tuple[str, str]]  # file and name of a function


@dataclass(frozen=True)
class WalkRow(Row):
    """What a walk counts."""

    files: int
    functions: int
    rooms: int
    switches: int

    @classmethod
    def of(cls, name: str, steps: Steps) -> "WalkRow":
        """Count a walk; a function that is entered by two processes counts once."""
        files = [file for file, _ in dict.fromkeys(steps)]
        rooms = {tuple(Path(file).parts[:2]) for file in files}
        switches = sum(before != after for before, after in pairwise(files))
        counted = (len(set(files)), len(files), len(rooms), switches)
        return cls(name, _judged(name, counted[0], switches), *counted)

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(str(each) for each in (self.files, self.functions, self.rooms, self.switches))


_GOALS = {"fit": (40, 110), "join": (60, None), "reproduce a": (55, None)}


def _judged(name: str, files: int, switches: int) -> Verdict | None:
    if name not in _GOALS:
        return None
    most_files, most_switches = _GOALS[name]
    if most_switches is None:
        return Verdict(f"<= {most_files} files", files <= most_files)
    met = files <= most_files and switches <= most_switches
    return Verdict(f"<= {most_files} files, {most_switches} switches", met)


def write_people(path: Path, rows: int, seed: int, names: int = 0) -> None:
    """A table of made-up people whose income follows age, years of school and state.

    `names` above 0 adds a column that names so many owners.
    """
    coins = np.random.default_rng(seed)
    age, school = coins.integers(18, 90, rows), coins.integers(0, 17, rows)
    columns = {
        "age": age,
        "sex": coins.choice(["female", "male"], rows),
        "state": coins.choice(["north", "south", "west", "east"], rows),
        "school": school,
    }
    lead = (age - 54) / 20 + (school - 8) / 4 + (columns["state"] == "north")
    columns["income"] = np.where(lead + coins.normal(size=rows) > 0.3, "high", "low")
    if names:
        columns["who"] = np.array([f"person {row % names:04d}" for row in range(rows)])
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(columns)
        lines.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def _command(folder: Path, walk: str | None, *arguments: str) -> subprocess.Popen[bytes]:
    """`tacit ARGUMENTS` in a folder, begun; with the name of a walk it is written to NAME.json."""
    program = ["-m", "tacit"] if walk is None else ["-m", "benchmarks.walks_child", f"{walk}.json"]
    paths = os.pathsep.join([str(_ROOT), *(os.path.abspath(path) for path in sys.path)])
    with (folder / f"{walk or arguments[0]}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _walk(folder: Path, name: str, *arguments: str) -> Steps:
    """Run a command to its end; the functions it entered."""
    process = _command(folder, name, *arguments)
    try:
        status = process.wait(_SECONDS)
    finally:
        process.kill()
        process.wait()
    if status:
        said = (folder / f"{name}.log").read_text()
        raise RuntimeError(f"tacit {arguments[0]} ended with {status}: {said}")
    return _steps(folder, name)


def _steps(folder: Path, name: str) -> Steps:
    written = json.loads((folder / f"{name}.json").read_text())
    return [(file, function) for file, function in written]


def walk_fit(folder: Path) -> list[WalkRow]:
    """A table of owners, a sample of the data user, a model with a test."""
    for name, rows, seed in (("people.csv", 20_000, 1), ("mine.csv", 60, 2), ("test.csv", 1000, 3)):
        write_people(folder / name, rows, seed)
    files = ["people.csv", "--public", "mine.csv", "--test", "test.csv", "--out", "model.tacit"]
    words = ["fit", *files, "--label", "income", "--epsilon", "1"]
    _walk(folder, "compiled", *words)  # compiling kernels is no part of the walk
    return [WalkRow.of("fit", _walk(folder, "fit", *words))]


def walk_join(folder: Path) -> list[WalkRow]:
    """A campaign on loopback: one owner and the coordinator are watched, others are not."""
    write_people(folder / "mine.csv", 60, 2)
    write_people(folder / "others.csv", 10 * _OTHERS, 3, names=_OTHERS)
    write_people(folder / "table.csv", 10, 4)
    (folder / "campaign.toml").write_text(_CAMPAIGN)
    (folder / "policy.toml").write_text(_POLICY)
    with _coordinator(folder) as url:
        first, *others = (folder / "campaign" / "tokens").read_text().split()
        (folder / "others").write_text("\n".join(others))
        (folder / "token").write_text(first)
        given = ["--policy", "policy.toml", *_SEED, "--home"]
        many = ["--data", "others.csv", "--owners", "who", "--tokens", "others"]
        one = ["--data", "table.csv", "--token", "@token", "--first", str(_OTHERS)]
        gateway = _command(folder, None, "join", url, *many, *given, "gateway")
        try:
            owner = _walk(folder, "owner", "join", url, *one, *given, "owner")
            gateway.wait(_SECONDS)
            _get(f"{url}/v1/model")
        finally:
            gateway.kill()
            gateway.wait()
    coordinator = _steps(folder, "coordinator")
    both = [step for step in (*owner, *coordinator) if not step[0].startswith(_COMMAND_LINE)]
    named = {"join": both, "of it the owner": owner, "the coordinator": coordinator}
    return [WalkRow.of(name, steps) for name, steps in named.items()]


@contextmanager
def _coordinator(folder: Path) -> Iterator[str]:
    """A coordinator that is being watched; its address. It ends as by Ctrl-C."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    flags = ["--port", str(port), "--tokens", str(_OTHERS + 1), *_SEED]
    process = _command(folder, "coordinator", "serve", "campaign.toml", *flags)
    try:
        _get(f"{url}/v1/campaign")
        yield url
        process.send_signal(signal.SIGINT)
        process.wait(_SECONDS)
    except BaseException as problem:
        problem.add_note((folder / "coordinator.log").read_text())
        raise
    finally:
        process.kill()
        process.wait()


def _get(url: str) -> bytes:
    """What an address answers, as soon as it does."""
    until = time.monotonic() + _SECONDS
    while True:
        try:
            with urlopen(url) as response:  # noqa: S310 - a constant scheme on loopback
                found: bytes = response.read()
                return found
        except (URLError, ConnectionError):
            if time.monotonic() > until:
                raise
        time.sleep(0.2)


def walk_reproduce(folder: Path) -> list[WalkRow]:
    """Paper A on a few made-up rows."""
    flags = ["--quick", "--processes", "1", "--out", "out"]
    return [WalkRow.of("reproduce a", _walk(folder, "reproduce", "reproduce", "a", *flags))]


WALKS: dict[str, Callable[[Path], list[WalkRow]]] = {
    "fit": walk_fit,
    "join": walk_join,
    "reproduce": walk_reproduce,
}


def main() -> None:
    """Walk, and print what was counted."""
    parser = argparse.ArgumentParser(description="How far three commands walk.")
    parser.add_argument("walks", nargs="*", choices=[*WALKS, []], help="which; default all")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    wish = parser.parse_args()
    rows = []
    for name in wish.walks or WALKS:
        with TemporaryDirectory() as folder:
            rows += WALKS[name](Path(folder))
    headings = ("walk", "files", "functions", "rooms", "switches")
    table = Table("walks", "Three walks", headings, rows, "")
    if wish.json:
        print(json.dumps(table.records(), indent=1))
    else:
        table.show(Console(width=100))


if __name__ == "__main__":
    main()
