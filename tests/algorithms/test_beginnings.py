"""What the belief is before anybody has answered: the data user's own model, unless labels alone
predict rows better that neither has seen.
"""

from dataclasses import replace

import numpy as np

from tacit.algorithms.combination import Combination
from tacit.algorithms.outlook import MAPS
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.data.cohort import Public

CROWD = Population(10_000, 1.0)


def line(rows, seed=0):
    """Two classes on two sides of a line, in six columns."""
    coins = np.random.default_rng(seed)
    X = np.clip(0.35 * coins.normal(size=(rows, 6)), -1, 1)
    return Public(X, (4 * X[:, 0] - 3 * X[:, 1] > coins.logistic(size=rows)).astype(int), 2)


def clouds(rows, seed=0):
    """Five round clouds in four columns, for which linear discriminants are the right model."""
    centres = 0.25 * np.random.default_rng(9).normal(size=(5, 4))
    coins = np.random.default_rng(seed)
    y = np.arange(rows) % 5
    return Public(np.clip(centres[y] + 0.12 * coins.normal(size=(rows, 4)), -1, 1), y, 5)


def has_model(belief):
    return any(group.name == "model" for group in belief.basis.groups)


def agreement(belief, own, X):
    return float(np.mean(belief.model.predict(X) == own.model.predict(X)))


def test_trees_are_left_out_where_labels_alone_are_clearly_ahead():
    public = line(300)
    assert not has_model(Combination(public, fit_public(public, ("boosted trees",)), MAPS, CROWD))


def test_trees_stay_where_it_is_not_clear_who_is_ahead():
    """Trees that would predict unseen rows as labels alone do, which is a lead of next to nothing:
    once, any lead was enough, and ten digits with a thousand rows lost a point.
    """
    public = line(300)
    own = fit_public(public, ("boosted trees",))
    alone = Combination(public, own, MAPS, CROWD)
    assert has_model(Combination(public, replace(own, held_out=alone.held_out), MAPS, CROWD))


def test_of_several_classes_it_begins_as_a_model_that_rows_tell():
    public, others = clouds(300), clouds(5000, seed=1)
    own = fit_public(public, ("linear discriminants",))
    assert agreement(Combination(public, own, MAPS, CROWD), own, others.X) > 0.995


def test_of_several_classes_and_few_rows_it_begins_as_labels_say():
    public, others = clouds(15), clouds(5000, seed=1)
    own = fit_public(public, ("linear discriminants",))
    assert agreement(Combination(public, own, MAPS, CROWD), own, others.X) < 0.98


def test_a_class_that_no_row_shows_is_not_ruled_out():
    """A model fitted to such rows would: then labels speak for themselves."""
    public = clouds(300)
    known = public.y != 4
    public = Public(public.X[known], public.y[known], 5)
    own = fit_public(public, ("linear discriminants",))
    scores = Combination(public, own, MAPS, CROWD).model.scores(public.X)
    assert scores[:, 4].max() > own.model.scores(public.X)[:, 4].max() + 2
