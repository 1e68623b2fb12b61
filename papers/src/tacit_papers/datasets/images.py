"""MNIST and Fashion-MNIST as arrays: 28 x 28 grey images, 0 background and 255 full.

They come in the idx format, gzipped: two zero bytes, a type, the number of axes, big-endian sizes,
then the values.
"""

import gzip
import io
import math
import zlib
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit_papers.datasets.files import DataMissing, cache_folder, read

ByteArray: TypeAlias = npt.NDArray[np.uint8]

_UINT8 = 0x08
_MOST = 1 << 31  # bytes of content; a header that asks for more is not one of ours


def parse_idx(content: bytes, name: str, axes: int) -> ByteArray:
    """The uint8 array with `axes` axes in the gzipped idx file `content`; `name` is for messages.

    >>> parse_idx(gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])), "three", axes=1)
    array([7, 8, 9], dtype=uint8)
    """
    try:
        with gzip.open(io.BytesIO(content)) as file:
            start = file.read(4)
            if not start == bytes([0, 0, _UINT8, axes]):
                raise ValueError(
                    f"{name} must start as idx of uint8 with {axes} axes, got header {start.hex()}"
                )
            header = file.read(4 * axes)
            if not len(header) == 4 * axes:
                raise ValueError(
                    f"{name} must have {axes} sizes in its header, got {len(header)} bytes of them"
                )
            shape = tuple(int(size) for size in np.frombuffer(header, dtype=">u4"))
            count = math.prod(shape)
            if not count < _MOST:
                raise ValueError(
                    f"{name} must hold fewer than {_MOST} values, got a header for {count}"
                )
            values = file.read(count + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name} must be a whole gzip file, got: {error}") from error
    if len(values) != count:
        more = "more" if len(values) > count else str(len(values))
        raise ValueError(f"{name} must hold {count} values as its header says, got {more}")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


_TRAIN_ROWS, _ROWS, _SIDE = 60_000, 70_000, 28


class Images(NamedTuple):
    """Images (n, 28, 28) and labels (n,), all uint8, for training and for testing."""

    train: ByteArray
    train_labels: ByteArray
    test: ByteArray
    test_labels: ByteArray


def load_mnist(fetch: bool = False) -> Images:
    """MNIST: 60,000 and 10,000 digits. With `fetch`, files that are missing are asked from
    OpenML instead.
    """
    try:
        return _from_files("mnist", "train")
    except DataMissing:
        if not fetch:
            raise
        return _from_openml("mnist_784")


def load_fashion(fetch: bool = False) -> Images:
    """Fashion-MNIST: 10,000 test images; of training images all 60,000, or only classes 0 and 6
    (6,000 each).

    The whole training files are preferred where they are found; the subset `train-classes-0-6-*` is
    enough for T-shirt/top (0) against Shirt (6). With `fetch`, files that are missing are asked
    from OpenML instead.
    """
    try:
        return _from_files("fashion_mnist", "train")
    except DataMissing:
        pass
    try:
        return _from_files("fashion_mnist", "train-classes-0-6")
    except DataMissing:
        if not fetch:
            raise
        return _from_openml("Fashion-MNIST")


def _from_files(folder: str, train: str) -> Images:
    """The four idx files of one folder."""
    images, labels = zip(*(_pair(f"{folder}/{part}") for part in (train, "t10k")), strict=True)
    return Images(images[0], labels[0], images[1], labels[1])


def _pair(stem: str) -> tuple[ByteArray, ByteArray]:
    """Images and labels whose file names begin with `stem`."""
    name_images, name_labels = f"{stem}-images-idx3-ubyte.gz", f"{stem}-labels-idx1-ubyte.gz"
    images, labels = (
        parse_idx(read(name_images), name_images, 3),
        parse_idx(read(name_labels), name_labels, 1),
    )
    if not (images.shape[1:] == (_SIDE, _SIDE) and len(images) == len(labels)):
        rule = f"28 x 28 images, one for each of {len(labels)} labels"
        raise ValueError(f"{name_images} must hold {rule}, got shape {images.shape}")
    return images, labels


def _from_openml(name: str) -> Images:
    """Version 1 of the set of this name from OpenML, in its original order; scikit-learn keeps a
    copy in the cache.
    """
    from sklearn.datasets import fetch_openml

    parser = (
        "pandas" if find_spec("pandas") else "liac-arff"
    )  # the first is faster, the second always there
    home = str(cache_folder() / "openml")
    data, target = fetch_openml(
        name, version=1, return_X_y=True, as_frame=False, parser=parser, data_home=home
    )
    if not (np.shape(data) == (_ROWS, _SIDE * _SIDE) and np.shape(target) == (_ROWS,)):
        raise ValueError(
            f"{name} of OpenML must be 70,000 images of 784 pixels, got shape {np.shape(data)}"
        )
    images = np.asarray(data).astype(np.uint8).reshape(_ROWS, _SIDE, _SIDE)
    labels = np.asarray(target).astype(np.uint8)
    return Images(
        images[:_TRAIN_ROWS], labels[:_TRAIN_ROWS], images[_TRAIN_ROWS:], labels[_TRAIN_ROWS:]
    )
