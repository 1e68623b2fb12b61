"""Images as histograms of visual words: the nearest of a few typical patches, counted.

The vocabulary and the scale are fitted on public images only. A vocabulary fitted on owners' images would leak them
into every feature before any mechanism runs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.cluster import MiniBatchKMeans

from tacit.checks import bad, whole
from tacit.datasets.hog import LENGTH, patches
from tacit.datasets.idx import ByteArray
from tacit.types import FloatArray

_BLOCK = 1_000  # images described at once


@dataclass(frozen=True, eq=False)
class VisualWords:
    """A map from images to [-1, 1]^words. It is fixed once fitted: an image's features depend on no other image."""

    vocabulary: npt.NDArray[np.float32]
    place: float
    low: FloatArray
    high: FloatArray

    def transform(self, images: ByteArray) -> FloatArray:
        """Features (n, words): share of each word among the image's patches, `low` to -1, `high` to 1, clipped."""
        shares = _shares(images, self.vocabulary, self.place)
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        return np.clip(2 * (shares - self.low) / span - 1, -1, 1)


def fit_words(public: ByteArray, words: int, seed: int, place: float = 0.0) -> VisualWords:
    """Vocabulary of `words` typical patches (k-means) and scale (least and largest share of each), of `public` images.

    `place` is the weight of a patch's position, from -1 to 1 down and across, beside its unit-length HOG descriptor.
    At 0, as in the paper, a word says what is somewhere in the image; above, also where: more accurate, less faithful.
    """
    words, seed = whole("words", words, 2), whole("seed", seed, 0)
    if not 0 <= place < np.inf:
        raise bad("place", "a finite number >= 0", place)
    found = np.concatenate([_placed(block, place) for block in _blocks(public)])
    found = found.reshape(-1, found.shape[-1])
    if not len(found) >= words:
        raise ValueError(f"public images must have at least {words} patches, one for each word, got {len(found)}")
    means = MiniBatchKMeans(words, random_state=seed, batch_size=4096, n_init=3).fit(found)
    vocabulary = np.asarray(means.cluster_centers_, dtype=np.float32)
    shares = _shares(public, vocabulary, place)
    return VisualWords(vocabulary, float(place), shares.min(axis=0), shares.max(axis=0))


def _blocks(images: ByteArray) -> list[ByteArray]:
    return [images[first : first + _BLOCK] for first in range(0, len(images), _BLOCK)]


def _placed(images: ByteArray, place: float) -> npt.NDArray[np.float32]:
    """Descriptors with positions (n, patches, 34)."""
    found = patches(images)
    n, rows, columns, _ = found.shape
    down, across = np.meshgrid(_centred(rows), _centred(columns), indexing="ij")
    where = place * np.stack([down, across], axis=-1)
    out = np.empty((n, rows, columns, LENGTH + 2), dtype=np.float32)
    out[..., :LENGTH], out[..., LENGTH:] = found, where
    return out.reshape(n, rows * columns, LENGTH + 2)


def _centred(steps: int) -> FloatArray:
    """`steps` positions from -1 to 1."""
    return (2 * np.arange(steps) - (steps - 1)) / max(1, steps - 1)


def _shares(images: ByteArray, vocabulary: npt.NDArray[np.float32], place: float) -> FloatArray:
    """For each image the share of its patches that are nearest to each word."""
    words = len(vocabulary)
    half = (vocabulary**2).sum(axis=1) / 2
    out = np.empty((len(images), words))
    for number, block in enumerate(_blocks(images)):
        found = _placed(block, place)
        nearest = (found @ vocabulary.T - half).argmax(axis=-1)  # the largest x.c - |c|^2/2 is the least |x - c|
        places = (np.arange(len(block))[:, None] * words + nearest).ravel()
        counts = np.bincount(places, minlength=len(block) * words).reshape(len(block), words)
        out[number * _BLOCK : number * _BLOCK + len(block)] = counts / nearest.shape[1]
    return out
