"""Kills at random moments, several processes on one ledger.

Workers are real gates on one ledger file. The parent asks them signed questions over pipes, keeps
every answer that arrives, and kills one of them after a random pause, from microseconds to tens of
milliseconds, again and again. Owners have little budget and are asked by all workers at once: a
wave of them begins when every worker has answered something, however slow the machine, so that
they do meet at the ledger. Afterwards it is held against what was heard.
"""

import logging
import multiprocessing
import shutil
import tempfile
import warnings
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic

import numpy as np

from reliability.campaign import Campaign, ledger_in, limits
from reliability.finding import Finding
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger import Ledger, LedgerError
from tacit.owner.ledger_marks import read_mark

WORKERS = 4
_QUESTIONS = 8
_WAVE = 2  # owners that are asked at the same time, for a few kills
_KILLS_PER_WAVE = 3
_AHEAD = 4  # questions a worker is given at a time, so that it is busy when it is killed
_SHORTEST, _LONGEST = 2e-5, 4e-2  # seconds before a kill
_PATIENCE = 60  # seconds until workers that do not answer are let be
_POLICY = limits(
    epsilon_per_release="0.3", epsilon_total="0.7", releases=5
)  # two of 0.3, one of 0.1
_FILES = ("ledger.db", "ledger.db-wal", "ledger.db-shm")


@dataclass
class Worker:
    """A process with a gate, and the parent's end of its pipe."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    waiting: int = 0  # questions asked and not yet answered


class Crew:
    """The workers, what they were asked, and what was heard from them."""

    def __init__(
        self, campaign: Campaign, folder: Path, owners: list[str], kind: type[Ledger], seed: int
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.campaign, self.folder, self.owners, self.kind = campaign, folder, owners, kind
        self.questions = [campaign.question(number + 1) for number in range(_QUESTIONS)]
        self.heard: dict[tuple[str, int], set[bytes]] = defaultdict(set)
        self.asked = self.refused = self.put_back = 0
        self.troubles: list[str] = []
        self.ledger().close()  # one process makes the file, as an owner's setting up would
        self.workers = [self._started() for _ in range(WORKERS)]

    def ledger(self) -> Ledger:
        return ledger_in(self.folder, self.kind)

    def gate(self, ledger: Ledger) -> Gate:
        return self.campaign.gate(self.owners, _POLICY, ledger)

    def run(self, kills: int) -> None:
        for killed in range(kills):
            first = 1 + killed // _KILLS_PER_WAVE * _WAVE  # owner 0 is everybody's, all the time
            if killed % _KILLS_PER_WAVE == 0:
                self._awaken(monotonic() + _PATIENCE)
            pause = exp(self.rng.uniform(log(_SHORTEST), log(_LONGEST)))
            self._listen(monotonic() + pause, first)
            self._replace(int(self.rng.integers(WORKERS)))
        for worker in self.workers:
            self._end(worker)

    def _awaken(self, until: float) -> None:
        """Until everybody has answered something; who has is asked on, as the idle hold locks in
        ledgers that are wrong.
        """
        asleep = list(self.workers)
        while asleep and monotonic() < until:
            for worker in self.workers:
                if not worker.waiting:
                    self._ask(worker, 0)
            for pipe in wait([worker.pipe for worker in self.workers], 1):
                worker = next(worker for worker in self.workers if worker.pipe is pipe)
                self._hear(worker)
                if worker in asleep:
                    asleep.remove(worker)

    def _ask(self, worker: Worker, owner: int) -> None:
        worker.pipe.send((int(self.rng.integers(_QUESTIONS)), self.owners[owner]))
        worker.waiting += 1
        self.asked += 1

    def _listen(self, until: float, first: int) -> None:
        """Keep everybody busy and hear what they say, until it is time to kill."""
        while True:
            for worker in self.workers:
                while worker.waiting < _AHEAD:
                    owner = (
                        int(self.rng.integers(first, first + _WAVE))
                        if self.rng.random() < 0.9
                        else 0
                    )
                    self._ask(worker, owner)
            left = until - monotonic()
            if left <= 0:
                return
            for pipe in wait([worker.pipe for worker in self.workers], left):
                self._hear(next(worker for worker in self.workers if worker.pipe is pipe))

    def _hear(self, worker: Worker) -> bool:
        """Take one message; False when there will be no more."""
        try:
            kind, number, owner, said = worker.pipe.recv()
        except (EOFError, OSError):
            return False
        if kind == "put back":
            self.put_back += 1
            return True
        worker.waiting -= 1
        if kind == "report":
            self.heard[owner, number].add(said)
        elif kind == "refused":
            self.refused += 1
        else:
            self.troubles.append(said)
        return True

    def _replace(self, place: int) -> None:
        self._end(self.workers[place])
        self.workers[place] = self._started()

    def _end(self, worker: Worker) -> None:
        """Kill, then hear all that was sent before."""
        worker.process.kill()
        worker.process.join()
        while worker.pipe.poll() and self._hear(worker):
            pass
        worker.pipe.close()

    def _started(self) -> Worker:
        context = multiprocessing.get_context("fork")  # compiled kernels come along
        ours, theirs = context.Pipe()
        process = context.Process(target=self._serve, args=(theirs,), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # threads of the linear algebra library are idle here
            process.start()
        theirs.close()
        return Worker(process, ours)

    def _serve(self, pipe: Connection) -> None:
        """A worker's life: answer until killed."""
        ledger_log = logging.getLogger("tacit.owner.ledger")
        ledger_log.propagate = False
        ledger_log.addHandler(_Telling(pipe))
        gate = None
        while True:
            number, owner = pipe.recv()
            try:
                gate = gate or self.gate(self.ledger())
                pipe.send(("report", number, owner, gate.answer(self.questions[number], owner)))
            except RefusedError:
                pipe.send(("refused", number, owner, None))
            except LedgerError as trouble:
                pipe.send(("trouble", number, owner, str(trouble)))


class _Telling(logging.Handler):
    """Tells the parent when a ledger put releases back from its mark: a kill hit the moment
    between the two.
    """

    def __init__(self, pipe: Connection) -> None:
        super().__init__()
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        self._pipe.send(("put back", 0, "", None))


def kills(count: int, seed: int = 1, kind: type[Ledger] = Ledger) -> Finding:
    """The experiment, for a ledger of `kind`."""
    campaign = Campaign()
    owners = [
        f"owner {i}" for i in range(1 + (count // _KILLS_PER_WAVE + 1) * _WAVE + 2)
    ]  # one for all, two for later
    with tempfile.TemporaryDirectory(prefix="tacit") as name:
        folder = Path(name)
        _warm(campaign)
        crew = Crew(campaign, folder, owners, kind, seed)
        crew.run(count)
        faults = _held_against(crew)
        faults["old copies of the ledger accepted"] = _restored(crew)
    figures = {
        "questions asked": crew.asked,
        "releases heard": len(crew.heard),
        "refused: budget spent": crew.refused,
        "kills between mark and commit, put right": crew.put_back,
    }
    return Finding(
        "kills at random moments",
        f"{count:,} SIGKILLs, {WORKERS} processes, 1 ledger",
        faults,
        figures,
    )


def _warm(campaign: Campaign) -> None:
    """Compile here, so that workers do not each do it before they are killed."""
    with tempfile.TemporaryDirectory(prefix="tacit") as name:
        campaign.gate(["warm"], _POLICY, ledger_in(Path(name))).answer(campaign.question(1))


def _held_against(crew: Crew) -> dict[str, int]:
    """The ledger against what was heard."""
    faults = dict.fromkeys(
        (
            "owners over their budget",
            "reports heard that are not in the ledger",
            "questions whose bytes differ when asked again",
            "broken chains or marks",
        ),
        0,
    )
    faults["ledgers that stopped answering"] = len(crew.troubles)
    try:
        ledger = crew.ledger()
        gate = crew.gate(ledger)
        entries = ledger.entries()
        seen = read_mark(ledger.mark)
        faults["broken chains or marks"] += seen is not None and seen.mark.final[0] != len(entries)
    except LedgerError:
        faults["broken chains or marks"] += 1
        return faults
    spent: dict[str, Fraction] = defaultdict(Fraction)
    for entry in entries:
        spent[entry.owner] += Fraction(entry.epsilon)
    faults["owners over their budget"] = sum(
        total > _POLICY.epsilon_total for total in spent.values()
    )
    written = {(entry.owner, entry.number - 1): entry.report for entry in entries}
    for (owner, number), reports in crew.heard.items():
        faults["reports heard that are not in the ledger"] += reports != {
            written.get((owner, number))
        }
        try:
            faults["questions whose bytes differ when asked again"] += reports != {
                gate.answer(crew.questions[number], owner)
            }
        except RefusedError:
            faults["questions whose bytes differ when asked again"] += 1
    ledger.close()
    return faults


def _restored(crew: Crew) -> int:
    """Put an older copy of the ledger back, and see whether it answers another question of an
    owner who has spent.
    """
    owner, other = crew.owners[-2:]
    old = crew.folder / "old"
    old.mkdir()
    try:
        ledger = crew.ledger()
        gate = crew.gate(ledger)
        for name in _FILES:
            if (crew.folder / name).exists():
                shutil.copy(crew.folder / name, old)
        for number, who in enumerate((owner, other, owner, other)):
            gate.answer(crew.questions[number], who)
        ledger.close()
        for name in _FILES:
            (crew.folder / name).unlink(missing_ok=True)
            if (old / name).exists():
                shutil.copy(old / name, crew.folder)
        crew.gate(crew.ledger()).answer(crew.questions[5], owner)
    except LedgerError:
        return 0
    return 1
