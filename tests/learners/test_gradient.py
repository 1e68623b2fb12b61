"""What a model gets wrong, as owners say it: no row beyond its reach, right on average, and less
along some directions where a metric says so.
"""

from dataclasses import replace

import numpy as np
import pytest

from tacit.algorithms.feature_maps import basis_of, with_model
from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import softmax
from tacit.learners.owners.gradient import Gradient, longest_residuals
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.wire import decode, encode


def rows_of(size, classes, seed):
    coins = np.random.default_rng(seed)
    X = np.clip(coins.normal(size=(size, 4)) * 0.4, -1, 1)
    p = softmax(2 * X[:, :classes])
    return X, (p.cumsum(axis=1) < coins.random((size, 1))).sum(axis=1)


def asked(classes, names=("products",), reach=0.5, radius=10.0):
    X, y = rows_of(150, classes, 1)
    public = Public(X, y, classes)
    basis = with_model(basis_of(names, public), fit_public(public))
    features = basis.feature_map(np.linspace(0.5, 1.0, basis.dim))
    weights = 0.1 * np.random.default_rng(2).normal(size=(features.dim, classes))
    learner = Gradient(features, weights, reach, radius)
    return ShareQuery(
        round=1,
        attempt=1,
        owners=10,
        learner=learner,
        facts=Facts(4, classes),
        ensemble=Ensemble(classes),
        terms=ReportTerms("privunit", (1.0,)),
    )


def in_plain_words(learner, X, y):
    """The share of one owner, by definition."""
    phi = learner.features.transform(X)
    p = softmax(phi @ learner.weights)
    total = np.zeros((p.shape[1], phi.shape[1]))
    for i in range(len(X)):
        lengths = [np.linalg.norm(np.eye(p.shape[1])[k] - p[i]) for k in range(p.shape[1])]
        w = min(1.0, learner.reach / (max(lengths) * np.linalg.norm(phi[i])))
        total += w * np.outer(np.eye(p.shape[1])[y[i]] - p[i], phi[i]) / len(X)
    return total


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("names", [(), ("products",), ("waves",), ("leaves",)])
def test_the_share_is_what_the_note_says_and_the_same_alone(classes, names):
    query = asked(classes, names)
    X, y = rows_of(60, classes, 3)
    cohort = Cohort.of(X, y, np.arange(60) // 3)
    shares = query.learner.share(query, cohort)
    for owner in (0, 7, 19):
        alone = query.learner.share(query, cohort[owner : owner + 1])[0]
        np.testing.assert_array_equal(alone, shares[owner])
        plain = in_plain_words(query.learner, *rows_of_owner(X, y, owner))
        assert np.linalg.norm(plain) == pytest.approx(np.linalg.norm(alone), rel=1e-9)


def rows_of_owner(X, y, owner):
    return X[3 * owner : 3 * owner + 3], y[3 * owner : 3 * owner + 3]


def test_a_row_is_never_longer_than_its_reach_whatever_its_label():
    query = asked(3)
    X, _ = rows_of(200, 3, 4)
    for label in range(3):
        shares = query.learner.share(query, Cohort.of(X, np.full(200, label)))
        assert np.sqrt((shares**2).sum(axis=1)).max() <= query.learner.reach * (1 + 1e-12)


def test_shares_of_a_right_model_are_zero_on_average():
    """40,000 rows with labels of the model itself, nearly all of them shortened. A coordinate's
    mean has a standard error of at most 0.5 / sqrt(40,000); 6 of them: false alarms below 1e-6.
    """
    query = asked(2, reach=0.5)
    X, _ = rows_of(40_000, 2, 5)
    phi = query.learner.features.transform(X)
    p = softmax(phi @ query.learner.weights)
    shortened = longest_residuals(p) * np.sqrt((phi**2).sum(axis=1)) > query.learner.reach
    assert shortened.mean() > 0.9
    y = (np.random.default_rng(6).random(40_000) < p[:, 1]).astype(np.int64)
    shares = query.learner.share(query, Cohort.of(X, y))
    assert np.abs(shares.mean(axis=0)).max() < 6 * 0.5 / np.sqrt(40_000)
    wrong = query.learner.share(query, Cohort.of(X, 1 - y))
    assert np.abs(wrong.mean(axis=0)).max() > 6 * 0.5 / np.sqrt(40_000)


def test_an_owner_without_rows_says_nothing():
    query = asked(2)
    cohort = Cohort(np.zeros((0, 4)), np.zeros(0, dtype=np.int64), np.array([0, 0]))
    assert not query.learner.share(query, cohort).any()


def test_it_travels_and_refuses_what_does_not_fit():
    query = asked(3)
    again = decode(encode(query), ShareQuery)
    assert encode(again) == encode(query)
    learner = query.learner
    with pytest.raises(ValueError, match="weights must be"):
        Gradient(learner.features, learner.weights[:-1], 1.0, 1.0).space(query.facts)
    with pytest.raises(ValueError, match="reach must be"):
        Gradient(learner.features, learner.weights, 0.0, 1.0)
    with pytest.raises(ValueError, match="radius must be"):
        Gradient(learner.features, learner.weights, 1.0, np.inf)


def in_a_metric(query, directions, seed=7):
    """The same question with a share that is said less along so many directions."""
    plain, coins = query.learner, np.random.default_rng(seed)
    axes = np.linalg.qr(coins.normal(size=(plain.features.dim, directions)))[0].T
    parts = coins.uniform(0.1, 2.0, directions)
    learner = MetricGradient(
        plain.features, plain.weights, plain.reach, plain.radius, np.ascontiguousarray(axes), parts
    )
    return replace(query, learner=learner)


@pytest.mark.parametrize("classes", [2, 3])
def test_along_each_axis_is_said_its_part_and_along_all_others_everything(classes):
    query = asked(classes)
    metric = in_a_metric(query, 4)
    X, y = rows_of(60, classes, 3)
    cohort = Cohort.of(X, y, np.arange(60) // 3)
    before = query.learner.share(query, cohort).reshape(20, classes - 1, -1)
    after = metric.learner.share(metric, cohort).reshape(20, classes - 1, -1)
    axes, parts = metric.learner.axes, metric.learner.parts
    np.testing.assert_allclose(after @ axes.T, parts * (before @ axes.T), atol=1e-12)
    rest = np.eye(axes.shape[1]) - axes.T @ axes
    np.testing.assert_allclose(after @ rest, before @ rest, atol=1e-12)
    assert np.abs(after - before).max() > 1e-3
    for owner in (0, 7, 19):
        alone = metric.learner.share(metric, cohort[owner : owner + 1])[0]
        np.testing.assert_array_equal(alone, after[owner].ravel())


def test_a_metric_travels_and_refuses_what_does_not_fit():
    query = in_a_metric(asked(3), 4)
    again = decode(encode(query), ShareQuery)
    assert type(again.learner) is MetricGradient
    assert encode(again) == encode(query)
    held = query.learner
    for change, said in (
        ({"axes": held.axes[:, 1:]}, "axes must be"),
        ({"axes": held.axes[:0], "parts": held.parts[:0]}, "axes must be"),
        ({"axes": held.axes[0]}, "axes must be"),
        ({"parts": held.parts[1:]}, "parts must be"),
    ):
        with pytest.raises(ValueError, match=said):
            replace(held, **change).space(query.facts)
