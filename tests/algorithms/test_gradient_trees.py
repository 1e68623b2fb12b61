"""Private gradient boosting: right without noise, better than the default where it should be,
and it does no harm.
"""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import tacit
from tacit.algorithms.gradient_trees import Growth, blank, grow
from tacit.algorithms.question import Population
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.estimators.classifier import PrivateClassifier
from tacit.mechanisms.streams import seeded
from tacit_papers.ours.tasks import board


def rows(n, seed):
    """A checkerboard of two columns: nothing that a linear model or a stump could see."""
    coins = np.random.default_rng(seed)
    X = coins.uniform(-1, 1, size=(n, 4))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (coins.random(n) < 0.05)).astype(np.int64)


def grown(growth, mechanism, epsilon, known, n=40_000, own=None):
    X, y = rows(n, 1)
    cohort = Cohort(X, y, np.arange(n + 1))
    return Inline(cohort, epsilon, seeded(1)).run(
        grow(known, Population(n, epsilon), mechanism, epsilon, growth, own)
    )


@pytest.fixture(scope="module")
def known():
    X, y = rows(500, 2)
    return Public(X, y, 2)


def test_without_noise_it_is_as_good_as_a_library(known):
    X, y = rows(20_000, 3)
    library = HistGradientBoostingClassifier(
        max_iter=20, max_depth=2, max_bins=4, learning_rate=0.5
    )
    library.fit(*rows(40_000, 1))
    deep, flat = (
        grown(Growth(20, depth), "none", 1.0, known, own=blank(known)) for depth in (2, 1)
    )
    assert np.mean(deep.model.predict(X) == y) > library.score(X, y) - 0.05
    assert np.mean(flat.model.predict(X) == y) < 0.6  # depth is needed here
    assert len(deep.records) == 40
    assert len(deep.stages) == 21


def test_noise_does_little_harm(known):
    X, y = rows(20_000, 3)
    found = grown(Growth(4, 3), "auto", 0.1, known, n=4_000)
    alone, after = (np.mean(each.predict(X) == y) for each in (found.stages[0], found.model))
    assert alone > 0.9
    assert after > alone - 0.02


def test_owners_that_run_out_leave_what_was_grown(known):
    generator = grow(known, Population(100, 1.0), "auto", 1.0, Growth(2, 2), blank(known))
    next(generator)
    with pytest.raises(StopIteration) as end:
        generator.send(None)
    assert end.value.value.ended == "owners ran out after 0 questions"
    assert len(end.value.value.stages) == 1


def test_three_classes_are_refused():
    public = Public(np.zeros((9, 2)), np.arange(9) % 3, 3)
    with pytest.raises(ValueError, match="classes must be two"):
        next(grow(public, Population(100, 1.0), "auto", 1.0, Growth()))


def test_the_estimator_grows_saves_and_loads(tmp_path):
    split = board(60_000, public=300, test=2_000)
    model = PrivateClassifier(epsilon=8.0, features="trees", rounds=2, random_state=1)
    model.fit(split.X_train, split.y_train, public=(split.X_public, split.y_public))
    assert model.ended_ == "all 2 trees of depth 3"
    model.save(tmp_path / "m.tacit")
    again = tacit.load(tmp_path / "m.tacit")
    np.testing.assert_array_equal(again.predict(split.X_test), model.predict(split.X_test))
