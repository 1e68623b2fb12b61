"""Slow questions by the clock: thresholds, and a lane that is run whole."""

from dataclasses import replace

import numpy as np

from tacit.audit import moments
from tacit.audit.hostile_questions import FAMILIES
from tacit.audit.moments import Moments, is_unfair, run_lane
from tacit.audit.questions import audit_questions
from tacit.owner.gate import Gate

QUIET = Moments(
    questions=10_000, lanes=1, noise=0.01, beyond=10, differ=0, later=5050, later_beyond=6,
    unprotected=0.002, apart=0.0,
)  # fmt: skip


def test_what_is_called_unsound():
    assert QUIET.sound
    assert not replace(QUIET, differ=1).sound  # one question that keeps them apart
    assert not replace(QUIET, later=5200).sound  # slow is later too often
    assert not replace(QUIET, later=4800).sound  # or too seldom
    assert not replace(QUIET, beyond=20, later_beyond=20).sound
    assert QUIET.check.seen.startswith("10,000 questions")


def test_a_fair_coin_is_called_unfair_once_in_two_thousand():
    rng = np.random.default_rng(1)
    called = sum(is_unfair(int(heads), 500) for heads in rng.binomial(500, 0.5, 3000))
    assert called <= 7  # 1.5 expected at most; 8 or more come once in 5,000 such tests


def test_a_lane_asks_admissible_questions_that_are_slow(monkeypatch):
    few = {name: FAMILIES[name] for name in ("long walks", "stump")}
    monkeypatch.setattr(moments, "FAMILIES", few)
    took, drafts = run_lane(4, 1, Gate)
    assert len(drafts) == len(took) == 4
    assert {draft.family for draft in drafts} == set(few)
    assert (took[:, :2] > 0.1).all()
    assert np.isfinite(took[0, 2])
    assert np.isnan(took[1:, 2]).all()
    assert np.median(took[:, 3]) > 0  # the work itself is longer for the slow owner


def test_the_search_finds_nothing_at_the_gate():
    found = audit_questions(12)
    assert all(check.sound for check in found.checks()), found.faults
    assert found.counts["admitted"] >= 3
