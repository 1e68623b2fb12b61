"""Private training: sensitivities by search, laws of the noise, lower bounds of epsilon from
reports alone.
"""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, isqrt, log1p
from typing import Any

import numpy as np
import pytest

from tacit.audit.statistical import epsilon_lower_bound
from tacit.data.cohort import Cohort
from tacit.data.number_target import LEVELS
from tacit.learners.query import Query
from tacit.learners.sites import perturbation
from tacit.learners.sites.losses import Huber, HuberHinge, LogisticLoss, Squared, minimise
from tacit.learners.sites.perturbation import (
    _log_above,
    least_ridge,
    objective,
    output,
    usual_ridge,
)
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite, perturb_as_published
from tacit.mechanisms.streams import exp_below, secure, seeded
from tacit.sums.secure_sum import variance
from tacit.wire import decode, encode

LOSSES = [HuberHinge(), LogisticLoss(), Huber()]
RNG = np.random.default_rng(11)


def plain(dim, l1_bound=None):
    """A lens that leaves rows inside the balls as they are."""
    return Projection(np.zeros(dim), np.eye(dim), l1_bound or float(np.sqrt(dim)))


def ask(privacy="objective", epsilon=1.0, projection=None, loss=None, labels=2, **more):
    menu = tuple(np.unique(epsilon).tolist())
    return TrainSite(
        1, 1, None, projection or plain(1), loss or HuberHinge(), labels, privacy, menu, **more
    )


def sites(rows, y, times):
    """So many sites that all hold the same records."""
    owners = np.repeat(np.arange(times), len(y))
    return Cohort.of(np.tile(rows, (times, 1)), np.tile(y, times), owners)


# Sensitivity


def neighbours(loss: Any, dim: int, n: int) -> Any:
    """Two data sets that differ in one record: random ones, and the worst shape, a record
    against its opposite.
    """
    rows = RNG.normal(size=(n, dim))
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    targets = RNG.uniform(-1, 1, n) if loss.of_numbers else RNG.choice([-1.0, 1.0], n)
    other_rows, other_targets = rows.copy(), targets.copy()
    if RNG.uniform() < 0.5:
        other_rows[0], targets[0], other_targets[0] = rows[0], 1.0, -1.0
    else:
        other_rows[0] = RNG.permutation(rows[0])
    return (rows, targets), (other_rows, other_targets)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_no_record_moves_the_minimum_by_more_than_claimed(loss):
    worst = 0.0
    for trial in range(300):
        ridge = float(10 ** RNG.uniform(-1, 2))
        one, other = neighbours(loss, int(RNG.integers(1, 5)), [1, 2, 30][trial % 3])
        moved = minimise(one[0], one[1], loss, ridge) - minimise(other[0], other[1], loss, ridge)
        worst = max(worst, float(np.sqrt(moved @ moved)) * ridge / (2 * loss.slope))
    # a logistic slope is 1/2 at 0
    assert 0.9 * (0.5 if isinstance(loss, LogisticLoss) else 1.0) < worst <= 1 + 1e-6


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_one_record_bends_the_volume_by_less_than_claimed(loss):
    worst = 0.0
    for trial in range(400):
        dim, ridge = int(RNG.integers(1, 5)), float(10 ** RNG.uniform(-1, 2))
        one, other = neighbours(loss, dim, [1, 2, 30][trial % 3])
        f = RNG.normal(size=dim) * RNG.choice([0.1, 1.0, 3.0])
        volumes = []
        for rows, targets in (one, other):
            curve = loss.second(rows @ f, targets)
            volumes.append(
                np.linalg.slogdet(ridge * np.eye(dim) + (rows * curve[:, None]).T @ rows)[1]
            )
        worst = max(worst, abs(volumes[0] - volumes[1]) / log1p(loss.curvature / ridge))
    assert 0.8 < worst <= 1 + 1e-9


# Constants


@pytest.mark.parametrize("epsilon", [1e-3, 0.025, 0.25, 1.0, 8.0, 100.0])
@pytest.mark.parametrize("dim", [1, 50, 400])
@pytest.mark.parametrize("easing", [0.1, 1.0, 100.0])
def test_the_parts_of_epsilon_add_up_to_it_and_hardly_less(epsilon, dim, easing):
    l1_bound, slope, curvature = 0.7 * dim**0.5 + 0.3, 1.0, 1.0  # of the Huber hinge
    ridge = easing * usual_ridge(epsilon, dim, slope, l1_bound)
    root = Fraction(isqrt(dim << 60) + 1, 1 << 30)
    plan = objective(epsilon, dim, HuberHinge(), l1_bound, ridge)
    tilt = 2 * Fraction(slope) * Fraction(l1_bound) / (Fraction(plan.tilt_step) * plan.tilt_scale)
    short = (root * Fraction(plan.tilt_step) + Fraction(plan.tolerance)) / Fraction(plan.ridge)
    width = ceil(2 * root * short / Fraction(plan.step)) + dim
    spent = tilt + Fraction(log1p(curvature / plan.ridge)) + Fraction(width, plan.noise_scale)
    assert Fraction(epsilon) * Fraction(96, 100) < spent <= Fraction(epsilon)
    assert plan.ridge >= max(ridge, least_ridge(epsilon, curvature))
    assert plan.noise_scale < 1 << 40
    plan = output(epsilon, dim, HuberHinge(), ridge)
    width = (
        ceil(root * 2 * (1 + Fraction(plan.tolerance)) / Fraction(plan.ridge) / Fraction(plan.step))
        + dim
    )
    assert (
        Fraction(epsilon) * Fraction(97, 100)
        < Fraction(width, plan.noise_scale)
        <= Fraction(epsilon)
    )


def test_noise_falls_with_epsilon_where_the_published_rule_jumps():
    epsilons = np.geomspace(0.01, 20, 60).tolist()
    for ridge in (1e-3, 0.1, 15.8, 1e3):
        tilts = [objective(e, 50, HuberHinge(), 5.0, ridge).tilt_size for e in epsilons]
        noises = [output(e, 50, HuberHinge(), ridge).noise_size for e in epsilons]
        assert (np.diff(tilts) < 0).all()
        assert (np.diff(noises) < 0).all()
    sizes = [perturb_as_published(epsilon, 1.0, 15.8, 7.9).tilt_size for epsilon in (0.1, 0.25)]
    assert sizes[1] > 4 * sizes[0]


# Laws


def spread_z(points, formula):
    """How many standard errors the mean square lies from the formula."""
    squares = points.astype(np.float64) ** 2
    return (squares.mean() - formula) / (squares.std() / np.sqrt(squares.size))


def test_noise_of_output_perturbation_is_discrete_laplace():
    query = ask("output", 0.7, plain(2))
    points = query.release(sites(np.zeros((1, 2)), np.zeros(1, int), 4_000), 0.7, seeded(1)).points
    formula = variance(query.plan(0.7).noise_scale)
    assert abs(spread_z(points, formula)) < 5  # one in a million
    assert abs(spread_z(points, formula * 0.85)) > 5
    assert abs(spread_z(points, formula * 1.15)) > 5
    assert abs(points.mean()) < 5 * np.sqrt(formula / points.size)


def test_noise_of_objective_perturbation_passes_the_ridge():
    query = ask("objective", 0.7, plain(2), ridge=8.0)
    empty = Cohort(np.zeros((0, 2)), np.zeros(0, np.int64), np.zeros(4_001, np.int64))
    plan = query.plan(0.7)
    values = query.collect(query.release(empty, 0.7, seeded(2)), 0.7).values
    formula = 2 * (plan.tilt_size / plan.ridge) ** 2 + 2 * plan.noise_size**2
    assert abs(spread_z(values, formula)) < 5
    assert abs(spread_z(values, formula * 0.85)) > 5
    assert abs(spread_z(values, formula * 1.15)) > 5


# Audit


class Broken(TrainSite):
    """Half of the noise."""

    def plan(self, epsilon):
        whole = super().plan(epsilon)
        return replace(
            whole, tilt_step=whole.tilt_step / 2, noise_scale=max(1, whole.noise_scale // 2)
        )


def proven(query, n=2_500):
    """A lower bound of epsilon, confidence 0.999: records whose slopes are as far apart as can
    be.
    """
    rows = np.array([[1.0], [0.5]])
    drawn = []
    for number, labels in enumerate(([1, 1], [0, 1])):
        reports = query.release(sites(rows, np.array(labels), n), 2.0, seeded(5).child(number))
        drawn.append(query.collect(reports, 2.0).values[:, 0])
    # half of the first lie above; of the second, e^-epsilon times as many
    cut = np.median(drawn[0])
    hits = [int((values >= cut).sum()) for values in drawn]
    return epsilon_lower_bound(hits[0], n, hits[1], n, 0.999)


@pytest.mark.parametrize("privacy", ["objective", "output"])
def test_reports_prove_no_more_than_epsilon_and_catch_half_the_noise(privacy):
    query = ask(privacy, 2.0, ridge=40.0)
    assert 1.2 < proven(query) <= 2.0
    broken = Broken(1, 1, None, query.projection, query.loss, 2, privacy, query.menu, query.ridge)
    assert proven(broken) > 2.0


# Use


def odd_cohort():
    """Sites with nothing, one class, fewer rows than columns, constant columns, NaN, and plain
    ones.
    """
    X = RNG.normal(size=(66, 3))
    X[10:20] = X[10]
    X[20:25] = np.nan
    X[25] = np.inf
    y = RNG.integers(0, 2, 66)
    y[:10] = 1
    offsets = np.array([0, 0, 10, 20, 26, 27, 66])
    return Cohort(X, y, offsets)


@pytest.mark.parametrize(
    "privacy", ["objective", "output", "none", "published", "published, Lambda"]
)
def test_odd_sites_report_like_all_others(privacy):
    query = ask(privacy, 1.0, plain(3, l1_bound=1.5))
    reports = query.release(odd_cohort(), 1.0, seeded(1))
    assert reports.form == query.blank(1).form
    assert query.valid(reports, 1.0).all()
    found = query.collect(reports, 1.0)
    assert np.isfinite(found.values).all()
    assert found.values.shape == (6, 3)


def test_a_site_alone_says_what_it_says_among_others():
    query, cohort = ask("objective", [0.5, 2.0], plain(3)), odd_cohort()
    epsilon = np.array([0.5, 2.0, 2.0, 0.5, 2.0, 0.5])
    together = query.release(cohort, epsilon, seeded(3)).points
    for site in range(6):
        alone = query.release(
            cohort[site : site + 1], epsilon[site : site + 1], seeded(3).of(np.array([site]))
        )
        np.testing.assert_array_equal(alone.points[0], together[site])
    assert (query.release(cohort, epsilon, seeded(4)).points != together).any()
    assert (
        query.release(cohort, epsilon, secure()).points
        != query.release(cohort, epsilon, secure()).points
    ).any()


def test_more_classes_share_epsilon_in_one_report():
    query = ask("objective", 3.0, plain(2), labels=3)
    assert query.width == 6
    assert query.plan(3.0) == ask("objective", 1.0, plain(2)).plan(1.0)
    X = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    cohort = sites(np.repeat(X, 2_000, axis=0), np.repeat([0, 1, 2], 2_000), 1)
    vectors = query.collect(query.release(cohort, 3.0, seeded(1)), 3.0).values.reshape(3, 2)
    assert np.argmax(X @ vectors.T, axis=1).tolist() == [0, 1, 2]


def test_numbers_are_learned():
    x = RNG.uniform(-1, 1, 20_000)
    levels = np.rint((0.6 * x + 1) / 2 * LEVELS).astype(np.int64)
    query = ask("objective", 1.0, plain(1), loss=Huber(), labels=0)
    values = query.collect(query.release(sites(x[:, None], levels, 1), 1.0, seeded(1)), 1.0).values
    assert values[0, 0] == pytest.approx(0.6, abs=0.05)


def test_a_site_with_more_rows_than_are_covered_uses_the_first(monkeypatch):
    sharp = HuberHinge(h=2.0**-10)
    proven = ask("objective", 1.0, plain(3), loss=sharp, ridge=1000.0).plan(1.0).rows
    assert 10_000 < proven < 100_000
    monkeypatch.setattr("tacit.learners.sites.descent._ENTRIES", 1 << 13)  # with less memory
    query = ask("objective", 1.0, plain(3), loss=sharp, ridge=1001.0)
    few = query.plan(1.0).rows
    assert 1_000 < few < 3_000
    X, y = RNG.normal(size=(few + 50, 3)), RNG.integers(0, 2, few + 50)
    longer, shorter = sites(X, y, 1), sites(X[:few], y[:few], 1)
    reports = [query.release(cohort, 1.0, seeded(1)).points for cohort in (longer, shorter)]
    np.testing.assert_array_equal(reports[0], reports[1])
    fewer = query.release(sites(X[: few - 50], y[: few - 50], 1), 1.0, seeded(1)).points
    assert (fewer != reports[0]).any()


def test_a_tilt_beyond_its_tail_leaves_rows_out():
    query = ask("objective", 1.0, plain(3))
    plan, y = query.plan(1.0), np.ones(40, dtype=np.int64)
    far = np.array([[2 * plan.descent.tilt, 0.0, 0.0]])
    with_rows = query._minima(RNG.normal(size=(40, 3)), y, plan, far)
    np.testing.assert_array_equal(with_rows, query._minima(np.zeros((0, 3)), y[:0], plan, far))


@pytest.mark.parametrize("privacy", ["objective", "output"])
@pytest.mark.parametrize("labels", [2, 3])
def test_only_what_an_honest_site_could_send_is_valid(privacy, labels):
    query = ask(privacy, [0.5, 2.0], plain(3), labels=labels)
    for epsilon in (0.5, 2.0):
        plan, report = query.plan(epsilon), query.blank(2)
        report.points[:, -1] = plan.limit
        report.points[1, -1] += 1
        assert query.valid(report, epsilon).tolist() == [True, False]
        assert query.valid(reports_negated(query, report), epsilon).tolist() == [True, False]
        one = query.collect(report, epsilon).values[0]
        assert float(np.linalg.norm(one)) <= query.longest(epsilon)
        honest = query.release(odd_cohort(), epsilon, seeded(2))
        assert np.abs(honest.points).max() < plan.limit / 5


def reports_negated(query, reports):
    other = query.blank(len(reports))
    other.points[:] = -reports.points
    return other


def test_parts_of_epsilon_are_rationals_of_what_is_written():
    """Seven vectors at 0.1: K times what each spends is at most a tenth, not the float next to
    it.
    """
    for labels in (3, 7, 10):
        query = ask("output", 0.1, plain(2), labels=labels)
        plan = query.plan(0.1)
        root = Fraction(isqrt(2 << 60) + 1, 1 << 30)
        moved = 2 * (1 + Fraction(plan.tolerance)) / Fraction(plan.ridge)
        width = ceil(root * moved / Fraction(plan.step)) + 2
        assert labels * Fraction(width, plan.noise_scale) <= Fraction(1, 10)


def test_the_question_travels():
    query = ask("objective", [0.5, 2.0], plain(3, l1_bound=1.5), easing=0.3)
    again = decode(encode(query), Query)
    assert encode(again) == encode(query)
    cohort = odd_cohort()
    np.testing.assert_array_equal(
        again.release(cohort, 2.0, seeded(1)).points, query.release(cohort, 2.0, seeded(1)).points
    )
    assert (again.what, again.how, again.dim, again.classes) == ("site", "objective", 3, 2)


def test_what_may_only_be_simulated_says_so():
    assert ask("objective").unsound == ask("output").unsound == ""
    assert ask("none").unsound
    assert ask("published").unsound
    assert (TrainSite.unit, TrainSite.adjacency) == (
        "record",
        "one record of a site replaced, added or removed",
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ask(epsilon=1e-5), r"^epsilon must be between 0.0001 and 100.0 for each vector"),
        (lambda: ask(epsilon=2e-4, labels=3), r"^epsilon must be between"),
        (lambda: ask("output", 200.0), r"^epsilon must be between"),
        (lambda: ask("laplace"), r"^privacy must be one of"),
        (lambda: ask(loss=Huber()), r"^loss must be one for numbers"),
        (
            lambda: ask(loss=Squared(), labels=0),
            r"^a loss with slopes without bound cannot be trained privately",
        ),
        (lambda: ask("output", loss=Squared(), labels=0), r"^a loss with slopes without bound"),
        (lambda: ask(easing=0.0), r"^easing must be a finite number > 0"),
        (
            lambda: TrainSite(1, 1, None, plain(1), HuberHinge(), 2, "output", (2.0, 1.0)),
            r"^epsilons must be numbers",
        ),
        (
            lambda: TrainSite(
                1, 1, None, plain(1), HuberHinge(), labels=2, privacy="output", menu=(1.0, np.inf)
            ),
            r"^epsilons must be a finite number",
        ),
        (
            lambda: TrainSite(0, 1, None, plain(1), HuberHinge(), 2, "output", (1.0,)),
            r"^round must be",
        ),
        (lambda: ask(ridge=-1.0), r"^ridge must be a finite number > 0"),
        (lambda: ask(ridge=2.0**41), r"^ridge must be at most 1.09951e\+12, and large enough"),
        (
            lambda: ask(epsilon=1e-4, projection=plain(3000)),
            r"^ridge must be .* larger ridge, h or",
        ),
        (lambda: HuberHinge(h=2.0**-11), r"^h must be between 0.000976562 and 1024"),
        (lambda: Huber(h=1e-9), r"^h must be between"),
    ],
)
def test_refused_before_anybody_is_asked(make, message):
    with pytest.raises(ValueError, match=message):
        make().check_plans()


@pytest.mark.parametrize("bits", [*range(40), 60, 300, 1000])
def test_a_logarithm_is_bounded_from_above_in_few_steps(bits, monkeypatch):
    calls = []

    def count(x: Fraction) -> Fraction:
        calls.append(x)
        return exp_below(x)

    monkeypatch.setattr(perturbation, "exp_below", count)
    value = 1 + Fraction(1, 1 << bits)
    found = _log_above(value)
    with localcontext() as context:
        context.prec = 700
        true = (Decimal(value.numerator) / Decimal(value.denominator)).ln()
        ratio = Decimal(found.numerator) / Decimal(found.denominator) / true
    assert 1 <= ratio < 1 + Decimal(2) ** -19
    assert len(calls) <= 5
