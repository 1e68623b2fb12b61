"""Maps that are folded into weights say what mapping first would say."""

import numpy as np
import pytest

from tacit.learners.models.features import FeatureMap, Joined, Products, Rows, Waves
from tacit.learners.models.scores import Mapped

DIM, FEATURES, CLASSES = 6, 9, 3


def some_map(expansion, rng):
    width = expansion.width(DIM)
    matrix = rng.normal(size=(width, FEATURES))
    return FeatureMap(expansion, rng.normal(size=width), matrix, level=0.5)


@pytest.mark.parametrize("kind", [Rows, Products, Waves])
def test_folded_scores_are_those_of_mapped_rows(kind):
    rng = np.random.default_rng(3)
    bent = Rows() if kind is Rows else kind(rng.normal(size=DIM), rng.normal(size=(DIM, 4)))
    features = some_map(Joined((Rows(), bent)), rng)
    weights = rng.normal(size=(FEATURES + 1, CLASSES))
    X = rng.normal(size=(50, DIM))
    plain = features.transform(X) @ weights
    scores = Mapped(features, weights).scores(X, CLASSES)
    assert np.allclose(scores, plain, rtol=0, atol=1e-12 * np.abs(plain).max())
    near_miss = Mapped(features, weights * (1 + 1e-9)).scores(X, CLASSES)
    assert not np.allclose(near_miss, plain, rtol=0, atol=1e-12 * np.abs(plain).max())


def test_a_row_is_scored_the_same_alone_and_among_others():
    rng = np.random.default_rng(4)
    term = Mapped(some_map(Rows(), rng), rng.normal(size=(FEATURES + 1, CLASSES)))
    X = rng.normal(size=(40, DIM))
    alone = np.vstack([term.scores(X[row : row + 1], CLASSES) for row in range(len(X))])
    assert (term.scores(X, CLASSES) == alone).all()
