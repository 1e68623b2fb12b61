"""What samples alone prove about a mechanism or a gate, without trusting its code: lower bounds of
epsilon by frequencies and by guesses, every one with its confidence stated.

Two runs: an event that is more frequent under one input than under another (`epsilon_lower_bound`,
Clopper-Pearson), and events that tell two inputs apart.

One run: a canary bit per owner (in the spirit of Steinke, Nasr and Jagielski 2023).

Setting: n owners; owner i holds data set A if its bit S_i is 1 and B if it is 0, bits fair and
independent. Y is everything that leaves in one run. An auditor who sees Y guesses some of the bits,
which and how as it likes.

Theorem. If Y is epsilon-DP in the data of each owner, whatever the others hold, then the number of
right guesses among r is stochastically at most Binomial(r, p), p = e^epsilon / (1 + e^epsilon). The
guesses may depend on Y, and on the bits of owners set aside beforehand, which are not guessed.

Proof. Reveal bits one after another, those set aside first. Given Y = y and the bits revealed
before (S_i is none of them), Bayes' rule with the fair prior gives P[S_i = 1 | ...] / P[S_i = 0 |
...] = P[Y = y | S_i = 1, ...] / P[Y = y | S_i = 0, ...], and both sides of that fraction average,
over the bits still hidden with the same weights, probabilities that differ by at most e^epsilon. So
either value of S_i has conditional probability at most p. A guess is fixed by y and the bits set
aside, so it is right with conditional probability at most p, whatever became of the guesses before.
Replacing guess by guess with a coin of bias p can only raise the tail of the sum. QED

So v right guesses of r prove, with confidence 1 - beta, every epsilon for which P[Binomial(r, p) >=
v] <= beta: the Clopper-Pearson lower bound of p, as log-odds. In local privacy owners are
independent, so the one run is as telling as many; and the run contains the whole gate, refusals and
lengths included.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.stats import beta

from tacit._util.types import BoolArray, FloatArray, IntArray

_BINS = 64  # enough to follow a likelihood ratio, few enough to be filled
_ENOUGH = 50_000  # values that say well enough where bins should be
_COMMON = 200  # a value that is more often than one in this many is not chance


def epsilon_lower_bound(
    hits: int, trials: int, other_hits: int, other_trials: int, confidence: float
) -> float:
    """An epsilon that the mechanism exceeds, with this confidence, if an event has these
    frequencies on two inputs.

    Clopper-Pearson bounds the first probability from below and the second from above, half of the
    error to each.

    >>> round(epsilon_lower_bound(7311, 10_000, 2689, 10_000, 0.999), 2)  # true ratio: e
    0.93
    """
    return float(
        _lower_bounds(np.array([hits]), trials, np.array([other_hits]), other_trials, confidence)[0]
    )


@dataclass(frozen=True, eq=False)
class Event:
    """Scores that fall into some of the bins between `edges`."""

    edges: FloatArray
    bins: BoolArray

    def hits(self, scores: FloatArray) -> int:
        """How many of the scores are in the event."""
        return int(histogram(scores, self.edges)[self.bins].sum())


def best_event(
    one: IntArray, other: IntArray, edges: FloatArray, confidence: float
) -> tuple[float, Event]:
    """Of the unions of bins with the largest likelihood ratios, the one with the best lower bound,
    and that bound.

    `one` and `other` count scores per bin on two inputs. The bound is biased by the choice: fresh
    scores must confirm it.
    """
    order = np.argsort(-(one + 0.5) / (other + 0.5), kind="stable")
    hits, misses = np.cumsum(one[order]), np.cumsum(other[order])
    bounds = _lower_bounds(hits, int(hits[-1]), misses, int(misses[-1]), confidence)
    size = int(np.argmax(bounds))
    bins = np.zeros(len(one), dtype=np.bool_)
    bins[order[: size + 1]] = True
    return float(bounds[size]), Event(edges, bins)


def best_tail(
    one: FloatArray, other: FloatArray, times: int, confidence: float
) -> tuple[float, float]:
    """Of the events "score >= t" the best lower bound, and its t; for scores that rise with the
    likelihood ratio.

    As with `best_event`, fresh scores must confirm it. The bound is the one to expect of `times` as
    many of them, with half a miss more than was seen, so that "never yet" is not "never".
    """
    thresholds = bin_edges(np.concatenate([one, other]))
    if not len(thresholds):
        return 0.0, np.inf
    hits, misses = (
        np.count_nonzero(each[:, np.newaxis] >= thresholds, axis=0) for each in (one, other)
    )
    bounds = _lower_bounds(
        times * hits, times * len(one), times * misses + times // 2, times * len(other), confidence
    )
    place = int(np.argmax(bounds))
    return float(bounds[place]), float(thresholds[place])


def bin_edges(values: FloatArray, bins: int = _BINS) -> FloatArray:
    """Edges between the distinct values when they are few, at quantiles otherwise; a value that
    keeps coming is alone.

    >>> bin_edges(np.array([0.0, 1.0, 1.0, 3.0]))
    array([0.5, 2. ])
    """
    values = values[:: max(1, len(values) // _ENOUGH)]
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= 4 * bins:
        return (distinct[1:] + distinct[:-1]) / 2
    common = distinct[counts >= max(3, len(values) // _COMMON)]
    spread = np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1])
    return np.unique(np.concatenate([spread, common, np.nextafter(common, np.inf)]))


def histogram(values: FloatArray, edges: FloatArray) -> IntArray:
    """How many values are in each bin."""
    return np.bincount(
        np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1
    ).astype(np.int64)


def _lower_bounds(
    hits: IntArray, trials: int, other_hits: IntArray, other_trials: int, confidence: float
) -> FloatArray:
    error = (1 - confidence) / 2
    low = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), trials - hits + 1), 0.0)
    rest = np.maximum(other_trials - other_hits, 1)
    high = np.where(other_hits < other_trials, beta.ppf(1 - error, other_hits + 1, rest), 1.0)
    return np.where(low > high, np.log(np.maximum(low, 1e-300) / high), 0.0)


def one_run_bound(right: int, guesses: int, confidence: float) -> float:
    """The epsilon that so many right guesses prove.

    >>> round(one_run_bound(7311, 10_000, 0.999), 2)  # epsilon 1: 0.7311 are right at most
    0.93
    """
    low = float(beta.ppf(1 - confidence, right, guesses - right + 1)) if right > 0 else 0.0
    return log(low / (1 - low)) if 0.5 < low < 1 else 0.0


def boldness(
    scores: FloatArray, bits: BoolArray, times: int, confidence: float
) -> tuple[float, float]:
    """What guessing is expected to prove on `times` as many owners as these, and the |score| that a
    guess should have.

    Half a wrong guess more than was made is expected, so that "never yet" is not "never".
    """
    levels = np.unique(np.quantile(np.abs(scores), np.linspace(0, 0.99, 100)))
    made = [_count_guesses(scores, bits, level) for level in levels]
    proven = [
        one_run_bound(times * right, times * guesses + times // 2, confidence)
        for right, guesses in made
    ]
    best = int(np.argmax(proven))
    return proven[best], float(levels[best])


def guess(scores: FloatArray, bits: BoolArray, least: float, confidence: float) -> float:
    """What guessing every bit with |score| >= least proves; positive scores mean A. `least` must
    not know the bits.
    """
    return one_run_bound(*_count_guesses(scores, bits, least), confidence)


def _count_guesses(scores: FloatArray, bits: BoolArray, least: float) -> tuple[int, int]:
    """Right guesses, and all of them."""
    made = (np.abs(scores) >= least) & (scores != 0)
    right = made & ((scores > 0) == bits)
    return int(np.count_nonzero(right)), int(np.count_nonzero(made))
