"""Images of a few classes, cut in parts first and augmented after."""

from typing import NamedTuple

import numpy as np

from tacit.checks import whole
from tacit.datasets.augment import augment
from tacit.datasets.idx import ByteArray
from tacit.datasets.images import Images
from tacit.types import IntArray


class Parts(NamedTuple):
    """Images and class numbers of the three parts; training rows are shuffled."""

    train: ByteArray
    y_train: IntArray
    public: ByteArray
    y_public: IntArray
    test: ByteArray
    y_test: IntArray


def cut(images: Images, chosen: tuple[int, ...], per_class: int, test_per_class: int, public: int, seed: int) -> Parts:
    """Classes `chosen`, numbered 0, 1, ..., in three parts.

    The data user's `public` images, as many of each class as of the others up to one, are drawn from the training
    images and leave them. The rest is augmented to `per_class` of each class. So training holds no image and no copy of
    an image of the other two parts. Test images are the first `test_per_class` of each class, or all if fewer.
    """
    per_class, test_per_class = whole("per_class", per_class, 1), whole("test_per_class", test_per_class, 1)
    public = whole("public", public, len(chosen))
    if not (len(chosen) >= 2 and len(set(chosen)) == len(chosen)):
        raise ValueError(f"chosen must be two or more different classes, got {chosen}")
    seeds = np.random.SeedSequence(whole("seed", seed, 0)).spawn(len(chosen) + 1)
    trains, publics, tests = [], [], []
    for number, label in enumerate(chosen):
        rng = np.random.default_rng(seeds[number])
        own = rng.permutation(np.flatnonzero(images.train_labels == label))
        shown = np.flatnonzero(images.test_labels == label)[:test_per_class]
        taken = public // len(chosen) + (number < public % len(chosen))
        if not (len(own) > taken and len(shown) >= 1):
            raise ValueError(f"class {label} must have more than {taken} training images and a test image")
        publics.append(images.train[own[:taken]])
        trains.append(augment(images.train[own[taken:]], per_class, int(rng.integers(1 << 62))))
        tests.append(images.test[shown])
    (train, y_train), (known, y_known), (test, y_test) = (_joined(part) for part in (trains, publics, tests))
    order = np.random.default_rng(seeds[-1]).permutation(len(y_train))
    return Parts(train[order], y_train[order], known, y_known, test, y_test)


def _joined(groups: list[ByteArray]) -> tuple[ByteArray, IntArray]:
    """One array of images, and the number of the group of each."""
    labels = np.repeat(np.arange(len(groups), dtype=np.int64), [len(group) for group in groups])
    return np.concatenate(groups), labels
