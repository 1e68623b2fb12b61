"""Sampling coordinates: how a mechanism for one number serves vectors.

Of `dim` coordinates each owner reports k, chosen uniformly without looking at the share, each with
epsilon / k. The estimate of a sampled coordinate is scaled by dim / k, the others count as 0, which
keeps it unbiased (Wang et al. 2019, Algorithm 4; k = max(1, min(dim, floor(epsilon / 2.5)))).
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._util.kernels import kernel, prefetch
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.base import Mechanism, Reports
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import high_half, low_half

_PER_COORDINATE = 2.5  # epsilon that one sampled coordinate is worth
_AHEAD = 128  # rows that memory is asked for before they are read: measured best


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled(Mechanism):
    """A mechanism whose reports are k pairs (coordinate, point of the grid).

    Points below `sizes[level]` decode to z = 2 point - size + 1; a mechanism with a second branch
    puts its two outcomes z = -1, +1 right behind them.
    """

    @property
    @abstractmethod
    def sizes(self) -> IntArray:
        """Per level: the number of grid points of the first branch."""

    @cached_property
    def counts(self) -> IntArray:
        """Per level: k, how many coordinates an owner reports."""
        return np.maximum(
            1, np.minimum(self.space.dim, (self.levels / _PER_COORDINATE).astype(np.int64))
        )

    @cached_property
    def slots(self) -> int:
        return int(self.counts.max())

    @property
    def spread(self) -> FloatArray:
        """Per level: dim / k."""
        return np.asarray(self.space.dim / self.counts)

    @property
    def report_bits(self) -> int:
        index_bits = (self.space.dim - 1).bit_length()
        last_points = self.sizes + 2 * (self.branches - 1) - 1
        pairs = zip(self.counts.tolist(), last_points.tolist(), strict=True)
        return max(int(k) * (index_bits + int(last).bit_length()) for k, last in pairs)

    @property
    def _clips_itself(self) -> bool:
        return isinstance(self.space, Box)  # whose coordinates clip one by one

    def blank(self, n: int) -> Reports:
        index = np.min_scalar_type(self.space.dim - 1)
        return Reports(np.zeros((n, self.slots), np.uint32), np.zeros((n, self.slots), index))

    def _sample(
        self, level: int, shares: FloatArray, tape: WordArray, out: Reports
    ) -> tuple[FloatArray, BoolArray]:
        """Choose coordinates, writing them to `out`; answer their values and which rows
        succeeded.
        """
        k = int(self.counts[level])
        values = np.empty((len(shares), k))
        done = np.ones(len(shares), dtype=np.bool_)
        _choose_coordinates(tape, k, self.space.dim, out.indices, done)
        _gather(shares, out.indices, values)
        return values, done

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        ok = np.empty(len(reports), dtype=np.bool_)
        limit = int(self.sizes[level]) + 2 * (self.branches - 1)
        k = int(self.counts[level])
        _check_pairs(reports.indices, reports.points, k, dim=self.space.dim, limit=limit, ok=ok)
        return ok

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        out = np.zeros((len(reports), self.space.dim))
        scales = self._scales.reshape(-1, self.branches)[level]
        k, size = int(self.counts[level]), int(self.sizes[level])
        _decode_pairs(reports.indices, reports.points, k, size, scales=scales, out=out)
        return out

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        sums = np.zeros((self.branches, self.space.dim), dtype=np.int64)
        squares = np.zeros_like(sums)
        k, size = int(self.counts[level]), int(self.sizes[level])
        _add_pairs(reports.indices, reports.points, k, size, sums=sums, squares=squares)
        return sums, squares

    @abstractmethod
    def _second_moment(self, level: int, x: FloatArray) -> FloatArray:
        """E[estimate^2] of the one-dimensional mechanism at x, before sampling, (n, dim)."""

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        # A coordinate is sampled with probability k / dim, and its estimate is then scaled by dim /
        # k.
        return np.asarray(self.spread[level] * self._second_moment(level, x) - x**2)

    @cached_property
    def risks(self) -> FloatArray:
        # The variance of a coordinate is linear in x^2, so the sum is extreme at ||x|| = 0 or
        # radius_2.
        return np.array([self._risk(level) for level in range(len(self.levels))])

    @property
    def spans(self) -> FloatArray:
        """Two reports of the same k coordinates, all of them at opposite ends."""
        ends = np.ones((len(self.levels), self.branches))
        ends[:, 0] = self.sizes - 1  # z of the last point; the second branch has -1 and +1
        farthest = (ends * self._scales.reshape(-1, self.branches)).max(axis=1)
        return np.asarray(2 * np.sqrt(self.counts) * farthest)

    def _risk(self, level: int) -> float:
        space = self.space
        at_zero, at_edge = self._variance(level, np.array([[0.0], [space.radius_inf]]))[:, 0]
        slope = (at_edge - at_zero) / space.radius_inf**2
        return float(space.dim * at_zero + max(slope, 0.0) * space.radius_2**2)


@kernel
def _choose_coordinates(
    tape: WordArray, k: int, dim: int, indices: AnyArray, done: BoolArray
) -> None:
    """Floyd's sampling without replacement; slot s uses the low half of word s."""
    for i in range(len(tape)):
        for s in range(k):
            last = np.uint64(dim - k + s)
            bound = last + np.uint64(1)
            product = low_half(tape[i, s]) * bound
            if (
                low_half(product) < bound
                and low_half(product) < (np.uint64(1 << 32) - bound) % bound
            ):
                done[i] = False
            chosen = high_half(product)
            for t in range(s):
                if np.uint64(indices[i, t]) == chosen:
                    chosen = last
                    break
            indices[i, s] = chosen


@kernel
def _gather(shares: FloatArray, indices: AnyArray, values: FloatArray) -> None:
    """Read the sampled coordinates, asking memory for rows a little ahead."""
    n = len(values)
    for s in range(values.shape[1]):
        for i in range(n):
            if i + _AHEAD < n:
                prefetch(shares, i + _AHEAD, np.int64(indices[i + _AHEAD, s]))
            values[i, s] = shares[i, indices[i, s]]


@kernel
def _check_pairs(
    indices: AnyArray, points: AnyArray, k: int, dim: int, limit: int, ok: BoolArray
) -> None:
    for i in range(len(points)):
        good = True
        for s in range(k):
            good = good and indices[i, s] < dim and points[i, s] < limit
            for t in range(s):
                good = good and indices[i, s] != indices[i, t]
        for s in range(k, points.shape[1]):
            good = good and indices[i, s] == 0 and points[i, s] == 0
        ok[i] = good


@kernel
def _decode_pairs(
    indices: AnyArray, points: AnyArray, k: int, size: int, scales: FloatArray, out: FloatArray
) -> None:
    for i in range(len(points)):
        for s in range(k):
            point = np.int64(points[i, s])
            if point < size:
                out[i, indices[i, s]] = scales[0] * (2 * point - size + 1)
            else:
                out[i, indices[i, s]] = scales[1] * (2 * (point - size) - 1)


@kernel
def _add_pairs(
    indices: AnyArray, points: AnyArray, k: int, size: int, sums: AnyArray, squares: AnyArray
) -> None:
    for i in range(len(points)):
        for s in range(k):
            point = np.int64(points[i, s])
            branch, z = 0, 2 * point - size + 1
            if point >= size:
                branch, z = 1, 2 * (point - size) - 1
            sums[branch, indices[i, s]] += z
            squares[branch, indices[i, s]] += z * z
