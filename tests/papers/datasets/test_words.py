import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from tacit_papers.datasets import fit_words, image_words, mnist_words
from tacit_papers.datasets.augment import cut
from tacit_papers.datasets.words import Patch, patches
from tests.papers.datasets.made import bar_images, bars

RNG = np.random.default_rng(5)
PUBLIC = np.concatenate([bars(30, 0.4, RNG), bars(30, 1.3, RNG)])
PRIVATE = np.concatenate([bars(40, 0.4, RNG), bars(40, 1.3, RNG)])


def reference(image, size, side):
    """HOG patches of one image, pixel by pixel."""
    grey = image.astype(float) / 255
    count = 28 // size
    cells = np.zeros((count, count, 8))
    for i in range(count * size):
        for j in range(count * size):
            dy = (grey[i + 1, j] - grey[i - 1, j]) / 2 if 0 < i < 27 else 0.0
            dx = (grey[i, j + 1] - grey[i, j - 1]) / 2 if 0 < j < 27 else 0.0
            turn = (np.arctan2(dy, dx) % np.pi) / np.pi * 8
            low = int(turn)
            cells[i // size, j // size, low % 8] += np.hypot(dx, dy) * (1 - (turn - low))
            cells[i // size, j // size, (low + 1) % 8] += np.hypot(dx, dy) * (turn - low)
    steps = count - side + 1
    out = np.zeros((steps, steps, side * side * 8))
    for i in range(steps):
        for j in range(steps):
            raw = cells[i : i + side, j : j + side].ravel()
            cut = np.minimum(raw / np.sqrt(raw @ raw + 0.01), 0.2)
            out[i, j] = cut / np.sqrt(cut @ cut + 1e-3)
    return out


@pytest.mark.parametrize(("size", "side"), [(3, 2), (4, 3), (7, 1)])
def test_patches_against_the_plain_definition(size, side):
    images = np.concatenate([PRIVATE[:2], RNG.integers(256, size=(2, 28, 28)).astype(np.uint8)])
    found = patches(images, Patch(size, side))
    wanted = [reference(image, size, side) for image in images]
    np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_blank_images_have_blank_patches():
    assert (patches(np.full((2, 28, 28), 77, np.uint8), Patch()) == 0).all()


@pytest.mark.parametrize("images", [PUBLIC.astype(float), PUBLIC[0]])
def test_bad_images(images):
    with pytest.raises(ValueError, match=r"^images must be uint8 of shape \(n, height, width\)"):
        patches(images, Patch())


def test_images_hold_a_patch():
    with pytest.raises(ValueError, match=r"^height and width must be at least 12, a patch"):
        patches(np.zeros((1, 11, 28), np.uint8), Patch(cell=4, side=3))
    with pytest.raises(ValueError, match=r"^side must be a whole number >= 1, got 0$"):
        Patch(side=0)


@pytest.mark.parametrize("place", [0.0, 1.0])
def test_features_have_the_dimension_and_stay_inside(place):
    words = fit_words(PUBLIC, words=12, seed=0, place=place)
    for images in (PUBLIC, PRIVATE, RNG.integers(256, size=(20, 28, 28)).astype(np.uint8)):
        features = words.transform(images)
        assert features.shape == (len(images), 12)
        assert np.abs(features).max() <= 1
    public = words.transform(PUBLIC)
    np.testing.assert_allclose(public.min(axis=0), -1, atol=1e-12)
    assert (public.max(axis=0) == 1).mean() > 0.5


def test_shares_before_scaling_add_to_one():
    words = fit_words(PUBLIC, words=12, seed=0)
    inside = (words.transform(PUBLIC) + 1) / 2 * (words.high - words.low) + words.low
    np.testing.assert_allclose(inside.sum(axis=1), 1, atol=1e-12)


def test_the_seed_decides():
    features = [fit_words(PUBLIC, words=12, seed=seed).transform(PRIVATE) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(features[0], features[1])
    assert (features[0] != features[2]).any()


def test_an_image_has_the_same_features_in_any_company():
    words = fit_words(PUBLIC, words=12, seed=0)
    together = words.transform(PRIVATE)
    np.testing.assert_array_equal(
        np.concatenate([words.transform(PRIVATE[i : i + 1]) for i in range(80)]), together
    )
    many = np.concatenate(
        [np.zeros((995, 28, 28), np.uint8), PRIVATE]
    )  # across the border of a block
    np.testing.assert_array_equal(words.transform(many)[995:], together)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": 1}, r"^words must be a whole number >= 2, got 1$"),
        ({"seed": -1}, r"^seed must be a whole number >= 0, got -1$"),
        ({"place": np.nan}, r"^place must be a finite number >= 0, got nan$"),
        (
            {"public": PUBLIC[:1], "words": 26},
            r"^public images must have at least 26 patches, .* got 25$",
        ),
    ],
)
def test_bad_arguments(changes, message):
    with pytest.raises(ValueError, match=message):
        fit_words(**({"public": PUBLIC, "words": 12, "seed": 0} | changes))


@pytest.fixture
def small(tmp_path, monkeypatch):
    """`mnist_words` over made images: a function of the images, and the folder where results are
    kept.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(images, **options):
        monkeypatch.setattr(image_words, "load_mnist", lambda fetch: images)
        return mnist_words(
            **({"words": 12, "per_class": 200, "test_per_class": 30, "public": 60} | options)
        )

    return run, tmp_path / "tacit"


def clear(folder):
    for path in folder.iterdir():
        path.unlink()


def test_the_whole_way(small):
    split = small[0](bar_images())
    assert repr(split) == "Split('mnist_words', dim=12, classes=2, train=400, public=60, test=60)"
    assert (
        NearestCentroid().fit(split.X_train, split.y_train).score(split.X_test, split.y_test) > 0.95
    )


def test_private_rows_change_nothing_but_themselves(small):
    """Half of the private images become noise; all features of the others, public and test
    included, stay the same.
    """
    run, folder = small
    images = bar_images()
    split = run(images)
    clear(folder)
    noise = images._replace(train=images.train.copy())
    public = {image.tobytes() for image in cut(images, (4, 9), 200, 30, 60, 0).public}
    private = [i for i, image in enumerate(images.train) if image.tobytes() not in public]
    assert len(private) == 180
    noise.train[private[::2]] = RNG.integers(256, size=(90, 28, 28))
    other = run(noise)
    np.testing.assert_array_equal(split.X_public, other.X_public)
    np.testing.assert_array_equal(split.X_test, other.X_test)
    np.testing.assert_array_equal(split.y_train, other.y_train)
    same = (split.X_train == other.X_train).all(axis=1)
    assert 150 < same.sum() < 250  # about half: the images left alone and their copies


def test_results_are_kept_and_survive_damage(small):
    run, folder = small
    first = run(bar_images())
    (path,) = folder.iterdir()
    assert path.suffix == ".npz"
    kept = run(None)  # images are not even looked at
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(getattr(kept, name), array)
    for content in (
        b"",
        b"not a zip",
        path.read_bytes()[:2000],
        path.read_bytes()[:-30] + bytes(30),
    ):
        path.write_bytes(content)
        np.testing.assert_array_equal(run(bar_images()).X_train, first.X_train)
    run(bar_images(), seed=1)
    run(bar_images(), digits=(9, 4))
    run(bar_images(), place=1.0)
    assert len(list(folder.iterdir())) == 4


def test_a_folder_that_cannot_be_written_is_no_error(small, monkeypatch):
    run, folder = small
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file where the folder should be")
    assert run(bar_images()).dim == 12


def test_a_failed_write_leaves_nothing(small, monkeypatch):
    run, folder = small

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    assert run(bar_images()).dim == 12
    assert list(folder.iterdir()) == []
