"""What is to be predicted where it is a number: its public range, and the schema of such a task."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad
from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit.data.schema import Schema, is_wide
from tacit.data.values import as_floats
from tacit.wire import message

LEVELS = 1 << 20  # steps of a number's public range, as a cohort holds targets


@dataclass(frozen=True)
class Range:
    """Public bounds of a target. A cohort holds targets in whole steps, a model scores them in [-1,
    1].

    >>> bounds = Range(0.0, 10.0)
    >>> bounds.levels(np.array([0.0, 20.0, np.nan])).tolist()
    [0, 1048576, -1]
    >>> bounds.numbers(np.array([0.0, 3.0])).tolist()
    [5.0, 10.0]
    """

    STEPS: ClassVar[int] = LEVELS

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (-np.inf < self.low < self.high < np.inf and is_wide(self.low, self.high)):
            raise bad("target_range", "finite with low < high", (self.low, self.high))

    @classmethod
    def around(cls, targets: AnyArray) -> "Range":
        """As wide as the finite ones of these numbers are, a little wider where all are alike."""
        known = as_floats(np.asarray(targets))
        finite = known[np.isfinite(known)]
        if not finite.size:
            raise ValueError("the public rows have no target that is a number")
        low, high = float(finite.min()), float(finite.max())
        return cls(low, high if is_wide(low, high) else low + max(1.0, abs(low)))

    def levels(self, y: AnyArray) -> IntArray:
        """Whole steps; -1 for what is not a number."""
        placed = np.clip(self.places(y), 0.0, 1.0)
        return np.where(np.isnan(placed), -1, np.rint(np.nan_to_num(placed) * self.STEPS)).astype(
            np.int64
        )

    def places(self, y: AnyArray) -> FloatArray:
        """Where numbers lie in the range, from 0 to 1; beyond is beyond."""
        with np.errstate(over="ignore"):  # beyond the largest float is beyond the bounds
            beyond = as_floats(np.asarray(y)) / 2 - self.low / 2
            return np.asarray(beyond / (self.high / 2 - self.low / 2))

    def numbers(self, scores: FloatArray) -> FloatArray:
        """Targets of scores in [-1, 1]; beyond becomes the bound."""
        return self.stretch(np.clip(scores, -1.0, 1.0))

    def stretch(self, scores: FloatArray) -> FloatArray:
        """The same without ends: a score beyond 1 is beyond the bound."""
        part = (scores + 1) / 2
        half = self.low / 2 + part * (self.high / 2 - self.low / 2)
        return np.asarray(2 * half)


def steps_of(scores: FloatArray) -> FloatArray:
    """Scores in [-1, 1] on the scale of levels, not rounded; beyond becomes the bound.

    >>> steps_of(np.array([-1.0, 0.0, 2.0])).tolist()
    [0.0, 524288.0, 1048576.0]
    """
    return np.asarray((np.clip(scores, -1.0, 1.0) + 1) / 2 * LEVELS)


@message("schema.number")
@dataclass(frozen=True)
class NumberSchema(Schema):
    """The public description of a task whose target is a number; `classes` are the two ends of its
    range.

    >>> from tacit.data.schema import Number
    >>> people = NumberSchema((Number("age", 0, 100),), classes=(0.0, 10.0))
    >>> people.encode_labels(["5", 20, None]).tolist(), people.labels, people.codes
    ([524288, 1048576, -1], 0, 1048577)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.classes) == 2:
            raise bad("classes", "the two ends of the target's range", self.classes)
        low, high = (float(end) for end in self.classes)
        object.__setattr__(self, "classes", (low, high))
        Range(low, high)

    @property
    def range(self) -> Range:
        """The public bounds of the target."""
        return Range(*self.classes)

    @property
    def labels(self) -> int:
        return 0

    @property
    def codes(self) -> int:
        return LEVELS + 1

    def conform_labels(self, labels: AnyArray) -> AnyArray:
        """Labels as numbers, NaN for anything else."""
        return as_floats(labels)

    def encode_labels(self, y: Any) -> IntArray:
        """Levels of the range; -1 for what is not a number."""
        return self.range.levels(np.asarray(y))
