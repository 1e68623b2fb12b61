"""Bounds of work hold on this machine, with room to spare, for the slowest rows that we know."""

from dataclasses import replace
from time import process_time

import numpy as np
import pytest

from tacit import Ball, Cohort, secure
from tacit.audit.clock import long_walks
from tacit.audit.staging import (
    COORDINATOR,
    DIM,
    FIRST_ROUND,
    HELPER,
    LATER_ROUND,
    record_queries,
    share_query,
)
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.features import FeatureMap, Products, Waves
from tacit.learners.models.scores import ScoreModel
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.gradient import Discriminant, Gradient
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.learners.owners.stump import Stump
from tacit.learners.owners.sum_query import SharesQuery
from tacit.sums.halves import seal_reports
from tacit.sums.vector_terms import RecordTerms, VectorTerms

ROWS = 3000


def mapped(kind, coordinates):
    axes = np.random.default_rng(1).normal(size=(DIM, coordinates))
    expansion = kind(np.zeros(DIM), axes)
    width = expansion.width(DIM)
    features = FeatureMap(expansion, np.zeros(width), np.ones((width, 5)))
    return Discriminant(features, ScoreModel(2), 1.0)


def in_a_metric(directions):
    """A gradient of 400 waves that is said less along so many directions."""
    coins = np.random.default_rng(1)
    features = FeatureMap(
        Waves(np.zeros(DIM), coins.normal(size=(DIM, 200))), np.zeros(400), np.ones(400)
    )
    weights, axes = coins.normal(size=(401, 2)), coins.normal(size=(directions, 401))
    return MetricGradient(features, weights, 1.0, 1.0, axes, np.full(directions, 0.5))


def asked(learner):
    terms = ReportTerms("privunit", (0.5, 8.0))
    return ShareQuery(1, 1, None, learner, Facts(DIM, 2), FIRST_ROUND, terms)


def summed(learner, epsilon, delta, records=0):
    """A sum of shares of two servers, or over the records of sites."""
    plain = share_query(learner, "privunit", (1.0,), LATER_ROUND)
    law = VectorTerms.of(learner.space(plain.facts), epsilon, delta)
    law = RecordTerms.at_sites(law, records) if records else law
    return SharesQuery.of(replace(plain, terms=law), 1, (COORDINATOR, HELPER))


QUERIES = {
    "stump": share_query(Stump(9), "privunit", (0.5, 8.0), LATER_ROUND),
    "laplace": share_query(Stump(9), "laplace", (1.0,), LATER_ROUND),
    "centroid": share_query(Centroid(), "hybrid", (1.0,), LATER_ROUND),
    "logistic": share_query(Logistic(ridge=1e-6), "duchi", (1.0,), FIRST_ROUND),
    "trees": asked(long_walks(100, 100)),
    "products": asked(mapped(Products, 30)),
    "waves": asked(mapped(Waves, 100)),
    "sum of stumps": summed(Stump(9).for_sums(), 0.5, 1e-6),
    "sum of centroids, Laplace": summed(Centroid(), 0.5, 0.0),
    "sum of 496 products": summed(mapped(Products, 30), 0.5, 1e-6),
    "sum in a metric": summed(in_a_metric(128), 0.5, 1e-6),
    "sum over records of 496 products": summed(mapped(Products, 30), 0.5, 1e-6, 5000),
    **{f"{query.what} {query.how}": query for query in record_queries((0.5, 4.0))},
}


def wide(bits):
    """A sum of 20,001 numbers of so many bits."""
    coins = np.random.default_rng(1)
    waves = Waves(np.zeros(DIM), coins.normal(size=(DIM, 10_000)))
    features = FeatureMap(waves, np.zeros(20_000), np.ones(20_000))
    learner = Gradient(features, np.zeros((20_001, 2)), 1.0, 1.0)
    law = VectorTerms.of(Ball(dim=learner.space(Facts(DIM, 2)).dim), 0.5, 1e-6)
    plain = share_query(learner, "privunit", (1.0,), LATER_ROUND)
    return SharesQuery.of(replace(plain, terms=replace(law, bits=bits)), 1, (COORDINATOR, HELPER))


@pytest.mark.parametrize("bits", [4, 5, 6])
def test_numbers_of_many_bits_are_proven_within_a_fifth_of_their_bound(bits):
    """As nobody has a reason to ask, and whoever is hostile may: of six bits proofs took a third of
    their bound, and a gate on a slower machine lost its answers.
    """
    query = wide(bits)
    measured = np.zeros((1, query.width), dtype=np.int64)
    seal_reports(measured, query.batch, secure())  # compiled
    began = process_time()
    seal_reports(measured, query.batch, secure())
    assert process_time() - began < query.proof_cost().seconds / 5


@pytest.mark.parametrize("name", QUERIES)
def test_a_release_takes_less_than_its_bound(name):
    query = QUERIES[name]
    rng = np.random.default_rng(2)
    X = np.where(rng.random((ROWS, DIM)) < 0.5, 0.9, rng.uniform(-1, 1, (ROWS, DIM)))
    cohort = Cohort(X, rng.integers(0, 2, ROWS), np.array([0, ROWS]))
    epsilon = np.array([query.epsilons[-1]])
    query.release(cohort, epsilon, secure())  # compiled
    least = np.inf
    for _ in range(5):
        began = process_time()
        query.release(cohort, epsilon, secure())
        least = min(least, process_time() - began)
    assert least < query.cost(ROWS).seconds / 2 + 0.01


def test_bounds_grow_with_rows_and_with_what_is_asked():
    for name, query in QUERIES.items():
        few, many = query.cost(10), query.cost(10_000)
        assert few.work < many.work, name
        assert few.memory <= many.memory, name
    assert asked(long_walks(100, 100)).cost(9).work < asked(long_walks(100, 900)).cost(9).work
    assert asked(in_a_metric(9)).cost(9).work < asked(in_a_metric(90)).cost(9).work
    assert asked(mapped(Products, 30)).cost(9).memory < asked(mapped(Products, 90)).cost(9).memory
