"""How much each column counts, and wide features that follow it."""

import numpy as np
import pytest

from tacit.algorithms.public_relevance import relevance
from tacit.algorithms.wide_features import SMOOTH, wide_map
from tacit.data.cohort import Public
from tacit.learners.models.features import Joined, Waves


def test_columns_that_count_are_told_from_the_rest_and_few_rows_tell_little():
    coins = np.random.default_rng(3)
    X = coins.normal(size=(600, 5))
    labels = (X[:, 1] + X[:, 3] ** 2 > 1).astype(int)
    many = relevance(X, labels, 2)
    assert many.mean() == pytest.approx(1.0)
    assert min(many[1], many[3]) > 1.2
    assert max(many[0], many[2], many[4]) < 0.8
    few = relevance(X[:30], labels[:30], 2)
    assert np.ptp(few) < np.ptp(many) / 2
    turned = coins.permutation(labels)  # labels of other rows: nothing counts more
    assert np.ptp(relevance(X, turned, 2)) < np.ptp(many) / 2


@pytest.mark.parametrize("rows", [np.zeros((20, 3)), np.eye(3)[np.arange(20) % 3] - 1 / 3])
def test_where_nothing_is_told_all_columns_count_alike(rows):
    one_class = relevance(rows, np.zeros(len(rows), dtype=np.int64), 2)
    np.testing.assert_array_equal(one_class, np.ones(3))


def test_waves_turn_along_columns_that_count():
    """Alike columns, of which one decides: waves change faster along it, and columns are louder."""
    coins = np.random.default_rng(4)
    X = coins.normal(size=(400, 4))
    features = wide_map(Public(X, (X[:, 2] > 0).astype(int), 2), SMOOTH)
    assert isinstance(features.expansion, Joined)
    waves = features.expansion.parts[-1]
    assert isinstance(waves, Waves)
    turns, scales = np.sqrt((waves.axes**2).mean(axis=1)), features.matrix[:4]
    for each in (turns, scales):
        assert each[2] > 1.4 * np.delete(each, 2).max()
