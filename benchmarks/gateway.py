"""Releases a second through the gate and through a gateway, against the gate of before.

    python -m benchmarks.gateway --owners 2000

The gate of before worked on rows in its own process, held the ledger meanwhile, opened a question
anew for every batch, and let answers leave at the next multiple of the time step: how many of them
passed told of rows. The gate of now has a moment that question and policy name. Both write the same
lines to a ledger on disk. A gateway asks for batches; one owner alone asks for itself, again and
again, each time something new. Owners one by one are asked the same, without a time step, and
"before" is the gate of now that opens and checks the question anew for each of them. Contestants
take turns, and the best turn of each counts.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import perf_counter

from reliability.campaign import Campaign, ledger_in

from tacit.learners.query import Invitation
from tacit.owner.gate import Gate
from tacit.owner.policy import Policy
from tacit.service.device.member import GateQueue

_STEP = Fraction(1, 10)
Kind = tuple[type[Gate], type[GateQueue]]
Measure = Callable[[type[Gate], type[GateQueue]], float]


class GateOfBefore(Gate):
    """As it was before its moments told nothing."""

    @property
    def _computes_apart(self) -> bool:
        return False

    def _admit(self, question: bytes) -> Invitation:
        self._lately = {}
        return super()._admit(question)


class GateThatForgets(Gate):
    """A question that was checked for one owner is opened and checked again for the next."""

    def _admit(self, question: bytes) -> Invitation:
        self._lately = {}
        return super()._admit(question)


class QueueOfBefore(GateQueue):
    """One batch at a time, small enough for a time step."""

    largest = 200
    at_gate = 1


@dataclass(frozen=True)
class Setting:
    """How many rows of an owner count by the policy; what is asked in one go."""

    rows: int
    owners: int

    @property
    def policy(self) -> Policy:
        return Policy(
            epsilon_per_release=Fraction(1),
            epsilon_total=Fraction(10**6),
            releases=10**6,
            time_step=_STEP,
            rows=self.rows,
        )


def gateway(setting: Setting, gate: type[Gate], queue: type[GateQueue]) -> float:
    """Releases a second, all owners at once."""
    campaign, names = Campaign(), [str(i) for i in range(setting.owners)]
    with tempfile.TemporaryDirectory() as folder:
        made = campaign.gate(names, setting.policy, ledger_in(Path(folder)), gate)
        made.answers(campaign.question(1), names[:2])  # compiled, and the worker is there
        question = campaign.question(2)

        async def ask() -> None:
            waiting = queue(made)
            await asyncio.gather(*(waiting.answer(question, name) for name in names))

        began = perf_counter()
        asyncio.run(ask())
        return setting.owners / (perf_counter() - began)


def batches(setting: Setting, gate: type[Gate], _: type[GateQueue]) -> float:
    """Releases a second of batches, one after the other."""
    campaign, names = Campaign(), [str(i) for i in range(setting.owners)]
    with tempfile.TemporaryDirectory() as folder:
        made = campaign.gate(names, setting.policy, ledger_in(Path(folder)), gate)
        made.answers(campaign.question(1), names[:2])
        question, size = campaign.question(2), min(200, setting.owners)
        began = perf_counter()
        for start in range(0, setting.owners, size):
            made.answers(question, names[start : start + size])
        return setting.owners / (perf_counter() - began)


def alone(setting: Setting, gate: type[Gate], _: type[GateQueue]) -> float:
    """Releases a second of one owner that is asked one question after the other."""
    campaign, times = Campaign(), 20
    with tempfile.TemporaryDirectory() as folder:
        made = campaign.gate(["me"], setting.policy, ledger_in(Path(folder)), gate)
        made.answer(campaign.question(1))
        questions = [campaign.question(2 + i) for i in range(times)]
        began = perf_counter()
        for question in questions:
            made.answer(question)
        return times / (perf_counter() - began)


def one_by_one(setting: Setting, gate: type[Gate], _: type[GateQueue]) -> float:
    """Releases a second of owners that are asked the same, one after the other, and answer at
    once.
    """
    campaign, names = Campaign(), [str(i) for i in range(200)]
    policy = replace(setting.policy, time_step=Fraction(0))
    with tempfile.TemporaryDirectory() as folder:
        made = campaign.gate(names, policy, ledger_in(Path(folder)), gate)
        made.answers(campaign.question(1), names[:2])
        question = campaign.question(2)
        began = perf_counter()
        for name in names:
            made.answer(question, name)
        return len(names) / (perf_counter() - began)


def compare(owners: int, repetitions: int) -> list[tuple[str, float, float]]:
    """Name, before and now, in releases a second."""
    found = []
    for rows in (8, 1024):
        setting = Setting(rows, owners)
        name = f"{rows} rows count"
        kinds = ((GateOfBefore, QueueOfBefore), (Gate, GateQueue))
        measures: dict[str, Measure] = {
            f"gateway, {owners:,} owners, {name}": partial(gateway, setting),
            f"gate, batches of 200, {name}": partial(batches, setting),
            f"gate, one owner, {name}": partial(alone, setting),
        }
        for what, measure in measures.items():
            found.append((what, *_best(measure, kinds, repetitions)))
        forgetful = ((GateThatForgets, GateQueue), (Gate, GateQueue))
        best = _best(partial(one_by_one, setting), forgetful, repetitions)
        found.append((f"gate, owners one by one, {name}", *best))
    return found


def _best(measure: Measure, kinds: Sequence[Kind], repetitions: int) -> tuple[float, float]:
    """Of either kind the best turn."""
    turns = [[measure(*kind) for kind in kinds] for _ in range(repetitions)]
    before, now = (max(column) for column in zip(*turns, strict=True))
    return before, now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=2_000)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    print(f"{'releases a second':44} {'before':>9} {'now':>9} {'ratio':>6}")
    for what, before, now in compare(given.owners, given.repetitions):
        print(f"{what:44} {before:9,.0f} {now:9,.0f} {now / before:6.2f}")


if __name__ == "__main__":
    main()
