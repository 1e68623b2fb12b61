"""Owners of a gateway before their gate: answered together, each as if it were alone."""

import asyncio
import threading

import pytest

from tacit.owner.gate import Reason, RefusedError
from tacit.owner.ledger import LedgerError
from tacit.service.device.member import GateQueue
from tests.owner.made import gate, question, rows

NAMES = [f"owner {i}" for i in range(8)]


class SlowGate:
    """A real gate whose door opens when it is told to; it counts."""

    def __init__(self, real):
        self.real, self.batches, self.opened = real, [], threading.Event()

    def answers(self, asked, owners):
        self.opened.wait(30)
        self.batches.append(len(owners))
        return self.real.answers(asked, owners)


@pytest.fixture
def slow(tmp_path):
    return SlowGate(gate(tmp_path, rows(len(NAMES)), owners=NAMES))


def told(slow, *asked):
    """What everybody is told; the first is at the gate when the others come."""

    async def main():
        window = GateQueue(slow)
        tasks = [asyncio.create_task(window.answer(each, name)) for each, name in asked]
        await asyncio.sleep(0)
        slow.opened.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(main())


def test_all_that_wait_are_answered_together_and_each_gets_its_own(slow):
    first = question()
    said = told(slow, *((first, name) for name in NAMES))
    assert slow.batches == [8]
    assert said == slow.real.answers(first, NAMES)  # from the ledger: nothing is released twice
    assert len(set(said)) == 8


def test_questions_are_not_mixed_up_and_refusals_reach_who_asked(slow):
    good, bad = question(), b"no question"
    said = told(slow, (good, NAMES[0]), (bad, NAMES[1]), (good, NAMES[2]), (bad, NAMES[3]))
    assert slow.batches == [2, 2]
    assert [said[0], said[2]] == slow.real.answers(good, [NAMES[0], NAMES[2]])
    assert [each.reason for each in (said[1], said[3])] == [Reason.UNREADABLE] * 2


def test_one_whose_budget_is_spent_does_not_stop_the_others(slow):
    slow.real.answers(question(number=1), NAMES[:1])
    second = question(number=2)
    said = told(slow, *((second, name) for name in NAMES[:3]))
    assert isinstance(said[0], RefusedError)
    assert said[0].reason is Reason.SPENT
    assert all(isinstance(each, bytes) for each in said[1:])


def test_batches_have_a_largest_size(slow, monkeypatch):
    monkeypatch.setattr(GateQueue, "largest", 3)
    first = question()
    said = told(slow, *((first, name) for name in NAMES))
    assert sorted(slow.batches) == [2, 3, 3]
    assert len(set(said)) == 8


def test_a_ledger_that_cannot_be_written_is_everybodys_and_can_be_tried_again(slow, monkeypatch):
    def full(*arguments):
        raise LedgerError("the disk is full")

    asked = [(question(), name) for name in NAMES]
    with monkeypatch.context() as patch:
        patch.setattr(slow.real, "answers", full)
        assert {type(each) for each in told(slow, *asked)} == {LedgerError}
    assert {type(each) for each in told(slow, *asked)} == {bytes}


def test_who_gave_up_is_not_waited_for(slow):
    async def main():
        window = GateQueue(slow)
        tasks = [asyncio.create_task(window.answer(question(), name)) for name in NAMES[:3]]
        await asyncio.sleep(0)
        tasks[1].cancel()
        slow.opened.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, gone, last = asyncio.run(main())
    assert isinstance(gone, asyncio.CancelledError)
    assert {type(first), type(last)} == {bytes}
