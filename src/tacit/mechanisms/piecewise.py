"""The Piecewise and the Hybrid mechanism (Wang et al. 2019) on a public grid of whole numbers;
Hybrid is Piecewise or Duchi by a public coin. Proof of both: piecewise.md.

Claim: epsilon-LDP for each owner, exactly: every probability is A/T or B/T with A/B <=
e^(epsilon/k) in rationals; Hybrid's coin does not look at the share, and both its branches are
exact. Variance: `variance`, exact for the grid; Piecewise's within 1e-4 of the continuous mechanism
for epsilon in [0.05, 12], Hybrid's constant over the box where the coin is not degenerate
(epsilon/k > 0.61). Edges: coordinates are clipped to [-radius_inf, radius_inf], NaN to 0. Unbiased
up to 2^-51 of that radius.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, isqrt
from typing import ClassVar, NamedTuple

import numpy as np

from tacit._util.checks import bad
from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.base import Reports
from tacit.mechanisms.sampled import Sampled
from tacit.mechanisms.streams import (
    Odds,
    clip,
    high_half,
    high_product,
    low_half,
    odds,
    rational,
    round_up,
    unfair_below,
)


@dataclass(frozen=True)
class PiecewiseLaw:
    """The one-dimensional law: the input is a step j of 0 .. m, the output a point of 0 .. N-1.

    The w points from j on have weight A each, the other m points weight B each.

    >>> law = PiecewiseLaw.of(epsilon=1.0, steps=8)
    >>> law.width, law.size, law.total, law.weights(3)
    (5, 13, 169, [8, 8, 8, 21, 21, 21, 21, 21, 8, 8, 8, 8, 8])
    """

    steps: int
    odds: Odds
    width: int

    @classmethod
    def of(cls, epsilon: float | Fraction, steps: int) -> "PiecewiseLaw":
        chances = odds(epsilon, steps)
        # floor(2 m e^(-epsilon/2))
        doubled = isqrt(4 * steps * steps * chances.low // chances.high)
        return cls(steps=steps, odds=chances, width=max(1, (doubled + 1) // 2))

    @property
    def size(self) -> int:
        """N: how many points there are."""
        return self.width + self.steps

    @property
    def total(self) -> int:
        """T: the sum of the weights, the same for every input."""
        return self.width * self.odds.high + self.steps * self.odds.low

    @property
    def inputs(self) -> range:
        return range(self.steps + 1)

    def weights(self, step: int) -> list[int]:
        """The whole-number weights of all points; probability = weight / total."""
        return [
            self.odds.high if step <= k < step + self.width else self.odds.low
            for k in range(self.size)
        ]

    @property
    def slope(self) -> float:
        """E[z] = (2 j / m - 1) / slope, so slope * z is unbiased for the input in [-1, 1]."""
        return self.total / ((self.odds.high - self.odds.low) * self.width * self.steps)

    @property
    def constants(self) -> WordArray:
        """log2 B, A, w, T and 2^64 mod T, for the kernel."""
        shift = self.odds.low.bit_length() - 1
        return np.array(
            [shift, self.odds.high, self.width, self.total, (1 << 64) % self.total], dtype=np.uint64
        )

    def second_moment(self, x: FloatArray) -> FloatArray:
        """E[(slope z)^2] for inputs x in [-1, 1], the rounding to the grid included."""
        m, w, n = float(self.steps), float(self.width), float(self.size)
        steps = (x + 1) * (m / 2)
        fraction = steps - np.floor(steps)
        centre = (m * x) ** 2 + 4 * fraction * (1 - fraction)  # E[(2 j - m)^2]
        inside = w * centre + w * (w * w - 1) / 3
        everywhere = n * (n * n - 1) / 3
        weighted = self.odds.low * everywhere + (self.odds.high - self.odds.low) * inside
        return np.asarray(self.slope**2 * weighted / self.total)


@dataclass(frozen=True, eq=False, kw_only=True)
class Piecewise(Sampled):
    """Piecewise mechanism over the box that encloses `space`: k pairs (coordinate, grid point) per
    owner.

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report, between 1e-4 and 20 for each sampled coordinate.
    space : Space
        Where shares live; the box around it counts.
    menu : array of floats, default None
        As for every `Mechanism`.
    steps : int, default 2**20
        m = B: the steps of the grid, a power of two.

    >>> from tacit import Box, Piecewise, seeded
    >>> mechanism = Piecewise(epsilon=1.0, space=Box(dim=50))
    >>> reports = mechanism.randomize(np.full((100_000, 50), 0.3), seeded(1))
    >>> mechanism.report_bits, reports.points.shape
    (27, (100000, 1))
    >>> totals = mechanism.totals(reports)
    >>> bool(np.all(np.abs(totals.mean - 0.3) < 5 * totals.stderr))
    True
    """

    steps: int = 1 << 20

    def _prepare(self) -> None:
        if self.steps not in (1 << bits for bits in range(1, 21)):
            raise bad("steps", "a power of two from 2 to 2**20", self.steps)
        self.laws  # noqa: B018 - computed now, so that a bad epsilon is refused here

    @cached_property
    def laws(self) -> list[PiecewiseLaw]:
        """The one-dimensional law of each level, at epsilon / k."""
        return [
            PiecewiseLaw.of(rational(e) / k, self.steps)
            for e, k in zip(self.levels.tolist(), self.counts.tolist(), strict=True)
        ]

    @cached_property
    def sizes(self) -> IntArray:
        return np.array([law.size for law in self.laws], dtype=np.int64)

    @property
    def _scales(self) -> FloatArray:
        return np.array([law.slope for law in self.laws]) * self.spread * self.space.radius_inf

    def _words(self, level: int) -> int:
        return 2 * int(self.counts[level])

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        fresh = self._latest(level, tape)
        values, done = self._sample(level, shares, fresh, out)
        constants, radius = self.laws[level].constants, self.space.radius_inf
        _draw_points(values, fresh, constants, radius, points=out.points, done=done)
        return done

    def _second_moment(self, level: int, x: FloatArray) -> FloatArray:
        radius = self.space.radius_inf
        return radius**2 * self.laws[level].second_moment(x / radius)


@kernel
def step_of(value: float, radius: float, steps: float, coin32: np.uint64) -> int:
    """The value, clipped and rounded to one of the two nearest steps 0 .. m so that the mean is
    kept.
    """
    position = (clip(value, radius) + radius) * (0.5 * steps / radius)
    position = steps if position > steps else position
    floor = np.floor(position)
    return int(floor) + round_up(position - floor, coin32)


@kernel
def point_of(step: int, u: int, high: int, width: int, shift: int) -> int:
    """The grid point for u in [0, T): the first w A values of u go to the w near points, A each;
    the rest B each.
    """
    near = width * high
    beyond = (u - near) >> shift
    far = beyond + width * int(beyond >= step)
    # computed for all u: no branch for the processor to guess
    close = step + int(np.uint64(u) // np.uint64(high))
    return close if u < near else far


@kernel
def _draw_points(
    values: FloatArray,
    tape: WordArray,
    constants: WordArray,
    radius: float,
    points: AnyArray,
    done: BoolArray,
) -> None:
    """Slot s rounds with the high half of word s and draws its point with word k + s."""
    total, unfair = constants[3], constants[4]
    shift, high, width = int(constants[0]), int(constants[1]), int(constants[2])
    steps = float(1 << shift)
    k = values.shape[1]
    for s in range(k):
        for i in range(len(values)):
            step = step_of(values[i, s], radius, steps, high_half(tape[i, s]))
            word = tape[i, k + s]
            if word * total < unfair:
                done[i] = False
            points[i, s] = point_of(step, int(high_product(word, total)), high, width, shift)


_STEPS = 1 << 20  # of Piecewise's grid
_THRESHOLD = 0.610986  # below this epsilon Duchi alone has the smaller worst-case variance


@dataclass(frozen=True, eq=False, kw_only=True)
class Hybrid(Sampled):
    """Hybrid mechanism over the box that encloses `space`: k pairs (coordinate, point) per owner.

    Points 0 .. N-1 are Piecewise's, N and N+1 are Duchi's minus and plus.

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report, between 1e-4 and 20 for each sampled coordinate.
    space : Space
        Where shares live; the box around it counts.
    menu : array of floats, default None
        As for every `Mechanism`.

    >>> from tacit import Box, Hybrid
    >>> Hybrid(epsilon=1.0, space=Box(dim=50)).report_bits
    27
    """

    branches: ClassVar[int] = 2

    def _prepare(self) -> None:
        self.laws  # noqa: B018 - computed now, so that a bad epsilon is refused here

    @cached_property
    def laws(self) -> list[PiecewiseLaw]:
        """Each level's Piecewise law at epsilon / k; the Duchi branch uses the same odds."""
        return [
            PiecewiseLaw.of(rational(e) / k, _STEPS)
            for e, k in zip(self.levels.tolist(), self.counts.tolist(), strict=True)
        ]

    @cached_property
    def shares_of_piecewise(self) -> IntArray:
        """Per level: the probability of the Piecewise branch, in units of 2^-32."""
        each = self.levels / self.counts
        return np.array(
            [round((1 - exp(-e / 2)) * 2**32) if e > _THRESHOLD else 0 for e in each],
            dtype=np.int64,
        )

    @cached_property
    def sizes(self) -> IntArray:
        return np.array([law.size for law in self.laws], dtype=np.int64)

    @property
    def _scales(self) -> FloatArray:
        pairs = np.array([[law.slope, 1 / law.odds.contrast] for law in self.laws])
        return np.asarray(pairs * (self.spread * self.space.radius_inf)[:, np.newaxis]).ravel()

    def _words(self, level: int) -> int:
        return 3 * int(self.counts[level])

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        fresh = self._latest(level, tape)
        values, done = self._sample(level, shares, fresh, out)
        piecewise = np.uint64(self.shares_of_piecewise[level])
        law = _EitherLaw(self.laws[level].constants, piecewise, self.space.radius_inf)
        _draw_either(values, fresh, law, out.points, done)
        return done

    def _second_moment(self, level: int, x: FloatArray) -> FloatArray:
        radius, law = self.space.radius_inf, self.laws[level]
        alpha = float(self.shares_of_piecewise[level]) / 2**32
        mixed = alpha * law.second_moment(x / radius) + (1 - alpha) / law.odds.contrast**2
        return np.asarray(radius**2 * mixed)


class _EitherLaw(NamedTuple):
    """Piecewise's constants, its share in units of 2^-32, and the largest value."""

    constants: WordArray
    piecewise: np.uint64
    radius: float


@kernel
def _draw_either(
    values: FloatArray, tape: WordArray, law: _EitherLaw, points: AnyArray, done: BoolArray
) -> None:
    """Slot s rounds with the high half of word s, draws with word k + s, and picks its branch
    with word 2 k + s.
    """
    constants, piecewise, radius = law
    total, unfair = constants[3], constants[4]
    shift, high, width = int(constants[0]), int(constants[1]), int(constants[2])
    steps, size = float(1 << shift), width + (1 << shift)
    two = np.uint64(high + (1 << shift))
    unfair_two = unfair_below(two)
    k = values.shape[1]
    for s in range(k):
        for i in range(len(values)):
            coin, word = high_half(tape[i, s]), tape[i, k + s]
            if low_half(tape[i, 2 * k + s]) < piecewise:
                if word * total < unfair:
                    done[i] = False
                step = step_of(values[i, s], radius, steps, coin)
                points[i, s] = point_of(step, int(high_product(word, total)), high, width, shift)
            else:
                if word * two < unfair_two:
                    done[i] = False
                plus = round_up((clip(values[i, s], radius) / radius + 1.0) * 0.5, coin)
                kept = int(high_product(word, two)) < high
                points[i, s] = size + (plus if kept else 1 - plus)
