"""How precise an answer is: what the mechanism's formula says, beside what the reports show.

Measured: the standard error from the spread of the reports, mechanism's noise and owners' differences together.
Predicted: the standard error by the closed-form variance of the mechanism alone, for owners whose share is the mean.
Measured well below predicted: these are not the mechanism's reports. Well above: owners differ more than noise hides.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from tacit.learners.base import ShareQuery
from tacit.learners.query import Answer
from tacit.types import FloatArray


@dataclass(frozen=True)
class Accuracy:
    """Lengths of vectors: the answer, and its standard error as measured and as predicted (None: unknown)."""

    signal: float
    measured: float | None
    predicted: float | None


def accuracy(query: ShareQuery, epsilons: FloatArray, answer: Answer) -> Accuracy:
    """The accuracy of an answer made of reports with these epsilons."""
    return Accuracy(_length(answer.mean) or 0.0, _length(answer.stderr), _predicted(query, epsilons, answer))


def _predicted(query: ShareQuery, epsilons: FloatArray, answer: Answer) -> float | None:
    """sqrt(sum_l s_l^2 V_l / n_l): level l has n_l reports, its say s_l is in proportion to n_l / risk_l."""
    mechanism = query.mechanism(np.array(query.epsilons))  # a row for each level
    counts = np.array([np.count_nonzero(epsilons == each) for each in query.epsilons], dtype=np.float64)
    if not (len(mechanism.levels) == len(counts) and (mechanism.risks > 0).all()):
        return None  # shares that leave as they are have no noise to predict
    variances = mechanism.variance(np.tile(answer.mean, (len(counts), 1))).sum(axis=1)
    pull = counts / mechanism.risks
    says = pull / pull.sum()
    return _length(says * np.sqrt(variances / np.maximum(counts, 1)))


def _length(vector: FloatArray) -> float | None:
    length = float(np.sqrt(np.sum(vector**2)))
    return length if isfinite(length) else None
