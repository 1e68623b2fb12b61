"""Refining with sums of two servers: what answers do to the belief, and what is spent on them."""

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from tacit import seeded
from tacit.algorithms import public_curvature, summed_gradients, wide_features, wide_start
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public, folds_of
from tacit.algorithms.public_curvature import stand_ins
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.algorithms.summed_gradients import SummedGradients
from tacit.algorithms.wide_features import (
    NEARLY_ADDITIVE,
    ROUGH,
    SMOOTH,
    mixes_for,
    wide_map,
)
from tacit.algorithms.wide_start import WideStart
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import Facts, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Joined
from tacit.learners.models.scores import Mapped, contrasts, softmax
from tacit.learners.owners.gradient import Gradient
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.learners.query import Answer

OWNERS, ROWS = 3000, 2


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Wide maps that are quick."""
    monkeypatch.setattr(wide_features, "WIDE", 150)
    monkeypatch.setattr(public_curvature, "_STAND_INS", 500)
    monkeypatch.setattr(wide_features, "COORDINATES", 6)


@cache
def problem(classes=2):
    """A data user with 100 rows, owners, and rows to test on."""
    X, y = make_classification(
        OWNERS * ROWS + 2100,
        8,
        n_informative=6,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=2,
        random_state=5,
    )
    X = np.clip(X / 6, -1, 1)
    cohort = Cohort(X[2100:], y[2100:], np.arange(OWNERS + 1) * ROWS)
    return Public(X[:100], y[:100], classes), cohort, (X[100:2100], y[100:2100])


@cache
def sample(known):
    """So many rows of the data user's, and its own model."""
    _, _, (X, y) = problem()
    public = Public(X[:known], y[:known], 2)
    return public, fit_public(public)


def crowd(epsilon=1.0, **changes):
    return replace(Population(OWNERS, epsilon, ROWS, "two servers"), **changes)


@cache
def belief(classes=2):
    public, _, _ = problem(classes)
    return SummedGradients(public, fit_public(public), crowd(), ROUGH)


def accuracy(model, classes=2):
    X, y = problem(classes)[2]
    return float(np.mean(model.predict(X) == y))


@pytest.mark.parametrize("classes", [2, 3])
def test_owners_add_what_a_sample_cannot_tell(classes):
    public, cohort, _ = problem(classes)
    own = fit_public(public)
    engine = Inline(cohort, 1.0, seeded(1))
    refined = engine.run(refine(public, crowd(), "auto", 1.0, own=own))
    assert accuracy(refined.model, classes) > accuracy(own.model, classes) + 0.02
    assert len(refined.records) == 6
    assert engine.speakers == OWNERS
    assert 0.97 < engine.spent.min() == engine.spent.max() <= 1.0


def test_what_is_spent_is_all_that_can_be():
    """Six sums are paid for; a seventh is not answered, and nobody is charged for it."""
    public, cohort, _ = problem()
    engine = Inline(cohort, 1.0, seeded(1))
    asks = refine(public, crowd(), "auto", 1.0)
    query = next(asks)
    for _ in range(6):
        assert engine.ask(query) is not None
    before = engine.spent.copy()
    assert engine.ask(query) is None
    assert (engine.spent == before).all()


def test_pure_epsilon_adds_up():
    public, cohort, _ = problem()
    engine = Inline(cohort, 4.0, seeded(1))
    query = next(refine(public, crowd(4.0, delta=0.0), "auto", 4.0))
    for place in range(1, 7):
        assert engine.ask(query) is not None
        assert engine.spent.max() == pytest.approx(4 * place / 6, rel=0.01)
    assert engine.ask(query) is None


def exact_answers(classes, known, rounds, **kind):
    """Accuracy before anybody answers and after each of so many rounds whose answers are exact, and
    that of all rows in one place.
    """
    rows = OWNERS * ROWS + 2000 + known
    X, y = make_classification(rows, n_classes=classes, **kind)
    X = np.clip(X / 6, -1, 1)
    public, (X_test, y_test) = Public(X[:known], y[:known], classes), (X[known:], y[known:])
    X_test, y_test = X_test[:2000], y_test[:2000]
    cohort = Cohort(X[known + 2000 :], y[known + 2000 :], np.arange(OWNERS + 1) * ROWS)
    held = SummedGradients(public, fit_public(public), crowd(), ROUGH)
    facts = Facts(X.shape[1], classes)
    whole = LogisticRegression(C=64.0, fit_intercept=False, max_iter=200)
    whole.fit(held.map.transform(cohort.X), cohort.y)
    together = float(whole.score(held.map.transform(X_test), y_test))
    reached = [float(np.mean(held.model.predict(X_test) == y_test))]
    for place in range(1, rounds + 1):
        space = held.learner.space(facts)
        terms = crowd().sum_terms(space, rounds)
        query = ShareQuery(
            place, 1, None, held.learner, facts, ensemble=Ensemble(classes), terms=terms
        )
        mean = space.clip(held.learner.share(query, cohort)).mean(axis=0)
        held.update(Answer(mean, np.full(held.numbers, 1e-7), OWNERS))
        reached.append(float(np.mean(held.model.predict(X_test) == y_test)))
    return np.array(reached), together


def test_exact_answers_of_many_classes_lead_up_to_all_rows_in_one_place():
    """Four rounds go two thirds of the way and more, and no step goes too far."""
    kind = {"n_features": 8, "n_informative": 6, "n_redundant": 0, "random_state": 5}
    reached, together = exact_answers(10, 600, 4, class_sep=2.0, **kind)
    assert min(np.diff(reached)) > -0.01
    assert reached[-1] - reached[0] > 2 / 3 * (together - reached[0])


@pytest.mark.parametrize(
    ("variance", "arrives"), [(summed_gradients._VARIANCE, True), (0.1, False)]
)
def test_exact_answers_lead_up_to_all_rows_where_the_sample_shows_few_directions(
    monkeypatch, variance, arrives
):
    """150 rows, 600 features: four rounds go seven tenths of the way. With coefficients that are
    believed to be small they do not, however exact the answers.
    """
    monkeypatch.setattr(wide_features, "WIDE", 600)
    monkeypatch.setattr(summed_gradients, "_VARIANCE", variance)
    kind = {"n_features": 20, "n_informative": 10, "n_redundant": 10, "random_state": 83}
    reached, together = exact_answers(2, 150, 4, **kind)
    assert min(np.diff(reached)) > -0.01
    assert (reached[-1] - reached[0] > 0.7 * (together - reached[0])) == arrives


def test_stand_ins_have_the_mean_and_the_covariance_of_public_rows():
    public, _, _ = problem()
    others = stand_ins(public)
    assert len(others.X) == 400
    assert len(others.parts) == 500
    assert others.parts.sum() == pytest.approx(1.0)
    assert others.parts[:100].sum() == pytest.approx(0.3)
    error = 4 * public.X.std(axis=0) / np.sqrt(400)
    assert (np.abs(others.X.mean(axis=0) - public.X.mean(axis=0)) < error).all()
    size = np.trace(np.cov(public.X.T))
    assert np.trace(np.cov(others.X.T)) == pytest.approx(size, rel=0.15)
    assert np.abs(np.cov(others.X.T) - np.cov(public.X.T)).max() < 0.1 * size
    many = stand_ins(problem(3)[0])
    assert len(many.X) == 0
    assert many.parts.tolist() == [0.01] * 100


def test_noise_alone_changes_nothing():
    public, _, _ = problem()
    held = SummedGradients(public, fit_public(public), crowd(), ROUGH)
    before = held.model.scores(public.X)
    noise = np.random.default_rng(1).normal(size=held.numbers)
    held.update(Answer(1e3 * noise, np.full(held.numbers, 1e3), 10))
    assert np.abs(held.model.scores(public.X) - before).max() < 0.05
    held.update(Answer(noise, np.full(held.numbers, np.inf), 1))
    assert np.abs(held.model.scores(public.X) - before).max() < 0.05


def test_owners_that_contradict_the_sample_are_not_believed():
    public, cohort, _ = problem()
    own = fit_public(public)
    wrong = Cohort(cohort.X, 1 - cohort.y, cohort.offsets)
    asks = refine(public, crowd(8.0), "auto", 8.0, own=own)
    refined = Inline(wrong, 8.0, seeded(1)).run(asks)
    assert "contradicts" in refined.ended
    assert accuracy(refined.model) == accuracy(own.model)


def test_a_few_lucky_rows_are_no_contradiction_and_the_opposite_of_the_sample_is():
    """Ten rows more that a rival which is else the same gets right are three standard errors."""
    given = belief()
    said, y = given.held_out.copy(), given.public.y
    said[np.flatnonzero(said.argmax(1) != y)[:10]] *= -1
    lucky = copy(given)
    lucky.own = replace(given.own, held_out=said)
    assert np.count_nonzero(said.argmax(1) != y) <= np.count_nonzero(given.held_out.argmax(1) != y)
    assert not lucky.is_contradicted
    opposite = copy(given)
    opposite._theta = -given._theta
    assert opposite.is_contradicted


def test_with_few_rows_the_start_is_the_data_users_own_model():
    """Wide features would know these by heart, and could not be judged by them."""
    given = belief()
    own = given.own.held_out - given.own.held_out.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(given.held_out, own, atol=1e-9)


def test_a_sample_that_knows_enough_asks_nobody():
    public, _, _ = problem()
    look = look_ahead(public, fit_public(public), crowd(0.001, owners=20))
    assert look.why_not.startswith("the log loss would fall by ")


def test_more_owners_promise_more():
    gains = [
        SummedGradients(problem()[0], belief().own, crowd(owners=n), ROUGH).gain
        for n in (100, 1000, 10_000)
    ]
    assert gains == sorted(gains)
    rises = [belief().expected_rise(20, seed) for seed in (0, 1)]
    assert rises[0] == pytest.approx(rises[1], abs=0.03)
    assert rises[0] > 0


def test_what_the_start_says_of_a_row_left_out_is_of_a_fit_without_it():
    """By scikit-learn on the other rows; a step of a class is `between` coefficients."""
    coins, between = np.random.default_rng(3), contrasts(2)[1, 0] - contrasts(2)[0, 0]
    X = coins.normal(size=(300, 4))
    public = Public(X, (X[:, 0] * X[:, 1] + coins.normal(size=300) > 0).astype(int), 2)
    start = WideStart.of(public, replace(fit_public(public), accuracy=None), SMOOTH)
    size, folds = float(between**2 * start.variance), folds_of(public.y)
    for fold in (0, 3):
        out = folds == fold
        features = wide_map(Public(X[~out], public.y[~out], 2), SMOOTH)
        again = LogisticRegression(C=size, fit_intercept=False, max_iter=1000, tol=1e-8)
        again.fit(features.transform(X[~out]), public.y[~out])
        said = again.decision_function(features.transform(X[out]))
        np.testing.assert_allclose(start.left_out[out] @ [-1, 1], said, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(("steep", "sizes"), [(0.0, (0, 0.25)), (6.0, (4, np.inf))])
def test_coefficients_of_the_start_are_as_large_as_rows_left_out_say(steep, sizes):
    coins = np.random.default_rng(4)
    X = coins.normal(size=(400, 3))
    y = (coins.random(400) < 1 / (1 + np.exp(-steep * X[:, 0]))).astype(int)
    public = Public(X, y, 2)
    variance = WideStart.of(public, fit_public(public), SMOOTH).variance
    assert sizes[0] <= variance <= sizes[1]


def test_features_are_those_that_should_be_best_when_everybody_has_answered():
    """A circle is smooth, boxes are not."""
    X = np.random.default_rng(2).uniform(-1, 1, size=(400, 6))
    circle = ((X[:, :2] ** 2).sum(axis=1) < 0.6).astype(int)
    boxes = ((X[:, 0] > 0.4) | (X[:, 1] < -0.6)).astype(int)
    for labels, kinds in ((circle, SMOOTH.parts), (boxes, ROUGH.parts)):
        public = Public(X, labels, 2)
        look = look_ahead(public, fit_public(public, ["logistic regression"]), crowd())
        held = look.combination
        assert isinstance(held, SummedGradients)
        assert held.expected_loss == min(each.expected_loss for each in look.rivals)
        whole = held.map.expansion
        assert isinstance(whole, Joined)
        wide, _ = whole.parts
        assert isinstance(wide, Joined)
        assert {type(part) for part in wide.parts} == set(kinds)


def test_waves_along_few_columns_are_taken_where_columns_act_each_by_itself():
    X = np.random.default_rng(2).uniform(-1, 1, size=(400, 16))
    public = Public(X, (np.abs(X[:, :8]).sum(axis=1) > 4).astype(int), 2)
    look = look_ahead(public, fit_public(public, ["logistic regression"]), crowd())
    assert isinstance(look.combination, SummedGradients)
    assert look.combination.mix is NEARLY_ADDITIVE
    narrow = Public(X[:, :12], public.y, 2)  # few of twelve are not others than all
    assert NEARLY_ADDITIVE not in mixes_for(narrow)
    assert NEARLY_ADDITIVE in mixes_for(public)


def test_waves_along_few_columns_turn_as_fast_as_others():
    public = Public(np.random.default_rng(0).normal(size=(300, 30)), np.arange(300) % 2, 2)
    few, all_ = (waves_of(wide_map(public, mix)) for mix in (NEARLY_ADDITIVE, SMOOTH))
    assert (np.count_nonzero(few, axis=0) == 6).all()
    assert np.count_nonzero(few, axis=1).all()  # no column is left out
    assert (few**2).sum(axis=0).mean() == pytest.approx((all_**2).sum(axis=0).mean(), rel=0.1)


def waves_of(features):
    """(columns, waves)."""
    return features.expansion.parts[-1].axes


@pytest.mark.parametrize("known", [100, 400])
def test_other_owners_may_be_asked_about_other_features(known):
    """What is foretold for others is what a new look at them foretells."""
    public, own = sample(known)
    look = look_ahead(public, own, crowd(owners=100))
    for owners in (30, 3000):
        among = look.among(crowd(owners=owners))
        anew = look_ahead(public, own, crowd(owners=owners))
        assert (among.gain, among.rise) == (anew.gain, anew.rise)
        assert [each.expected_loss for each in among.rivals] == [
            each.expected_loss for each in anew.rivals
        ]


def test_steep_axes_are_turned_down_and_answers_are_undone_of_it():
    """What is said less along an axis is less precise there, and means the same."""
    public, own = sample(400)
    held = SummedGradients(public, own, crowd(), ROUGH)
    learner, cohort = held.learner, problem()[1]
    assert isinstance(learner, MetricGradient)
    assert learner.parts[0] < 0.6
    assert np.corrcoef(np.arange(len(learner.parts)), learner.parts)[0, 1] > 0.9
    plain = Gradient(learner.features, learner.weights, learner.reach, learner.radius)
    facts = Facts(8, 2)
    terms = crowd().sum_terms(learner.space(facts), held.rounds)
    said, whole = (
        each.share(ShareQuery(1, 1, None, each, facts, Ensemble(2), terms), cohort).mean(axis=0)
        for each in (learner, plain)
    )
    split = held._axes.split
    undone = split(said[np.newaxis]) / held._said
    np.testing.assert_allclose(undone, split(whole[np.newaxis]), rtol=1e-6, atol=1e-9)
    noise = (1e-3 / held._clipping.left / held._said) ** 2
    held.update(Answer(said, np.full(held.numbers, 1e-3), OWNERS))
    np.testing.assert_allclose(held._told[0].noise, noise)


def test_few_rows_know_no_steep_axes():
    assert type(belief().learner) is Gradient


def _fresh_loss(scores, labels):
    return float(-np.log(softmax(scores)[np.arange(len(labels)), labels]).mean())


@pytest.mark.parametrize("kind", ["one column", "circle"])
def test_the_start_is_hardly_behind_the_better_of_own_model_and_wide_features(kind):
    """On rows that nobody has seen: a column of forty that counts is what the own model is good
    at, a circle what wide features are.
    """
    coins = np.random.default_rng(5)
    X = coins.uniform(-1, 1, size=(4400, 40 if kind == "one column" else 6))
    score = 3 * X[:, 0] if kind == "one column" else 6 * ((X[:, :2] ** 2).sum(axis=1) - 0.6)
    y = (coins.random(len(X)) < 1 / (1 + np.exp(-score))).astype(int)
    public, (test, labels) = Public(X[:400], y[:400], 2), (X[400:], y[400:])
    own = fit_public(public, ["boosted trees" if kind == "one column" else "logistic regression"])
    start = WideStart.of(public, own, ROUGH)
    alone = replace(own, accuracy=None)  # wide features, with nothing beside them
    wide = WideStart.of(public, alone, ROUGH)
    said = [
        each.map.transform(test) @ each.coefficients.T @ contrasts(2).T for each in (start, wide)
    ]
    mixed, wide_alone = (_fresh_loss(scores, labels) for scores in said)
    by_own = _fresh_loss(own.model.scores(test), labels)
    assert mixed < min(wide_alone, by_own) + 0.01
    assert mixed < max(wide_alone, by_own) - 0.02


def test_owners_that_mislabel_one_class_do_not_move_its_frequency(monkeypatch):
    """A third of one class's labels are wrong at owners, none at the data user: not enough to
    contradict them, but public rows tell the level.
    """

    def gap(seed):
        coins = np.random.default_rng(seed)
        X = coins.normal(size=(9400, 5)) / 4
        y = (coins.random(len(X)) < 1 / (1 + np.exp(-8 * X[:, 0]))).astype(int)
        public, test, labels = Public(X[:400], y[:400], 2), X[400:3400], y[400:3400]
        wrong = np.where((y == 1) & (coins.random(len(y)) < 0.35), 0, y)
        asks = refine(public, crowd(4.0, owners=6000, rows=1), "auto", 4.0)
        refined = Inline(Cohort.of(X[3400:], wrong[3400:]), 4.0, seeded(1)).run(asks)
        assert refined.ended == "all 4 rounds"
        return refined.model.predict(test).mean() - labels.mean()

    seeds = (6, 7, 9)
    assert np.mean([gap(seed) for seed in seeds]) == pytest.approx(0.0, abs=0.06)
    monkeypatch.setattr(summed_gradients, "expected_level", lambda scores, y: np.zeros(1))
    assert all(gap(seed) < -0.1 for seed in seeds)


@pytest.mark.parametrize(("classes", "mix"), [(2, ROUGH), (2, SMOOTH), (3, ROUGH)])
def test_wide_features_have_length_one_on_average(classes, mix):
    public, cohort, _ = problem(classes)
    features = wide_map(public, mix)
    phi = features.transform(public.X)[:, 1:]
    assert (phi**2).sum(axis=1).mean() == pytest.approx(1.0)
    assert (classes - 1) * features.dim <= 3600
    dense = FeatureMap(
        features.expansion, features.centre, np.diag(features.matrix), features.level
    )
    few = cohort.X[:3]
    assert np.allclose(features.transform(few), dense.transform(few))
    weights = np.random.default_rng(1).normal(size=(features.dim, classes))
    for one, other in zip(
        Mapped(features, weights).fold(), Mapped(dense, weights).fold(), strict=True
    ):
        assert np.allclose(one, other)


def test_very_many_rows_take_no_cube_of_their_number(monkeypatch):
    """Some of them say what others may curve more, and how large coefficients are."""
    rows = np.random.default_rng(1).normal(size=(5000, 6))
    least = public_curvature.unseen_curvature
    assert least(rows) == least(rows[::3])
    public, own = sample(400)
    whole = WideStart.of(public, own, SMOOTH)
    monkeypatch.setattr(wide_start, "_MANY", 200)
    some = WideStart.of(public, own, SMOOTH)
    assert 1 / 4 <= some.variance / whole.variance <= 4
    assert len(some.left_out) == 400
    assert abs(some.loss - whole.loss) < 0.02
