import gzip
import hashlib

import numpy as np
import pytest

from tacit_papers.datasets import DataMissing, files, images, load_fashion, load_mnist
from tacit_papers.datasets.images import parse_idx
from tests.papers.datasets.made import idx_bytes

BYTES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty data folder and an empty cache folder."""
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data", tmp_path / "cache" / "tacit"


def put(folder, name, content):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def packed(content):
    return gzip.compress(content, mtime=0)  # no time stamp: the same bytes in every process


def test_idx_gives_back_what_was_written():
    np.testing.assert_array_equal(parse_idx(idx_bytes(BYTES), "x", axes=3), BYTES)
    np.testing.assert_array_equal(parse_idx(idx_bytes(BYTES.ravel()), "x", axes=1), BYTES.ravel())
    assert parse_idx(idx_bytes(BYTES[:0]), "x", axes=3).shape == (0, 3, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"^x must start as idx of uint8 with 3 axes, got header $"),
        (b"no gzip at all", r"^x must be a whole gzip file, got: Not a gzipped file"),
        (idx_bytes(BYTES)[:-12], r"^x must be a whole gzip file, got: "),
        (
            idx_bytes(BYTES)[:15] + b"\xff\xff\xff" + idx_bytes(BYTES)[18:],
            r"^x must be a whole gzip file, got: ",
        ),
        (idx_bytes(BYTES[0]), r"^x must start as idx of uint8 with 3 axes, got header 00000802$"),
        (idx_bytes(BYTES, magic=(0, 0, 0x0D, 3)), r"got header 00000d03$"),
        (idx_bytes(BYTES, magic=(1, 0, 8, 3)), r"got header 01000803$"),
        (
            packed(bytes([0, 0, 8, 3, 0, 0, 0])),
            r"^x must have 3 sizes in its header, got 3 bytes of them$",
        ),
        (
            packed(bytes([0, 0, 8, 3] + [0, 0, 0, 2] * 3 + [7] * 7)),
            r"^x must hold 8 values .*, got 7$",
        ),
        (
            packed(bytes([0, 0, 8, 3] + [0, 0, 0, 2] * 3 + [7] * 9)),
            r"^x must hold 8 values .*, got more$",
        ),
        (
            packed(bytes([0, 0, 8, 3] + [255] * 12)),
            r"^x must hold fewer than 2147483648 values, got a header",
        ),
    ],
)
def test_malformed_idx_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        parse_idx(content, "x", axes=3)


def test_missing_data_says_what_where_and_what_to_do(folders):
    with pytest.raises(DataMissing) as caught:
        load_mnist()
    message = str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert "data file mnist/train-images-idx3-ubyte.gz not found in" in message
    assert all(str(folder) in message for folder in folders)
    assert "TACIT_DATA" in message
    with pytest.raises(DataMissing, match="fashion_mnist/train-classes-0-6-images"):
        load_fashion()


def test_without_the_variable_only_the_cache_is_searched(folders, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", "")
    assert files.data_folders() == [folders[1]]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(folders[0]))
    assert files.cache_folder() == folders[0] / ".cache" / "tacit"


def test_data_folder_comes_before_cache(folders):
    data, cache = folders
    put(cache, "a/b", b"cache")
    assert files.read("a/b") == b"cache"
    put(data, "a/b", b"data")
    assert files.read("a/b") == b"data"


def test_a_changed_original_is_refused(folders):
    put(folders[0], "mnist/train-images-idx3-ubyte.gz", idx_bytes(BYTES))
    with pytest.raises(
        ValueError,
        match=r"train-images-idx3-ubyte.gz must have sha256 440f.*not the original file$",
    ):
        load_mnist()


def test_whole_fashion_files_are_preferred(folders, monkeypatch):
    pictures = np.random.default_rng(0).integers(256, size=(5, 28, 28))
    contents = {
        "train": (pictures[:3], [0, 6, 9]),
        "train-classes-0-6": (pictures[:2], [0, 6]),
        "t10k": (pictures[3:], [1, 2]),
    }
    sums = {}
    for stem, pair in contents.items():
        for kind, array in zip(("images-idx3", "labels-idx1"), pair, strict=True):
            name = f"fashion_mnist/{stem}-{kind}-ubyte.gz"
            put(folders[0], name, idx_bytes(array))
            sums[name] = hashlib.sha256(idx_bytes(array)).hexdigest()
    monkeypatch.setattr(files, "SHA256", sums)
    np.testing.assert_array_equal(load_fashion().train_labels, [0, 6, 9])
    (folders[0] / "fashion_mnist/train-labels-idx1-ubyte.gz").unlink()
    loaded = load_fashion()
    np.testing.assert_array_equal(loaded.train_labels, [0, 6])
    np.testing.assert_array_equal(loaded.test, pictures[3:])
    put(folders[0], "fashion_mnist/t10k-labels-idx1-ubyte.gz", idx_bytes([1]))
    monkeypatch.setattr(files, "SHA256", {})
    with pytest.raises(
        ValueError, match=r"must hold 28 x 28 images, one for each of 1 labels, got shape \(2,"
    ):
        load_fashion()


@pytest.mark.parametrize(
    ("load", "asked"), [(load_mnist, "mnist_784"), (load_fashion, "Fashion-MNIST")]
)
def test_openml_is_asked_only_on_request(folders, monkeypatch, load, asked):
    calls = []

    def fetch(name, **options):
        calls.append((name, options["version"]))
        data = np.zeros((70_000, 784), dtype=np.uint8)
        data[60_000, 0] = 7
        return data, np.repeat(np.array(["3", "5"]), [60_000, 10_000])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(DataMissing):
        load()
    assert calls == []
    found = load(fetch=True)
    assert calls == [(asked, 1)]
    assert found.train.shape == (60_000, 28, 28)
    assert found.test[0, 0, 0] == 7
    assert (found.train_labels == 3).all()
    assert (found.test_labels == 5).all()
    monkeypatch.setattr(
        "sklearn.datasets.fetch_openml", lambda name, **options: (np.zeros((2, 784)), np.zeros(2))
    )
    with pytest.raises(ValueError, match="must be 70,000 images of 784 pixels"):
        images.load_mnist(fetch=True)
