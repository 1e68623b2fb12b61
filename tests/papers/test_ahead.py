"""Ahead of the papers, in quick form: the same claims on fewer rows."""

from typing import Any

import numpy as np
import pytest

from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort
from tacit.learners.query import report_size
from tacit_papers.datasets import synthetic
from tacit_papers.ours.ahead import (
    DATASETS,
    AheadCell,
    AheadRow,
    AheadRun,
    ahead_rows,
    best_of_paper,
)
from tacit_papers.ours.ahead_report import report_ahead, summary
from tacit_papers.ours.break_even import BreakEvenCell, cells_ahead, rows_ahead
from tacit_papers.ours.plan_check import PlanRow, plan_rows
from tacit_papers.ours.tasks import Task, clusters, shift_features, skew_labels, task_of

COMMON: dict[str, Any] = {"where": "here", "dataset": "synthetic", "runs": 1, "quick": True}


@pytest.fixture(scope="module")
def task():
    return Task("synthetic", synthetic(n=60_000), 5_000, 4, (50,))


@pytest.fixture(scope="module", autouse=True)
def one_task(task):
    """The cells of this file measure the task above; what two servers add up is narrow, since no
    claim here is about its width.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.algorithms.wide_features.WIDE", 150)
        for place in ("ahead", "break_even"):
            patch.setattr(f"tacit_papers.ours.{place}.task_for", lambda name, quick: task)
        yield


@pytest.fixture(scope="module")
def runs():
    chosen: dict[str, Any] = {"owners_kind": "alike", "epsilons": (0.01, 1.0), "papers": (7.0,)}
    cells = (AheadCell(**COMMON, **chosen, public_rows=50, run=run) for run in range(2))
    return [row for cell in cells for row in cell.rows()]


@pytest.fixture(scope="module")
def rows(runs):
    return ahead_rows(runs)


def row(rows, method, epsilon):
    return next(each for each in rows if (each.method, each.epsilon) == (method, epsilon))


def test_private_only_at_epsilon_1_is_above_the_paper_at_epsilon_7(rows):
    best = best_of_paper(rows, "synthetic")
    assert best is not None
    assert (
        row(rows, "private only", 1.0).mean > best.mean - 0.02
    )  # 50 public rows here; the command shows 1,000
    assert {each.method for each in rows} >= {"paper A: logistic", "paper A: stump, as published"}


def test_combined_is_above_public_only(rows):
    assert row(rows, "combined", 1.0).rise > 0.005
    assert row(rows, "combined", 0.01).rise == 0.0
    assert row(rows, "public only", None).rise == 0.0
    assert row(rows, "two servers", 1.0).rise > row(rows, "combined", 1.0).rise


def test_unsound_rows_say_so(rows):
    assert all(bool(each.unsound) == ("as published" in each.method) for each in rows)


def test_sixteen_bytes_per_owner(task):
    public = task.public(max(task.public_rows), 0)
    asks = refine(public, Population(10_000_000, 1.0, task.rows), "auto", 1.0)
    assert report_size(next(asks)) == 16


def test_clusters_are_as_asked():
    split = clusters(2_600, public=100, test=500)
    assert (len(split.y_train), len(split.y_public), len(split.y_test)) == (2_000, 100, 500)
    with pytest.raises(ValueError, match="dataset must be one of"):
        task_of("iris")


def test_skew_keeps_rows_and_sizes():
    coins = np.random.default_rng(1)
    cohort = Cohort(coins.random((4000, 2)), coins.integers(0, 2, 4000), np.arange(1001) * 4)
    dealt = {alpha: skew_labels(cohort, 2, alpha, run=0) for alpha in (0.1, 100.0)}
    for each in dealt.values():
        np.testing.assert_array_equal(np.sort(each.X[:, 0]), np.sort(cohort.X[:, 0]))
        assert (each.sizes == 4).all()
    alone = {
        alpha: np.isin(each.y.reshape(-1, 4).sum(axis=1), (0, 4)).mean()
        for alpha, each in dealt.items()
    }
    assert alone[0.1] > 0.6
    assert alone[100.0] < 0.25


def test_shift_moves_owners_as_a_whole():
    cohort = Cohort(np.zeros((40, 3)), np.zeros(40, np.int64), np.arange(11) * 4)
    moved = shift_features(cohort, 0.3, run=0).X.reshape(10, 4, 3)
    assert (moved == moved[:, :1]).all()
    assert 0.15 < moved[:, 0].std() < 0.45


def test_the_chart(rows):
    chart = list(
        BreakEvenCell(
            **COMMON, public_rows=50, owners=(1_000, 1_000_000), epsilons=(0.01, 1.0)
        ).rows()
    )
    rises = {(each.owners, each.epsilon): each for each in chart if each.trust == "nobody"}
    summed = {(each.owners, each.epsilon): each for each in chart if each.trust == "two servers"}
    assert summed.keys() == rises.keys()
    assert summed[(1_000_000, 0.01)].rise > rises[(1_000_000, 0.01)].rise
    assert rises[(1_000_000, 1.0)].rise > rises[(1_000, 1.0)].rise
    assert rises[(1_000_000, 1.0)].collect
    assert not rises[(1_000, 0.01)].collect
    (drawn,) = report_ahead([*rows, *chart]).charts
    assert drawn.lines[0].y == tuple(100 * rises[owners, 1.0].rise for owners in (1_000, 1_000_000))
    assert [line.kind for line in drawn.lines][-1] == "public"


def test_the_plan_beside_what_came(runs, rows):
    plans = {(each.trust, each.epsilon): each for each in plan_rows(runs, rows)}
    assert {each.runs for each in plans.values()} == {2}
    never = plans["nobody", 0.01]
    assert (never.predicted, never.measured, never.collect) == (0.0, 0.0, 0.0)
    for trust in ("nobody", "two servers"):
        one = plans[trust, 1.0]
        assert one.collect == 1.0
        assert one.predicted == pytest.approx(one.measured, abs=0.06)
        assert one.predicted > 0.005


@pytest.mark.parametrize(
    ("predicted", "measured", "error", "collect", "within", "missed"),
    [
        (0.02, 0.03, 0.0, 1.0, True, False),
        (0.02, 0.031, 0.0, 1.0, False, False),
        (0.03, 0.019, 0.0, 1.0, False, False),
        (0.02, 0.031, 0.006, 1.0, True, False),
        (0.0, 0.002, 0.0, 0.0, True, False),
        (0.0, 0.004, 0.0, 0.0, False, True),
        (0.0, 0.004, 0.0, 0.6, False, False),
    ],
)
def test_when_a_plan_was_right(predicted, measured, error, collect, within, missed):
    place = ("x", "nobody", 10, 1, 1.0, 50, 2)
    plan = PlanRow(*place, predicted, 0.0, measured, error, collect)
    assert (plan.within, plan.missed) == (within, missed)


def test_the_table_of_the_read_me(rows):
    (line,) = summary(rows).rows
    assert line[0] == "synthetic, 5,000 x 4"
    best = best_of_paper(rows, "synthetic")
    assert best is not None
    assert f"{100 * best.mean:.1f} ± {100 * best.std:.1f}" in line[1]


def test_a_row_compares_with_the_same_runs():
    base = AheadRow("x", "combined", "alike", 1.0, 50, 10, 1, 2, 0.9, 0.0, 0.1, 0.0, "")
    assert best_of_paper([base], "x") is None


def run_of(number, method, accuracy, dataset="synthetic"):
    epsilon = None if method == "public only" else 1.0
    return AheadRun(dataset, "alike", number, method, epsilon, 50, 10, 4, accuracy, "")


def test_means_are_over_the_runs_that_are_there_in_any_order():
    found = [run_of(1, "public only", 0.8), run_of(1, "combined", 0.9)]
    found += [run_of(0, "public only", 0.6), run_of(0, "combined", 0.9)]
    found += [run_of(2, "public only", 0.7)]  # stopped before the rest of this run
    found += [run_of(0, "public only", 0.5, "adult"), run_of(0, "public only", 0.5, "mnist 4 or 9")]
    rows = ahead_rows(found)
    assert [row.dataset for row in rows] == ["mnist 4 or 9", "synthetic", "synthetic", "adult"]
    alone, combined = rows[1:3]
    assert (alone.runs, combined.runs) == (3, 2)
    assert (alone.mean, combined.mean) == pytest.approx((0.7, 0.9))
    assert combined.rise == pytest.approx(0.2)
    assert combined.rise_error == pytest.approx(0.1)
    assert [type(row).__name__ for row in rows_ahead(found)] == ["AheadRow"] * 4


def test_the_cells_are_those_that_were_published():
    cells = cells_ahead(quick=False, seed=1, datasets=DATASETS)
    assert len({cell.digest for cell in cells}) == len(cells)
    compared = [cell for cell in cells if isinstance(cell, AheadCell)]
    # ten runs with three sizes; two tasks with three kinds of skewed owners more
    assert len(compared) == 10 * (3 * len(DATASETS) + 6)
    assert {cell.dataset for cell in compared} >= {"fashion 0 or 6", "mnist ten"}
    alike = [cell for cell in compared if cell.owners_kind == "alike"]
    assert {cell.epsilons for cell in alike} == {(0.5, 1.0, 2.0)}
    with_papers = {cell.dataset for cell in compared if cell.papers}
    assert with_papers == set(DATASETS) - {"clusters 1e5"}
    assert [cell.run for cell in compared] == sorted(cell.run for cell in compared)
    assert len([cell for cell in cells if isinstance(cell, BreakEvenCell)]) == 3 * (
        len(DATASETS) - 1
    )
