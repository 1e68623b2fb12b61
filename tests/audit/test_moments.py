"""Slow questions by the clock: thresholds, and a lane that is run whole."""

import gc
import subprocess
import sys
from dataclasses import replace

import numpy as np

from tacit.audit import moments
from tacit.audit.hostile_questions import FAMILIES, Draft, quick_owner, slow_owner
from tacit.audit.moments import Moments, is_unfair, run_lane
from tacit.audit.questions import audit_questions
from tacit.mechanisms.streams import seeded
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


def compile_for_many_rows():
    """Kernels that are compiled for an owner with many rows after one with a single row answered
    the same question; in a process of its own.
    """

    def types():
        return {
            f"{each.__module__}.{each.__name__}": len(each.signatures)
            for each in gc.get_objects()
            if type(each).__name__ == "CPUDispatcher"
        }

    for name in FAMILIES:
        query = Draft(name, 1, size=0.3, odd=0.0, late=0.1).query(moments.ROOM, moments.ROWS)
        query.release(quick_owner(), query.epsilons[0], seeded(1))
        before = types()
        query.release(slow_owner(moments.ROWS), query.epsilons[0], seeded(1))
        yield from (kernel for kernel, known in types().items() if known != before.get(kernel))


def test_no_kernel_is_compiled_for_the_rows_of_one_owner_and_not_of_another():
    """Compiling takes longer than any work: an answer would be abandoned where it is needed."""
    program = "from tests.audit.test_moments import *; print(list(compile_for_many_rows()))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == "[]"
