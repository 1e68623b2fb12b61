"""Rows are worked on in blocks: the same bits as in one go, and no more memory for more rows."""

import tracemalloc
from functools import partialmethod

import numpy as np
import pytest

from tacit import Cohort, seeded
from tacit.audit.staging import DIM, LATER_ROUND, record_queries, share_query
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Waves
from tacit.learners.models.scores import Forest, Linear, Mapped, ScoreModel, Trees
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.gradient import Discriminant, Gradient, GradientHistogram
from tacit.learners.owners.logistic import _ROWS, Logistic, fit_owners, newton_steps
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.learners.owners.stump import Stump, StumpModel

RNG = np.random.default_rng(3)
WIDE = FeatureMap(Waves(np.zeros(DIM), RNG.normal(size=(DIM, 100))), np.zeros(200), np.eye(200))
LINE = ScoreModel(2, (Linear(RNG.normal(size=(DIM, 2)), np.zeros(2)),))
NONE = np.full(1, -1)
BUD = Trees(NONE, np.zeros(1), NONE, NONE, np.zeros(1), np.zeros(1, int), np.ones(1, int))
MIXED = Ensemble(2, ((0.5, StumpModel(1, 0.25, 0, 1)), (0.5, LINE)))


def asked(learner, ensemble=MIXED):
    terms = ReportTerms("privunit", (1.0,))
    facts = learner.facts if isinstance(learner, Stump) else None
    if facts is not None:
        return share_query(learner, "privunit", (1.0,), LATER_ROUND)
    return ShareQuery(1, 1, None, learner, Facts(DIM, 2), ensemble, terms)


SHARES = {
    "centroid": asked(Centroid()),
    "stump": asked(Stump(3)),
    "logistic": asked(Logistic()),
    "gradient": asked(Gradient(WIDE, RNG.normal(size=(201, 2)), 1.0, 1.0)),
    "gradient in a metric": asked(
        MetricGradient(
            WIDE,
            RNG.normal(size=(201, 2)),
            reach=1.0,
            radius=1.0,
            axes=RNG.normal(size=(9, 201)) / 14,
            parts=np.full(9, 0.3),
        )
    ),
    "discriminant": asked(Discriminant(WIDE, LINE, 1.0)),
    "histogram": asked(
        GradientHistogram(
            ScoreModel(2, (Forest(BUD, np.zeros(2)),)), BUD, np.tile([-0.5, 0, 0.5], (DIM, 1)), 1.0
        )
    ),
}


def rows(counts, seed=0):
    rng = np.random.default_rng(seed)
    n = sum(counts)
    X = rng.uniform(-1, 1, (n, DIM))
    return Cohort(X, (X[:, 0] > 0).astype(np.int64), np.concatenate([[0], np.cumsum(counts)]))


def test_blocks_hold_every_row_once_and_know_whose_it_is():
    cohort = rows([0, 3, 0, 7, 2, 0])
    for chosen in (cohort, cohort[np.array([3, 1, 0, 4])], cohort[4:5]):
        for most in (1, 2, 5, 100):
            blocks = list(chosen.row_blocks(most))
            np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), chosen.X)
            np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), chosen.y)
            whose = np.repeat(np.arange(len(chosen)), chosen.sizes)
            for block in blocks:
                assert len(block.y) <= most
                own = np.repeat(np.arange(len(block.of.sizes)), np.diff(block.of.offsets))
                np.testing.assert_array_equal(own + block.owners.start, whose[block.rows])
                np.testing.assert_array_equal(block.of.sizes, chosen.sizes[block.owners])
    assert not list(rows([0, 0]).row_blocks())


@pytest.mark.parametrize("name", SHARES)
def test_shares_are_the_same_bits_in_blocks_of_any_size(name, monkeypatch):
    query, cohort = SHARES[name], rows([0, 300, 1, 40, 0, 700])
    whole = query.learner.share(query, cohort)
    monkeypatch.setattr(Cohort, "row_blocks", partialmethod(Cohort.row_blocks, 37))
    np.testing.assert_array_equal(query.learner.share(query, cohort), whole)


def test_counts_and_error_terms_are_the_same_in_blocks_of_any_size(monkeypatch):
    counting = next(query for query in record_queries((1.0,)) if query.how == "counts")
    cohort = rows([0, 300, 1, 40, 0, 700])

    def said():
        return (
            counting.release(cohort, 1.0, seeded(1)).points,
            MIXED.error_terms(LINE, cohort),
        )

    whole = said()
    monkeypatch.setattr(Cohort, "row_blocks", partialmethod(Cohort.row_blocks, 37))
    for one, other in zip(said(), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def peak(query, cohort):
    query.learner.share(query, cohort)  # compiled
    tracemalloc.start()
    query.learner.share(query, cohort)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("name", SHARES)
def test_memory_grows_by_a_few_numbers_a_row_whatever_the_width(name):
    """A map of 201 features would be 1,608 bytes a row; rows themselves are 8 a column."""
    query = SHARES[name]
    few, many = (peak(query, rows([n])) for n in (8_192, 40_960))
    assert (many - few) / (40_960 - 8_192) <= 8 * 4
    assert few <= query.cost(8_192).memory + (1 << 20)


def test_predictions_of_wide_features_take_no_more_memory_for_more_rows():
    """201 features of a row are 1,608 bytes; its probabilities, scores and sums 80."""
    model = ScoreModel(2, (Mapped(WIDE, RNG.normal(size=(201, 2))),))
    X = rows([20_480]).X
    alone = [model.probabilities(part) for part in np.array_split(X, 4)]
    peaks = []
    for n in (4_096, 20_480):
        tracemalloc.start()
        said = model.probabilities(X[:n])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / (20_480 - 4_096) <= 80
    assert said.tobytes() == np.concatenate(alone).tobytes()


@pytest.mark.parametrize("ridge", [1.0, 0.1, 1e-2, 1e-3])
def test_the_number_of_newtons_steps_is_public_and_enough(ridge):
    """Random and separable rows, in one block and in several: the gradient ends below 1e-9."""
    assert newton_steps(ridge) == 3 + 2 * round(-np.log10(ridge))
    cohort = rows([1, 5, 60, 2 * _ROWS + 3], seed=4)
    noisy = np.random.default_rng(5).integers(0, 2, len(cohort.y))
    for y in (cohort.y, noisy):
        same = Cohort(cohort.X, y, cohort.offsets)
        weights = np.repeat(1 / cohort.sizes, cohort.sizes)
        theta = fit_owners(same, weights, 2, ridge)[:, 0]
        for owner, fitted in enumerate(theta):
            own = slice(*cohort.offsets[owner : owner + 2])
            design = np.column_stack([cohort.X[own], np.ones(own.stop - own.start)])
            chance = 1 / (1 + np.exp(-design @ fitted))
            gradient = ridge * fitted + design.T @ (weights[own] * (chance - y[own]))
            assert np.abs(gradient).max() < 1e-9
    assert newton_steps(1e-300) == 58
