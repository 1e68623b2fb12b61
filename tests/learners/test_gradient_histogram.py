"""Histograms of gradients: what an owner's share holds, and which questions are refused."""

import numpy as np
import pytest

from tacit.data.cohort import BlockOwners, Cohort
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import ScoreModel, Trees
from tacit.learners.owners.gradient import GradientHistogram, mean_histograms
from tacit.mechanisms.streams import seeded
from tacit.wire import decode, encode

COINS = np.random.default_rng(1)
X, Y = COINS.uniform(-1, 1, (60, 4)), COINS.integers(0, 2, 60)
EDGES = np.quantile(X, [0.25, 0.5, 0.75], axis=0).T.copy()
NONE = np.full(1, -1)
BUD = Trees(NONE, np.zeros(1), NONE, NONE, np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64))


def question(learner, epsilon=1.0):
    facts = Facts(4, 2)
    terms = ReportTerms.of("auto", learner.space(facts), epsilon)
    return ShareQuery(1, 1, 3, learner, facts, Ensemble(2), terms)


def test_shares_fit_into_the_ball_and_an_empty_owner_says_nothing():
    learner = GradientHistogram(ScoreModel(2), BUD, EDGES, 1.0)
    shares = learner.share(question(learner), Cohort(X, Y, np.array([0, 0, 20, 60])))
    assert shares.shape == (3, 16)
    assert (shares[0] == 0).all()
    assert (np.sqrt((shares**2).sum(axis=1)) <= 0.5).all()
    single = learner.share(question(learner), Cohort(X, Y, np.arange(61)))
    # |y - 1/2|, whatever the columns
    assert np.sqrt((single**2).sum(axis=1)) == pytest.approx(np.full(60, 0.5))


def test_histograms_as_in_numpy():
    weights, leaf, offsets = np.linspace(-1, 1, 60), np.arange(60) % 2, np.array([0, 10, 10, 60])
    out = np.zeros((3, 2 * 4 * 4))
    mean_histograms(weights, leaf, X, EDGES, BlockOwners(offsets, np.diff(offsets)), out)
    expected = np.zeros((3, 2, 4, 4))
    for owner in range(3):
        for i in range(offsets[owner], offsets[owner + 1]):
            for j in range(4):
                expected[owner, leaf[i], j, np.searchsorted(EDGES[j], X[i, j])] += (
                    weights[i] / np.diff(offsets)[owner]
                )
    assert out == pytest.approx(expected.reshape(3, -1))


def test_it_travels():
    learner = GradientHistogram(ScoreModel(2), BUD, EDGES, 0.5)
    query = question(learner)
    again = decode(encode(query), ShareQuery)
    cohort = Cohort(X, Y, np.arange(61))
    sent, heard = (each.release(cohort, 1.0, seeded(1)) for each in (query, again))
    np.testing.assert_array_equal(sent.points, heard.points)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"edges": np.full((4, 3), np.nan)}, "edges must be finite"),
        ({"edges": EDGES[:, :0]}, "edges must be finite"),
        ({"edges": EDGES[:3]}, "edges must be for 4 columns"),
        ({"edges": np.zeros((4, 300_000))}, "cells of a histogram must be at most"),
        ({"radius": 0.0}, "radius"),
        ({"model": ScoreModel(3)}, "two classes"),
    ],
    ids=["nan", "no cuts", "columns", "cells", "radius", "classes"],
)
def test_questions_that_are_refused(change, said):
    right = {"model": ScoreModel(2), "tree": BUD, "edges": EDGES, "radius": 1.0}
    with pytest.raises(ValueError, match=said):
        question(GradientHistogram(**(right | change)))
