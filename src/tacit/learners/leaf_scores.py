"""Scores from noisy counts: what may be believed of a table when the size of its noise is known.

Everything here works on released numbers only, so it costs no privacy.

    score = 2 (N1 - N0) / (N1 + N0 + 6 std), within [-2, 2]: one Newton step of the loss behind the weights, where
            6 std keeps leaves that hold hardly more than noise from shouting;
    times  max(0, 1 - leaves / chi2): the James-Stein factor of the table, with chi2 the differences' squares in units
            of their variance. A table of pure noise has chi2 of about its number of leaves, and says nothing.

Neighbouring cells of an ordered attribute are first taken together until they hold more than noise.
"""

import numpy as np

from tacit.types import FloatArray, IntArray

_CLIP = 2.0  # of one part's scores
_RIDGE = 6.0  # in standard deviations of a count
_LOUD = 1.5  # standard deviations of its noise that a group of cells must hold, at least


def cell_scores(zeros: FloatArray, ones: FloatArray, std: float, ordered: bool) -> FloatArray:
    """The score of each cell from its noisy weights of class 0 and class 1, each with noise of `std`.

    >>> cell_scores(np.array([90.0, 10.0, 0.0]), np.array([10.0, 90.0, 0.0]), std=1.0, ordered=False).round(2)
    array([-1.47,  1.47,  0.  ])
    >>> cell_scores(np.array([9.0, -7.0, 1.0]), np.array([2.0, 8.0, -3.0]), std=9.0, ordered=False)
    array([-0.,  0., -0.])
    """
    group = groups(zeros + ones, std) if ordered else np.arange(len(zeros))
    zeros, ones = (np.asarray(np.bincount(group, part), dtype=np.float64) for part in (zeros, ones))
    spread = std * np.sqrt(np.bincount(group))
    lead, weight = ones - zeros, np.maximum(ones + zeros, 0.0)
    scores = np.clip(2 * lead / np.maximum(weight + _RIDGE * spread, 1e-9), -_CLIP, _CLIP)
    variance = np.maximum(2 * spread**2 + weight, 1e-9)
    heard = max(0.0, 1 - len(scores) / max(float(np.sum(lead**2 / variance)), 1e-9))
    return np.asarray((heard * scores)[group])


def groups(weights: FloatArray, std: float) -> IntArray:
    """Numbers of groups of neighbouring cells, each with a weight above its noise.

    >>> groups(np.array([50.0, 1.0, 2.0, 60.0, 3.0]), std=2.0)
    array([0, 1, 1, 1, 1])
    """
    number = np.zeros(len(weights), dtype=np.int64)
    group, held, cells = 0, 0.0, 0
    for cell, weight in enumerate(weights.tolist()):
        number[cell], held, cells = group, held + weight, cells + 1
        if held > _LOUD * std * np.sqrt(2 * cells):
            group, held, cells = group + 1, 0.0, 0
    if cells and group:  # what is left over at the end joins the group before it
        number[number == group] = group - 1
    return number
