"""What public rows foretell of answers, also where owners' rows lie elsewhere."""

import numpy as np
import pytest
from benchmarks.problems.problem import Setting, problem_of

from tacit import seeded
from tacit.algorithms.combination import Combination
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.posterior import Posterior, PriorScale
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population, RoundQuestion, StandIn, next_question
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.models.scores import contrasts, softmax
from tacit_papers.ours.tasks import quick_task

ROWS, CLASSES, NOISE = 4000, 3, 1e-4


def stand_in(rows=ROWS):
    coins = np.random.default_rng(0)
    phi = np.hstack([np.ones((rows, 1)), coins.normal(size=(rows, 3))])
    return StandIn(phi, CLASSES, tilted=slice(1, 4), known=rows)


def asked(kept=(0, 1, 3)):
    """A question about a model that is not the one below, along some of the features."""
    return RoundQuestion(
        kept=np.array(kept),
        scale=np.array([0.5, 0.8, 0.3]),
        reference=np.full((CLASSES - 1, 4), 0.1),
        reach=1.0,
        radius=1.0,
        weights=np.full(ROWS, 0.7),
        left=np.random.default_rng(2).uniform(0.3, 1.0, size=(ROWS, CLASSES)),
        spread=1.0,
    )


def unknowns():
    """Coefficients of the model, a level of owners alone, and a tilt."""
    coins = np.random.default_rng(1)
    return 0.3 * coins.normal(size=(CLASSES - 1, 5)), np.array([0.2, -0.1, 0.3])


def test_without_a_tilt_it_is_the_mean_over_public_rows():
    """By hand, row by row; four features of 4,000 rows are shrunk by a thousandth."""
    owners, (coefficients, _) = stand_in(), unknowns()
    told = owners.foretell(asked(), NOISE, coefficients, np.zeros(3), rounds=1)
    features = owners.phi[:, asked().kept] * asked().scale
    together = coefficients[:, :4] + np.array([1.0, 0.0, 0.0, 0.0]) * coefficients[:, 4:]
    p, reference = (
        softmax(owners.phi @ each.T @ contrasts(CLASSES).T)
        for each in (together, asked().reference)
    )
    by_hand = np.zeros((CLASSES - 1, 3))
    for label in range(CLASSES):
        residuals = (np.eye(CLASSES)[label] - reference) @ contrasts(CLASSES)
        counts = 0.7 * p[:, label] * asked().left[:, label]
        by_hand += (residuals * counts[:, np.newaxis]).T @ features / ROWS
    assert told.expected == pytest.approx(by_hand.ravel(), abs=5e-4)


def test_variances_of_few_rows_are_drawn_towards_those_that_all_have():
    """Fifty rows of forty equal columns have variances between 0.01 and 3.5 along their own axes;
    owners' rows have 1. What an answer should change by is drawn to that, by 41 / (41 + 50), where
    it was drawn to the variance it had already.
    """
    X = np.random.default_rng(3).normal(size=(50, 40))
    phi = np.hstack([np.ones((50, 1)), X @ np.linalg.eigh(X.T @ X)[1]])
    question = RoundQuestion(
        kept=np.arange(41),
        scale=np.full(41, 41**-0.5),
        reference=np.zeros((1, 41)),
        reach=1.0,
        radius=1.0,
        weights=np.ones(50),
        left=np.ones((50, 2)),
        spread=1.0,
    )
    owners = StandIn(phi, 2, tilted=slice(1, 4), known=50)
    told = owners.foretell(question, NOISE, np.zeros((1, 42)), np.zeros(3), rounds=1)
    along = np.diag(told.change) / told.change[0, 0]
    variances, drawn = (phi**2).mean(axis=0), 41 / (41 + 50)
    assert variances.min() < 0.05
    assert variances.max() > 2.5
    assert along == pytest.approx((1 - drawn) * variances + drawn)


def test_changes_are_the_slopes_of_what_is_expected():
    """Against differences along each unknown; a thousandth of it is a secant instead."""
    owners, (coefficients, tilt) = stand_in(), unknowns()
    told, step = owners.foretell(asked(), NOISE, coefficients, tilt, rounds=1), 1e-5
    for place in range(coefficients.size + len(tilt)):
        moved = np.zeros(coefficients.size + len(tilt))
        moved[place] = step
        ends = [
            owners.foretell(
                asked(),
                NOISE,
                coefficients + side * moved[: coefficients.size].reshape(coefficients.shape),
                tilt + side * moved[coefficients.size :],
                rounds=1,
            ).expected
            for side in (-1, 1)
        ]
        slope = (ends[1] - ends[0]) / (2 * step)
        assert told.change[:, place] == pytest.approx(slope, abs=0.01 * np.abs(told.change).max())


def test_a_tilt_moves_the_mean_and_no_outlier_takes_all_weight():
    owners, tilt = stand_in(), np.array([0.5, 0.0, -0.5])
    shares = owners.shares(tilt)
    assert shares.mean() == pytest.approx(1.0)
    moved = (shares[:, np.newaxis] * owners.phi[:, 1:]).mean(axis=0)
    assert moved == pytest.approx(tilt, abs=0.08)  # normal rows: the tilt is their new mean
    far = owners.phi.copy()
    far[0, 1:] = (300.0, 0.0, -300.0)
    shares = StandIn(far, CLASSES, slice(1, 4), len(far)).shares(tilt)
    assert shares[0] / ROWS < 0.02


def test_errors_of_public_rows_are_common_to_all_rounds():
    owners, (coefficients, tilt) = stand_in(), unknowns()
    once, often = (
        owners.foretell(asked(), NOISE, coefficients, tilt, rounds=r).noise for r in (1, 4)
    )
    assert often - 1e-4 == pytest.approx(4 * (once - 1e-4))
    assert once > 1e-4


def test_owners_whose_rows_lie_elsewhere_are_understood():
    """Six problems: public rows are moved by 0.8 of a deviation along each of six columns.

    Best possible .733, measured .725; .633 with the tilt held at 0, .697 if one mode is sought.
    """
    accuracies, best = [], []
    for seed in range(6):
        coins = np.random.default_rng(seed)
        weights = 0.6 * coins.choice([-1.0, 1.0], 6)
        moved = 0.8 * coins.choice([-1.0, 1.0], 6)

        def drawn(rows, centre, coins=coins, weights=weights):
            X = coins.normal(size=(rows, 6)) + centre
            return X, (coins.random(rows) < 1 / (1 + np.exp(-X @ weights))).astype(np.int64)

        owners, (X, y) = 10_000, drawn(40, moved)
        public = Public(X, y, 2)
        X, y = drawn(owners, 0.0)
        cohort = Cohort(X, y, np.arange(owners + 1))
        asks = refine(public, Population(owners, 6.0), "auto", 6.0, maps=("linear",))
        model = Inline(cohort, 6.0, seeded(seed)).run(asks).model
        X, y = drawn(10_000, 0.0)
        accuracies.append(np.mean(model.predict(X) == y))
        best.append(np.mean((weights @ X.T > 0) == y))
    assert np.mean(accuracies) > np.mean(best) - 0.03


def test_answers_that_public_rows_do_not_foretell_are_doubted():
    """Fifty public rows from elsewhere and nearly exact answers, by products too: four problems
    in which models went astray by believing them, .604 where public rows alone have .647; .69 now.
    """
    rises = []
    for seed in (1, 4, 7, 9):
        problem = problem_of(Setting("shifted public sample", seed, 30_000, 50))
        own, crowd = fit_public(problem.public), Population(30_000, 8.0)
        asks = refine(problem.public, crowd, "auto", 8.0, own=own)
        model = Inline(problem.cohort, 8.0, seeded(seed)).run(asks).model
        right = [problem.accuracy(each.predict(problem.X_test)) for each in (model, own.model)]
        rises.append(right[0] - right[1])
    assert np.mean(rises) > 0.03
    assert min(rises) > 0.0


@pytest.mark.parametrize("run", [2, 3])
def test_nearly_exact_answers_lead_few_public_rows_nowhere_far(run):
    """Fifty rows are told apart without error by models without end, so that no curvature was left
    to hold answers: .895 and .882, after rounds that were better. Rows between them are not.
    """
    task = quick_task()
    public, cohort = task.public(50, run), task.cohort(run)
    asks = refine(public, Population(len(cohort), 8.0, task.rows), "auto", 8.0)
    refined = Inline(cohort, 8.0, seeded(run)).run(asks)
    assert task.accuracy(refined.model.predict(task.split.X_test)) > 0.92
    assert np.abs(refined.model.scores(public.X)).mean() < 10


def test_a_belief_that_is_behind_the_own_model_must_make_up_for_it_first():
    """Ten classes, fifty rows: labels by their likelihood begin behind the data user's own linear
    model. Answers that tell little left the model there, 59.3 for 66.0 % on ten digits.
    """
    problem = problem_of(Setting("ten classes", 3, 2_000, 50))
    own = fit_public(problem.public)
    little, much = (
        look_ahead(problem.public, own, Population(owners, 1.0)) for owners in (2_000, 10_000_000)
    )
    belief = little.combination
    assert isinstance(belief, Combination)
    assert not belief._begins_as_own
    assert belief._lead.mean() < 0
    assert little.why_not
    assert not much.why_not


def test_few_rows_of_many_classes_are_not_taken_for_told_apart():
    """Five rows of each of ten classes, on a problem that constants may be chosen on: 2.3 points
    come at epsilon 1. By rows that models were fitted to, 0.4 were foretold.
    """
    public = problem_of(Setting("ten classes", 0, 10, 50)).public
    look = look_ahead(public, fit_public(public), Population(30_000, 1.0))
    assert 0.023 / 1.5 < look.rise < 0.023 * 1.5


def test_what_public_rows_say_against_the_own_model_is_part_of_what_is_foretold():
    """Three products of columns and 300 public rows, on a problem that constants may be chosen on:
    the belief is right for 26 more of the rows that neither has seen than the data user's own
    model, and 6.6 points come at epsilon 1. By the belief's word alone 2.7 were foretold.
    """
    public = problem_of(Setting("products", 0, 10, 300)).public
    look = look_ahead(public, fit_public(public), Population(30_000, 1.0))
    belief = look.combination
    assert isinstance(belief, Combination)
    assert not belief._begins_as_own
    assert 0.066 / 1.5 < look.rise < 0.066 * 1.5


def test_what_is_to_be_explored_counts_for_more_than_its_mean():
    """Of a lognormal scale with nothing to tell it: mean g exp(s^2 / 2), root mean square
    g exp(s^2).
    """
    nothing, spread = np.zeros(1), 1.5
    known, unknown = (
        PriorScale(slice(0, 1), np.ones(1), 0.1, spread, explore=explore).weigh(nothing, nothing)
        for explore in (False, True)
    )
    assert known[0] == unknown[0] == pytest.approx(0.1)
    assert known[1] == pytest.approx(0.1 * np.exp(spread**2 / 2), rel=1e-3)
    assert unknown[1] == pytest.approx(0.1 * np.exp(spread**2), rel=1e-2)


def test_what_clipping_makes_of_owners_with_several_rows_is_foretold():
    """A quarter of the shares is clipped, labels are as is believed: what is foretold of the mean
    is within four standard errors (false alarm 1e-3 for 12 numbers), 0 is not.
    """
    coins, rows, number = np.random.default_rng(3), 400, 4
    phi = np.hstack([np.ones((rows, 1)), coins.normal(size=(rows, 11))])
    theta = np.concatenate([[2.0], coins.normal(size=11)])[np.newaxis]
    posterior = Posterior(
        phi=phi,
        labels=coins.integers(0, 2, rows),
        classes=2,
        scales=[
            PriorScale(slice(0, 12), np.ones(12), 1e-9, 0.0),
            PriorScale(slice(12, 13), np.ones(1), 1e-9, 0.0),
        ],
        mean=theta,
        plain=slice(0, 12),
        tilt=PriorScale(slice(1, 3), np.ones(2), 1e-9, 0.0),
        owners=StandIn(phi, 2, slice(1, 3), len(phi)),
    )
    question = next_question(
        posterior,
        np.diag(posterior.open_covariance),
        posterior.owners_chances,
        Population(20_000, 2.0, number),
    )
    owners = 40_000
    held = coins.integers(0, rows, size=(owners, number))
    p = softmax(posterior.scores(theta))[:, 1]
    labels = coins.random((owners, number)) < p[held]
    asked_of = softmax(posterior.scores(question.reference))[:, 1]
    sign = contrasts(2)[1, 0] - contrasts(2)[0, 0]
    residuals = sign * (labels - asked_of[held]) * question.weights[held]
    features = phi[:, question.kept] * question.scale
    shares = np.einsum("nr,nrj->nj", residuals, features[held]) / number
    lengths = np.sqrt((shares**2).sum(axis=1))
    assert np.mean(lengths > question.radius) > 0.2
    shares *= np.minimum(1.0, question.radius / lengths)[:, np.newaxis]
    told = posterior.owners.foretell(
        question,
        1e-6,
        np.hstack([theta, np.zeros((1, 1))]),
        np.zeros(2),
        rounds=1,
    )
    error = shares.std(axis=0) / np.sqrt(owners)
    assert (np.abs(shares.mean(axis=0) - told.expected) < 4 * error).all()
    assert (np.abs(shares.mean(axis=0)) > 4 * error).any()
