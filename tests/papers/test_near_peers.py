"""What the private distance between peers is compared with, and how; the distance itself is the
product's (tests/learners/test_alike.py).
"""

import numpy as np
import pytest

from tacit.data.cohort import Cohort
from tacit_papers.ours.future import cells_future
from tacit_papers.ours.future_report import bytes_table, near_table
from tacit_papers.ours.near_peers import (
    BY_DISTANCE,
    BY_ERRORS,
    CHOICES,
    NearRow,
    parted,
    with_opposite_classes,
)


def participants(sizes, seed=1):
    """Of one law: class 1 is likelier where the first attribute is large."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (sum(sizes), 3))
    y = (rng.uniform(size=len(X)) < 0.5 + 0.4 * X[:, 0]).astype(np.int64)
    return Cohort(X, y, np.append(0, np.cumsum(sizes)).astype(np.int64))


def test_pairs_in_different_groups_are_parted():
    everybody = (0, 1, 2, 3)
    assert parted([(0, 1), (2, 3)], (1,), everybody) == pytest.approx(2 / 3)
    assert parted([everybody], (1,), everybody) == 0.0
    assert parted([everybody], (), everybody) == 0.0


def test_classes_are_turned_round_for_some_only():
    cohort = participants((5, 6, 7))
    turned = with_opposite_classes(cohort, (1,))
    same = turned.y == cohort.y
    assert same[:5].all()
    assert not same[5:11].any()
    assert same[11:].all()


def test_a_quick_cell_compares_all_choices_on_the_same_participants():
    cell = next(cell for cell in cells_future(True, 1, ()) if cell.where == "conclusion of D")
    rows = list(cell.rows())
    assert [row.choice for row in rows] == list(CHOICES)
    own = {row.choice: row for row in rows}
    assert own[BY_ERRORS].gain == 0.0
    gained = own[BY_DISTANCE].own - own[BY_ERRORS].own
    assert own[BY_DISTANCE].gain == pytest.approx(gained)
    assert all(0.5 < row.own < 1 and row.heard > 0 for row in rows)
    assert rows == list(cell.rows())  # a seed says everything
    (line,) = near_table(rows).rows
    assert line[-2].endswith("%")
    assert not bytes_table(rows).rows  # only where all are alike


def row(choice, served, gain):
    return NearRow(
        dataset="adult",
        world="all alike",
        method="turns",
        choice=choice,
        epsilon=1.0,
        rounds=30,
        own=0.8,
        own_std=0.0,
        served=served,
        gain=gain,
        gain_error=0.001,
        heard=100.0,
        parted=None,
        runs=5,
    )


@pytest.mark.parametrize(
    ("served", "gain", "better"), [(0.9, 0.0, 1), (0.9, -0.01, 0), (0.8, 0.0, 0)]
)
def test_a_line_is_strong_where_it_serves_better_and_costs_nobody(served, gain, better):
    rows = [row(choice, 0.8, 0.0) for choice in CHOICES[:2]] + [row(CHOICES[2], served, gain)]
    table = near_table(rows)
    assert len(table.strong) == better
    assert len(bytes_table(rows).rows) == 1
