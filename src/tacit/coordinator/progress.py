"""What anybody may see of how far a campaign has come, as it is kept in the database.

Everything here is made of reports, of the published ensemble, or of the data user's own sample, which is public.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from tacit.coordinator.accuracy import Accuracy
from tacit.ensembles.public_model import fit_public
from tacit.learners.base import Public
from tacit.types import IntArray


@dataclass(frozen=True)
class Progress:
    """Errors on the data user's sample, and the accuracy of answers.

    Errors are those of the sample's own `model`, of the most frequent class, and of what is published, by round.
    """

    rows: int = 0
    model: str = ""
    public_only: dict[str, float] | None = None
    majority: dict[str, float] | None = None
    rounds: list[dict[str, float]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def begun(cls, public: Public) -> "Progress":
        """Before anything is asked: what the sample gives alone. Fitted once in a campaign, for it may take a while."""
        own = fit_public(public)
        rows = len(public.y)
        rare = 1 - np.bincount(public.y).max() / rows
        return cls(
            rows,
            own.name,
            None if own.accuracy is None else _error(1 - own.accuracy, rows),
            _error(float(rare), rows),
        )

    @classmethod
    def read(cls, text: str) -> "Progress":
        """From the database; nothing has been kept before a driver has looked."""
        return cls(**json.loads(text))

    def after(self, public: Public, guesses: Sequence[IntArray], answers: Mapping[int, Accuracy]) -> "Progress":
        """The progress when models that guess these classes are published, and these questions (by number) answered."""
        errors = [_error(float(np.mean(each != public.y)), len(public.y)) for each in guesses]
        return replace(self, rounds=errors, answers={str(number): asdict(found) for number, found in answers.items()})

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def _error(error: float, rows: int) -> dict[str, float]:
    return {"error": error, "stderr": (max(error * (1 - error), 1 / rows) / rows) ** 0.5}
