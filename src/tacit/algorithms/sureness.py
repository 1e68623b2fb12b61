"""How sure a model may be, as owners say: by which factor its scores are to be multiplied.

Shares of long rows, which are those that a model is surely wrong about, are clipped, so models of
sums come out too sure. A share's part along the model itself tells by how much: made-up owners,
whose labels have the chances of the scores times a factor, say how much of it clipping leaves, for
every factor; answers say how much there is. Classes, and so predictions, stay as they are.

    log factor ~ N(log 0.8, 0.3^2)                       as over many problems
    answer . model = expectation under the factor, + noise of the answer
    labels of public rows that the model has not seen, where these are many

Why so: summed_gradients.md.
"""

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.share_lengths import MadeUpOwners
from tacit.learners.models.scores import softmax

_GUESS, _SPREAD = np.log(0.8), 0.3  # of the logarithm of the factor
_GRID = np.linspace(np.log(0.1), np.log(3.0), 25)
_MADE_UP = _GRID[::4]  # where shares are made up; between them their mean is interpolated


def weigh_answer(
    owners: MadeUpOwners,
    scores: FloatArray,
    audible: FloatArray,
    *,
    radius: float,
    said: float,
    error: float,
) -> FloatArray:
    """The log likelihood of factors on the grid: owners were asked about a model that has these
    scores of public rows, of which questions say `audible`; `said` is their answer along it.
    """
    asked = softmax(scores)
    shares = [
        _clipped_along(owners, owners.residuals(asked, softmax(factor * scores)), audible, radius)
        for factor in np.exp(_MADE_UP)
    ]
    expected = np.interp(_GRID, _MADE_UP, [each.mean() for each in shares])
    chance = np.interp(_GRID, _MADE_UP, [each.var() / len(each) for each in shares])
    return np.asarray(-0.5 * (said - expected) ** 2 / (error**2 + chance))


def _clipped_along(
    owners: MadeUpOwners, residuals: FloatArray, scores: FloatArray, radius: float
) -> FloatArray:
    """What clipping leaves of each share along a model."""
    left = np.minimum(1.0, radius / np.maximum(owners.lengths(residuals), 1e-300))
    return np.asarray(left * owners.along(residuals, scores))


def weigh_labels(unseen: FloatArray, labels: IntArray) -> FloatArray:
    """The log likelihood of factors on the grid by labels that these scores have not seen."""
    rows = np.arange(len(labels))
    right = [softmax(factor * unseen)[rows, labels] for factor in np.exp(_GRID)]
    return np.asarray(np.log(np.maximum(np.array(right), 1e-300)).sum(axis=1))


def likely_factor(*evidence: FloatArray) -> float:
    """The mean of the logarithm, as a factor, after such evidence.

    >>> round(likely_factor(), 2)
    0.8
    """
    weights = sum(evidence, -0.5 * ((_GRID - _GUESS) / _SPREAD) ** 2)
    weights = np.exp(weights - weights.max())
    return float(np.exp(weights @ _GRID / weights.sum()))
