"""The level that owners are off by, as public rows tell it."""

import numpy as np
import pytest

from tacit.algorithms.public_level import expected_level
from tacit.learners.models.scores import contrasts, softmax


def rows(n, classes, off, seed):
    """Scores, and labels by them and by a level that the scores do not have."""
    coins = np.random.default_rng(seed)
    scores = coins.normal(size=(n, classes))
    chances = softmax(scores + contrasts(classes) @ np.full(classes - 1, off))
    labels = (chances.cumsum(axis=1) < coins.random((n, 1))).sum(axis=1)
    return scores, labels.clip(max=classes - 1)


@pytest.mark.parametrize("classes", [2, 5])
def test_a_level_that_rows_show_is_found(classes):
    found = [expected_level(*rows(1000, classes, 0.4, seed)) for seed in range(5)]
    assert np.abs(np.mean(found, axis=0) - 0.4).max() < 0.1


@pytest.mark.parametrize("n", [50, 300, 1000])
def test_where_there_is_none_next_to_nothing_is_added(n):
    """Over 100 samples: less than half of the error that the frequencies of rows have."""
    found = np.array([expected_level(*rows(n, 2, 0.0, seed))[0] for seed in range(100)])
    of_rows = np.sqrt(1 / (n * 0.5 * 0.8))  # chances vary, so less than n / 2 of them count
    assert np.sqrt((found**2).mean()) < 0.5 * of_rows


def test_a_class_that_rows_lack_does_not_go_away():
    level = expected_level(np.zeros((40, 3)), np.arange(40) % 2)
    chances = softmax((contrasts(3) @ level)[np.newaxis])[0]
    assert np.isfinite(level).all()
    assert chances[2] > 0.1
