"""Plans for sites and peers tell apart what pays from what does not, before anybody spends."""

import numpy as np
import pytest

from tacit.data.cohort import Public
from tacit.data.number_target import LEVELS
from tacit.data.schema import Number, Schema
from tacit.estimators.group_planning import (
    OwnerGroup,
    default_question,
    plan_peers,
    plan_sites,
)
from tacit.estimators.measures import VARIANCE
from tacit.learners.peers.cells import Cells

DIM = 12


def public(rows, numbers=False):
    rng = np.random.default_rng(1)
    X = np.clip(rng.normal(size=(rows, DIM)) / 3, -1, 1)
    score = X @ np.linspace(-3, 3, DIM) + rng.logistic(size=rows) / 2
    if numbers:
        placed = np.clip((score + 8) / 16, 0, 1)
        return Public(X, np.rint(placed * LEVELS).astype(np.int64), 0)
    return Public(X, (score > 0).astype(np.int64), 2)


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_many_records_pay_and_few_do_not(numbers):
    known = public(60, numbers)
    rich = plan_sites(default_question(known, 8.0), known, "guarded", OwnerGroup(6, 1500, 8.0))
    assert rich.collect
    assert 0 < rich.alone < rich.together <= 1
    assert str(rich).startswith(
        "Collect: 6 sites with 1,500 records each at epsilon 8 should bring"
    )
    poor = plan_sites(default_question(known, 0.1), known, "guarded", OwnerGroup(4, 20, 0.1))
    assert not poor.collect
    assert "Do not collect: 4 sites with 20 records each at epsilon 0.1" in str(poor)
    assert (poor.measure == VARIANCE) == numbers


def test_a_plan_is_the_same_each_time_and_a_large_site_is_played_by_a_smaller_one():
    known = public(60)
    query = default_question(known, 1.0)
    first, again = (
        plan_sites(query, known, "guarded", OwnerGroup(40, 5_000, 0.1)) for _ in range(2)
    )
    assert first == again
    played = first.group.miniature
    assert (played.owners, played.records, played.epsilon) == (40, 500, 1.0)


def test_peers_are_judged_beside_public_rows_of_which_nothing_enters():
    schema = Schema(tuple(Number(f"x{place}", -1, 1) for place in range(DIM)), (0, 1))
    cells, known = Cells(schema), public(60)
    rich = plan_peers("peers", cells, 12, public(12), OwnerGroup(4, 3000, 4.0))
    poor = plan_peers("trees", cells, 12, known, OwnerGroup(4, 30, 0.2))
    assert rich.rise > 0 > poor.rise
    assert "4 participants with 30 records each at epsilon 0.2" in str(poor)
    with pytest.raises(ValueError, match="classes must be two"):
        plan_peers("peers", cells, 12, Public(known.X, known.y, 3), OwnerGroup(4, 30, 0.2))
