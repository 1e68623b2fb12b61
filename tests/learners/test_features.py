"""Maps that are folded into weights say what mapping first would say."""

import numpy as np
import pytest

from tacit.learners.models.features import FeatureMap, Joined, Products, Rows, Waves
from tacit.learners.models.scores import Leaves, Mapped, Trees

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


def some_trees(rng, number=7, size=31):
    """Trees whose nodes ask or are leaves at random, roots apart."""
    here = np.arange(number * size)
    last = here // size * size + size - 1
    left, right = (np.minimum(rng.integers(here + 1, last + 2), last) for _ in range(2))
    is_leaf = (rng.random(len(here)) < 0.2) | (here == last)
    column = np.where(is_leaf, -1, rng.integers(0, DIM, len(here)))
    cut, value = rng.normal(size=(2, len(here)))
    roots, classes = here[::size].copy(), rng.integers(0, CLASSES, number)
    return Trees(column, cut, left, right, value, roots, classes)


@pytest.mark.parametrize("rows", [1, 127, 128, 300])
def test_rows_walk_to_the_leaf_that_one_finds_by_hand(rows):
    rng = np.random.default_rng(rows)
    trees, X = some_trees(rng), rng.normal(size=(rows, DIM))
    X[::5, 1], X[::7, 2] = np.nan, np.inf
    number = np.cumsum(trees.column < 0) - 1
    scores, marks = np.zeros((rows, CLASSES)), np.zeros((rows, trees.leaves))
    for i, row in enumerate(X):
        for root, which in zip(trees.roots, trees.classes, strict=True):
            node = root
            while trees.column[node] >= 0:
                below = row[trees.column[node]] <= trees.cut[node]
                node = trees.left[node] if below else trees.right[node]
            scores[i, which] += trees.value[node]
            marks[i, number[node]] = 1.0
    assert trees.scores(X, CLASSES).tobytes() == scores.tobytes()
    assert trees.indicators(X).tobytes() == marks.tobytes()


def test_a_joined_map_has_the_bits_of_its_parts():
    rng = np.random.default_rng(5)
    centre = rng.normal(size=DIM)
    parts = (
        Rows(),
        Products(centre, rng.normal(size=(DIM, 3))),
        Leaves(some_trees(rng)),
        Waves(centre, rng.normal(size=(DIM, 11)) * 5),
    )
    X = rng.normal(size=(45, DIM))
    whole = np.hstack([part.expand(X) for part in parts])
    assert Joined(parts).expand(X).tobytes() == whole.tobytes()
    width = whole.shape[1]
    centres, scales = rng.normal(size=(2, width))
    features = FeatureMap(Joined(parts), centres, scales, 0.3)
    wanted = np.hstack([np.full((45, 1), 0.3), (whole - features.centre) * features.matrix])
    assert features.transform(X).tobytes() == wanted.tobytes()
    assert features.transform(X[7:8]).tobytes() == wanted[7].tobytes()
