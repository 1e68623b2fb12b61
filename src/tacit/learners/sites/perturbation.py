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
from math import ceil, expm1, frexp, isqrt, log1p, sqrt

import numpy as np

from tacit._util.checks import bad, positive
from tacit.learners.sites.descent import LEAST_ROWS, Descent
from tacit.learners.sites.losses import Loss
from tacit.mechanisms.streams import exp_below, rational

TOLERANCE = (
    2.0**-10
)  # of the gradient that a site may stop short of, as a part of what one record can do to it
_SCALE = 1 << 36  # of the tilt's noise, in its own steps
_FINE = 30  # bits of a release step below the noise
_POLISH = Fraction(
    1, 32
)  # part of epsilon for what objective perturbation leaves: stopping short and rounding
_LEAST_RIDGE = 2.0**-6  # as a part of the curvature of one record
_LARGEST_RIDGE = 2.0**40
TAIL = 128  # scales; noise beyond them has a chance below 2^-184
_FARTHEST = 1 << 61  # steps of a report
SMALLEST, LARGEST = 1e-4, 100.0  # epsilon of one vector
# parts of epsilon are often written as floats, and K of them must not add up to more than the whole
_HAIR = 1 - Fraction(1, 1 << 40)


@dataclass(frozen=True)
class Perturbation:
    """All constants of one release: every one is public.

    `tilt_scale` 0: no tilt. The tilt is a whole number of `tilt_step`, drawn with scale
    `tilt_scale`, per coordinate; the release a whole number of `step`, with noise of scale
    `noise_scale`, and at most `limit` steps from 0. `descent` says how the minimum is found, and
    for how many rows; None: by Newton's method, which proves nothing, for simulations.
    """

    ridge: float
    tilt_step: float
    tilt_scale: int
    step: float
    noise_scale: int
    descent: Descent | None = None

    @property
    def tilt_size(self) -> float:
        """The scale of the tilt's noise, in units of the loss's slope."""
        return self.tilt_step * self.tilt_scale

    @property
    def noise_size(self) -> float:
        """The scale of the noise on the minimum, in units of the model."""
        return self.step * self.noise_scale

    @property
    def tolerance(self) -> float:
        """How long a gradient may be where a site stops: it lies within this over the ridge."""
        return 0.0 if self.descent is None else self.descent.tolerance

    @property
    def rows(self) -> int:
        """A site uses at most its first so many records."""
        return 1 << 40 if self.descent is None else self.descent.most_rows

    @property
    def limit(self) -> int:
        """Steps from 0 that no honest report exceeds: those of the longest model, and of noise
        within its tail.
        """
        if self.descent is None:
            return _FARTHEST
        longest = ceil(self.descent.reach(self.rows) / self.step)
        return min(longest + TAIL * self.noise_scale, _FARTHEST)


def least_ridge(epsilon: float, curvature: float) -> float:
    """Below it, the curvature of one record would cost objective perturbation more than half of
    epsilon.

    In any case it is a part of that curvature: with less, the number of steps that provably reach
    the minimum grows beyond use.
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
def objective(
    epsilon: float | Fraction, dim: int, loss: Loss, l1_bound: float, ridge: float
) -> Perturbation:
    """Objective perturbation; the ridge is raised to `least_ridge` where it is below."""
    whole, slope = _accept(epsilon, loss), Fraction(loss.slope)
    ridge = max(
        positive("ridge", ridge), least_ridge(float(whole), loss.curvature) * (1 + 2.0**-30)
    )
    girth = min(Fraction(min(l1_bound, float(dim))), _root_above(dim))
    polish = whole * _POLISH
    bend = _log_above(1 + Fraction(loss.curvature) / Fraction(ridge))
    size = 2 * slope * girth / (whole - polish - bend)
    tilt_step = _float_above(size / _SCALE)
    step = _power_below(float(size) / ridge / 2.0**_FINE)
    tolerance = _power_below(TOLERANCE * float(slope * girth) / sqrt(dim))
    descent = _descent(dim, loss, ridge, tolerance, tilt_length(dim) * float(size))
    # a tilt is a product of floats: rounding within its tail stays below a part of its step
    apart = Fraction(tilt_step) * (1 + Fraction(2 * TAIL * _SCALE, 1 << 53))
    short = (_root_above(dim) * apart + Fraction(tolerance)) / Fraction(ridge)
    width = ceil(2 * _root_above(dim) * short / Fraction(step)) + dim
    return Perturbation(
        ridge, tilt_step, _SCALE, step=step, noise_scale=ceil(width / polish), descent=descent
    )


@lru_cache(maxsize=1024)
def output(epsilon: float | Fraction, dim: int, loss: Loss, ridge: float) -> Perturbation:
    """Output perturbation: rows of length at most 1, whatever their l1 length."""
    whole, slope = _accept(epsilon, loss), Fraction(loss.slope)
    ridge = max(positive("ridge", ridge), _LEAST_RIDGE * loss.curvature)
    tolerance = _power_below(TOLERANCE * loss.slope)
    moved = (2 * slope + 2 * Fraction(tolerance)) / Fraction(ridge)
    step = _power_below(2 * loss.slope * sqrt(dim) / ridge / float(whole) / 2.0**_FINE)
    width = ceil(_root_above(dim) * moved / Fraction(step)) + dim
    descent = _descent(dim, loss, ridge, tolerance, 0.0)
    return Perturbation(ridge, 0.0, 0, step=step, noise_scale=ceil(width / whole), descent=descent)


def tilt_length(dim: int) -> float:
    """The tilt's length in its own scales, exceeded with a chance below (dim + 1) e^-TAIL.

    Each coordinate is below TAIL but for d e^-TAIL; the sum of their sizes, of exponential
    variables, is below 2 (TAIL + d log 2) but for E e^(sum / 2) e^-(TAIL + d log 2) = e^-TAIL.
    """
    return min(TAIL * sqrt(dim), 2 * (TAIL + 0.7 * dim)) * (1 + 2.0**-20)


def _descent(dim: int, loss: Loss, ridge: float, tolerance: float, tilt: float) -> Descent:
    start = float(np.max(loss.value(np.zeros(2), np.array([-1.0, 1.0]))))
    descent = Descent(
        dim, loss.slope, loss.curvature, start=start, ridge=ridge, tolerance=tolerance, tilt=tilt
    )
    if not (ridge <= _LARGEST_RIDGE and descent.most_rows >= LEAST_ROWS):
        raise bad(
            "ridge",
            f"at most {_LARGEST_RIDGE:g}, and large enough beside a curvature of "
            f"{loss.curvature:g} that a site may use {LEAST_ROWS} rows: take a "
            "larger ridge, h or epsilon, or fewer columns",
            ridge,
        )
    return descent


def _accept(epsilon: float | Fraction, loss: Loss) -> Fraction:
    """The epsilon of a vector, a hair less."""
    if not rational(SMALLEST) <= rational(epsilon) <= rational(LARGEST):
        raise bad(
            "epsilon",
            f"between {SMALLEST} and {LARGEST} for each vector that a site releases",
            float(epsilon),
        )
    if not loss.slope < float("inf"):
        raise ValueError(
            "a loss with slopes without bound cannot be trained privately: take 'huber' for numbers"
        )
    return rational(epsilon) * _HAIR


def _log_above(value: Fraction) -> Fraction:
    """At least the logarithm of a number above 1, by a hair: proven by its exponential. So close
    to 1 that this proof is too coarse, log v <= v - 1 is as good.
    """
    if value - 1 <= Fraction(1, 1 << 39):
        return value - 1
    found = Fraction(log1p(float(value - 1)))
    for bits in range(40, 20, -4):
        above = found * (1 + Fraction(1, 1 << bits))
        if exp_below(above) >= value:
            return above
    return value - 1


def _root_above(dim: int) -> Fraction:
    """At least the root of dim, by less than 2^-20."""
    return Fraction(isqrt(dim << 40) + 1, 1 << 20)


def _float_above(value: Fraction) -> float:
    return float(value) * (1 + 2.0**-50)


def _power_below(value: float) -> float:
    """The largest power of two that is not above."""
    return 2.0 ** (frexp(positive("step", value))[1] - 1)
