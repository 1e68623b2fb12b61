"""Combining sites' models: the paper's two ways, ours, and that ours does no harm."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit.algorithms.site_weights import (
    COMBINE,
    PublicOnly,
    PublicTask,
    combine_average,
    combine_features,
    combine_guarded,
    folds_of,
    public_only,
)
from tacit.algorithms.sites import ensemble_of_sites, looks_at, projections_of, tune_site
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.query import Estimates
from tacit.learners.sites.losses import HuberHinge, LogisticLoss
from tacit.learners.sites.projection import fit_projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.streams import seeded

DIM, SITES = 8, 6
LOSS = LogisticLoss()
NOBODY = PublicOnly(np.zeros(0), np.zeros(0))


def world(seed, public=200, test=4_000):
    """Rows of one population, public and test, with the direction that truly divides them."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=DIM)
    rows = rng.normal(size=(public + test, DIM)) / np.sqrt(DIM)
    targets = np.where(rng.uniform(size=len(rows)) < 1 / (1 + np.exp(-4 * rows @ truth)), 1.0, -1.0)
    return truth, (rows[:public], targets[:public]), (rows[public:], targets[public:]), rng


def error(f, part):
    return float(np.mean(part[0] @ f * part[1] <= 0))


def test_average_is_the_mean():
    models = np.arange(12.0).reshape(3, 4)
    made = combine_average(
        models, np.ones(3), PublicTask(np.zeros((0, 4)), np.zeros(0), LOSS), NOBODY
    )
    np.testing.assert_allclose(made.f, models.mean(axis=0))


def test_feature_is_a_regression_on_the_scores():
    truth, (rows, targets), _, rng = world(1)
    models = truth + 3 * rng.normal(size=(SITES, DIM))
    made = combine_features(models, np.ones(SITES), PublicTask(rows, targets, LOSS), NOBODY)
    scores = rows @ models.T
    sizes = np.sqrt((scores**2).mean(axis=0))
    known = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(
        scores / sizes, targets
    )
    np.testing.assert_allclose(made.weights, known.coef_[0] / sizes, atol=1e-4)
    np.testing.assert_allclose(made.f, made.weights @ models)


def test_public_scores_come_from_models_that_did_not_see_the_row():
    _, (rows, _), _, rng = world(2)
    coin = rng.choice([-1.0, 1.0], len(rows))
    alone = public_only(PublicTask(rows, coin, LOSS))
    assert abs(np.mean(alone.scores * coin > 0) - 0.5) < 0.15
    assert error(alone.f, (rows, coin)) < 0.46  # while the model itself has seen them


def test_folds_are_alike():
    targets = np.where(np.arange(100) < 20, 1.0, -1.0)
    folds = folds_of(targets)
    assert np.bincount(folds).tolist() == [20] * 5
    assert np.bincount(folds[:20]).tolist() == [4] * 5


def test_stretching_columns_does_not_hurt_the_baseline():
    """Whitening that helps the sites may not make the public-only model worse than it would be
    without.
    """
    _, (rows, targets), test, _ = world(3, public=60)
    stretch = np.geomspace(1, 50, DIM)
    plain = error(public_only(PublicTask(rows, targets, LOSS)).f, test)
    stretched = error(
        public_only(PublicTask(rows * stretch, targets, LOSS), [np.diag(1 / stretch)]).f,
        (test[0] * stretch, test[1]),
    )
    assert stretched <= plain + 0.01


@cache
def model_alone(seed, public):
    """The public-only model of a world, which all noises of sites are compared with."""
    _, (rows, targets), _, _ = world(seed, public, 2_000)
    return public_only(PublicTask(rows, targets, LOSS))


@pytest.mark.parametrize("noise", [0.5, 3.0, 100.0])
@pytest.mark.parametrize("public", [40, 200])
def test_guarded_does_no_harm(noise, public):
    """Over 30 worlds; both models see the same rows.

    False alarm: differences have a deviation below 0.02 (40 rows and half-good sites: it follows
    them, now to the better and now to the worse), so the chance that their mean exceeds 0.01 for a
    rule that is as good as the public-only model is below one in a hundred.
    """
    harm = []
    for seed in range(30):
        truth, (rows, targets), test, rng = world(seed, public, 2_000)
        alone = model_alone(seed, public)
        models = truth + noise * np.linalg.norm(truth) * rng.normal(size=(SITES, DIM)) / np.sqrt(
            DIM
        )
        made = combine_guarded(models, np.ones(SITES), PublicTask(rows, targets, LOSS), alone)
        harm.append(error(made.f, test) - error(alone.f, test))
    assert np.mean(harm) <= 0.01
    assert np.quantile(harm, 0.9) <= 0.05
    if (noise, public) == (0.5, 40):  # good sites help where public rows are few
        assert np.mean(harm) < -0.02


def test_few_rows_are_enough_to_believe_good_sites():
    """Three sites that have seen thousands of records, 60 public rows: the model is that of the
    sites, up to half a point; as likely as that is, cross-validation of 60 rows could not tell.

    False alarm: a mean of 12 differences of two errors on the same 4,000 rows, each with a
    deviation below 0.01.
    """
    behind, ahead = [], []
    for seed in range(12):
        truth, (rows, targets), test, rng = world(seed, 60)
        alone = public_only(PublicTask(rows, targets, LOSS))
        models = truth + 0.1 * rng.normal(size=(3, DIM))
        made = combine_guarded(models, np.ones(3), PublicTask(rows, targets, LOSS), alone)
        behind.append(error(made.f, test) - error(models.mean(axis=0), test))
        ahead.append(error(alone.f, test) - error(made.f, test))
    assert np.mean(behind) < 0.01
    assert np.mean(ahead) > 0.02


@pytest.mark.parametrize("length", [1.0, 1e6])
def test_one_liar_of_eight_sites_moves_next_to_nothing(length):
    """Said backwards, as long as others or far longer; over 12 worlds the mean error moves by less
    than a point, where the mean of the models is turned round by the long one.
    """
    moved, turned = [], []
    for seed in range(12):
        truth, (rows, targets), test, rng = world(seed, 60)
        task = PublicTask(rows, targets, LOSS)
        alone = public_only(task)
        models = truth + 0.3 * rng.normal(size=(8, DIM))
        lied = np.vstack([models[:-1], -length * truth])
        found = [combine_guarded(each, np.ones(8), task, alone).f for each in (models, lied)]
        moved.append(error(found[1], test) - error(found[0], test))
        turned.append(error(lied.mean(axis=0), test))
    assert np.mean(moved) < 0.01
    assert np.max(moved) < 0.03
    assert (np.mean(turned) > 0.5) == (length > 10)


def test_plain_feature_does_harm_where_guarded_does_not():
    harm = dict.fromkeys(("feature", "guarded"), 0.0)
    for seed in range(12):
        truth, (rows, targets), test, rng = world(seed)
        alone = public_only(PublicTask(rows, targets, LOSS))
        models = truth + 5 * np.linalg.norm(truth) * rng.normal(size=(SITES, DIM)) / np.sqrt(DIM)
        for name in harm:
            made = COMBINE[name](models, np.ones(SITES), PublicTask(rows, targets, LOSS), alone)
            harm[name] += (error(made.f, test) - error(alone.f, test)) / 12
    assert harm["feature"] > 0.03
    assert harm["guarded"] < 0.003


def test_useless_sites_leave_the_public_model_as_it_is():
    """In most worlds to the bit: six random directions of eight are next to all there are, so that
    the evidence neither needs nor minds them, and is around one half.
    """
    kept = 0
    for seed in range(12):
        _, (rows, targets), _, rng = world(seed)
        alone = public_only(PublicTask(rows, targets, LOSS))
        made = combine_guarded(
            rng.normal(size=(SITES, DIM)), np.ones(SITES), PublicTask(rows, targets, LOSS), alone
        )
        same = (made.f == alone.f).all() and (made.weights == 0).all()
        assert same or made.believed > 0.5
        kept += bool(same)
    assert kept >= 7


def test_trust_follows_the_noise():
    query = question(np.zeros((10, 3)) + np.eye(3)[np.arange(10) % 3], (0.5, 2.0))
    values = query.trust(2.0) / query.trust(0.5)
    ridges = query.plan(2.0).ridge / query.plan(0.5).ridge
    # the noise's variance falls with the square of epsilon
    assert values / ridges == pytest.approx(16, rel=0.1)


# The generator


def question(X, epsilons=(1.0,), classes=2):
    return TrainSite(1, 1, None, fit_projection(X), HuberHinge(), classes, "objective", epsilons)


def population(rows, classes=2, seed=1):
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(scale=0.3, size=(rows, DIM)), -1, 1)
    y = np.argmax(X[:, :classes] + 0.1 * rng.normal(size=(rows, classes)), axis=1)
    return X, y


@pytest.mark.parametrize("classes", [2, 4])
def test_sites_are_asked_once_and_combined(classes):
    X, y = population(13_000, classes)
    query = question(X[:300], classes=classes)
    engine = Inline(Cohort.of(X[1000:], y[1000:], np.arange(12_000) % 3), 1.0, seeded(1))
    model = engine.run(ensemble_of_sites(query, X[:300], y[:300]))
    assert model.models.shape == (3, query.vectors, query.projection.dim)
    assert model.public_scores.shape == (300, query.vectors)
    assert len(model.combined) == len(model.alone) == query.vectors
    scores = query.projection.see(X[300:1000]) @ model.vectors.T
    guess = np.argmax(scores, axis=1) if classes > 2 else (scores[:, 0] > 0).astype(int)
    assert np.mean(guess == y[300:1000]) > 0.75


def test_without_sites_the_public_rows_speak():
    X, y = population(200)
    algorithm = ensemble_of_sites(question(X), X, y)
    next(algorithm)
    with pytest.raises(StopIteration) as end:
        algorithm.send(None)
    model = end.value.value
    np.testing.assert_array_equal(model.vectors, model.public_vectors)


def test_every_way_accepts_one_site():
    X, y = population(200)
    query = question(X)
    for name in COMBINE:
        algorithm = ensemble_of_sites(query, X, y, name)
        next(algorithm)
        with pytest.raises(StopIteration) as end:
            algorithm.send(Estimates(np.ones((1, query.width)), np.ones(1)))
        assert np.isfinite(end.value.value.vectors).all()


# The rehearsal


def test_rehearsal_whitens_where_a_weak_column_decides():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3_000, 6)) * [0.3, 0.3, 0.3, 0.3, 0.3, 0.02]
    y = (X[:, 5] > 0).astype(int)
    chosen = tune_site(
        question(X[:1000], (2.0,)), X[:1000], y[:1000], 2.0, projections_of(X[:1000])
    )
    assert chosen.projection.stretch[:6].max() > 3 * chosen.projection.stretch[:6].min()
    z = np.clip(rng.normal(size=(1000, 6)) * 0.3, -1, 1)
    kept = tune_site(question(z, (0.2,)), z, (z[:, 0] > 0).astype(int), 0.2, projections_of(z))
    assert kept.easing == 1.0
    assert np.ptp(kept.projection.stretch[:6]) == pytest.approx(0.0)


@pytest.mark.parametrize("privacy", ["objective", "output"])
def test_what_is_rehearsed_is_what_a_site_would_release(privacy):
    """Up to a hundredth of its noise; another ridge, as a near miss, is farther."""
    X, y = population(600)
    query = replace(question(X, (1.0,)), privacy=privacy, projection=projections_of(X)[1])
    sites, coins = Cohort.of(X, y, np.arange(600) % 3), seeded(4)
    rehearsed = query.rehearse(sites, 1.0, coins).reshape(3, -1)
    released = query.collect(query.release(sites, 1.0, coins), 1.0).values
    plan = query.plan(1.0)
    near = (plan.tilt_size / plan.ridge + plan.noise_size) / 100
    assert np.abs(rehearsed - released).max() < near
    other = replace(query, ridge=1.2 * plan.ridge).rehearse(sites, 1.0, coins).reshape(3, -1)
    assert np.abs(other - released).max() > near


def test_rehearsal_is_public_and_the_same_every_time():
    X, y = population(500)
    first, second = (tune_site(question(X), X, y, 1.0, projections_of(X)) for _ in range(2))
    assert first.easing == second.easing
    np.testing.assert_array_equal(first.projection.directions, second.projection.directions)
    few = tune_site(question(X), X[:20], y[:20], 1.0, projections_of(X[:20]))
    assert few.easing == 1.0


def test_the_baseline_may_look_at_columns_in_their_own_spread():
    """A look changes no score that a model can give, only what a ridge holds down: with columns
    of very different spread the baseline is better for it, over ten worlds.
    """
    rng = np.random.default_rng(5)
    spread, truth = np.geomspace(0.02, 1, DIM), rng.normal(size=DIM)
    errors = []
    for _ in range(10):
        clear = rng.normal(size=(1_060, DIM))
        y = (clear @ truth + 2 * rng.normal(size=len(clear)) > 0).astype(np.int64)
        X, lens = clear * spread, fit_projection((clear * spread)[:60])
        targets = np.where(y > 0, 1.0, -1.0)
        task = PublicTask(lens.see(X[:60]), targets[:60], LOSS)
        looks = looks_at(lens, X[:60])
        assert all(np.linalg.matrix_rank(look) == lens.dim for look in looks)
        test = lens.see(X[60:]), targets[60:]
        errors.append([error(public_only(task, some).f, test) for some in ((), looks)])
    plain, looked = np.mean(errors, axis=0)
    assert looked < plain - 0.02
