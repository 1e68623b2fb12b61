"""K-ary randomised response (Warner 1965) in exact whole-number odds. Proof:
randomized_response.md.

Claim: epsilon-LDP for each owner, exactly: the true vertex weighs A, every other one B, A / B <=
e^epsilon. Variance: `variance`; the estimate of a class is a shifted and scaled indicator. Edges:
on a simplex a share that is not a vertex is first rounded to one, keeping its mean. On another
space the vertices are +-radius_1 on the axes, whose hull encloses it. NaN as the space clips it.
Unbiased up to 2^-53 of radius_1.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tacit._util.checks import bad
from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism, Reports
from tacit.mechanisms.spaces import Simplex
from tacit.mechanisms.streams import BASE, Odds, high_product, odds, unfair_below, unit

_MOST = 1 << 28  # vertices: keeps the total weight within 64 bits


@dataclass(frozen=True)
class ResponseLaw:
    """The law over `size` outcomes: the true one weighs A, the others B.

    >>> ResponseLaw(size=3, odds=Odds(high=5, low=2)).weights(1)
    [2, 5, 2]
    """

    size: int
    odds: Odds

    @property
    def inputs(self) -> range:
        return range(self.size)

    def weights(self, true: int) -> list[int]:
        return [self.odds.high if k == true else self.odds.low for k in range(self.size)]

    @property
    def total(self) -> int:
        return self.odds.high + (self.size - 1) * self.odds.low

    @property
    def slope(self) -> float:
        """T / (A - B): the inverse of how much more likely the true outcome is than another."""
        return self.total / (self.odds.high - self.odds.low)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedResponse(Mechanism):
    """Randomised response over the vertices of a simplex, or of the cross-polytope around any other
    space.

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report, between 1e-4 and 20.
    space : Space
        A simplex, or another space: then the cross-polytope around it counts.
    menu : array of floats, default None
        As for every `Mechanism`.

    >>> from tacit import RandomizedResponse, Simplex, seeded
    >>> classes = Simplex(dim=3)
    >>> mechanism = RandomizedResponse(epsilon=2.0, space=classes)
    >>> reports = mechanism.randomize(classes.vertices([0] * 60_000 + [1] * 40_000), seeded(1))
    >>> mechanism.mean(reports).round(2)
    array([0.6, 0.4, 0. ])
    """

    def _prepare(self) -> None:
        if self.vertices > _MOST:
            raise bad("dim", f"small enough for at most {_MOST} vertices", self.space.dim)
        self.laws  # noqa: B018 - computed now, so that a bad epsilon is refused here

    @property
    def _has_signs(self) -> bool:
        return not isinstance(self.space, Simplex)

    @property
    def vertices(self) -> int:
        """The number of outcomes: the classes, or plus and minus on every axis."""
        return 2 * self.space.dim if self._has_signs else self.space.dim

    @cached_property
    def laws(self) -> list[ResponseLaw]:
        """The law of each level."""
        return [ResponseLaw(self.vertices, odds(e, BASE)) for e in self.levels.tolist()]

    @property
    def report_bits(self) -> int:
        return max(1, (self.vertices - 1).bit_length())

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, 1), dtype=np.uint32))

    def _words(self, level: int) -> int:
        return 2

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        fresh = self._latest(level, tape)
        vertices = np.empty(len(shares), dtype=np.int64)
        done = np.ones(len(shares), dtype=np.bool_)
        if self._has_signs:
            _round_to_axis(shares, fresh[:, 0], self.space.radius_1, vertices)
        else:
            _round_to_class(shares, fresh[:, 0], vertices)
        law = self.laws[level]
        odds = _ResponseOdds(*(np.uint64(w) for w in (law.odds.high, law.odds.low, law.total)))
        _respond(vertices, fresh[:, 1], odds, out.points, done)
        return done

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        vertex = reports.points[:, 0].astype(np.int64)
        hot = np.zeros((len(reports), self.space.dim))
        rows = np.arange(len(reports))
        if self._has_signs:
            hot[rows, vertex // 2] = 1.0 - 2.0 * (vertex % 2)
        else:
            hot[rows, vertex] = 1.0
        return np.asarray(self._scales[level] * hot + self._offsets[level])

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        counts = np.bincount(reports.points[:, 0], minlength=self.vertices)
        if not self._has_signs:
            return counts[np.newaxis], counts[np.newaxis]
        plus, minus = counts[0::2], counts[1::2]
        return (plus - minus)[np.newaxis], (plus + minus)[np.newaxis]

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        return np.asarray(reports.points[:, 0] < self.vertices)

    @property
    def _scales(self) -> FloatArray:
        return np.array([law.slope for law in self.laws]) * (
            self.space.radius_1 if self._has_signs else 1.0
        )

    @property
    def _offsets(self) -> FloatArray:
        if self._has_signs:
            return np.zeros(len(self.levels))  # the wrong outcomes cancel in pairs
        return np.array([-law.odds.low / (law.odds.high - law.odds.low) for law in self.laws])

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        law = self.laws[level]
        other = law.odds.low / law.total
        if self._has_signs:
            mass = np.abs(x) / self.space.radius_1
            spare = np.clip(1 - mass.sum(axis=1, keepdims=True), 0, 1) / self.space.dim
            hit = 2 * other + (mass + spare) / law.slope
            return np.asarray(self._scales[level] ** 2 * hit - x**2)
        hit = other + x / law.slope
        return np.asarray(law.slope**2 * hit * (1 - hit))

    @property
    def risks(self) -> FloatArray:
        if self._has_signs:
            return self._scales**2  # the squared norm of every estimate; worst at x = 0
        return self._scales**2 * (1 - 1 / self.vertices)  # worst at the uniform vector

    @property
    def spans(self) -> FloatArray:
        return (2.0 if self._has_signs else 2.0**0.5) * self._scales


@kernel
def _round_to_class(shares: FloatArray, coins: WordArray, vertices: AnyArray) -> None:
    """Class k with probability shares[i, k]."""
    for i in range(len(shares)):
        left = unit(coins[i])
        chosen = 0
        for k in range(shares.shape[1]):
            if shares[i, k] > 0:
                chosen = k
            left -= shares[i, k]
            if left < 0:
                break
        vertices[i] = chosen


@kernel
def _round_to_axis(shares: FloatArray, coins: WordArray, radius: float, vertices: AnyArray) -> None:
    """Axis j with probability |x_j| / radius and x_j's sign (vertex 2 j or 2 j + 1); otherwise
    any vertex alike.
    """
    dim = shares.shape[1]
    for i in range(len(shares)):
        left = unit(coins[i]) * radius
        chosen = -1
        for j in range(dim):
            left -= abs(shares[i, j])
            if left < 0:
                chosen = 2 * j + (1 if shares[i, j] < 0 else 0)
                break
        if chosen < 0:
            spare = radius
            for j in range(dim):
                spare -= abs(shares[i, j])
            place = int(left / spare * 2 * dim) if spare > 0 else 0
            chosen = min(place, 2 * dim - 1)
        vertices[i] = chosen


class _ResponseOdds(NamedTuple):
    """A, B, and the total T of all outcomes."""

    high: np.uint64
    low: np.uint64
    total: np.uint64


@kernel
def _respond(
    vertices: AnyArray, coins: WordArray, odds: _ResponseOdds, points: AnyArray, done: BoolArray
) -> None:
    """U < A answers the truth; the rest of [0, T) is shared out, B to each other outcome."""
    high, low, total = odds
    unfair = unfair_below(total)
    for i in range(len(vertices)):
        if coins[i] * total < unfair:
            done[i] = False
        u = high_product(coins[i], total)
        if u < high:
            points[i, 0] = vertices[i]
        else:
            other = np.int64((u - high) // low)
            points[i, 0] = other + (1 if other >= vertices[i] else 0)
