"""What was spent elsewhere shows in nothing: answers, refusals, sizes, moments and repetitions."""

import time
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.templates import campaigns

from tacit import Cohort
from tacit.learners.query import PURPOSE, Invitation, digest_of, unpack
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.ledger_entries import Entry
from tacit.owner.spending import owners
from tacit.wire.envelopes import sign
from tests.owner.made import KEY, policy

LIMITS = {"epsilon_total": 3, "releases": 3}


def terms():
    """A campaign: centroids through Duchi at epsilon 1."""
    return campaigns()[1]


def gate_of(folder, spent, cohort=None, **limits):
    """A gate of an owner that spent so much, in so many releases, in another campaign."""
    folder.mkdir(exist_ok=True)
    ledger = Ledger(folder / "l.db", folder / "l.mark")
    with ledger.transaction() as book:
        for number, epsilon in enumerate(spent, 1):
            if book.find("me", bytes([number]) * 32) is None:
                digest = bytes([number]) * 32
                book.add(Entry("me", digest, "else", number, 0, epsilon, "owner", "x", "y", b""))
    rows = cohort or Cohort(np.zeros((2, terms().schema.dim)), np.array([0, 1]), np.array([0, 2]))
    return Gate(
        rows, ["me"], terms().schema, policy(**LIMITS | limits), ledger, KEY.public_key(),
        template=terms().template(),
    )  # fmt: skip


def asked(number=1):
    invitation = Invitation(
        terms().name, number, 1 << 40, digest_of(terms().schema), terms().example()
    )
    return sign(invitation, PURPOSE, KEY), invitation


SPENT = {"nothing": (), "all": ("1", "1", "1"), "too much left": ("5/2",), "releases": ("1/9",) * 3}


@pytest.mark.parametrize("spent", SPENT.values(), ids=SPENT.keys())
def test_an_owner_answers_alike_whatever_was_spent_elsewhere(tmp_path, spent):
    gate = gate_of(tmp_path, spent)
    data, invitation = asked()
    said = gate.answer(data)
    good, levels, _ = unpack([said], invitation.digest, invitation.query)
    assert (good.tolist(), levels.tolist(), len(said)) == ([True], [0], len(said))
    assert gate.answer(data) == gate_of(tmp_path, ()).answer(data) == said
    with pytest.raises(RefusedError) as second:  # one answer was agreed to, paid for or not
        gate.answer(asked(2)[0])
    assert second.value.reason is Reason.SPENT
    *_, entry = gate._ledger.entries()
    assert (entry.epsilon, entry.report) == ("1" if not spent else "0", said)
    assert sum((each.cost for each in gate._ledger.entries()), Fraction(0)) <= 3


def test_what_cost_nothing_was_made_from_no_rows(tmp_path, monkeypatch):
    """And is no release: neither the budget nor the number of releases is touched."""
    seen = []
    real = Gate._release

    def watching(self, query, cohort, epsilons, coins):
        seen.append(len(cohort.y))
        return real(self, query, cohort, epsilons, coins)

    monkeypatch.setattr(Gate, "_release", watching)
    for name, spent, rows in (("a", (), 2), ("b", SPENT["all"], 0)):
        gate = gate_of(tmp_path / name, spent)
        gate.answer(asked()[0])
        assert seen[-1] == rows
    shown = owners(gate._ledger.entries(), policy(**LIMITS))["me"]
    assert (shown["spent"], shown["releases"]) == ("3", 3)
    assert (shown["left"], shown["releases_left"]) == ("0", 0)


def test_the_moment_is_the_same_whatever_was_spent_elsewhere(tmp_path):
    doors = [gate_of(tmp_path / str(len(spent)), spent, time_step="0.05", releases=9)
             for spent in ((), ("1", "1", "1"))]  # fmt: skip
    took = []
    for door in doors:
        with pytest.raises(RefusedError):
            door.answer(b"no question")  # whatever begins has begun
        began = time.monotonic()
        door.answer(asked()[0])
        took.append(time.monotonic() - began)
    named = float(policy(time_step="0.05").moment(terms().example(), 1))
    assert min(took) >= named


def test_a_ledger_that_changes_meanwhile_decides(tmp_path, monkeypatch):
    """Two questions at once on one budget: the second to write finds it spent, and says what an
    owner without rows says.
    """
    gate = gate_of(tmp_path, ("1",), epsilon_total=2)
    real = Gate._reports
    once: list[object] = []

    def spending(self, invitation, due):
        if not once:
            once.append(due)
            with self._ledger.transaction() as book:
                more = Entry("me", b"m" * 32, "else", 9, 0, "1", "owner", "x", "y", b"")
                book.add(more)
        return real(self, invitation, due)

    monkeypatch.setattr(Gate, "_reports", spending)
    gate.answer(asked()[0])
    assert [each.epsilon for each in gate._ledger.entries()] == ["1", "1", "0"]
