"""What a data user keeps of reports: their sums, whole numbers like them.

Adding them is exact, so the same reports give the same bytes in any order, in blocks, or on several
workers.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tacit._util.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over reports, kept apart by epsilon level (and by branch, for a mechanism that mixes
    two). A report decodes to whole numbers z; its estimate is scale * z + offset.

    Parameters
    ----------
    counts : array of whole numbers, shape (levels,)
        How many reports were added.
    sums, squares : arrays of Python integers, shape (levels * branches, dim)
        The sums of z and of z^2.
    scales, offsets : arrays of floats, shape (levels * branches,)
        What makes an estimate of z.
    weights : array of floats, shape (levels,)
        Inverse variances, by which `mean` weighs levels.
    """

    counts: IntArray
    sums: AnyArray
    squares: AnyArray
    scales: FloatArray
    offsets: FloatArray
    weights: FloatArray

    def __add__(self, other: Self) -> "Totals":
        if self.sums.shape != other.sums.shape or not np.array_equal(self.scales, other.scales):
            raise ValueError("totals of different mechanisms cannot be added")
        return replace(
            self,
            counts=self.counts + other.counts,
            sums=self.sums + other.sums,
            squares=self.squares + other.squares,
        )

    @property
    def n(self) -> int:
        """How many reports were added."""
        return int(self.counts.sum())

    @property
    def mean(self) -> FloatArray:
        """The estimated mean share, (dim,): levels weighted by inverse variance."""
        return np.asarray(self._shares_of_levels() @ self._level_means())

    @property
    def stderr(self) -> FloatArray:
        """Standard error of `mean`, (dim,), from the spread of the reports themselves.

        It covers the mechanism's noise and the owners' own spread. With one report in a level
        nothing is known of its spread: infinity.
        """
        per_branch = len(self.scales) // len(self.counts)
        scales = self.scales.reshape(-1, per_branch, 1)
        raw = self.squares.astype(np.float64).reshape(len(self.counts), per_branch, -1)
        centred = self._level_means() - self._level_offsets()
        spread = (scales**2 * raw).sum(axis=1) / self._at_least_one() - centred**2
        freedom = np.where(self.counts > 1, self.counts - 1, 0)[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(freedom > 0, np.maximum(spread, 0.0) / freedom, np.inf)
        shares = self._shares_of_levels()[:, np.newaxis]
        # a level without reports has no say, and no variance
        known = np.where(shares > 0, variance, 0.0)
        return np.asarray(np.sqrt(np.sum(shares**2 * known, axis=0)))

    def _at_least_one(self) -> FloatArray:
        return np.maximum(self.counts, 1).astype(np.float64)[:, np.newaxis]

    def _level_offsets(self) -> FloatArray:
        return self.offsets.reshape(len(self.counts), -1)[:, :1]

    def _level_means(self) -> FloatArray:
        scaled = self.scales[:, np.newaxis] * self.sums.astype(np.float64)
        summed = scaled.reshape(len(self.counts), -1, self.sums.shape[1]).sum(axis=1)
        return np.asarray(summed / self._at_least_one() + self._level_offsets())

    def _shares_of_levels(self) -> FloatArray:
        if not self.n:
            raise ValueError("no reports: there is no mean of nothing")
        pull = self.counts * self.weights
        return np.asarray(pull / pull.sum())
