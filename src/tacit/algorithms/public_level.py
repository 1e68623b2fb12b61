"""How frequent classes are among the data user's rows, where owners' labels say otherwise.

Owners may have labels of one class wrong more often than others', or other classes at hand; then
their model is off by a level, one number for each contrast of classes, which public rows tell as
rows that it has not seen. Often owners are not off at all, so a level is doubted first:

    level ~ 0 with chance 1 - c, N(0, s^2) with chance c;  the mean of what public rows leave of it

Derivation: summed_gradients.md.
"""

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.learners.models.scores import contrasts, softmax

_OFF = 1 / 3  # chance that owners are off by a level
_SPREAD = 0.35  # standard deviation of a contrast of it, if they are
_STEPS = 20  # of Newton's method


def expected_level(scores: FloatArray, labels: IntArray) -> FloatArray:
    """What to add to contrasts of scores, (classes - 1,): the mean of the level after rows with
    these labels, which the scores have not seen.

    The likelihood is taken as that of a Gaussian at its peak under N(0, s^2).

    >>> scores = np.zeros((400, 2))
    >>> even, odd = (np.repeat([0, 1], [n, 400 - n]) for n in (202, 300))
    >>> [bool(abs(expected_level(scores, each)[0]) > 0.1) for each in (even, odd)]
    [False, True]
    """
    matrix = contrasts(scores.shape[1])
    hot, size = np.eye(len(matrix))[labels], matrix.shape[1]
    level, prior = np.zeros(size), np.eye(size) / _SPREAD**2
    for _ in range(_STEPS):
        chances = softmax(scores + matrix @ level)
        slope = ((hot - chances) @ matrix).sum(axis=0) - prior @ level
        said = chances @ matrix
        bent = matrix.T @ (chances.sum(axis=0)[:, np.newaxis] * matrix) - said.T @ said
        step = np.linalg.solve(bent + prior, slope)
        level = level + step
        if np.abs(step).max() < 1e-9:
            break
    gained = _log_likelihood(scores + matrix @ level, labels) - _log_likelihood(scores, labels)
    gained -= 0.5 * float(level @ prior @ level)
    # of how much the peak is wide: log of (1/s)^size / sqrt(det(curvature + 1/s^2))
    width = -size * np.log(_SPREAD) - 0.5 * float(np.linalg.slogdet(bent + prior)[1])
    odds = np.log(_OFF / (1 - _OFF)) + gained + width
    return np.asarray(level / (1 + np.exp(-np.clip(odds, -500.0, 500.0))))


def _log_likelihood(scores: FloatArray, labels: IntArray) -> float:
    right = softmax(scores)[np.arange(len(labels)), labels]
    return float(np.log(np.maximum(right, 1e-300)).sum())
