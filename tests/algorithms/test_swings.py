"""Mode and scales of a belief in turn need not come to rest: what they may not do."""

from collections.abc import Generator

import numpy as np
from benchmarks.problems.problem import Problem, Setting, problem_of

from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import Refined, refine
from tacit.learners.query import Answer

EPSILON = 4.0


def answer_exactly(
    asking: Generator, problem: Problem, crowd: Population, coins: np.random.Generator
) -> Refined:
    """Drive an algorithm by mean shares of its owners, with noise of the mechanism's variance."""
    order = coins.permutation(len(problem.cohort))
    try:
        query = next(asking)
        while True:
            who, order = np.sort(order[: query.owners]), order[query.owners :]
            mean = query.learner.share(query, problem.cohort[who]).mean(axis=0)
            error = query.learner.radius * np.sqrt(crowd.cost(len(mean)) / len(who))
            noise = coins.normal(size=len(mean)) * error
            query = asking.send(Answer(mean + noise, np.full(len(mean), error), len(who)))
    except StopIteration as end:
        return end.value


def test_scales_that_swing_do_not_win():
    """Three hundred rows, one in fifty thirty times as far out, and trees that the belief begins
    as: products of far rows explain labels by heart. Scales swung between nothing and far too much,
    and ended at the latter in one of four runs: accuracy .547 after two rounds, .635 alone.
    """
    problem = problem_of(Setting("outliers", 0, 30_000, 300))
    own, crowd = fit_public(problem.public), Population(30_000, EPSILON)
    alone = problem.accuracy(own.model.predict(problem.X_test))
    look = look_ahead(problem.public, own, crowd)
    for seed in range(3):
        asking = refine(problem.public, crowd, "auto", EPSILON, own=own, outlook=look)
        refined = answer_exactly(asking, problem, crowd, np.random.default_rng(seed))
        for stage in refined.stages[1:]:
            assert problem.accuracy(stage.predict(problem.X_test)) > alone
