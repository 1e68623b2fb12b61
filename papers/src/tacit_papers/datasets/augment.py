"""Images of a few classes, cut in parts first; then more images to train on, by small random shifts
and rotations.

Copies are made of training images only, after the cut, so that no copy of a test image or of the
data user's image is ever trained on.
"""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import map_coordinates

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray, IntArray
from tacit_papers.datasets.images import ByteArray, Images

_BLOCK = 2_000  # images moved at once


def augment(
    images: ByteArray, total: int, seed: int, shift: float = 2.0, degrees: float = 10.0
) -> ByteArray:
    """`total` images: the originals first, unchanged, then moved copies of them. Surplus originals
    are left out.

    A copy is turned about its centre by a uniform angle up to `degrees` either way, and shifted by
    up to `shift` pixels along each axis, with linear interpolation and background where nothing
    was. Every original gives as many copies as every other, up to one. The result is a function of
    the arguments.

    >>> augment(np.full((2, 5, 5), 9, np.uint8), total=7, seed=0).shape
    (7, 5, 5)
    """
    images = np.asarray(images)
    if not (images.dtype == np.uint8 and images.ndim == 3 and len(images) >= 1):
        raise ValueError(
            f"images must be uint8 of shape (n, height, width), got {images.dtype} of "
            f"{images.shape}"
        )
    total, seed = whole("total", total, 1), whole("seed", seed, 0)
    if not 0 <= shift < np.inf:
        raise bad("shift", "a finite number >= 0", shift)
    if not 0 <= degrees <= 180:
        raise bad("degrees", "a number from 0 to 180", degrees)
    copies = max(0, total - len(images))
    rng = np.random.default_rng(seed)
    rounds = [rng.permutation(len(images)) for _ in range(-(-copies // len(images)))]
    sources = np.concatenate([np.empty(0, dtype=np.int64), *rounds])[:copies]
    angles = np.deg2rad(rng.uniform(-degrees, degrees, size=copies))
    shifts = rng.uniform(-shift, shift, size=(copies, 2))
    out = np.empty((total, *images.shape[1:]), dtype=np.uint8)
    out[: total - copies] = images[: total - copies]
    for first in range(0, copies, _BLOCK):
        block = slice(first, min(first + _BLOCK, copies))
        moved = _move(images[sources[block]], angles[block], shifts[block])
        out[total - copies + block.start : total - copies + block.stop] = moved
    return out


def _move(images: ByteArray, angles: FloatArray, shifts: FloatArray) -> ByteArray:
    """Each image turned by its angle, then shifted by its shift: every pixel looks up where it
    came from.
    """
    n, height, width = images.shape
    centre_y, centre_x = (height - 1) / 2, (width - 1) / 2
    y = (np.arange(height) - centre_y - shifts[:, :1])[:, :, None]
    x = (np.arange(width) - centre_x - shifts[:, 1:])[:, None, :]
    cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    from_y = cos * y - sin * x + centre_y
    from_x = sin * y + cos * x + centre_x
    which = np.broadcast_to(np.arange(n, dtype=np.float64)[:, None, None], from_y.shape)
    grey = map_coordinates(
        images.astype(np.float32), [which, from_y, from_x], order=1, mode="constant"
    )
    return np.rint(grey).astype(np.uint8)


class Parts(NamedTuple):
    """Images and class numbers of the three parts; training rows are shuffled."""

    train: ByteArray
    y_train: IntArray
    public: ByteArray
    y_public: IntArray
    test: ByteArray
    y_test: IntArray


def cut(
    images: Images,
    chosen: tuple[int, ...],
    per_class: int,
    test_per_class: int,
    public: int,
    seed: int,
) -> Parts:
    """Classes `chosen`, numbered 0, 1, ..., in three parts.

    The data user's `public` images, as many of each class as of the others up to one, are drawn
    from the training images and leave them. The rest is augmented to `per_class` of each class. So
    training holds no image and no copy of an image of the other two parts. Test images are the
    first `test_per_class` of each class, or all if fewer.
    """
    per_class, test_per_class = (
        whole("per_class", per_class, 1),
        whole("test_per_class", test_per_class, 1),
    )
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
            raise ValueError(
                f"class {label} must have more than {taken} training images and a test image"
            )
        publics.append(images.train[own[:taken]])
        trains.append(augment(images.train[own[taken:]], per_class, int(rng.integers(1 << 62))))
        tests.append(images.test[shown])
    (train, y_train), (known, y_known), (test, y_test) = (
        _join(part) for part in (trains, publics, tests)
    )
    order = np.random.default_rng(seeds[-1]).permutation(len(y_train))
    return Parts(
        train=train[order],
        y_train=y_train[order],
        public=known,
        y_public=y_known,
        test=test,
        y_test=y_test,
    )


def _join(groups: list[ByteArray]) -> tuple[ByteArray, IntArray]:
    """One array of images, and the number of the group of each."""
    labels = np.repeat(np.arange(len(groups), dtype=np.int64), [len(group) for group in groups])
    return np.concatenate(groups), labels
