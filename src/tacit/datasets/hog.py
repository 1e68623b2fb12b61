"""Histograms of oriented gradients (HOG): what edges there are in each small patch of an image.

Gradients are halved central differences. A cell's histogram adds up gradient lengths over 8 unsigned directions, shared
linearly between the two nearest. A patch is a square of cells, one cell apart from the next, so patches overlap;
its descriptor is normalised as Dalal and Triggs do (L2, cut at 0.2, L2 again), where a faint patch stays near zero.
"""

import numpy as np
import numpy.typing as npt

from tacit.datasets.idx import ByteArray

DIRECTIONS = 8
CELL = 3  # pixels
SIDE = 2  # cells
LENGTH = SIDE * SIDE * DIRECTIONS

_FAINT = 0.1  # gradient length below which a patch counts as blank, of an image in [0, 1]


def patches(images: ByteArray) -> npt.NDArray[np.float32]:
    """Descriptors (n, rows, columns, 32) of the overlapping patches of each image.

    >>> patches(np.zeros((1, 28, 28), np.uint8)).shape
    (1, 8, 8, 32)
    """
    images = np.asarray(images)
    if not (images.dtype == np.uint8 and images.ndim == 3 and min(images.shape[1:]) >= CELL * SIDE):
        raise ValueError(f"images must be uint8 of shape (n, >= 6, >= 6), got {images.dtype} of {images.shape}")
    cells = _cells(images)
    rows, columns = cells.shape[1] - SIDE + 1, cells.shape[2] - SIDE + 1
    corners = [cells[:, i : i + rows, j : j + columns] for i in range(SIDE) for j in range(SIDE)]
    raw = np.concatenate(corners, axis=-1)
    cut = np.minimum(raw / np.sqrt(_squares(raw) + np.float32(_FAINT**2)), np.float32(0.2))
    unit: npt.NDArray[np.float32] = cut / np.sqrt(_squares(cut) + np.float32(1e-3))
    return unit


def _cells(images: ByteArray) -> npt.NDArray[np.float32]:
    """Histograms (n, height // 3, width // 3, 8); pixels beyond the last whole cell are left out."""
    grey = images.astype(np.float32) / np.float32(255)
    dy, dx = np.zeros_like(grey), np.zeros_like(grey)
    dy[:, 1:-1] = (grey[:, 2:] - grey[:, :-2]) / 2
    dx[:, :, 1:-1] = (grey[:, :, 2:] - grey[:, :, :-2]) / 2
    height, width = (size // CELL for size in grey.shape[1:])
    dy, dx = (part[:, : height * CELL, : width * CELL] for part in (dy, dx))
    length = np.sqrt(dy * dy + dx * dx)
    turn = np.arctan2(dy, dx) * np.float32(DIRECTIONS / np.pi)  # in (-8, 8]; directions repeat after 8
    below = np.floor(turn)
    share = length * (turn - below)
    lower = below.astype(np.int64) % DIRECTIONS
    upper = (lower + 1) % DIRECTIONS
    n = len(grey)
    across = (np.arange(height * CELL) // CELL)[:, None] * width + np.arange(width * CELL) // CELL
    place = (np.arange(n)[:, None, None] * (height * width) + across) * DIRECTIONS
    size = n * height * width * DIRECTIONS
    total = np.bincount((place + lower).ravel(), weights=(length - share).ravel(), minlength=size)
    total += np.bincount((place + upper).ravel(), weights=share.ravel(), minlength=size)
    return total.astype(np.float32).reshape(n, height, width, DIRECTIONS)


def _squares(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Squared lengths along the last axis, which is kept."""
    squares: npt.NDArray[np.float32] = np.einsum("...i,...i->...", vectors, vectors)[..., None]
    return squares
