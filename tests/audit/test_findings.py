"""What outside reviewers found, by number: each mutant is caught by the audit, and the parts that
catch them are quiet without.
"""

import pytest
from reliability.mutants import MUTANTS

BY_NUMBER = {mutant.number: mutant for mutant in MUTANTS}
# the others: by the tests of their parts, and by `python -m reliability.mutants`
QUICK = ("C2", "C3", "C6", "S1")
NUMBERS = [*(f"C{i}" for i in range(1, 9)), "S1"]


@pytest.mark.parametrize("number", NUMBERS)
def test_each_finding_is_caught_when_it_is_put_back(number):
    assert BY_NUMBER[number].caught() is not None


@pytest.mark.parametrize("number", QUICK)
def test_parts_are_quiet_without(number):
    assert BY_NUMBER[number].alarms() == []


def test_every_finding_has_a_mutant():
    assert [mutant.number for mutant in MUTANTS] == NUMBERS
