"""Boosting the feature method: steps that only go down, the same sites for every method."""

import numpy as np

from tacit.algorithms.site_weights import PublicTask, public_only
from tacit.learners.sites.losses import LogisticLoss
from tacit_papers.ours.future_report import future_table
from tacit_papers.ours.more_sites import BOOSTED, PAPERS, boost_features, cells_of_sites

DIM, SITES, ROWS = 8, 60, 120


def world(seed, good):
    """Public rows with targets, and sites' models of which `good` know the truth, in noise."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.normal(size=DIM), rng.normal(size=(ROWS, DIM)) / 3
    targets = np.where(rows @ truth + 0.1 * rng.normal(size=ROWS) > 0, 1.0, -1.0)
    models = rng.normal(size=(SITES, DIM))
    models[:good] = truth + 0.3 * rng.normal(size=(good, DIM))
    return truth, PublicTask(rows, targets, LogisticLoss()), models


def test_boosting_finds_the_sites_that_know_something():
    truth, task, models = world(1, good=3)
    made = boost_features(models, np.ones(SITES), task, public_only(task))
    np.testing.assert_allclose(made.f, made.weights @ models)
    assert np.abs(made.weights[:3]).sum() > np.abs(made.weights[3:]).sum()
    cosine = made.f @ truth / np.linalg.norm(made.f) / np.linalg.norm(truth)
    assert cosine > 0.9


def test_a_site_without_scores_gets_no_weight():
    _, task, models = world(2, good=3)
    models[5] = 0.0
    made = boost_features(models, np.ones(SITES), task, public_only(task))
    assert made.weights[5] == 0.0
    assert np.isfinite(made.f).all()


def test_a_quick_cell_compares_all_on_the_same_sites():
    (cell,) = cells_of_sites(True, 1, "synthetic")
    rows = list(cell.rows())
    assert {PAPERS, BOOSTED, "guarded"} <= {row.method for row in rows}
    own = {row.method: row for row in rows}
    assert own[PAPERS].saved == 0.0
    saved = own[PAPERS].mean - own[BOOSTED].mean
    np.testing.assert_allclose(own[BOOSTED].saved, saved, atol=1e-12)
    assert rows == list(cell.rows())  # a seed says everything
    (line,) = future_table(rows).rows
    assert line[-1].startswith(("+", "-"))
