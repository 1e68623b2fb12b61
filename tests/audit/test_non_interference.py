"""Non-interference: nothing to see at the real gate, everything to see at leaking ones."""

import logging
import os
import sys
import time
import warnings

import numpy as np
import pytest

from tacit import seeded
from tacit.audit.non_interference import data_sets, non_interference, perform, script
from tacit.audit.side_effects import NOON, watch
from tacit.learners.owners.stump import Stump
from tacit.owner.gate import Gate, Reason
from tests.audit.mutants import INTERFERING
from tests.mechanisms.cases import name

SHORT = script([Stump()], ["duchi"], ())


def test_the_gate_tells_nothing_beside_its_reports():
    assert list(non_interference(seeded(2), script(mechanisms=["privunit", "laplace"]))) == []


@pytest.mark.parametrize("mutant", INTERFERING, ids=name)
def test_leaks_beside_the_reports_are_caught(mutant):
    data = {each: data_sets()[each] for each in ("some rows", "no rows", "uneven")}
    found = list(non_interference(seeded(2), SHORT, mutant, data))
    assert INTERFERING[mutant] in {difference.where for difference in found}, found[:3]
    assert str(found[0]).startswith(found[0].step)


def test_rows_that_a_learner_stumbles_over_are_not_noticed(monkeypatch):
    share = Stump.share

    def stumbling(self, query, cohort):
        if (cohort.X > 0.99).any():
            raise RuntimeError("a defect")
        return share(self, query, cohort)

    monkeypatch.setattr(Stump, "share", stumbling)
    assert list(non_interference(seeded(2), SHORT)) == []


def test_the_script_meets_every_outcome():
    story = perform(Gate, data_sets()["some rows"], SHORT, seeded(2))
    told = " ".join(what for _, seen in story for _, what in seen)
    for reason in Reason:
        assert reason.value.split("'")[0] in told, reason
    levels = {
        what[14:16]
        for _, seen in story
        for where, what in seen
        if where == "answer" and what[0] == "0"
    }
    assert levels == {"00", "01"}  # the budget that is left decides
    assert len([step for step in SHORT.steps if step.restart]) == 1
    ledger = [what for where, what in story[-1][1] if where == "ledger"]
    # three owners, one question and the three that the rest of the budget pays
    assert len(ledger) == 3 * 4


def test_the_world_stands_still_and_everything_is_seen(tmp_path):
    quiet = logging.getLogger("tacit.tests.quiet")
    quiet.setLevel(logging.ERROR)
    before = time.sleep
    with watch(tmp_path) as seen:
        quiet.debug("whisper %d", 1)
        warnings.warn("careful", stacklevel=1)
        sys.stdout.write("aloud")
        os.write(1, b"past python")
        time.sleep(3)
        assert time.time() == NOON + 3
        (tmp_path / "ledger").write_text("the desk's own affair")
        open(os.devnull, "w").close()
        np.float64(1) / np.float64(0)
    assert seen == [
        ("log", "DEBUG tacit.tests.quiet: whisper 1"),
        ("warning", "UserWarning: careful"),
        ("stdout", "aloud"),
        ("sleep", "3.0"),
        ("system", f"open {os.devnull}"),
        ("warning", "RuntimeWarning: divide by zero encountered in scalar divide"),
        ("stdout", "past python"),
    ]
    assert time.sleep is before
    assert quiet.level == logging.ERROR
    count = len(seen)
    open(os.devnull, "w").close()
    assert len(seen) == count  # the hook sleeps
