"""SAMME over owners: against an independent implementation, against updating everybody, and its
ends.
"""

import numpy as np
import pytest

from tacit import seeded
from tacit.algorithms.boosting import AllOwners, OwnSample, Schedule, boost, vote
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import ReportTerms
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.mechanisms.registry import MECHANISMS
from tacit.mechanisms.spaces import Ball
from tacit.sums.secure_sum import TwoServers
from tacit_papers.a.learners import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit_papers.b.ring import RingSum


def data(n=4000, dim=6, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, dim))
    scores = X @ np.random.default_rng(9).normal(size=(dim, classes)) + 0.3 * rng.normal(
        size=(n, classes)
    )
    return X, np.argmax(scores, axis=1)


def loop(learner, public, mechanism, epsilon, *schedule, judge=None):
    """The boosting loop on terms that fit the owners' epsilon: rounds, owners, attempts."""
    facts = learner.facts(public)
    terms = ReportTerms.of(mechanism, learner.space(facts), epsilon)
    return boost(learner, facts, terms, judge or OwnSample(public), Schedule(*schedule))


def plain_samme(X, y, classes, cuts, rounds):
    """SAMME with decision stumps, written as in the textbook, on one set of rows."""
    weights = np.full(len(y), 1 / len(y))
    members = []
    for _ in range(rounds):
        best = (-1.0, 0, 0.0, 0, 0)
        for column, threshold in cuts:
            right = X[:, column] >= threshold
            purity, sides = 0.0, []
            for side in (~right, right):
                by_class = [weights[side & (y == k)].sum() for k in range(classes)]
                purity += max(by_class) - (min(by_class) if classes == 2 else 0.0)
                sides.append(int(np.argmax(by_class)))
            if purity > best[0] + 1e-12:
                best = (purity, column, threshold, *sides)
        _, column, threshold, left, right_class = best
        predicted = np.where(X[:, column] < threshold, left, right_class)
        error = weights[predicted != y].sum() / weights.sum()
        alpha = np.log((1 - error) / error) + np.log(classes - 1)
        weights = weights * np.exp(alpha * (predicted != y))
        weights = weights / weights.sum()
        members.append((alpha, column, threshold, left, right_class))
    return members


@pytest.mark.parametrize("classes", [2, 3])
def test_without_privacy_it_is_samme(classes):
    """Every owner holds the same rows as the data user: then the private loop is the textbook's,
    to 1e-9.
    """
    X, y = data(n=500, classes=classes)
    rounds = 6
    cohort = Cohort.of(
        np.tile(X, (rounds, 1)), np.tile(y, rounds), np.repeat(np.arange(rounds), len(y))
    )
    public = Public(X, y, classes)
    learner = Stump(cuts=3)
    facts = learner.facts(public)
    result = Inline(cohort, 1.0, seeded(1)).run(loop(learner, public, "none", 1.0, rounds, 1, 1))
    expected = plain_samme(
        X, y, classes, list(zip(facts.columns, facts.values, strict=True)), rounds
    )
    assert len(result.ensemble) == rounds
    for (alpha, model), (their_alpha, column, threshold, left, right) in zip(
        result.ensemble.members, expected, strict=True
    ):
        assert model == StumpModel(column, threshold, left, right)
        assert alpha == pytest.approx(their_alpha, abs=1e-9)


def test_replaying_is_updating_everybody_every_round():
    X, y = data()
    cohort = Cohort.of(X, y, np.arange(len(y)) // 7)
    weights = np.repeat(1 / cohort.sizes, cohort.sizes)
    ensemble = Ensemble(2)
    rng = np.random.default_rng(0)
    for _ in range(8):
        model = StumpModel(int(rng.integers(6)), float(rng.uniform(-1, 1)), 0, 1)
        alpha = float(rng.uniform(0.1, 1.5))
        # Algorithm 4, line 19, at every owner
        weights = weights * np.exp(alpha * (model.predict(X) != y))
        ensemble = ensemble.plus(alpha, model)
    totals = np.add.reduceat(weights, cohort.offsets[:-1])
    unit = min(np.exp(sum(alpha for alpha, _ in ensemble.members)), 2 * ensemble.mean_weight)
    loads = np.minimum(1.0, totals / unit) ** (1 / cohort.sizes)
    np.testing.assert_allclose(
        ensemble.weights(cohort), weights * np.repeat(loads / totals, cohort.sizes), rtol=1e-12
    )


def test_a_judge_that_follows_knows_what_one_that_starts_anew_would_find():
    X, y = data(n=1000)
    public, ensemble = Public(X, y, 2), Ensemble(2)
    judge = OwnSample(public)
    rng = np.random.default_rng(0)
    for _ in range(8):
        model = StumpModel(int(rng.integers(6)), float(rng.uniform(-1, 1)), 0, 1)
        weights = np.exp(ensemble.log_weights(X, y))
        exact = weights[model.predict(X) != y].sum() / weights.sum()
        with pytest.raises(StopIteration) as end:
            next(judge.error(model, ensemble))
        assert end.value.value.error == pytest.approx(exact, rel=1e-12)
        alpha = float(rng.uniform(0.1, 1.5))
        ensemble, judge = ensemble.plus(alpha, model), judge.after(alpha, model)


def test_owners_of_one_row_are_boosted_too():
    """Their weights cannot move between rows; without the load every round would learn the same
    stump again.
    """
    X, y = data(n=40_000)
    public = Public(X[:1000], y[:1000], 2)
    engine = Inline(Cohort.of(X[1000:], y[1000:]), 1.0, seeded(1))
    result = engine.run(loop(Stump(), public, "none", 1.0, 6, 5000, 2))
    assert len({str(model) for _, model in result.ensemble.members}) >= 3


@pytest.mark.parametrize("mechanism", ["auto", *MECHANISMS])
@pytest.mark.parametrize("learner", [Stump(), Centroid(), Logistic()], ids=lambda v: v.name)
def test_every_mechanism_works_with_every_learner(learner, mechanism):
    X, y = data(n=3000)
    public = Public(X[:300], y[:300], 2)
    engine = Inline(Cohort.of(X[300:], y[300:], np.arange(2700) // 3), 6.0, seeded(1))
    result = engine.run(loop(learner, public, mechanism, 6.0, 2, 200, 2))
    assert engine.speakers <= 900
    assert result.records[0].owners == 200


@pytest.mark.parametrize(
    "learner", [PublishedStump(), PublishedCentroid(), PublishedLogistic()], ids=lambda v: v.name
)
def test_what_was_published_runs_as_a_simulation(learner):
    X, y = data(n=8300)
    public = Public(X[:300], y[:300], 2)
    cohort = Cohort.of(X[300:], y[300:], np.arange(8000) // 8)
    result = Inline(cohort, 9.0, seeded(1)).run(loop(learner, public, "piecewise", 9.0, 2, 300, 1))
    assert result.records


def test_boosting_helps_and_more_privacy_costs():
    X, y = data(n=60_000)
    public = Public(X[:1000], y[:1000], 2)
    cohort = Cohort.of(X[2000:], y[2000:], np.arange(58_000) // 4)
    accuracy, noise = {}, {}
    for mechanism, epsilon in (("none", 1.0), ("auto", 6.0), ("auto", 0.1)):
        engine = Inline(cohort, epsilon, seeded(3))
        result = engine.run(loop(Stump(), public, mechanism, epsilon, 8, 1400, 3))
        stages = [
            (np.argmax(v, axis=1) == y[1000:2000]).mean()
            for v in result.ensemble.staged_votes(X[1000:2000])
        ]
        accuracy[mechanism, epsilon], noise[mechanism, epsilon] = stages, result.records[0].noise
    assert accuracy["none", 1.0][-1] > accuracy["none", 1.0][0] + 0.05
    assert accuracy["auto", 6.0][-1] > 0.7
    assert noise["auto", 0.1] > 10 * noise["auto", 6.0] > 10 * noise["none", 1.0]


def test_nobody_is_asked_twice_and_owners_run_out_clearly():
    X, y = data(n=1000)
    public = Public(X[:200], y[:200], 2)
    engine = Inline(Cohort.of(X, y), 1.0, seeded(1))
    result = engine.run(loop(Stump(), public, "none", 1.0, 10, 300, 2))
    assert result.ended == f"owners ran out after {len(result.ensemble)} of 10 rounds"
    assert engine.speakers == 900 == sum(record.owners for record in result.records)
    assert len(result.ensemble) >= 2
    assert len(np.unique(engine._waiting[:900])) == 900


def test_rounds_no_better_than_chance_are_dropped_and_redrawn():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 3))
    # the judge disagrees with everything learned
    wrong = Public(X[:500], 1 - (X[:500, 0] > 0).astype(int), 2)
    cohort = Cohort.of(X, (X[:, 0] > 0).astype(int))
    engine = Inline(cohort, 1.0, seeded(1))
    result = engine.run(loop(Stump(), wrong, "none", 1.0, 3, 500, 4))
    assert len(result.ensemble) == 0
    assert [r.kept for r in result.records] == [False] * 4
    assert [r.attempt for r in result.records] == [1, 2, 3, 4]
    assert "no better than chance" in result.ended
    assert engine.speakers == 2000


def test_owners_with_their_own_epsilon_count_by_precision():
    X, y = data(n=20_000)
    public = Public(X[:500], y[:500], 2)
    epsilon = np.where(np.arange(20_000) % 2, 0.3, 5.0)
    careful, noisy = (
        Inline(Cohort.of(X, y), each, seeded(1)).run(
            loop(Stump(), public, "piecewise", each, 1, 20_000, 1)
        )
        for each in (epsilon, 0.3)
    )
    assert careful.records[0].noise < 0.3 * noisy.records[0].noise


@pytest.mark.parametrize(
    "sums", [TwoServers(epsilon=2.0), RingSum(epsilon=None)], ids=lambda v: type(v).__name__
)
def test_errors_by_secure_sums_over_all_owners(sums):
    X, y = data(n=30_000)
    public = Public(X[:500], y[:500], 2)
    cohort = Cohort.of(X[500:], y[500:], np.arange(29_500) // 5)
    engine = Inline(cohort, 1.0, seeded(1), sums)
    result = engine.run(loop(Stump(), public, "none", 1.0, 5, 1000, 2, judge=AllOwners()))
    assert len(result.ensemble) == 5
    before = Ensemble(2)
    for record, (alpha, model) in zip(result.records, result.ensemble.members, strict=True):
        weights = np.minimum(
            np.exp(before.log_weights(cohort.X, cohort.y)) / (4 * before.mean_weight), 1
        )
        exact = weights[model.predict(cohort.X) != cohort.y].sum() / weights.sum()
        assert abs(record.error - exact) < 5 * record.error_stderr + 1e-5
        assert abs(weights.mean() - 0.25) < 0.05  # the unit in which weights are summed fits them
        before = before.plus(alpha, model)


def test_a_tally_without_sums_says_what_to_do():
    X, y = data(n=200)
    engine = Inline(Cohort.of(X, y), 1.0, seeded(1))
    with pytest.raises(ValueError, match=r"give sums, e\.g\. TwoServers"):
        engine.run(loop(Stump(), Public(X, y, 2), "none", 1.0, 1, 10, 1, judge=AllOwners()))


@pytest.mark.parametrize(
    ("error", "classes", "expected"),
    [(0.5, 2, 0.0), (0.25, 2, np.log(3)), (0.5, 3, np.log(2)), (0.0, 2, np.log(999999))],
)
def test_votes(error, classes, expected):
    assert vote(error, classes) == pytest.approx(expected)


def test_a_whole_number_is_an_epsilon_too():
    X, y = data(n=400)
    public = Public(X[:100], y[:100], 2)
    results = [
        Inline(Cohort.of(X, y), e, seeded(1)).run(loop(Stump(), public, "duchi", e, 1, 200, 1))
        for e in (2, 2.0)
    ]
    assert results[0].records[0].signal == results[1].records[0].signal


def test_bad_mechanism_and_epsilon():
    with pytest.raises(ValueError, match="mechanism must be one of"):
        ReportTerms.of("gauss", Ball(dim=2), 1.0)
    X, y = data(n=20)
    with pytest.raises(ValueError, match="epsilon must be one number per owner, 20"):
        Inline(Cohort.of(X, y), np.ones(3), seeded(1))


def test_results_do_not_depend_on_blocks(monkeypatch):
    X, y = data(n=5000)
    public = Public(X[:500], y[:500], 2)
    epsilon = np.where(np.arange(5000) % 3, 1.0, 4.0)
    runs = []
    for block in (1 << 22, 500):
        monkeypatch.setattr("tacit.engines.inline._BLOCK", block)
        engine = Inline(Cohort.of(X, y), epsilon, seeded(1))
        runs.append(engine.run(loop(Stump(), public, "piecewise", epsilon, 3, 1500, 2)))
    assert runs[0].ensemble.members == runs[1].ensemble.members
    assert [(r.signal, r.noise) for r in runs[0].records] == [
        (r.signal, r.noise) for r in runs[1].records
    ]
