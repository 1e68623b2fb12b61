"""The float Piecewise mechanism that one would write with NumPy: what exactness is compared with in
speed.

Wang et al. 2019 for vectors: sampled coordinates only, vectorised, in blocks that fit the cache
(measured: a third faster than whole arrays), with NumPy's fastest generator and one uniform number
per value. One thread.
"""

from math import exp, floor

import numpy as np
import numpy.typing as npt

from tacit._util.types import FloatArray, IntArray

_BLOCK = 1 << 16  # rows
_PER_COORDINATE = 2.5  # epsilon that one sampled coordinate is worth


def coordinate_count(epsilon: float, dim: int) -> int:
    """How many coordinates an owner reports."""
    return max(1, min(dim, floor(epsilon / _PER_COORDINATE)))


def float_piecewise(
    shares: FloatArray, epsilon: float, seed: int
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Sampled coordinates and their estimates, both (k, n)."""
    rng = np.random.Generator(np.random.SFC64(seed))
    n, dim = shares.shape
    k = coordinate_count(epsilon, dim)
    indices, estimates = np.empty((k, n), dtype=np.int32), np.empty((k, n))
    every = shares.ravel()
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        chosen = _sample(rng, stop - start, dim, k)
        row_starts: IntArray = np.arange(start * dim, stop * dim, dim)
        indices[:, start:stop] = chosen
        estimates[:, start:stop] = _perturb(rng, every.take(row_starts + chosen), epsilon / k) * (
            dim / k
        )
    return indices, estimates


def _sample(rng: np.random.Generator, n: int, dim: int, k: int) -> npt.NDArray[np.int32]:
    """Floyd's sampling without replacement, all rows at once."""
    chosen = np.empty((k, n), dtype=np.int32)
    for slot in range(k):
        last = dim - k + slot
        chosen[slot] = rng.integers(0, last, n, dtype=np.int32, endpoint=True)
        if slot:
            taken = (chosen[:slot] == chosen[slot]).any(axis=0)
            chosen[slot, taken] = last
    return chosen


def _perturb(rng: np.random.Generator, x: FloatArray, epsilon: float) -> FloatArray:
    """One number at a time, for x in [-1, 1]: near it with probability p, else anywhere farther
    off.
    """
    root = exp(epsilon / 2)
    edge, p = (root + 1) / (root - 1), root / (root + 1)
    left = x * ((edge + 1) / 2) - (edge - 1) / 2
    u = rng.random(x.shape)
    near = left + u * ((edge - 1) / p)
    far = (u - p) * ((edge + 1) / (1 - p)) - edge
    far += (edge - 1) * (far >= left)
    return np.where(u < p, near, far)
