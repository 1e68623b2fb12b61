"""How much noise, of which kind, hides one record in a linear model. Whole numbers and fractions;
see site.md.

Two ways, both exact and pure epsilon:
- objective: noise in the slope of what is minimised, and a little on the minimum, for stopping
  short and rounding;
- output: noise on the minimum alone, as much as the worst record could move it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, floor, frexp, inf, isqrt, log1p, sqrt

import numpy as np

from tacit._util.checks import bad, positive
from tacit.learners.sites.losses import Loss
from tacit.learners.sites.solver import BLOCK, ULP

TOLERANCE = (
    2.0**-10
)  # of the gradient's length where a site stops, as a part of what one record can do to it
_SCALE = 1 << 36  # of the tilt's noise, in its own steps
_FINE = 30  # bits of a release step below the noise
_POLISH = Fraction(
    1, 32
)  # part of epsilon for what objective perturbation leaves: stopping short and rounding
_LEAST_RIDGE = 2.0**-10  # as a part of the curvature of one record
_TAIL = 64  # scales; noise beyond them, chance e^-64, is not counted on to be certified
SMALLEST, LARGEST = 1e-4, 100.0  # epsilon of one vector


@dataclass(frozen=True)
class Perturbation:
    """All constants of one release: every one is public.

    `tilt_scale` 0: no tilt. The tilt is a whole number of `tilt_step`, drawn with scale
    `tilt_scale`, per coordinate; the release a whole number of `step`, with noise of scale
    `noise_scale`. `tolerance` is for the gradient's length; a site uses at most its first `rows`
    records, so that rounding cannot exceed it.
    """

    ridge: float
    tilt_step: float
    tilt_scale: int
    step: float
    noise_scale: int
    tolerance: float = 2.0**-14
    rows: int = 1 << 40

    @property
    def tilt_size(self) -> float:
        """The scale of the tilt's noise, in units of the loss's slope."""
        return self.tilt_step * self.tilt_scale

    @property
    def noise_size(self) -> float:
        """The scale of the noise on the minimum, in units of the model."""
        return self.step * self.noise_scale


def least_ridge(epsilon: float, curvature: float) -> float:
    """Below it, the curvature of one record would cost objective perturbation more than half of
    epsilon.

    In any case it is a small part of that curvature, so that no model grows beyond what can be
    certified.
    """
    return curvature * max(1 / expm1(epsilon / 2), _LEAST_RIDGE)


def usual_ridge(epsilon: float, dim: int, slope: float, l1_bound: float) -> float:
    """The length of the noise of objective perturbation: its image in the model is then about 1
    long.

    Less ridge lets noise blow up the model, more ridge only shrinks it towards the mean of target
    times row.
    """
    return max(1.0, 2 * slope * l1_bound * sqrt(2 * dim) / epsilon)


@lru_cache(maxsize=1024)
def objective(epsilon: float, dim: int, loss: Loss, l1_bound: float, ridge: float) -> Perturbation:
    """Objective perturbation; the ridge is raised to `least_ridge` where it is below."""
    slope, curvature = loss.slope, loss.curvature
    epsilon, ridge = _accept(epsilon, slope, ridge)
    ridge = max(ridge, least_ridge(epsilon, curvature) * (1 + 2.0**-30))
    polish = Fraction(epsilon) * _POLISH
    bend = Fraction(log1p(curvature / ridge)) * (1 + Fraction(1, 1 << 40))
    left = Fraction(epsilon) - polish - bend
    size = 2 * Fraction(slope) * Fraction(l1_bound) / left
    tilt_step = _float_above(size / _SCALE)
    step = _power_below(float(size) / ridge / 2.0**_FINE)
    tolerance = _power_below(TOLERANCE * slope * l1_bound / sqrt(dim))
    short = (_root_above(dim) * Fraction(tilt_step) + Fraction(tolerance)) / Fraction(ridge)
    width = ceil(2 * _root_above(dim) * short / Fraction(step)) + dim
    rows = _most_rows(dim, loss, ridge, tolerance, _TAIL * float(size) * sqrt(dim))
    return Perturbation(ridge, tilt_step, _SCALE, step, ceil(width / polish), tolerance, rows)


@lru_cache(maxsize=1024)
def output(epsilon: float, dim: int, loss: Loss, ridge: float) -> Perturbation:
    """Output perturbation: rows of length at most 1, whatever their l1 length."""
    slope = loss.slope
    epsilon, ridge = _accept(epsilon, slope, ridge)
    ridge = max(ridge, _LEAST_RIDGE * loss.curvature)
    tolerance = _power_below(TOLERANCE * slope)
    moved = (2 * Fraction(slope) + 2 * Fraction(tolerance)) / Fraction(ridge)
    step = _power_below(2 * slope * sqrt(dim) / ridge / epsilon / 2.0**_FINE)
    width = ceil(_root_above(dim) * moved / Fraction(step)) + dim
    rows = _most_rows(dim, loss, ridge, tolerance, 0.0)
    return Perturbation(ridge, 0.0, 0, step, ceil(width / Fraction(epsilon)), tolerance, rows)


def _most_rows(dim: int, loss: Loss, ridge: float, tolerance: float, tilt: float) -> int:
    """How many rows can always be certified, whatever they hold: rounding stays below half of the
    tolerance.

    Per row it is below ulp ((block + 64) slope + (dim + 8) curvature |f|), and |f| <= 2 tilt /
    ridge + root(2 n start / ridge), since the minimum is no worse than 0. Each of the three parts
    gets an equal share.
    """
    start = float(np.max(loss.value(np.zeros(2), np.array([-1.0, 1.0]))))
    share, bend = tolerance / (8 * ULP), (dim + 8) * loss.curvature
    flat = share / ((BLOCK + 64) * loss.slope)
    tilted = share * ridge / (2 * bend * tilt) if tilt else inf
    curved = (share / bend * sqrt(ridge / (2 * start))) ** (2 / 3)
    return max(1, int(min(flat, tilted, curved, 1 << 40)))


def _accept(epsilon: float, slope: float, ridge: float) -> tuple[float, float]:
    if not SMALLEST <= positive("epsilon", epsilon) <= LARGEST:
        raise bad(
            "epsilon",
            f"between {SMALLEST} and {LARGEST} for each vector that a site releases",
            epsilon,
        )
    if not slope < float("inf"):
        raise ValueError(
            "a loss with slopes without bound cannot be trained privately: take 'huber' for numbers"
        )
    return float(epsilon), positive("ridge", ridge)


def _root_above(dim: int) -> Fraction:
    """At least the root of dim, by less than 2^-20."""
    return Fraction(isqrt(dim << 40) + 1, 1 << 20)


def _float_above(value: Fraction) -> float:
    return float(value) * (1 + 2.0**-50)


def _power_below(value: float) -> float:
    """The largest power of two that is not above."""
    return 2.0 ** (frexp(value)[1] - 1 if value > 0 else floor(value))
