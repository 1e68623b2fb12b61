"""Lower bounds of epsilon out of readings: of two gateways that hold one data set each, or of one that holds both.

Scores and events are chosen on a part of the owners, and measured on others: choosing costs no confidence.
"""

import numpy as np

from tacit.audit.events import Event, best_event, bin_edges, epsilon_lower_bound, histogram
from tacit.audit.evidence import Readings, Score, learned
from tacit.audit.one_run import boldness, guess
from tacit.types import BoolArray, FloatArray, IntArray

_PARTS = 6  # one teaches scores, one chooses among them, the others measure


def of_two_runs(one: Readings, other: Readings, confidence: float) -> float:
    """What is proven by n answers on each of two data sets, in the direction, score and event that looked best."""
    part = len(one["kind"]) // _PARTS
    first, second, rest = slice(0, part), slice(part, 2 * part), slice(2 * part, None)
    best: tuple[float, Score | None, Event | None, bool] = (0.0, None, None, False)
    for score in learned(_part(one, first), _part(other, first)):
        scores = score(_part(one, second)), score(_part(other, second))
        edges = bin_edges(np.concatenate(scores))
        counts = [histogram(each, edges) for each in scores]
        for swapped in (False, True):
            bound, event = best_event(counts[swapped], counts[not swapped], edges, confidence)
            if bound > best[0]:
                best = (bound, score, event, swapped)
    _, chosen, event_chosen, swapped = best
    if chosen is None or event_chosen is None:
        return 0.0
    hits = [event_chosen.hits(chosen(_part(each, rest))) for each in (one, other)]
    trials = len(one["kind"]) - 2 * part
    return epsilon_lower_bound(hits[swapped], trials, hits[not swapped], trials, confidence)


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
        least = boldness(tried, bits[second], confidence)
        bound = guess(tried, bits[second], least, confidence)
        if bound > best[0]:
            best = (bound, score(_part(mixed, rest)), least)
    bound, scores, least = best
    return guess(scores, bits[rest], least, confidence) if bound > 0 else 0.0


def _part(readings: Readings, rows: slice | IntArray) -> Readings:
    return {name: values[rows] for name, values in readings.items()}
