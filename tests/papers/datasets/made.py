"""Small image sets made on the spot: bars at two slopes, so that words can tell them apart."""

import gzip

import numpy as np

from tacit_papers.datasets import Images


def idx_bytes(array, magic=None):
    """`array` as a gzipped idx file."""
    array = np.asarray(array, dtype=np.uint8)
    head = bytes([0, 0, 8, array.ndim]) if magic is None else bytes(magic)
    return gzip.compress(
        head + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes(), mtime=0
    )


def bars(n, slope, rng):
    """`n` images (28, 28) of one bright bar at about this slope, in radians."""
    y, x = np.mgrid[:28, :28] - 13.5
    angle = slope + rng.normal(scale=0.15, size=(n, 1, 1))
    offset = rng.normal(scale=3.0, size=(n, 1, 1))
    across = x * np.sin(angle) - y * np.cos(angle) + offset
    return np.clip(255 * (2.5 - np.abs(across)), 0, 255).astype(np.uint8)


def bar_images(train=120, test=40, seed=0):
    """Classes 4 and 9 as bars of two slopes."""
    rng = np.random.default_rng(seed)
    parts = []
    for n in (train, test):
        images = np.concatenate([bars(n, 0.4, rng), bars(n, 1.3, rng)])
        parts += [images, np.repeat(np.array([4, 9], dtype=np.uint8), n)]
    return Images(*parts)
