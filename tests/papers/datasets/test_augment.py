import numpy as np
import pytest

from tacit_papers.datasets import Images, augment
from tacit_papers.datasets.augment import cut
from tests.papers.datasets.made import bar_images, bars

SOME = bars(10, 0.5, np.random.default_rng(0))


def test_originals_first_then_copies():
    more = augment(SOME, total=33, seed=1)
    assert more.shape == (33, 28, 28)
    assert more.dtype == np.uint8
    np.testing.assert_array_equal(more[:10], SOME)
    assert not any((copy == SOME).all(axis=(1, 2)).any() for copy in more[10:])
    np.testing.assert_array_equal(augment(SOME, total=4, seed=1), SOME[:4])
    np.testing.assert_array_equal(augment(SOME, total=10, seed=1), SOME)


def test_the_seed_decides():
    np.testing.assert_array_equal(augment(SOME, total=33, seed=1), augment(SOME, total=33, seed=1))
    assert (augment(SOME, total=33, seed=1) != augment(SOME, total=33, seed=2)).any()


def test_copies_stay_close():
    spot = np.zeros((1, 28, 28), dtype=np.uint8)
    spot[0, 12:16, 12:16] = 200
    copies = augment(spot, total=500, seed=0, shift=2.0, degrees=10.0)[1:].astype(float)
    grid = np.arange(28)
    for axis in (1, 2):
        centre = (copies.sum(axis=axis) * grid).sum(axis=1) / copies.sum(axis=(1, 2))
        assert np.abs(centre - 13.5).max() < 2.05
        assert np.abs(centre - 13.5).max() > 1.9
    np.testing.assert_array_equal(augment(spot, total=3, seed=0, shift=0, degrees=0)[2], spot[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"images": SOME.astype(float)},
            r"^images must be uint8 of shape \(n, height, width\), got float64",
        ),
        ({"images": SOME[0]}, r"^images must be uint8"),
        ({"images": SOME[:0]}, r"^images must be uint8"),
        ({"total": 0}, r"^total must be a whole number >= 1, got 0$"),
        ({"seed": -1}, r"^seed must be a whole number >= 0, got -1$"),
        ({"shift": np.nan}, r"^shift must be a finite number >= 0, got nan$"),
        ({"degrees": 200}, r"^degrees must be a number from 0 to 180, got 200$"),
    ],
)
def test_bad_arguments(changes, message):
    with pytest.raises(ValueError, match=message):
        augment(**({"images": SOME, "total": 20, "seed": 0} | changes))


def marked(images):
    """Every image a big square of its own grey: copies of it keep that grey in the middle."""
    train, test = (np.zeros_like(part) for part in (images.train, images.test))
    for first, part in ((1, train), (1 + len(train), test)):
        part[:, 8:20, 8:20] = np.arange(first, first + len(part))[:, None, None]
    return Images(train, images.train_labels, test, images.test_labels)


def test_no_copy_of_public_or_test_images_is_trained_on():
    images = marked(bar_images(train=80, test=10))  # greys 1..180
    parts = cut(images, (4, 9), per_class=500, test_per_class=8, public=31, seed=0)
    train, public, test = (
        set(part[:, 13, 13].tolist()) for part in (parts.train, parts.public, parts.test)
    )
    assert train.isdisjoint(public)
    assert train.isdisjoint(test)
    assert public.isdisjoint(test)
    assert len(train) == 160 - 31  # every other training image is used
    assert train | public == set(range(1, 161))
    for grey, label in zip(parts.train[:, 13, 13], parts.y_train, strict=True):
        assert images.train_labels[grey - 1] == (4, 9)[label]


def test_sizes_of_the_parts():
    parts = cut(
        bar_images(train=80, test=10), (9, 4), per_class=100, test_per_class=8, public=31, seed=0
    )
    assert [np.bincount(y).tolist() for y in (parts.y_train, parts.y_public, parts.y_test)] == [
        [100, 100],
        [16, 15],
        [8, 8],
    ]
    assert np.abs(np.diff(parts.y_train)).sum() > 50  # shuffled
    every = cut(
        bar_images(train=80, test=10), (4, 9), per_class=5, test_per_class=1000, public=2, seed=0
    )
    assert len(every.y_test) == 20
    assert len(every.y_train) == 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chosen": (4,)}, r"^chosen must be two or more different classes, got \(4,\)$"),
        ({"chosen": (4, 4)}, r"^chosen must be two or more different classes"),
        ({"chosen": (4, 5)}, r"^class 5 must have more than 5 training images and a test image$"),
        ({"public": 160}, r"^class 4 must have more than 80 training images"),
        ({"public": 1}, r"^public must be a whole number >= 2, got 1$"),
        ({"per_class": 0}, r"^per_class must be a whole number >= 1, got 0$"),
    ],
)
def test_bad_cuts(changes, message):
    given = {
        "chosen": (4, 9),
        "per_class": 100,
        "test_per_class": 8,
        "public": 10,
        "seed": 0,
    } | changes
    with pytest.raises(ValueError, match=message):
        cut(bar_images(train=80, test=10), **given)
