"""The Hybrid mechanism (Wang et al. 2019): Piecewise or Duchi by a public coin. Proof: hybrid.md.

Claim: epsilon-LDP for each owner, exactly: the coin does not look at the share, and both branches
are exact. Variance: `variance`, exact for the grid; constant over the box where the coin is not
degenerate (epsilon/k > 0.61). Edges: as for Piecewise.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import ClassVar, NamedTuple

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.base import Reports
from tacit.mechanisms.piecewise import PiecewiseLaw, point_of, step_of
from tacit.mechanisms.sampled import Sampled
from tacit.mechanisms.streams import (
    clip,
    high_half,
    high_product,
    low_half,
    rational,
    round_up,
    unfair_below,
)

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
