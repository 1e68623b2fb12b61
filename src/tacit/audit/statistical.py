"""Statistical audit: what samples alone prove about a mechanism, without trusting its code.

Three questions, each with its false-alarm rate stated. How large must epsilon be at least
(Clopper-Pearson)? Is the estimate unbiased? Does its variance agree with the formula? A mechanism
that claims too much, or whose formulas are wrong, fails one of them.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.stats import norm

from tacit._util.types import FloatArray
from tacit.audit.bounds import Event, best_event, bin_edges, epsilon_lower_bound, histogram
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

    A pilot sample chooses the pair of inputs and the event (a set of bins of the estimates' sums
    and of each coordinate) that tell most; fresh reports then give the bound, so choosing costs no
    confidence.
    """
    pilot = [_estimates(mechanism, x, n, stream.child("pilot", i)) for i, x in enumerate(inputs)]
    fresh = [_estimates(mechanism, x, n, stream.child("fresh", i)) for i, x in enumerate(inputs)]
    tests = 2 * inputs.size
    limit = float(norm.isf(_FALSE_ALARM / (2 * tests)))
    inside = mechanism.space.clip(inputs)
    variance = mechanism.variance(inputs)
    bias = max(bias_z(e, x, v) for e, x, v in zip(fresh, inside, variance, strict=True))
    spread = max(variance_z(e, x, v) for e, x, v in zip(fresh, inside, variance, strict=True))
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


def _estimates(mechanism: Mechanism, x: FloatArray, n: int, stream: Stream) -> FloatArray:
    reports = mechanism.randomize(np.broadcast_to(x, (n, len(x))), stream)
    return mechanism.estimate(reports)


def _best_bound(pilot: list[FloatArray], fresh: list[FloatArray], confidence: float) -> float:
    """The bound for the pair of inputs, view and event that looked best on the pilot sample."""
    n, dim = pilot[0].shape
    # the sum, and a few single coordinates
    views = [np.ones(dim), *np.eye(dim)[: 4 if dim > 1 else 0]]
    best: tuple[float, int, int, FloatArray, Event | None] = (0.0, 0, 0, views[0], None)
    for view in views:
        edges = bin_edges(np.concatenate([e @ view for e in pilot]))
        counts = [histogram(e @ view, edges) for e in pilot]
        for one, other in permutations(range(len(pilot)), 2):
            bound, event = best_event(counts[one], counts[other], edges, confidence)
            if bound > best[0]:
                best = (bound, one, other, view, event)
    _, one, other, view, chosen = best
    if chosen is None:
        return 0.0
    hits, misses = chosen.hits(fresh[one] @ view), chosen.hits(fresh[other] @ view)
    return epsilon_lower_bound(hits, n, misses, n, confidence)
