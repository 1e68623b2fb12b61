"""Gradient boosting from private histograms: right without noise, and judged by a table."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.experiments.gradient_trees import GradientHistogram, Growth, _bud, _mean_histograms, grow
from tacit.experiments.gradient_verdict import TreeRow
from tacit.learners.base import Facts, Public, ShareQuery, Terms
from tacit.learners.ensemble import Ensemble
from tacit.learners.scores import ScoreModel
from tacit.streams import seeded


def rows(n, seed):
    """A checkerboard of two columns: nothing that a linear model or a stump could see."""
    coins = np.random.default_rng(seed)
    X = coins.uniform(-1, 1, size=(n, 4))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (coins.random(n) < 0.05)).astype(np.int64)


def grown(growth, mechanism, epsilon=1.0, n=40_000):
    X, y = rows(n, 1)
    X0, y0 = rows(500, 2)
    known = Public(X0, y0, 2)
    cohort = Cohort(X, y, np.arange(n + 1))
    return Inline(cohort, epsilon, seeded(1)).run(grow(known, ScoreModel(2), n, growth, mechanism, epsilon))


def test_without_noise_it_is_as_good_as_a_library():
    X, y = rows(20_000, 3)
    library = HistGradientBoostingClassifier(max_iter=20, max_depth=2, max_bins=4, learning_rate=0.5).fit(
        *rows(40_000, 1)
    )
    ours = np.mean(grown(Growth(20, 2), "none").predict(X) == y)
    assert ours > library.score(X, y) - 0.05
    assert ours > 0.85
    assert np.mean(grown(Growth(20, 1), "none").predict(X) == y) < 0.6  # depth is needed here


def test_noise_costs():
    X, y = rows(20_000, 3)
    assert np.mean(grown(Growth(20, 2), "auto", 1.0).predict(X) == y) < 0.7


def test_shares_fit_into_the_ball_and_an_empty_owner_says_nothing():
    X, y = rows(50, 4)
    learner = GradientHistogram(ScoreModel(2), _bud(), np.quantile(X, [0.25, 0.5, 0.75], axis=0).T.copy(), 1.0)
    facts = Facts(4, 2)
    query = ShareQuery(1, 1, 3, learner, facts, Ensemble(2), Terms.of("auto", learner.space(facts), 1.0))
    shares = learner.share(query, Cohort(X, y, np.array([0, 0, 20, 50])))
    assert (shares[0] == 0).all()
    assert (np.sqrt((shares**2).sum(axis=1)) <= 1).all()
    assert shares.shape == (3, learner.cells)
    single = learner.share(query, Cohort(X, y, np.arange(51)))
    assert np.sqrt((single**2).sum(axis=1)) == pytest.approx(np.full(50, 0.5))


def test_histograms_as_in_numpy():
    X, _ = rows(60, 5)
    edges = np.quantile(X, [0.25, 0.5, 0.75], axis=0).T.copy()
    weights, leaf, offsets = np.linspace(-1, 1, 60), np.arange(60) % 2, np.array([0, 10, 10, 60])
    out = np.zeros((3, 2 * 4 * 4))
    _mean_histograms(weights, leaf, X, edges, offsets, out)
    expected = np.zeros((3, 2, 4, 4))
    for owner in range(3):
        for i in range(offsets[owner], offsets[owner + 1]):
            for j in range(4):
                expected[owner, leaf[i], j, np.searchsorted(edges[j], X[i, j])] += weights[i] / np.diff(offsets)[owner]
    assert out == pytest.approx(expected.reshape(3, -1))


def test_the_table(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "trees", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "of 1 settings" in done.output
    assert (tmp_path / "rows.jsonl").read_text().count('"TreeRow"') == 1


@pytest.mark.parametrize(("difference", "wins"), [(0.01, True), (0.001, False), (-0.01, False)])
def test_a_win_is_more_than_noise(difference, wins):
    row = TreeRow("t", 1, 1, 1.0, 50, 3, 0.7, 0.8, 0.6, 0.75, "", 0.8 + difference, "", difference, 0.001)
    assert row.wins == wins
