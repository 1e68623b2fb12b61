"""No privacy at all: the share itself, on a fine grid. For baselines; a gate never accepts it.

Claim: none. Variance: 0, up to rounding to 2^-40 of the radius.
"""

import math
from dataclasses import dataclass

import numpy as np

from tacit._util.checks import bad
from tacit._util.types import AnyArray, BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.reports import Reports

_STEPS = 1 << 40  # of the grid, in the radius


@dataclass(frozen=True, eq=False, kw_only=True)
class NoPrivacy(Mechanism):
    """Reports shares as they are, clipped to the space.

    Parameters
    ----------
    space : Space
        Where shares live.
    epsilon : float, default infinity
        Left out: there is no budget.
    menu : None
        Left out, too.

    >>> from tacit import Box, NoPrivacy, seeded
    >>> mechanism = NoPrivacy(space=Box(dim=2))
    >>> mechanism.estimate(mechanism.randomize([[0.5, -3.0]], seeded(1)))
    array([[ 0.5, -1. ]])
    """

    epsilon: float | FloatArray = math.inf

    def _accept(self, epsilon: object) -> float:
        if epsilon != math.inf:
            raise bad("epsilon", "left out: this mechanism gives no privacy", epsilon)
        return math.inf

    def _prepare(self) -> None:
        return

    @property
    def report_bits(self) -> int:
        return self.space.dim * (2 * _STEPS).bit_length()

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.space.dim), dtype=np.int64))

    def _words(self, level: int) -> int:
        return 1

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        out.points[...] = np.rint(shares / self.space.radius_inf * _STEPS)
        return np.ones(len(shares), dtype=np.bool_)

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        return np.asarray(self._scales[level] * reports.points)

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        squares = np.square(reports.points >> 20).sum(axis=0, keepdims=True)
        return reports.points.sum(axis=0, keepdims=True), squares.astype(object) << 40

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        return np.asarray(((reports.points >= -_STEPS) & (reports.points <= _STEPS)).all(axis=1))

    @property
    def _scales(self) -> FloatArray:
        return np.array([self.space.radius_inf / _STEPS])

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        return np.zeros_like(x)

    @property
    def risks(self) -> FloatArray:
        return np.zeros(1)

    @property
    def spans(self) -> FloatArray:
        return np.array([2 * self.space.dim**0.5 * self.space.radius_inf])
