"""The experiment finds nothing wrong with the ledger, and what is wrong with ledgers that are
nearly right.
"""

import pytest
from reliability.kills import kills

from tests.reliability.mutants import Hasty, Unlocked, Unmarked

MISSING, OVER = "reports heard that are not in the ledger", "owners over their budget"


def test_kills_find_nothing():
    for seed in range(3, 9):  # on a busy machine they may be killed before they say anything
        finding = kills(30, seed=seed)
        assert finding.passed, finding.faults
        if finding.figures["releases heard"] > 10:
            return
    pytest.fail("nobody was heard in six runs")


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
    """30 kills miss one of these about once in eight times; six such runs in a row about once in
    200,000.
    """
    found = set()
    for seed in range(6):
        found = {name for name, count in kills(30, seed, kind).faults.items() if count}
        if found & faults:
            break
    assert found & faults
