"""Why a few attributes are drawn and not all perturbed (section II-D): the noise of a mean when
every attribute has epsilon / d, beside that of Algorithm 3.

The error is the largest over coordinates of the mean's distance from the truth, as in
`tacit_papers.a.bounds`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.types import FloatArray
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import Stream, seeded
from tacit_papers.a.bounds import USUAL, VARIED
from tacit_papers.runner import Cell


@dataclass(frozen=True)
class SplitRow:
    """Mean errors over runs: of Algorithm 3 (`sampled`), and where epsilon is split between all
    attributes (`split`).
    """

    dimensions: int
    sampled: float
    split: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class SplitCell(Cell):
    """Both over the number of dimensions."""

    paper: ClassVar[str] = "a"

    def rows(self) -> list[SplitRow]:
        _, owners, epsilon = USUAL
        return [self._row(int(dim), owners, epsilon) for dim in VARIED["dimensions"]]

    def _row(self, dim: int, owners: int, epsilon: float) -> SplitRow:
        sampled, split = [], []
        for run in range(self.runs):
            coins = seeded(self.seed).child("paper A", "splitting", dim, run)
            shares = np.random.default_rng([self.seed, run, dim]).uniform(-1, 1, (owners, dim))
            whole = Piecewise(space=Box(dim=dim), epsilon=epsilon)
            told = whole.mean(whole.randomize(shares, coins.child("sampled")))
            sampled.append(_largest(told, shares))
            split.append(_largest(_each_alone(shares, epsilon / dim, coins), shares))
        return SplitRow(dim, float(np.mean(sampled)), float(np.mean(split)), self.runs)


def _each_alone(shares: FloatArray, epsilon: float, coins: Stream) -> FloatArray:
    """The mean of every attribute by itself."""
    alone = Piecewise(space=Box(dim=1), epsilon=epsilon)
    columns = np.ascontiguousarray(shares.T[:, :, np.newaxis])
    return np.array(
        [
            alone.mean(alone.randomize(column, coins.child("attribute", number)))[0]
            for number, column in enumerate(columns)
        ]
    )


def _largest(told: FloatArray, shares: FloatArray) -> float:
    return float(np.abs(told - shares.mean(axis=0)).max())
