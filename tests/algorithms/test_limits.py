"""What the default does in its limits: owners that are very many, and owners that add nothing."""

import pytest
from benchmarks.problems.problem import Setting, problem_of

from tacit import seeded
from tacit.algorithms.combination import Combination
from tacit.algorithms.outlook import MAPS, RICH_MAPS, look_ahead, maps_for
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.engines.inline import Inline
from tacit.estimators.planning import Plan


def public_of(family, rows, seed=0):
    return problem_of(Setting(family, seed, 10, rows)).public


def maps_of(look):
    assert isinstance(look.combination, Combination)
    return look.combination.maps


@pytest.mark.parametrize(
    ("family", "rows", "owners", "maps"),
    [
        ("clusters", 1000, 1_000_000, RICH_MAPS),
        ("clusters", 1000, 100_000, MAPS),  # noise is what limits
        ("clusters", 400, 1_000_000, MAPS),  # fewer rows than features
        ("linear", 1000, 10_000_000, MAPS),  # labels are mostly chance
        ("ten classes", 1000, 10_000_000, MAPS),
    ],
)
def test_waves_are_asked_for_where_the_map_is_what_limits(family, rows, owners, maps):
    public = public_of(family, rows)
    assert maps_for(public, fit_public(public), Population(owners, 1.0)) == maps


def test_other_owners_may_have_another_map():
    public = public_of("clusters", 1000)
    few = look_ahead(public, fit_public(public), Population(30_000, 1.0))
    many = few.among(Population(3_000_000, 1.0))
    assert maps_of(few) == MAPS
    assert maps_of(many) == RICH_MAPS
    assert "waves" in many.features
    assert maps_of(many.among(Population(30_000, 1.0))) == MAPS
    chosen = look_ahead(public, few.own, Population(30_000, 1.0), ("linear",))
    assert maps_of(chosen.among(Population(3_000_000, 1.0))) == ("linear",)


def test_what_public_rows_alone_know_is_not_lost_where_nobody_is_asked():
    """Three products of columns, 1,000 public rows: these show that a model by products is better
    than trees. The data user had trees all the same, 65.6 % for 71, where owners were too few to be
    asked.
    """
    problem = problem_of(Setting("products", 2, 1_000, 1000))
    own, crowd = fit_public(problem.public), Population(1_000, 0.5)
    look = look_ahead(problem.public, own, crowd)
    engine = Inline(problem.cohort, 0.5, seeded(1))
    refined = engine.run(refine(problem.public, crowd, "auto", 0.5, outlook=look))
    assert engine.speakers == 0
    assert refined.records == ()
    right = [problem.accuracy(each.predict(problem.X_test)) for each in refined.stages]
    assert right[0] == problem.accuracy(own.model.predict(problem.X_test))
    assert right[1] > right[0] + 0.04
    plan = Plan.of(look)
    assert not plan.collect
    assert plan.rise == 0
    assert plan.unasked == pytest.approx(right[1] - right[0], abs=0.03)
    assert "a model by columns and their products" in refined.ended
    assert "without asking anybody" in str(plan)


def test_what_public_rows_say_beyond_trees_is_not_lost_where_nobody_is_asked():
    """Heavy tails, 1,000 public rows: the belief begins as trees, which labels have moved. 68.5 %
    for 69.5, where owners were not asked.
    """
    problem = problem_of(Setting("heavy tails", 0, 1_000, 1000))
    own, crowd = fit_public(problem.public), Population(1_000, 0.5)
    look = look_ahead(problem.public, own, crowd)
    assert look.why_not
    assert look.unasked == pytest.approx(look.promised)
    refined = Inline(problem.cohort, 0.5, seeded(1)).run(
        refine(problem.public, crowd, "auto", 0.5, outlook=look)
    )
    right = [problem.accuracy(each.predict(problem.X_test)) for each in refined.stages]
    assert right[1] > right[0] + 0.005


def test_of_many_classes_answers_must_make_up_for_what_the_belief_is_behind_by():
    """Ten clouds, fifty public rows: discriminants are right on three rows more than what the
    belief begins as. Answers at epsilon 0.1 became 4.4 points less; at epsilon 1 they bring five.
    """
    public = public_of("ten classes", 50, seed=6)
    own = fit_public(public)
    few, many = (look_ahead(public, own, Population(30_000, each)) for each in (0.1, 1.0))
    assert "make up for" in few.why_not
    assert few.unasked is None
    assert few.promised == 0
    assert not many.why_not
    assert many.promised > 0.01


def test_a_belief_that_begins_behind_is_asked_about_where_answers_bring_much():
    """Ten clouds, thirty public rows at epsilon 1: nobody was asked, and 11 points would come."""
    public = public_of("ten classes", 30, seed=6)
    assert not look_ahead(public, fit_public(public), Population(30_000, 1.0)).why_not


def test_where_nobody_is_asked_a_linear_model_stays_as_it_is():
    """There the belief begins as it."""
    problem = problem_of(Setting("linear", 2, 1_000, 300))
    crowd = Population(1_000, 0.1)
    refined = Inline(problem.cohort, 0.1, seeded(1)).run(refine(problem.public, crowd, "auto", 0.1))
    assert refined.model is refined.own.model
    assert "nobody was asked" in refined.ended
