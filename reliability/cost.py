"""What being careful costs: releases per second through the gate, against the same gate without a
disk, and the floor.

The floor is what this disk allows: SQLite in the ledger's own mode, one small row and one commit
after the other. Contestants take turns, and the best turn of each counts.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from time import perf_counter

from benchmarks.timing import best, per_item

from reliability.campaign import Campaign, ledger_in, limits
from reliability.effort import Effort
from reliability.finding import Finding
from tacit.owner.ledger import Spending
from tacit.owner.ledger_entries import COUNTS, CampaignId, Entry

_POLICY = limits(epsilon_per_release=1, epsilon_total=1, releases=1)


class Forgetful:
    """A ledger that keeps everything in memory and nothing on disk: what a gate costs without
    one.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[str, bytes], Entry] = {}
        self._spent: dict[str, Spending] = {}
        self._of: dict[str, list[Entry]] = {}

    @contextmanager
    def transaction(self) -> Iterator["Forgetful"]:
        yield self

    glance = transaction

    @property
    def head(self) -> bytes:
        """Another one after every line."""
        return len(self._entries).to_bytes(8)

    def find(self, owner: str, digest: bytes, key: str = "") -> Entry | None:
        return self._entries.get((owner, digest))

    def spending_of(self, owner: str) -> Spending:
        return self._spent.get(owner, Spending(Fraction(0), 0, Fraction(0)))

    def count_answers(self, owner: str, campaign: CampaignId, what: str) -> int:
        own = self._of.get(owner, ())
        return sum(entry.key == campaign.key and entry.what == what for entry in own)

    def add(self, entry: Entry) -> None:
        self._entries[entry.owner, entry.digest] = entry
        self._of.setdefault(entry.owner, []).append(entry)
        spent, releases, counts = self.spending_of(entry.owner)
        counts += entry.cost if entry.how == COUNTS else 0
        self._spent[entry.owner] = Spending(spent + entry.cost, releases + 1, counts)


def cost(effort: Effort) -> Finding:
    """Releases per second, ratios, and how long the audit takes."""
    n = effort.releases
    campaign = Campaign()
    names = [f"owner {i}" for i in range(n)]
    question = campaign.question(1)
    with tempfile.TemporaryDirectory(prefix="tacit") as folder:

        def one_by_one() -> None:
            gate = campaign.gate(names, _POLICY, ledger_in(_fresh(folder)))
            for name in names:
                gate.answer(question, name)

        def together() -> None:
            campaign.gate(names, _POLICY, ledger_in(_fresh(folder))).answers(question, names)

        def without_disk() -> None:
            gate = campaign.gate(names, _POLICY, Forgetful())
            for name in names:
                gate.answer(question, name)

        contestants: dict[str, Callable[[], float]] = {
            "one by one": per_item(one_by_one, n),
            "together": per_item(together, n),
            "without disk": per_item(without_disk, n),
            "bare": per_item(lambda: _bare(_fresh(folder), n), n),
            "bare with file": per_item(lambda: _bare(_fresh(folder), n, _replaced), n),
        }
        seconds = best(contestants, effort.repetitions + 1)
    rate = {name: 1 / each for name, each in seconds.items()}
    figures = {
        "releases per second, ledger on disk, one by one": rate["one by one"],
        f"releases per second, a gateway of {n} owners in one transaction": rate["together"],
        "releases per second, the same gate without a disk, one by one": rate["without disk"],
        "commits per second, bare SQLite on the same disk": rate["bare"],
        "commits per second, bare SQLite and one more file replaced durably": rate[
            "bare with file"
        ],
        "time of a release on disk / time of a bare commit": seconds["one by one"]
        / seconds["bare"],
        "time of a release on disk / time of a bare commit and file": seconds["one by one"]
        / seconds["bare with file"],
        "time of a release without disk / time of a bare commit": seconds["without disk"]
        / seconds["bare"],
        "time of a release in a gateway / time of a bare commit": seconds["together"]
        / seconds["bare"],
    }
    faults = {}
    if effort.audited:
        faults["audits that fail"], figures["tacit audit, seconds"] = _audit()
    return Finding("cost", f"{n} releases, best of {effort.repetitions + 1}", faults, figures)


def _fresh(folder: str) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


def _bare(folder: Path, commits: int, beside: Callable[[Path], None] = lambda folder: None) -> None:
    """Nothing but commits, and what is done beside each of them."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, value BLOB)")
    for number in range(commits):
        beside(folder)
        connection.execute("INSERT INTO rows VALUES (?, ?)", (number, b"x" * 16))
    connection.close()


def _replaced(folder: Path) -> None:
    """A small file written, replaced and on disk: what a mark cannot do without."""
    with open(folder / "draft", "wb") as file:
        file.write(b"x" * 300)
        file.flush()
        os.fsync(file.fileno())
    os.replace(folder / "draft", folder / "mark")
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _audit() -> tuple[int, float]:
    """Whether `tacit audit` fails, and how long it takes in a process of its own."""
    began = perf_counter()
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    command = [sys.executable, "-c", "from tacit.cli import main; main()", "audit", "--json"]
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return int(done.returncode != 0), perf_counter() - began
