"""Lower bounds of epsilon out of readings: of two gateways that hold one data set each, or of one that holds both.

Scores and events are chosen on a part of the owners, and measured on others: choosing costs no confidence.
"""

import numpy as np

from tacit.audit.events import best_tail, epsilon_lower_bound
from tacit.audit.evidence import Readings, learned
from tacit.audit.one_run import boldness, guess
from tacit.types import BoolArray, FloatArray, IntArray

_PARTS = 6  # one teaches scores, one chooses among them, the others measure


def of_two_runs(one: Readings, other: Readings, confidence: float) -> float:
    """What is proven by n answers on each of two data sets, by the score and the threshold that looked best."""
    part = len(one["kind"]) // _PARTS
    first, second, rest = slice(0, part), slice(part, 2 * part), slice(2 * part, None)
    best: tuple[float, FloatArray, FloatArray, float] = (0.0, np.zeros(1), np.zeros(1), np.inf)
    for score in learned(_part(one, first), _part(other, first)):
        tried, fresh = ([score(_part(each, rows)) for each in (one, other)] for rows in (second, rest))
        for a, b, new, new_other in ((*tried, *fresh), (-tried[1], -tried[0], -fresh[1], -fresh[0])):
            bound, least = best_tail(a, b, _PARTS - 2, confidence)
            if bound > best[0]:
                best = (bound, new, new_other, least)
    _, new, new_other, least = best
    hits, misses = int(np.count_nonzero(new >= least)), int(np.count_nonzero(new_other >= least))
    return epsilon_lower_bound(hits, len(new), misses, len(new_other), confidence)


def of_one_run(mixed: Readings, bits: BoolArray, confidence: float) -> float:
    """What is proven by the answers of one run in which owner i holds data set A if bits[i], else B.

    The bits of the first owners are set aside: they teach the score and how bold to be. The others are guessed.
    """
    part = len(bits) // _PARTS
    first, second, rest = np.arange(part), np.arange(part, 2 * part), np.arange(2 * part, len(bits))
    ones, others = _part(mixed, first[bits[first]]), _part(mixed, first[~bits[first]])
    if not (len(ones["kind"]) and len(others["kind"])):
        return 0.0
    best: tuple[float, FloatArray, float] = (0.0, np.zeros(0), 0.0)
    for score in learned(ones, others):
        tried = score(_part(mixed, second))
        bound, least = boldness(tried, bits[second], _PARTS - 2, confidence)
        if bound > best[0]:
            best = (bound, score(_part(mixed, rest)), least)
    bound, scores, least = best
    return guess(scores, bits[rest], least, confidence) if bound > 0 else 0.0


def _part(readings: Readings, rows: slice | IntArray) -> Readings:
    return {name: values[rows] for name, values in readings.items()}
