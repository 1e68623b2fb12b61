"""The Laplace mechanism on a grid: two-sided geometric noise, drawn exactly. Proof: laplace.md.

Claim: epsilon-LDP for each owner, exactly: noise z has weight e^(-|z|/t) with a whole t >= (l1
width of the space in grid steps) / epsilon, drawn with fair coins only (Canonne, Kamath and Steinke
2020). Variance: 2 q / (1 - q)^2 steps^2 with q = e^(-1/t), plus at most 1/4 step^2 of rounding.
Edges: coordinates are clipped to [-radius_inf, radius_inf], NaN to 0; a report is clamped 12 t
beyond the grid, so that nobody can say more: a map after the noise, which changes it with
probability below e^-12. That moves the mean by less than e^-12 t / 2 and the variance by less than
one part in 10^4.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp
from typing import NamedTuple

import numpy as np

from tacit._util.checks import bad
from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism, Reports
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import (
    high_half,
    high_product,
    low_half,
    rational,
    round_up,
    unfair_below,
)

_STEPS = 1 << 14  # grid steps in radius_inf
_LARGEST_SCALE = 1 << 40  # so that sums of a block of reports stay within 64 bits
RUNS = 63  # noise beyond this many scales ends up at the clamp anyway
_REACH = 12  # scales beyond the grid that a report may lie: what one owner can say at most


@dataclass(frozen=True, eq=False, kw_only=True)
class Laplace(Mechanism):
    """Laplace mechanism for any space, calibrated to its l1 width: `dim` whole numbers per owner.

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report.
    space : Space
        Where shares live; its largest l1 distance counts.
    menu : array of floats, default None
        As for every `Mechanism`.

    >>> from tacit import Box, Laplace
    >>> mechanism = Laplace(epsilon=1.0, space=Box(dim=50))
    >>> variance = mechanism.variance(np.zeros((1, 50)))[0, 0]
    >>> round(float(np.sqrt(variance / 2)), 6)  # the scale, 2 d / epsilon
    100.0
    """

    def _prepare(self) -> None:
        for epsilon, scale in zip(self.levels.tolist(), self.noise_scales, strict=True):
            if not _STEPS // 8 <= scale <= _LARGEST_SCALE:
                least, most = self.width / _LARGEST_SCALE, self.width / (_STEPS // 8)
                raise bad("epsilon", f"between {least:.2g} and {most:.3g} for this space", epsilon)

    @property
    def width(self) -> int:
        """The largest l1 distance, in grid steps, between two shares after rounding."""
        dim, space = self.space.dim, self.space
        if isinstance(space, Box):
            return 2 * dim * _STEPS
        exact = Fraction(space.radius_1) / Fraction(space.radius_inf) * _STEPS
        # rounding moves a coordinate by less than one step
        return min(2 * dim * _STEPS, 2 * (ceil(exact) + dim))

    @cached_property
    def noise_scales(self) -> list[int]:
        """Per level: t, in grid steps."""
        return [ceil(Fraction(self.width) / rational(e)) for e in self.levels.tolist()]

    def limit(self, level: int) -> int:
        """The largest absolute value of a report's coordinate, in grid steps."""
        return _STEPS + _REACH * self.noise_scales[level]

    @property
    def report_bits(self) -> int:
        return max(
            self.space.dim * (2 * self.limit(level)).bit_length()
            for level in range(len(self.levels))
        )

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.space.dim), dtype=np.int64))

    def _words(self, level: int) -> int:
        return 12 * self.space.dim + 16

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        done = np.ones(len(shares), dtype=np.bool_)
        scale, limit = np.uint64(self.noise_scales[level]), self.limit(level)
        law = _NoiseLaw(scale, limit, self.space.radius_inf)
        _draw_noisy(shares, tape, law, out.points, done)
        return done

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        return np.asarray(self._scales[level] * reports.points)

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        shift = max(0, self.limit(level).bit_length() - 22)  # squares of a block must fit 64 bits
        squares = np.square(reports.points >> shift).sum(axis=0, keepdims=True)
        return reports.points.sum(axis=0, keepdims=True), squares.astype(object) << (2 * shift)

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        limit = self.limit(level)
        return np.asarray(((reports.points >= -limit) & (reports.points <= limit)).all(axis=1))

    @property
    def _scales(self) -> FloatArray:
        return np.full(len(self.levels), self.space.radius_inf / _STEPS)

    def _noise_variance(self, level: int) -> float:
        q = exp(-1 / self.noise_scales[level])
        return 2 * q / (1 - q) ** 2

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        position = x / self.space.radius_inf * _STEPS
        fraction = position - np.floor(position)
        return np.asarray(
            (self._noise_variance(level) + fraction * (1 - fraction)) * self._scales[level] ** 2
        )

    @property
    def risks(self) -> FloatArray:
        noise = np.array([self._noise_variance(level) for level in range(len(self.levels))])
        return np.asarray(self.space.dim * (noise + 0.25) * self._scales**2)

    @property
    def spans(self) -> FloatArray:
        limits = np.array([self.limit(level) for level in range(len(self.levels))])
        return np.asarray(2 * self.space.dim**0.5 * limits * self._scales)


@kernel
def draw_below(tape: WordArray, at: int, bound: np.uint64) -> tuple[np.uint64, int]:
    """A uniform number below `bound` and the next place on the tape; place -1 when the tape has
    ended.
    """
    while 0 <= at < len(tape):
        word = tape[at]
        at += 1
        if word * bound >= bound or word * bound >= unfair_below(bound):
            return high_product(word, bound), at
    return np.uint64(0), -1


@kernel
def survives(tape: WordArray, at: int, u: np.uint64, scale: np.uint64) -> tuple[bool, int]:
    """True with probability e^(-u / scale), exactly, for u <= scale.

    The run of successes of coins with chances g/1, g/2, g/3, ... (g = u / scale) has even length
    with probability e^-g.
    """
    run = np.uint64(0)
    while True:
        drawn, at = draw_below(tape, at, scale * (run + np.uint64(1)))
        if at < 0:
            return False, at
        if drawn >= u:
            return run % np.uint64(2) == np.uint64(0), at
        run += np.uint64(1)


@kernel
def draw_noise(tape: WordArray, at: int, scale: np.uint64) -> tuple[int, int]:
    """Z with probability proportional to e^(-|z| / scale), and the next place on the tape."""
    while at >= 0:
        rest, at = draw_below(tape, at, scale)
        kept, at = survives(tape, at, rest, scale)
        if not kept:
            continue
        runs = 0
        going = True
        while going and runs < RUNS and at >= 0:
            going, at = survives(tape, at, scale, scale)
            if going:
                runs += 1
        sign, at = draw_below(tape, at, np.uint64(2))
        size = int(rest) + int(scale) * runs
        if sign == np.uint64(0):
            return size, at
        if size != 0:  # zero must not count twice
            return -size, at
    return 0, at


class _NoiseLaw(NamedTuple):
    """The scale t, the largest report, and the largest coordinate."""

    scale: np.uint64
    limit: int
    radius: float


@kernel
def _draw_noisy(
    shares: FloatArray, tape: WordArray, law: _NoiseLaw, points: AnyArray, done: BoolArray
) -> None:
    """Round with the first words of the tape, then read as many coins for the noise as it takes."""
    scale, limit, radius = law
    dim = shares.shape[1]
    for i in range(len(shares)):
        at = (dim + 1) // 2
        for j in range(dim):
            coins = tape[i, j // 2]
            coin = low_half(coins) if j % 2 == 0 else high_half(coins)
            position = shares[i, j] / radius * _STEPS
            floor = np.floor(position)
            noise, at = draw_noise(tape[i], at, scale)
            z = int(floor) + round_up(position - floor, coin) + noise
            points[i, j] = min(max(z, -limit), limit)
        done[i] = at >= 0
