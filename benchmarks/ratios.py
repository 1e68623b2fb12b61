"""What was to become faster, beside what it was, in one table:

    python -m benchmarks.ratios
    python -m benchmarks.ratios --only "draws, d = 50, epsilon 1" --only "tacit --help"

Each line is seconds of processor in a fresh process, the least of `--turns`; what is loaded and
compiled once does not count, except where starting is what is measured. Lines without a "before"
have a goal in seconds. A fit of 1,000,000 owners, with its memory: `python -m benchmarks.earlier`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

_ROOT = Path(__file__).parents[1]
_BEFORE = "018720b^"  # what follows folded maps, weighed many sites at once and drew faster
_NUMBERS = 5_000_000  # of all shares together
_ROWS = 200_000


def _draws(dim: int, epsilon: float) -> Callable[[], object]:
    from tacit import Ball, PrivUnit, seeded

    mechanism = PrivUnit(space=Ball(dim=dim), epsilon=epsilon)
    shares = np.random.default_rng(1).standard_normal((_NUMBERS // dim, dim))
    shares /= np.linalg.norm(shares, axis=1, keepdims=True)
    mechanism.randomize(shares[:100], seeded(1))
    return lambda: mechanism.randomize(shares, seeded(1))


def _rows(rows: int, features: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows, features))
    scores = X @ rng.standard_normal((features, classes)) + rng.gumbel(size=(rows, classes))
    return X, scores.argmax(axis=1)


def _sites(sites: int, each: int) -> Callable[[], object]:
    """As one calls it: models combined by default, a fifth of the rows set aside as public."""
    from tacit import SiteEnsemble

    X, y = _rows(sites * each, 10)
    who = np.repeat(np.arange(sites), each)

    def fit(some: int) -> object:
        rows = slice(0, some * each)
        return SiteEnsemble(epsilon=8.0, random_state=1).fit(X[rows], y[rows], owners=who[rows])

    fit(20)
    return lambda: fit(sites)


def _baseline(classes: int, features: int) -> Callable[[], object]:
    from tacit import PrivateClassifier

    X, y = _rows(3_000, features, classes)

    def fit(some: int) -> object:
        public = (X[:some], y[:some])
        return PrivateClassifier(0.01, random_state=1).fit(X[1_000:], y[1_000:], public=public)

    fit(100)
    return lambda: fit(1_000)


def _predict() -> Callable[[], object]:
    from tacit import PrivateClassifier

    X, y = _rows(40_000, 20)
    made = PrivateClassifier(4.0, features="products", random_state=1)
    made.fit(X[200:], y[200:], public=(X[:200], y[:200]))
    many = np.tile(X, (_ROWS // len(X), 1))
    made.predict(X)
    return lambda: made.predict(many)


def _peers(peers: int, each: int) -> Callable[[], object]:
    from tacit import PeerEnsemble

    X, y = _rows(peers * each, 5)
    who = np.repeat(np.arange(peers), each)

    def fit(some: int) -> object:
        rows = slice(0, some * each)
        made = PeerEnsemble(epsilon=2.0, random_state=1)
        return made.fit(X[rows], y[rows], owners=who[rows])

    fit(3)
    return lambda: fit(peers)


def _gate(owners: int) -> Callable[[], object]:
    """Owners asked the same, one by one, answers that leave at once, the ledger in memory."""
    from reliability.campaign import Campaign, in_memory, ledger_in, limits

    campaign, names = Campaign(), [str(i) for i in range(owners)]
    held = in_memory()  # until the process ends
    policy = limits(epsilon_per_release=1, epsilon_total=1, releases=2)
    made = campaign.gate(names, policy, ledger_in(Path(held.name)))
    made.answers(campaign.question(1), names[:2])
    question = campaign.question(2)

    def ask() -> object:
        return held, [made.answer(question, name) for name in names]

    return ask


COMPARED: dict[str, tuple[float, Callable[[], Callable[[], object]]]] = {
    f"draws, d = {dim}, epsilon {epsilon:g}": (goal, partial(_draws, dim, epsilon))
    for dim, goal in ((50, 2.0), (200, 4.0), (480, 4.0))
    for epsilon in (1.0, 4.0, 7.0)
} | {
    "gate, owners one by one": (5.0, lambda: _gate(500)),
    "1,000 sites": (10.0, lambda: _sites(1_000, 20)),
    "public baseline, 10 classes x 200 features": (4.0, lambda: _baseline(10, 200)),
    "public baseline, 1,000 features": (4.0, lambda: _baseline(2, 1_000)),
    "predict by products, 200,000 rows": (8.0, _predict),
}
ALONE: dict[str, tuple[float, Callable[[], Callable[[], object]]]] = {
    "200 peers x 100 rows": (20.0, lambda: _peers(200, 100)),
}
_FILES = ("people.csv", "mine.csv", "new.csv")
_PREDICTED = "predict, ten rows"
_FIT = ("fit", "people.csv", "--label", "y", "--public", "mine.csv", "--epsilon", "2")
STARTED: dict[str, tuple[float, tuple[str, ...]]] = {
    "tacit --help": (0.5, ("--help",)),
    "a usage error": (0.5, ("fit", "people.csv")),
    "a missing file": (0.5, ("fit", "nowhere.csv", "--label", "y", "--public", "mine.csv")),
    "the first fit, nothing compiled": (
        4.0,
        ("fit", "people.csv", "--label", "y", "--public", "mine.csv"),
    ),
    _PREDICTED: (1.0, ("predict", "model.tacit", "new.csv", "--out", "said.csv")),
}


def child(name: str) -> float:
    """Seconds of processor for one line, by whichever sources are found first."""
    work = {**COMPARED, **ALONE}[name][1]()
    began = time.process_time()
    work()
    return time.process_time() - began


def measured(name: str, sources: Path, kernels: Path, turns: int) -> float:
    """The least of some processes."""
    paths = os.pathsep.join([str(sources), str(sources.parent)])
    settings = {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(kernels)}
    command = [sys.executable, __file__, "--child", name]
    found = [
        subprocess.run(
            command, env=os.environ | settings, stdout=subprocess.PIPE, text=True, check=True
        )
        for _ in range(turns)
    ]
    return min(float(json.loads(each.stdout.splitlines()[-1])) for each in found)


def started(name: str, folder: Path, turns: int) -> float:
    """Seconds of processor of a command from nothing; the first fit has no compiled kernels."""
    if name == _PREDICTED and not (folder / "model.tacit").exists():
        started("the first fit, nothing compiled", folder, 1)
    least = float("inf")
    program = [sys.executable, "-c", "from tacit.__main__ import main; main()", *STARTED[name][1]]
    for turn in range(turns):
        kernels = folder / (f"kernels-{turn}" if "compiled" in name else "kernels")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            program,
            cwd=folder,
            env=os.environ | {"NUMBA_CACHE_DIR": str(kernels)},
            capture_output=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = min(least, spent)
    return least


def write_files(folder: Path) -> None:
    """Tables as README's, with 5,000, 200 and 10 rows."""
    for file, rows in zip(_FILES, (5_000, 200, 10), strict=True):
        X, y = _rows(rows, 5)
        lines = [",".join(f"{value:.4f}" for value in row) for row in X]
        labels = np.where(y == 1, "yes", "no").tolist()
        text = "\n".join(f"{line},{label}" for line, label in zip(lines, labels, strict=True))
        (folder / file).write_text(f"a,b,c,d,e,y\n{text}\n")


def main() -> None:
    """Measure and print; exit status 1 if a goal is missed."""
    from benchmarks.earlier import take_out

    names = [*COMPARED, *ALONE, *STARTED]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratios", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="LINE", help="repeat")
    parser.add_argument("--commit", default=_BEFORE, help="what to compare with")
    parser.add_argument("--turns", type=int, default=2)
    given = parser.parse_args()
    table = Table("what", "before, s", "now, s", "faster", "goal", "met")
    missed = 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        before, now = take_out(given.commit, folder), _ROOT / "src"
        write_files(folder)
        for line in given.only or names:
            if line in COMPARED:
                goal = COMPARED[line][0]
                old, new = (
                    measured(line, tree, folder / f"kernels-{place}", given.turns)
                    for place, tree in enumerate((before, now))
                )
                cells = (f"{old:.2f}", f"{new:.2f}", f"{old / new:.1f} x", f"{goal:g} x")
                met = old / new >= goal
            else:
                goal = (ALONE | STARTED)[line][0]
                new = (
                    measured(line, now, folder / "kernels-1", given.turns)
                    if line in ALONE
                    else started(line, folder, given.turns)
                )
                cells, met = ("", f"{new:.2f}", "", f"{goal:g} s"), new <= goal
            missed += not met
            table.add_row(line, *cells, "yes" if met else "NO")
            print(line, *cells, flush=True)
    Console(width=100, highlight=False).print(table)
    sys.exit(int(missed > 0))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(sys.argv[2])))
    else:
        main()
