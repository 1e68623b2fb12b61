"""Real images, where TACIT_DATA names a folder that has them."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid

from tacit_papers.datasets import DataMissing, fashion_words, load_fashion, load_mnist, mnist_words


def loaded(load):
    try:
        return load()
    except DataMissing as missing:
        pytest.skip(str(missing))


def small(words, tmp_path, monkeypatch):
    """A smaller set than the paper's, made anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    try:
        return words(per_class=3_000)
    except DataMissing as missing:
        pytest.skip(str(missing))


def test_mnist():
    train, labels, test, test_labels = loaded(load_mnist)
    assert (train.shape, test.shape, train.dtype) == ((60_000, 28, 28), (10_000, 28, 28), np.uint8)
    assert np.bincount(labels).tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    assert np.bincount(test_labels).tolist() == [
        980,
        1135,
        1032,
        1010,
        982,
        892,
        958,
        1028,
        974,
        1009,
    ]


def test_fashion():
    train, labels, test, test_labels = loaded(load_fashion)
    assert (labels == 0).sum() == (labels == 6).sum() == 6_000
    assert np.bincount(test_labels).tolist() == [1_000] * 10
    assert (train.shape[1:], test.shape) == ((28, 28), (10_000, 28, 28))


def test_mnist_words_are_as_good_as_the_papers(tmp_path, monkeypatch):
    split = small(mnist_words, tmp_path, monkeypatch)
    assert (
        repr(split) == "Split('mnist_words', dim=50, classes=2, train=6000, public=1000, test=1982)"
    )
    assert (
        NearestCentroid().fit(split.X_train, split.y_train).score(split.X_test, split.y_test) > 0.90
    )
    assert (
        LinearDiscriminantAnalysis()
        .fit(split.X_public, split.y_public)
        .score(split.X_test, split.y_test)
        > 0.93
    )
    assert (
        LogisticRegression(max_iter=300)
        .fit(split.X_train, split.y_train)
        .score(split.X_test, split.y_test)
        > 0.94
    )
    centroids = [split.X_train[split.y_train == k].mean(axis=0) for k in (0, 1)]
    assert 1.2 < np.linalg.norm(centroids[0] - centroids[1]) < 2.2


def test_fashion_words(tmp_path, monkeypatch):
    split = small(fashion_words, tmp_path, monkeypatch)
    assert (
        repr(split)
        == "Split('fashion_words', dim=100, classes=2, train=6000, public=1000, test=2000)"
    )
    assert (
        NearestCentroid().fit(split.X_train, split.y_train).score(split.X_test, split.y_test) > 0.76
    )
