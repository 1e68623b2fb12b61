"""Random schedules: asked, asked again, dropped, out of order, restarted, with a clock that jumps.

Every schedule has a few owners who allow one release each, and several questions that end at
different times. Whatever happens, an owner says one thing in its life, and says it in the same
bytes.
"""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from reliability.apart import apart
from reliability.campaign import Campaign, in_memory, ledger_in, limits
from reliability.finding import Finding
from tacit.owner.gate import Gate, Reason, RefusedError

_PROCESSES = 2
_OWNERS, _QUESTIONS, _LONGEST = 3, 4, 16
_START = 1_700_000_000
_MOVES = ("ask", "ask", "ask", "retry", "drop", "everybody", "later", "later", "restart", "jump")
_POLICY = limits(epsilon_per_release=1, epsilon_total=9, releases=1)
FAULTS = (
    "owners with a second release",
    "retries with other bytes",
    "errors, and refusals for another reason",
    "reports heard that are not in the ledger",
)


class Timed(Gate):
    """A gate whose clock the experiment turns."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.clock = float(_START)

    def _now(self) -> float:
        return self.clock


class Schedule:
    """One schedule: what was heard by whom."""

    def __init__(
        self, gate: Timed, owners: list[str], questions: list[bytes], restart: Any
    ) -> None:
        self.gate, self.owners, self.questions, self._restart = gate, owners, questions, restart
        self.heard: dict[str, set[tuple[int, bytes]]] = defaultdict(set)
        self.later: list[tuple[int, str]] = []
        self.errors = 0

    def run(self, rng: np.random.Generator) -> None:
        for _ in range(int(rng.integers(4, _LONGEST))):
            number, owner = int(rng.integers(_QUESTIONS)), self.owners[int(rng.integers(_OWNERS))]
            match _MOVES[int(rng.integers(len(_MOVES)))]:
                case "ask":
                    self._ask(number, owner)
                case "retry":
                    for _ in range(2):
                        self._ask(number, owner)
                case "drop":
                    self._ask(number, owner, kept=False)
                case "everybody":
                    self._everybody(number)
                case "later":
                    self.later.append((number, owner))
                case "restart":
                    clock, self.gate = self.gate.clock, self._restart()
                    self.gate.clock = clock
                case _:
                    self.gate.clock = _START + float(rng.integers(-(10**6), 10**4))
            if self.later and rng.random() < 0.3:  # what was held back arrives in another order
                for place in rng.permutation(len(self.later)).tolist():
                    self._ask(*self.later[place])
                self.later.clear()

    def _ask(self, number: int, owner: str, kept: bool = True) -> None:
        try:
            report = self.gate.answer(self.questions[number], owner)
            if kept:
                self.heard[owner].add((number, report))
        except RefusedError as refused:
            self._refused(refused)
        except Exception:
            self.errors += 1

    def _everybody(self, number: int) -> None:
        try:
            for owner, said in zip(
                self.owners, self.gate.answers(self.questions[number], self.owners), strict=True
            ):
                if isinstance(said, bytes):
                    self.heard[owner].add((number, said))
                else:
                    self._refused(said)
        except RefusedError as refused:
            self._refused(refused)

    def _refused(self, refused: RefusedError) -> None:
        self.errors += refused.reason not in (Reason.SPENT, Reason.EXPIRED)


def schedules(count: int) -> Finding:
    """The experiment, in a few processes."""
    each = [count // _PROCESSES + (place < count % _PROCESSES) for place in range(_PROCESSES)]
    _part(1, _PROCESSES)  # compiled here, once
    found = apart(_part, [(part, place) for place, part in enumerate(each)])
    faults = dict.fromkeys(FAULTS, 0)
    releases = 0
    for part in found:
        if part is None:
            faults["errors, and refusals for another reason"] += 1
        else:
            releases += part[1]
            for name, number in part[0].items():
                faults[name] += number
    tried = f"{count:,} schedules of {_OWNERS} owners and {_QUESTIONS} questions"
    return Finding("asked, retried, dropped, reordered", tried, faults, {"releases": releases})


def _part(count: int, seed: int) -> tuple[Counter[str], int]:
    rng = np.random.default_rng(seed)
    campaign = Campaign()
    query = campaign.query(mechanism="randomized_response")
    ends = (_START - 1000, _START + 1000, _START + 5000, _START + 10**8)
    questions = [campaign.question(number + 1, query, end) for number, end in enumerate(ends)]
    faults: Counter[str] = Counter()
    heard: dict[tuple[str, int], bytes] = {}
    with in_memory() as name:
        folder = Path(name)
        for number in range(count):
            owners = [f"{number} {letter}" for letter in "abc"[:_OWNERS]]

            def gate(owners: list[str] = owners) -> Timed:
                made = campaign.gate(owners, _POLICY, ledger_in(folder), Timed)
                if not isinstance(made, Timed):
                    raise TypeError("not a timed gate")
                return made

            schedule = Schedule(gate(), owners, questions, gate)
            schedule.run(rng)
            faults["errors, and refusals for another reason"] += schedule.errors
            for owner, said in schedule.heard.items():
                faults["retries with other bytes"] += len(said) > len({each for each, _ in said})
                faults["owners with a second release"] += len({each for each, _ in said}) > 1
                heard.update({(owner, each + 1): report for each, report in said})
        entries = ledger_in(folder).entries()
    written = {(entry.owner, entry.number): entry.report for entry in entries}
    faults["owners with a second release"] += len(entries) - len({entry.owner for entry in entries})
    faults["reports heard that are not in the ledger"] += sum(
        written.get(key) != heard[key] for key in heard
    )
    return faults, len(entries)
