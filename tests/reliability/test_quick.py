"""The experiments run, and see what they are there to see; their figures are for `make
reliability`.
"""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from reliability.canaries import canaries
from reliability.questions import questions
from reliability.reports import reports
from reliability.schedules import schedules

from tacit import Cohort
from tacit.owner.gate import Gate
from tacit.owner.ledger import Book
from tacit.owner.policy import Policy
from tacit.service.coordinator.intake import Intake
from tacit_papers.evidence_benchmarks import digest_of_benchmark

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="forks, kills and reads /proc"
)


def test_a_quick_run_finds_nothing_and_writes_what_it_found(tmp_path):
    out = tmp_path / "reliability.json"
    command = [sys.executable, "-m", "reliability", "--quick", "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(out.read_text())
    assert told["code"] == digest_of_benchmark("reliability")
    assert told["quick"]
    found = told["rows"]
    assert [each["passed"] for each in found] == [True] * 8
    assert sum(len(each["faults"]) for each in found) > 25


def faults(finding):
    return {name for name, count in finding.faults.items() if count}


def test_planted_values_are_seen_in_a_repr_and_in_a_log(monkeypatch):
    monkeypatch.setattr(Cohort, "__repr__", lambda self: f"Cohort({self.X!r})")
    release = Gate._release

    def talkative(self, query, cohort, epsilons, coins):
        logging.getLogger("tacit").debug("rows %s", cohort.X.tolist())
        return release(self, query, cohort, epsilons, coins)

    monkeypatch.setattr(Gate, "_release", talkative)
    assert {"planted values in reprs", "planted values in logs and prints"} <= faults(canaries(3))


def test_a_gate_that_forgets_what_it_said_is_seen(monkeypatch):
    monkeypatch.setattr(Book, "spending_of", lambda self, owner: (0, 0, 0))
    assert "owners with a second release" in faults(schedules(20))


def test_an_intake_that_takes_everything_is_seen(monkeypatch):
    monkeypatch.setattr(Intake, "_good", lambda self, tag, reports: [True] * len(reports))
    assert "errors and crashes" in faults(reports(1000))


def test_an_intake_that_forgets_what_it_left_out_is_seen(monkeypatch):
    monkeypatch.setattr(Intake, "_count", lambda self, connection, numbers, found: None)
    assert faults(reports(1000)) == {"counts that do not add up"}


def test_a_gate_without_policy_is_seen(tmp_path, monkeypatch):
    """The judge of hostile questions does not rely on the gate's own code: here the policy
    objects to nothing.
    """
    (tmp_path / "sitecustomize.py").write_text(
        "from tacit.owner.policy import Policy\nPolicy.objection = lambda self, *given: ''\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "releases out of policy" in faults(questions(200, bounds_checked=False))
    assert Policy.objection.__doc__
