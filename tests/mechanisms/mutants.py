"""Deliberately broken mechanisms: near misses that the audit must tell from the real ones."""

from dataclasses import dataclass

import numpy as np

from tacit import Laplace, Piecewise, PrivUnit, Reports
from tacit.mechanisms.piecewise import PiecewiseLaw


@dataclass(frozen=True, eq=False, kw_only=True)
class TailFiftyFifty(Piecewise):
    """Outside the near points, the side is chosen by a fair coin instead of by its length."""

    def _draw(self, level, shares, tape, out):
        done = super()._draw(level, shares, tape, out)
        law = self.laws[level]
        step = np.rint((shares[:, 0] + 1) / 2 * law.steps).astype(np.int64)
        far = (out.points[:, 0] < step) | (out.points[:, 0] >= step + law.width)
        fraction = (tape[:, 0] >> np.uint64(32)).astype(np.float64) / 2**32
        left = (tape[:, 0] & np.uint64(1)).astype(np.bool_)
        left = (left & (step > 0)) | (step == law.steps)
        below = np.floor(fraction * step)
        above = step + law.width + np.floor(fraction * (law.steps - step))
        out.points[far, 0] = np.where(left, below, above)[far]
        return done


@dataclass(frozen=True, eq=False, kw_only=True)
class NoScale(Piecewise):
    """Forgets that a sampled coordinate stands for dim / k of them."""

    @property
    def _scales(self):
        return super()._scales / self.spread


@dataclass(frozen=True, eq=False, kw_only=True)
class BudgetNotSplit(Piecewise):
    """Spends the whole epsilon on each of the k coordinates."""

    @property
    def laws(self):
        return [PiecewiseLaw.of(e, self.steps) for e in self.levels.tolist()]


@dataclass(frozen=True, eq=False, kw_only=True)
class RawRest(Piecewise):
    """Sends the coordinates that were not sampled as they are, beside the sampled one."""

    def blank(self, n):
        return Reports.of(np.zeros((n, self.space.dim), np.uint32))

    def _draw(self, level, shares, tape, out):
        sampled = super().blank(len(shares))
        done = super()._draw(level, shares, tape, sampled)
        raw = (np.clip(shares, -1, 1) + 1) / 2 * self.steps + self.laws[level].width / 2
        out.points[...] = np.rint(raw)
        np.put_along_axis(out.points, sampled.indices.astype(np.int64), sampled.points, axis=1)
        return done

    def _valid(self, level, reports):
        return np.ones(len(reports), np.bool_)

    def _decode(self, level, reports):
        return (2.0 * reports.points - self.sizes[level] + 1) * self._scales[level]


@dataclass(frozen=True, eq=False, kw_only=True)
class HalfSensitivity(Laplace):
    """Calibrates the noise to the radius of the space instead of its width."""

    @property
    def width(self):
        return super().width // 2


@dataclass(frozen=True, eq=False, kw_only=True)
class FloorNotRound(Piecewise):
    """Rounds shares down to the grid: biased, though still private."""

    def _draw(self, level, shares, tape, out):
        return super()._draw(level, np.floor(shares * 4) / 4, tape, out)


@dataclass(frozen=True, eq=False, kw_only=True)
class WiderThanClaimed(Piecewise):
    """Uses ten percent more epsilon than it says."""

    @property
    def laws(self):
        return [
            PiecewiseLaw.of(1.1 * e / k, self.steps)
            for e, k in zip(self.levels, self.counts, strict=True)
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class VarianceTenPercentOff(Piecewise):
    """Right reports, but a variance formula that is ten percent too small."""

    def _variance(self, level, x):
        return 0.9 * super()._variance(level, x)


# Coins that are used twice: no coordinate by itself, and no sum, shows it
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class OneNoiseForAll(Laplace):
    """All coordinates get the same noise: their differences are exact."""

    def _draw(self, level, shares, tape, out):
        noise, exact = self.blank(len(shares)), np.rint(shares / self.space.radius_inf * 2**14)
        done = super()._draw(level, np.zeros_like(shares), tape, noise)
        limit = self.limit(level)
        out.points[...] = np.clip(exact.astype(np.int64) + noise.points[:, :1], -limit, limit)
        return done


@dataclass(frozen=True, eq=False, kw_only=True)
class OneWordForBoth(Piecewise):
    """The points of all sampled coordinates are drawn with one word."""

    def _draw(self, level, shares, tape, out):
        k = int(self.counts[level])
        coins = tape.copy()
        coins[:, -k:] = coins[:, -k : -k + 1]
        return super()._draw(level, shares, coins, out)


@dataclass(frozen=True, eq=False, kw_only=True)
class NameTellsTheChoice(PrivUnit):
    """The public part of the name is the word by which the codeword is chosen."""

    def _draw(self, level, shares, tape, out):
        coins = tape.copy()
        coins[:, -1] = coins[:, -2]
        return super()._draw(level, shares, coins, out)


CAUGHT_BY = {
    TailFiftyFifty: "private",
    NoScale: "bias_agrees",
    BudgetNotSplit: "private",
    RawRest: "private",
    HalfSensitivity: "private",
    FloorNotRound: "bias_agrees",
    WiderThanClaimed: "private",
    VarianceTenPercentOff: "variance_agrees",
    OneNoiseForAll: "private",
    OneWordForBoth: "private",
    NameTellsTheChoice: "private",
}
