"""The private distance between peers: its scale, its false alarms, whom it parts, what it costs."""

import numpy as np
import pytest

from tacit.data.cohort import Cohort
from tacit.data.schema import Number, Schema
from tacit.mechanisms.streams import rational, seeded
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
from tacit_papers.ours.private_distance import (
    Contrast,
    DistanceQuestions,
    distance,
    groups_of,
    is_far,
)

SCHEMA = Schema(tuple(Number(name, -1, 1) for name in "abc"), ("no", "yes"))


def participants(sizes, seed=1):
    """Of one law: class 1 is likelier where the first attribute is large."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (sum(sizes), 3))
    y = (rng.uniform(size=len(X)) < 0.5 + 0.4 * X[:, 0]).astype(np.int64)
    return Cohort(X, y, np.append(0, np.cumsum(sizes)).astype(np.int64))


def told(cohort, epsilon, seed=1):
    questions = DistanceQuestions.of(SCHEMA, len(cohort), epsilon, seeded(1))
    return questions.answers(cohort, seeded(seed))


def exact(values):
    values = np.array(values)
    return Contrast(values, np.zeros(len(values)), 100.0)


def test_the_scale_is_that_of_the_papers_selection():
    one = exact([0.3, -0.2, 0.1])
    assert distance(one, one) == pytest.approx(0.0)
    assert distance(one, exact([0.2, 0.3, 0.0])) == pytest.approx(1.0)
    assert distance(one, exact([-0.3, 0.2, -0.1])) == pytest.approx(2.0)


def test_what_noise_adds_is_taken_out():
    """Means of 400 draws; false alarm below 1e-4. Without the correction it would be 0.2 off."""
    rng = np.random.default_rng(3)
    truth, variance = rng.normal(size=40), 0.25
    found = []
    for _ in range(400):
        one, other = (
            Contrast(truth + rng.normal(size=40) / 2, np.full(40, variance), 1.0) for _ in range(2)
        )
        found.append(distance(one, other))
    error = np.std(found) / 20
    assert abs(np.mean(found)) < 4 * error + 0.01
    assert error < 0.02


def test_those_that_are_unrelated_are_seldom_far():
    """One in 44 by the normal law; of 2,000 pairs more than 75 or fewer than 22 have a chance below
    1e-4.
    """
    rng = np.random.default_rng(4)
    variance = np.full(30, 1.0)
    pairs = rng.normal(size=(2_000, 2, 30))
    far = sum(is_far(Contrast(p, variance, 1.0), Contrast(q, variance, 1.0)) for p, q in pairs)
    assert 22 <= far <= 75


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_opposite_classes_are_parted_and_like_ones_stay_together(epsilon):
    odd = (1, 4)
    cohort = with_opposite_classes(participants((900, 800, 700, 600, 500)), odd)
    assert groups_of(told(cohort, epsilon)) == ((0, 2, 3), odd)


def test_nobody_is_sent_away_without_reason():
    """All alike at any epsilon, and opposite ones where noise hides everything."""
    for seed in range(20):
        assert len(groups_of(told(participants((400, 300, 200, 100)), 1.0, seed))) == 1
    cohort = with_opposite_classes(participants((400, 300, 200, 100)), (1,))
    parted_groups = [len(groups_of(told(cohort, 0.001, seed))) > 1 for seed in range(40)]
    assert sum(parted_groups) < 10


def test_the_answers_cost_what_they_may():
    questions = DistanceQuestions.of(SCHEMA, 4, 0.3, seeded(1))
    assert rational(questions.each) * len(questions.queries) <= rational(0.3)
    assert not any(query.unsound for query in questions.queries)
    assert {query.menu for query in questions.queries} == {(questions.each,)}
    assert questions.sent == sum(8 * query.width for query in questions.queries)


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
