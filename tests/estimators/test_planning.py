"""A plan does not contradict itself, whatever the rows."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tacit.algorithms.outlook import LEAST_GAIN, look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.data.sample import Sample
from tacit.estimators.group_planning import ACCURACY, GroupPlan, OwnerGroup
from tacit.estimators.measures import measure
from tacit.estimators.planning import Plan, measures_of_own


def world(rows, *, apart, common, columns=4):
    """Public rows whose classes are so far apart; the first has this part of them."""
    X, y = make_classification(
        rows,
        n_features=columns,
        n_informative=columns - 1,
        n_redundant=0,
        class_sep=apart,
        weights=[common],
        flip_y=0.0,
        random_state=1,
    )
    return Sample.of(X, y).public


@pytest.fixture(autouse=True)
def narrow_sums(monkeypatch):
    """Of sums with 2,000 numbers nothing else would be said, in seconds."""
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 150)


def plans(public):
    own = fit_public(public)
    for owners, epsilon, trust in (
        (3000, 1.0, "nobody"),
        (30_000, 1.0, "nobody"),
        (30_000, 4.0, "nobody"),
        (300, 1.0, "two servers"),
    ):
        yield Plan.of(look_ahead(public, own, Population(owners, epsilon, 1, trust, 1e-6)))


@pytest.mark.parametrize(  # every two values together once
    ("apart", "common", "rows"),
    [(0.3, 0.5, 40), (0.3, 0.9, 300), (5.0, 0.5, 300), (5.0, 0.9, 40)],
)
def test_advice_and_figures_say_the_same(apart, common, rows):
    for plan in plans(world(rows, apart=apart, common=common)):
        said = str(plan)
        assert plan.accuracy is None or plan.accuracy <= 1
        if not plan.collect:
            assert plan.rise == 0
            assert plan.accuracy == plan.public_accuracy
            assert plan.why_not in said
            assert not re.search(r"\+\d", said)  # no points that nobody will see
        elif not plan.raises_accuracy:
            assert plan.gain >= LEAST_GAIN
            assert f"should lower the log loss by {plan.gain:.3f} at accuracy" in said
        else:
            assert plan.rise > 0
            assert "should bring accuracy" in said


def test_what_public_rows_alone_say_is_no_gain_of_owners():
    """The belief's own model may look better than the data user's; few owners add nothing."""
    public = world(300, apart=0.3, common=0.5, columns=12)
    look = look_ahead(public, fit_public(public), Population(100, 1.0, 1, "two servers", 1e-6))
    assert look.rise > 0.01
    assert look.gain < LEAST_GAIN
    assert Plan.of(look).rise == 0


def test_rows_without_a_mistake_show_nothing_to_put_right():
    public = world(40, apart=5.0, common=0.5)
    own = fit_public(public)
    assert own.accuracy == 1.0
    look = look_ahead(public, own, Population(30_000, 1.0))
    assert look.gain >= LEAST_GAIN
    plan = Plan.of(look)
    assert "your rows, each left out in turn, are all predicted right" in str(plan)
    assert plan.public_accuracy == 41 / 42
    low, high = plan.public_between
    assert low < 41 / 42 < high == 1
    most = Plan.of(replace(look, rise=0.9, doubt="")).accuracy
    assert most == pytest.approx(1)  # and never more


def test_a_rise_may_be_nothing_or_four_times_what_is_foretold():
    """Of so many public rows that they leave nothing open a plan says what the rise leaves; of few
    rows and no rise, what they leave.
    """
    public = world(60, apart=1.0, common=0.5)
    plan = Plan.of(look_ahead(public, fit_public(public), Population(100_000, 1.0)))
    sure = replace(plan, public_rows=10**12, public_accuracy=0.8, rise=0.02, why_not="")
    assert sure.between == pytest.approx((0.8, 0.88), abs=1e-4)
    few = replace(sure, public_rows=60, rise=0.0)
    assert few.between == pytest.approx(few.public_between)
    both = replace(few, rise=0.02)
    assert both.between[0] < few.between[0] + 0.02 < few.between[1] + 0.02 < both.between[1]
    assert replace(both, public_accuracy=None).between == (0, 1)
    assert replace(both, rise=0.2).between[1] == 1


@pytest.mark.parametrize("trust", ["nobody", "two servers"])
def test_a_mistake_in_thousands_of_rows_is_nothing_to_ask_for(trust):
    """No "collect" for +0.0 points at accuracy 1.000: of 3,000 rows one is predicted wrong, and
    however much is hoped for there is no more than that to put right.
    """
    public = world(300, apart=5.0, common=0.5)
    own = replace(fit_public(public), accuracy=1 - 1 / 3000, expected=1 - 1 / 3000)
    look = look_ahead(public, own, Population(30_000, 4.0, 1, trust, 1e-6))
    plan = Plan.of(replace(look, gain=1.0))
    assert not plan.collect
    assert plan.rise == 0
    assert "predicted right" in str(plan)


def group_plan(rise, doubt):
    group = OwnerGroup(4, 100, 1.0)
    return GroupPlan("sites", group, 60, measure=ACCURACY, alone=0.8, rise=rise, doubt=doubt)


def test_a_rise_within_its_error_is_said_to_be_one():
    unsure = group_plan(0.0128, 0.02)
    assert not unsure.collect
    assert str(unsure).endswith(
        "may well not beat your own 60 rows (accuracy 0.800): accuracy could change by anything "
        "from -2.7 to +5.3 points."
    )
    worse = group_plan(-0.01, 0.001)
    assert str(worse).endswith("-1.00 points, +0.1 is the least worth asking for.")
    better = group_plan(0.02, 0.01)
    assert better.collect
    assert np.isclose(better.together, 0.82)


def test_measures_of_public_rows_are_of_rows_that_chose_nothing():
    """Labels that nothing tells: a temperature or a candidate that a row itself had chosen would
    make it likelier than chance. 60 samples: means are within 4 standard errors of what fresh rows
    show, and what all rows choose is beyond.
    """
    rng = np.random.default_rng(5)
    judged, chosen = [], []
    for _ in range(60):
        X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
        rng.shuffle(y)
        public = Sample.of(X, y).public
        own = fit_public(public)
        found = measures_of_own(own, public)
        assert found is not None
        assert own.accuracy is not None
        assert found["accuracy"].value == own.expected
        judged.append(found["accuracy"].value)
        chosen.append(own.accuracy)
    error = np.std(judged) / np.sqrt(60)
    assert abs(np.mean(judged) - 0.5) < 4 * error
    assert np.mean(chosen) > 0.5 + 0.01  # the best of three, by the rows it is judged on


def test_measures_of_public_rows_foretell_those_of_fresh_ones():
    """AUC, F1, log loss and calibration: 95 % intervals of 40 samples, of which fewer than 30
    would hold what fresh rows show in one of a million cases.
    """
    rng = np.random.default_rng(6)
    held = dict.fromkeys(("balanced accuracy", "F1", "AUC", "log loss"), 0)
    for _ in range(40):
        X = rng.normal(size=(3200, 4))
        y = (X[:, 0] + X[:, 1] + rng.logistic(size=3200) > 0).astype(int)
        sample = Sample.of(X[:200], y[:200])
        own = fit_public(sample.public)
        told = measures_of_own(own, sample.public)
        assert told is not None
        encoded = sample.schema.encode(X[200:])
        fresh = measure(own.model.probabilities(encoded.X), y[200:])
        for name in held:
            held[name] += abs(told[name].value - fresh[name].value) < told[name].error
    assert min(held.values()) >= 30, held


def test_rows_too_few_to_tell_have_no_measures():
    public = world(40, apart=0.3, common=0.5)
    few = replace(public, X=public.X[:6], y=public.y[:6])
    assert measures_of_own(fit_public(few), few) is None
