"""The examination of a mechanism by samples alone: how large must epsilon be at least, is the
estimate unbiased, does its variance agree with the formula? One that claims too much, or whose
formulas are wrong, fails one of them.

A bound is as good as what one looks at. Noise that coordinates share is seen in no coordinate and
in no sum; it is gone from their difference. A coin that is used twice may show in the name of a
report and in no estimate. So there are views of pairs of coordinates, and of names, and among the
inputs are some whose coordinates differ (`corners`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np
from scipy.stats import norm

from tacit._util.types import BoolArray, FloatArray
from tacit.audit.statistical import (
    Event,
    best_event,
    bin_edges,
    epsilon_lower_bound,
    histogram,
)
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.streams import Stream

_FALSE_ALARM = 1e-6  # of a whole examination, so that a nightly run stays quiet for years


@dataclass(frozen=True)
class Examination:
    """What was measured, against what is claimed.

    `confidence` is that of the bound on epsilon. Bias and variance are tested at a false-alarm rate
    of one in a million for the whole examination, which sets `limit_z`.
    """

    claimed: float
    measured: float
    bias_z: float
    variance_z: float
    limit_z: float
    confidence: float

    @property
    def private(self) -> bool:
        """No proof that epsilon is larger than claimed."""
        return self.measured <= self.claimed

    @property
    def bias_agrees(self) -> bool:
        return self.bias_z <= self.limit_z

    @property
    def variance_agrees(self) -> bool:
        return self.variance_z <= self.limit_z

    @property
    def sound(self) -> bool:
        return self.private and self.bias_agrees and self.variance_agrees


def examine(
    mechanism: Mechanism, inputs: FloatArray, n: int, stream: Stream, confidence: float = 0.999
) -> Examination:
    """Draw n reports for each row of `inputs` and test privacy, bias and variance of the estimates.

    A pilot sample chooses the pair of inputs, the view and the event (a set of bins of what it
    shows) that tell most; fresh reports then give the bound, so choosing costs no confidence.
    """
    pilot = [_draw(mechanism, x, n, stream.child("pilot", i)) for i, x in enumerate(inputs)]
    fresh = [_draw(mechanism, x, n, stream.child("fresh", i)) for i, x in enumerate(inputs)]
    tests = 2 * inputs.size
    limit = float(norm.isf(_FALSE_ALARM / (2 * tests)))
    inside = mechanism.space.clip(inputs)
    variance = mechanism.variance(inputs)
    drawn = [heard.estimates for heard in fresh]
    bias = max(bias_z(e, x, v) for e, x, v in zip(drawn, inside, variance, strict=True))
    spread = max(variance_z(e, x, v) for e, x, v in zip(drawn, inside, variance, strict=True))
    claimed = float(np.max(mechanism.epsilon))
    measured = _best_bound(pilot, fresh, confidence)
    return Examination(
        claimed=claimed,
        measured=measured,
        bias_z=bias,
        variance_z=spread,
        limit_z=limit,
        confidence=confidence,
    )


def variance_z(estimates: FloatArray, x: FloatArray, formula: FloatArray) -> float:
    """How many standard errors the mean squared errors lie from the formula's variances, at the
    worst coordinate.
    """
    squared = (estimates - x) ** 2
    error = squared.std(axis=0) / np.sqrt(len(estimates))
    floor = 1e-9 * formula + 1e-12  # an error of constant size has no spread to measure with
    return float(np.max(np.abs(squared.mean(axis=0) - formula) / np.maximum(error, floor)))


def bias_z(estimates: FloatArray, x: FloatArray, formula: FloatArray) -> float:
    """How many standard errors (by the formula) the mean estimates lie from the shares, at the
    worst coordinate.
    """
    error = np.sqrt(np.maximum(formula, 0) / len(estimates))
    return float(np.max(np.abs(estimates.mean(axis=0) - x) / np.maximum(error, 1e-12)))


def corners(dim: int) -> FloatArray:
    """Shares between one corner of the box and the opposite one, and two corners off that line."""
    along = [np.full(dim, value) for value in (-1.0, -0.9, -0.3, 0.0, 0.9, 1.0)]
    across = (-1.0) ** np.arange(dim)
    return np.array([*along, across, -across] if dim > 1 else along)


@dataclass(frozen=True, eq=False)
class _Heard:
    """Reports on one input: what they are read as, and the first bit of each one's name."""

    estimates: FloatArray
    first_bit: BoolArray


_View = Callable[[_Heard], FloatArray]
_FEW = 4  # coordinates that are looked at one by one, and beside their neighbours


def _views(dim: int) -> list[_View]:
    """Numbers that an outsider may make of a report: of each there is an event that tells most."""

    def linear(weights: FloatArray) -> _View:
        return lambda heard: np.asarray(heard.estimates @ weights)

    def product(place: int) -> _View:
        return lambda heard: heard.estimates[:, place] * heard.estimates[:, place + 1]

    def named(heard: _Heard) -> FloatArray:
        sums = np.arctan(heard.estimates.sum(axis=1))  # within 2 on either side
        return np.asarray(np.where(heard.first_bit, sums + 4.0, sums))

    axes, every = np.eye(dim)[:_FEW], linear(np.ones(dim))
    if dim == 1:
        return [every, named]
    beside = [linear(one - other) for one, other in pairwise(axes)]
    products = [product(place) for place in range(len(axes) - 1)]
    return [every, named, *map(linear, axes), *beside, *products]


def _draw(mechanism: Mechanism, x: FloatArray, n: int, stream: Stream) -> _Heard:
    reports = mechanism.randomize(np.broadcast_to(x, (n, len(x))), stream)
    names = reports.points[:, 0]
    half = 0 if np.issubdtype(names.dtype, np.signedinteger) else 1 << (8 * names.itemsize - 1)
    return _Heard(mechanism.estimate(reports), names >= half)


def _best_bound(pilot: list[_Heard], fresh: list[_Heard], confidence: float) -> float:
    """The bound for the pair of inputs, view and event that looked best on the pilot sample."""
    n, dim = pilot[0].estimates.shape
    best, found = 0.0, 0.0
    for view in _views(dim):
        seen = [view(heard) for heard in pilot]
        edges = bin_edges(np.concatenate(seen))
        counts = [histogram(each, edges) for each in seen]
        chosen: tuple[int, int, Event] | None = None
        for one, other in permutations(range(len(pilot)), 2):
            bound, event = best_event(counts[one], counts[other], edges, confidence)
            if bound > best:
                best, chosen = bound, (one, other, event)
        if chosen is not None:
            one, other, event = chosen
            hits, misses = event.hits(view(fresh[one])), event.hits(view(fresh[other]))
            found = epsilon_lower_bound(hits, n, misses, n, confidence)
    return found
