"""The experiment finds nothing wrong with the ledger, and what is wrong with ledgers that are
nearly right.
"""

import pytest
from reliability.kills import kills

from tests.reliability.mutants import Hasty, Unlocked, Unmarked

MISSING, OVER = "reports heard that are not in the ledger", "owners over their budget"


def test_kills_find_nothing():
    finding = kills(30, seed=3)
    assert finding.passed, finding.faults
    assert finding.figures["releases heard"] > 30


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        (Hasty, {MISSING}),
        (Unlocked, {OVER, MISSING}),
        (Unmarked, {"old copies of the ledger accepted"}),
    ],
    ids=["hasty", "unlocked", "unmarked"],
)
def test_kills_find_ledgers_that_are_nearly_right(kind, faults):
    """30 kills miss one of these about once in twelve times, on one core and on a busy machine,
    too; six such runs in a row about once in three million.
    """
    found = set()
    for seed in range(6):
        found = {name for name, count in kills(30, seed, kind).faults.items() if count}
        if found & faults:
            break
    assert found & faults
