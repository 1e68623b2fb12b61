"""The mechanism of Duchi, Jordan and Wainwright (2018), in exact whole-number odds. Proof:
duchi.md.

Claim: epsilon-LDP for each owner, exactly: every sign vector has weight A or B, A / B <= e^epsilon
in rationals. Variance: scale^2 - x_j^2 in every coordinate, with `DuchiLaw.scale`. Edges:
coordinates are clipped to [-radius_inf, radius_inf], NaN to 0. Unbiased up to 2^-31 of that radius.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism, Reports
from tacit.mechanisms.streams import (
    BASE,
    Odds,
    high_half,
    high_product,
    low_half,
    odds,
    round_up,
    unfair_below,
)


@dataclass(frozen=True)
class DuchiLaw:
    """The law over sign vectors: those that agree with the input in more than half of the
    coordinates weigh A.

    The others weigh B.

    >>> DuchiLaw(dim=2, odds=Odds(high=3, low=1)).weights((1, -1))
    {(-1, -1): 1, (-1, 1): 1, (1, -1): 3, (1, 1): 1}
    """

    dim: int
    odds: Odds

    @property
    def inputs(self) -> list[tuple[int, ...]]:
        return list(product((-1, 1), repeat=self.dim))

    def weights(self, signs: Sequence[int]) -> dict[tuple[int, ...], int]:
        """The whole-number weights of all outputs, for an input already rounded to signs."""
        agreement = {
            out: sum(a * b for a, b in zip(out, signs, strict=True)) for out in self.inputs
        }
        return {
            out: self.odds.high if lean > 0 else self.odds.low for out, lean in agreement.items()
        }

    @property
    def total(self) -> int:
        """The sum of the weights."""
        ties = comb(self.dim, self.dim // 2) if self.dim % 2 == 0 else 0
        leaning = ((1 << self.dim) - ties) // 2
        return self.odds.high * leaning + self.odds.low * ((1 << self.dim) - leaning)

    @property
    def scale(self) -> float:
        """E[output] = input / scale."""
        return self.total / ((self.odds.high - self.odds.low) * comb(self.dim - 1, self.dim // 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Duchi(Mechanism):
    """Duchi's mechanism over the box that encloses `space`: one bit per coordinate.

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report, between 1e-4 and 20.
    space : Space
        Where shares live; the box around it counts.
    menu : array of floats, default None
        As for every `Mechanism`.

    >>> from tacit import Box, Duchi
    >>> Duchi(epsilon=1.0, space=Box(dim=50)).report_bits
    50
    """

    def _prepare(self) -> None:
        self.laws  # noqa: B018 - computed now, so that a bad epsilon is refused here

    @cached_property
    def laws(self) -> list[DuchiLaw]:
        """The law of each level."""
        return [DuchiLaw(self.space.dim, odds(e, BASE)) for e in self.levels.tolist()]

    @property
    def report_bits(self) -> int:
        return self.space.dim

    @property
    def _limbs(self) -> int:
        return (self.space.dim + 63) // 64

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self._limbs), dtype=np.uint64))

    def _words(self, level: int) -> int:
        return (self.space.dim + 1) // 2 + self._limbs + 1

    @cached_property
    def _mask(self) -> WordArray:
        """The bits in use of each limb."""
        used = [min(64, self.space.dim - 64 * limb) for limb in range(self._limbs)]
        return np.array([(1 << bits) - 1 for bits in used], dtype=np.uint64)

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        done = np.ones(len(shares), dtype=np.bool_)
        high, low = self.laws[level].odds.high, self.laws[level].odds.low
        law = _SignOdds(np.uint64(high), np.uint64(low), self.space.radius_inf, self._mask)
        self._kernel(shares, self._latest(level, tape), law, out.points, done)
        return done

    @property
    def _kernel(self) -> Callable[..., None]:
        """What draws signs by their odds."""
        return _draw_signs

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        signs = np.empty((len(reports), self.space.dim))
        _unpack(reports.points, signs)
        return np.asarray(self._scales[level] * signs)

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        sums = np.zeros((1, self.space.dim), dtype=np.int64)
        _add_signs(reports.points, sums[0])
        return sums, np.full_like(sums, len(reports))

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        return np.asarray(((reports.points & ~self._mask) == 0).all(axis=1))

    @property
    def _scales(self) -> FloatArray:
        return np.array([law.scale for law in self.laws]) * self.space.radius_inf

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        return np.asarray(self._scales[level] ** 2 - x**2)

    @property
    def risks(self) -> FloatArray:
        return self.space.dim * self._scales**2  # worst at x = 0

    @property
    def spans(self) -> FloatArray:
        return np.asarray(2 * self.space.dim**0.5 * self._scales)


class _SignOdds(NamedTuple):
    """A : B, the largest coordinate, and the bits in use of each limb."""

    high: np.uint64
    low: np.uint64
    radius: float
    mask: WordArray


@kernel
def _draw_signs(
    shares: FloatArray, tape: WordArray, law: _SignOdds, signs: WordArray, done: BoolArray
) -> None:
    """Draw fair signs, then turn them all so that they lean towards the input with odds A : B.

    A tie leans nowhere and must weigh B: it is kept with probability 2 B / (A + B), else drawn
    again. How often fair signs tie does not depend on the input, so neither does the number of
    draws.
    """
    high, low, radius, mask = law
    dim = shares.shape[1]
    first_limb = (dim + 1) // 2
    total = high + low
    unfair = unfair_below(total)
    for i in range(len(shares)):
        lean = 0
        for j in range(dim):
            coins = tape[i, j // 2]
            coin = low_half(coins) if j % 2 == 0 else high_half(coins)
            plus = round_up((shares[i, j] / radius + 1.0) * 0.5, coin)
            sign = int((tape[i, first_limb + j // 64] >> np.uint64(j % 64)) & np.uint64(1))
            lean += 1 if plus == sign else -1
        word = tape[i, first_limb + len(mask)]
        u = high_product(word, total)
        if word * total < unfair or (lean == 0 and u >= np.uint64(2) * low):
            done[i] = False
        turn = (lean > 0) != (u < high) and lean != 0
        for limb in range(len(mask)):
            drawn = tape[i, first_limb + limb]
            signs[i, limb] = (~drawn if turn else drawn) & mask[limb]


@kernel
def _unpack(signs: WordArray, out: FloatArray) -> None:
    for i in range(len(out)):
        for j in range(out.shape[1]):
            out[i, j] = 1.0 if (signs[i, j // 64] >> np.uint64(j % 64)) & np.uint64(1) else -1.0


@kernel
def _add_signs(signs: WordArray, sums: AnyArray) -> None:
    for i in range(len(signs)):
        for j in range(len(sums)):
            sums[j] += 1 if (signs[i, j // 64] >> np.uint64(j % 64)) & np.uint64(1) else -1
