"""The audit with a real clock: quiet on the gate, loud on one that leaves when it is done."""

from tacit import seeded
from tacit.audit.clock import CASES, ClockCase, audit_clock, long_walks, threshold
from tacit.owner.gate import Gate


class InSteps(Gate):
    """The gate as it was: answers leave at the next multiple of the step after they are done."""

    @property
    def _computes_apart(self):
        return False

    def _reports(self, invitation, fresh):
        return self._make_reports(invitation, fresh)


def test_the_gate_says_nothing_by_its_clock():
    for row in audit_clock(seeded(3), pairs=12):
        assert row.sound, row


def test_a_gate_that_leaves_when_it_is_done_is_caught():
    long = long_walks(1600, 200)  # several steps of work, however fast the machine is
    case = ClockCase("number of rows", long, slow=CASES[1].slow, quick=CASES[1].quick)
    (row,) = audit_clock(seeded(4), pairs=40, cases=(case,), kind=InSteps)
    assert not row.sound, row


def test_thresholds_are_quantiles():
    assert threshold(12) == 12
    assert threshold(9) == 10  # nine pairs cannot prove anything at this rate
