"""How far a campaign has come, as anybody may see it and as it is kept in the database: how good
the model is on the data user's sample, and how precise answers were.

Everything here is made of reports, of the published model, or of the sample, which is public.

An answer's precision is its standard error, twice. Measured: from the spread of the reports,
mechanism's noise and owners' differences together. Predicted: by the closed-form variance of the
mechanism alone, for owners whose share is the mean. Measured well below predicted: these are not
the mechanism's reports. Well above: owners differ more than noise hides.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.data.sample import Public
from tacit.learners.learner import ShareQuery
from tacit.learners.query import Answer


@dataclass(frozen=True)
class Accuracy:
    """Lengths of vectors: the answer, and its standard error as measured and as predicted (None:
    unknown).
    """

    signal: float
    measured: float | None
    predicted: float | None


def accuracy(query: ShareQuery, epsilons: FloatArray, answer: Answer) -> Accuracy:
    """The accuracy of an answer made of reports with these epsilons."""
    return Accuracy(
        _length(answer.mean) or 0.0, _length(answer.stderr), _predict_error(query, epsilons, answer)
    )


def _predict_error(query: ShareQuery, epsilons: FloatArray, answer: Answer) -> float | None:
    """sqrt(sum_l s_l^2 V_l / n_l): level l has n_l reports, its say s_l is in proportion to n_l
    / risk_l.
    """
    mechanism = query.mechanism(np.array(query.epsilons))  # a row for each level
    counts = np.array(
        [np.count_nonzero(epsilons == each) for each in query.epsilons], dtype=np.float64
    )
    if not (len(mechanism.levels) == len(counts) and (mechanism.risks > 0).all()):
        return None  # shares that leave as they are have no noise to predict
    variances = mechanism.variance(np.tile(answer.mean, (len(counts), 1))).sum(axis=1)
    pull = counts / mechanism.risks
    says = pull / pull.sum()
    return _length(says * np.sqrt(variances / np.maximum(counts, 1)))


def _length(vector: FloatArray) -> float | None:
    length = float(np.sqrt(np.sum(vector**2)))
    return length if isfinite(length) else None


@dataclass(frozen=True)
class Progress:
    """Errors on the data user's sample, and the accuracy of answers.

    Errors are those of the sample's own `model`, of the most frequent class, and of what is
    published, by round.
    """

    rows: int = 0
    model: str = ""
    public_only: dict[str, float] | None = None
    majority: dict[str, float] | None = None
    rounds: list[dict[str, float]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def at_start(cls, public: Public) -> "Progress":
        """Before anything is asked: what the sample gives alone. Fitted once in a campaign, for
        it may take a while.
        """
        own = fit_public(public)
        rows = len(public.y)
        rare = 1 - np.bincount(public.y).max() / rows
        return cls(
            rows=rows,
            model=own.name,
            public_only=None if own.accuracy is None else _error(1 - own.accuracy, rows),
            majority=_error(float(rare), rows),
        )

    @classmethod
    def read(cls, text: str) -> "Progress":
        """From the database; nothing has been kept before a driver has looked."""
        return cls(**json.loads(text))

    def after(
        self, public: Public, guesses: Sequence[IntArray], answers: Mapping[int, Accuracy]
    ) -> "Progress":
        """The progress when models that guess these classes are published, and these questions
        (by number) answered.
        """
        errors = [_error(float(np.mean(each != public.y)), len(public.y)) for each in guesses]
        return replace(
            self,
            rounds=errors,
            answers={str(number): asdict(found) for number, found in answers.items()},
        )

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def _error(error: float, rows: int) -> dict[str, float]:
    return {"error": error, "stderr": (max(error * (1 - error), 1 / rows) / rows) ** 0.5}
