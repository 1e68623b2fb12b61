"""What anybody may see of how far a campaign has come, as it is kept in the database.

Everything here is made of reports, of the published ensemble, or of the data user's own sample, which is public.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tacit.coordinator.accuracy import Accuracy
from tacit.ensembles.public_model import fit_public
from tacit.learners.base import Public
from tacit.learners.ensemble import Ensemble


@dataclass(frozen=True)
class Progress:
    """Errors on the data user's sample (of its own model, of the ensemble by round), and the accuracy of answers."""

    rows: int = 0
    public_only: dict[str, float] | None = None
    rounds: list[dict[str, float]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "Progress":
        """From the database; nothing has been kept before a driver has looked."""
        return cls(**json.loads(text))

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


class Watch:
    """Makes progress out of what a driver sees."""

    def __init__(self, public: Public) -> None:
        self._public = public
        score = fit_public(public).accuracy
        self._public_only = None if score is None else self._error(1 - score)

    def progress(self, ensemble: Ensemble, answers: Mapping[int, Accuracy]) -> Progress:
        """The progress when `ensemble` is published and these questions (by number) are answered."""
        X, y = self._public.X, self._public.y
        errors = [float(np.mean(np.argmax(votes, axis=1) != y)) for votes in ensemble.staged_votes(X)]
        told = {str(number): asdict(found) for number, found in answers.items()}
        return Progress(len(y), self._public_only, [self._error(error) for error in errors], told)

    def _error(self, error: float) -> dict[str, float]:
        rows = len(self._public.y)
        return {"error": error, "stderr": (max(error * (1 - error), 1 / rows) / rows) ** 0.5}
