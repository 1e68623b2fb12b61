"""Images as histograms of visual words: the nearest of a few typical patches, counted.

A patch is described by its histograms of oriented gradients (HOG): what edges there are. Gradients
are halved central differences. A cell's histogram adds up gradient lengths over 8 unsigned
directions, shared linearly between the two nearest. A patch is a square of cells, one cell apart
from the next, so patches overlap; its descriptor is normalised as Dalal and Triggs do (L2, cut at
0.2, L2 again), where a faint patch stays near zero.

The vocabulary and the scale are fitted on public images only. A vocabulary fitted on owners' images
would leak them into every feature before any mechanism runs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.cluster import MiniBatchKMeans

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray
from tacit_papers.datasets.images import ByteArray

DIRECTIONS = 8

_FAINT = 0.1  # gradient length below which a patch counts as blank, of an image in [0, 1]


@dataclass(frozen=True)
class Patch:
    """A square of `side` by `side` cells of `cell` by `cell` pixels.

    The papers do not say how large their patches are. The default has the least cross-validated
    error on the data user's images (`tacit_papers.a.patches`).
    """

    cell: int = 4
    side: int = 3

    def __post_init__(self) -> None:
        whole("cell", self.cell, 1)
        whole("side", self.side, 1)

    @property
    def pixels(self) -> int:
        """Along each edge."""
        return self.cell * self.side

    @property
    def length(self) -> int:
        """Numbers of a descriptor."""
        return self.side * self.side * DIRECTIONS


def patches(images: ByteArray, patch: Patch) -> npt.NDArray[np.float32]:
    """Descriptors (n, rows, columns, length) of the overlapping patches of each image.

    >>> patches(np.zeros((1, 28, 28), np.uint8), Patch(cell=4, side=3)).shape
    (1, 5, 5, 72)
    """
    images = np.asarray(images)
    if not (images.dtype == np.uint8 and images.ndim == 3):
        raise ValueError(
            f"images must be uint8 of shape (n, height, width), got {images.dtype} of "
            f"{images.shape}"
        )
    if not min(images.shape[1:]) >= patch.pixels:
        raise bad("height and width", f"at least {patch.pixels}, a patch", images.shape[1:])
    cells = _cells(images, patch.cell)
    side = patch.side
    rows, columns = cells.shape[1] - side + 1, cells.shape[2] - side + 1
    corners = [cells[:, i : i + rows, j : j + columns] for i in range(side) for j in range(side)]
    raw = np.concatenate(corners, axis=-1)
    cut = np.minimum(raw / np.sqrt(_squares(raw) + np.float32(_FAINT**2)), np.float32(0.2))
    unit: npt.NDArray[np.float32] = cut / np.sqrt(_squares(cut) + np.float32(1e-3))
    return unit


def _cells(images: ByteArray, size: int) -> npt.NDArray[np.float32]:
    """Histograms (n, height // size, width // size, 8); pixels beyond the last whole cell are
    left out.
    """
    grey = images.astype(np.float32) / np.float32(255)
    dy, dx = np.zeros_like(grey), np.zeros_like(grey)
    dy[:, 1:-1] = (grey[:, 2:] - grey[:, :-2]) / 2
    dx[:, :, 1:-1] = (grey[:, :, 2:] - grey[:, :, :-2]) / 2
    height, width = (length // size for length in grey.shape[1:])
    dy, dx = (part[:, : height * size, : width * size] for part in (dy, dx))
    length = np.sqrt(dy * dy + dx * dx)
    turn = np.arctan2(dy, dx) * np.float32(
        DIRECTIONS / np.pi
    )  # in (-8, 8]; directions repeat after 8
    below = np.floor(turn)
    share = length * (turn - below)
    lower = below.astype(np.int64) % DIRECTIONS
    upper = (lower + 1) % DIRECTIONS
    n = len(grey)
    across = (np.arange(height * size) // size)[:, None] * width + np.arange(width * size) // size
    place = (np.arange(n)[:, None, None] * (height * width) + across) * DIRECTIONS
    total = np.zeros(n * height * width * DIRECTIONS)
    for direction, part in ((lower, length - share), (upper, share)):
        total += np.bincount((place + direction).ravel(), part.ravel(), minlength=len(total))
    return total.astype(np.float32).reshape(n, height, width, DIRECTIONS)


def _squares(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Squared lengths along the last axis, which is kept."""
    squares: npt.NDArray[np.float32] = np.einsum("...i,...i->...", vectors, vectors)[..., None]
    return squares


_BLOCK = 1_000  # images described at once
_USUAL = Patch()


@dataclass(frozen=True, eq=False)
class VisualWords:
    """A map from images to [-1, 1]^words. It is fixed once fitted: an image's features depend on
    no other image.
    """

    vocabulary: npt.NDArray[np.float32]
    patch: Patch
    place: float
    low: FloatArray
    high: FloatArray

    def transform(self, images: ByteArray) -> FloatArray:
        """Features (n, words): share of each word among the image's patches, `low` to -1, `high`
        to 1, clipped.
        """
        shares = _shares(images, self.vocabulary, self.patch, self.place)
        span = np.where(self.high > self.low, self.high - self.low, 1.0)
        return np.clip(2 * (shares - self.low) / span - 1, -1, 1)


def fit_words(
    public: ByteArray, words: int, seed: int, place: float = 0.0, patch: Patch = _USUAL
) -> VisualWords:
    """Vocabulary of `words` typical patches (k-means) and scale (least and largest share of each),
    of `public` images.

    `place` is the weight of a patch's position, from -1 to 1 down and across, beside its
    unit-length HOG descriptor. At 0, as in the paper, a word says what is somewhere in the image;
    above, also where: more accurate, less faithful.
    """
    words, seed = whole("words", words, 2), whole("seed", seed, 0)
    if not 0 <= place < np.inf:
        raise bad("place", "a finite number >= 0", place)
    found = np.concatenate([_describe(block, patch, place) for block in _blocks(public)])
    found = found.reshape(-1, found.shape[-1])
    if not len(found) >= words:
        raise ValueError(
            f"public images must have at least {words} patches, one for each word, got {len(found)}"
        )
    means = MiniBatchKMeans(words, random_state=seed, batch_size=4096, n_init=3).fit(found)
    vocabulary = np.asarray(means.cluster_centers_, dtype=np.float32)
    shares = _shares(public, vocabulary, patch, place)
    return VisualWords(vocabulary, patch, float(place), shares.min(axis=0), shares.max(axis=0))


def _blocks(images: ByteArray) -> list[ByteArray]:
    return [images[first : first + _BLOCK] for first in range(0, len(images), _BLOCK)]


def _describe(images: ByteArray, patch: Patch, place: float) -> npt.NDArray[np.float32]:
    """Descriptors with positions (n, patches, length + 2)."""
    found = patches(images, patch)
    n, rows, columns, length = found.shape
    down, across = np.meshgrid(_centre(rows), _centre(columns), indexing="ij")
    where = place * np.stack([down, across], axis=-1)
    out = np.empty((n, rows, columns, length + 2), dtype=np.float32)
    out[..., :length], out[..., length:] = found, where
    return out.reshape(n, rows * columns, length + 2)


def _centre(steps: int) -> FloatArray:
    """`steps` positions from -1 to 1."""
    return (2 * np.arange(steps) - (steps - 1)) / max(1, steps - 1)


def _shares(
    images: ByteArray, vocabulary: npt.NDArray[np.float32], patch: Patch, place: float
) -> FloatArray:
    """For each image the share of its patches that are nearest to each word."""
    words = len(vocabulary)
    half = (vocabulary**2).sum(axis=1) / 2
    out = np.empty((len(images), words))
    for number, block in enumerate(_blocks(images)):
        found = _describe(block, patch, place)
        nearest = (found @ vocabulary.T - half).argmax(
            axis=-1
        )  # the largest x.c - |c|^2/2 is the least |x - c|
        places = (np.arange(len(block))[:, None] * words + nearest).ravel()
        counts = np.bincount(places, minlength=len(block) * words).reshape(len(block), words)
        out[number * _BLOCK : number * _BLOCK + len(block)] = counts / nearest.shape[1]
    return out
