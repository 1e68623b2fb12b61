"""The interface of a secure sum: clipped terms of many owners in, their total out, nobody's term
seen.

A term is a vector of k entries in [0, 1], for boosting (weighted error, weight). It is clipped,
rounded to the nearest of `steps` public steps per unit, and summed exactly in whole numbers modulo
2^64. Rounding moves a term's entry by at most half a step, so a sum over n owners by at most n / (2
steps) and a mean by at most 1 / (2 steps) = 2^-21; it needs no coins and does not depend on the
batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, matrix, positive, whole
from tacit._util.types import FloatArray, WordArray
from tacit.mechanisms.streams import Stream, rational

_BLOCK = 1 << 16  # owners handled at a time
_LARGEST_STEPS = 1 << 30  # per unit: two billion owners still fit a sum
_LARGEST_SCALE = 1 << 40  # noise stays far below 2^63 steps
_LARGEST_SUM = 1 << 62  # steps, so that signed words hold it with its noise


class SumRefusedError(RuntimeError):
    """The protocol will not go on: too few owners, a second release, releases of different
    batches.
    """


@dataclass(frozen=True, eq=False)
class SumAnswer:
    """What everybody may see: the sums (k,), the standard deviation of the noise in each, the
    owners counted.
    """

    sums: FloatArray
    stderr: FloatArray
    n: int


@dataclass(frozen=True, kw_only=True)
class SecureSum(ABC):
    """A way to add up one term per owner.

    `epsilon` is the budget of ONE sum for each owner in it: over several sums of the same owners it
    adds up, which is for a ledger to keep. None means no noise and is accepted only by simulations
    of what was published (`unsound` says why). A batch of fewer than `minimum` owners is never
    opened. A term is rounded to `steps` per unit.
    """

    unsound: ClassVar[str] = ""  # why this is a simulation only; empty where the guarantee holds

    epsilon: float | None
    minimum: int = 10
    steps: int = 1 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "minimum", whole("minimum", self.minimum, 1))
        object.__setattr__(self, "steps", whole("steps", self.steps, 1))
        if not self.steps <= _LARGEST_STEPS:
            raise bad("steps", f"at most {_LARGEST_STEPS}", self.steps)
        if not self.unsound:
            object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        elif self.epsilon is not None:
            raise bad("epsilon", "None: this simulation adds no noise", self.epsilon)

    @abstractmethod
    def total(self, terms: object, stream: Stream) -> SumAnswer:
        """The sums of the columns of `terms` (owners, k), each entry clipped to [0, 1] and NaN
        to 0.
        """

    def width(self, k: int) -> int:
        """The largest l1 distance, in steps, between two terms of k entries: what replacing one
        owner can change.
        """
        return k * self.steps

    def scale(self, k: int) -> int:
        """The noise scale t in steps: the least whole number with width / t <= epsilon. 0
        without noise.
        """
        if self.epsilon is None:
            return 0
        t = ceil(Fraction(self.width(k)) / rational(self.epsilon))
        if not t <= _LARGEST_SCALE:
            raise bad(
                "epsilon",
                f"at least {self.width(k) / _LARGEST_SCALE:.2g} for {k} entries",
                self.epsilon,
            )
        return t

    def accept(self, terms: object) -> FloatArray:
        """`terms` as an (owners, k) matrix; only its shape can be wrong."""
        array = np.asarray(terms)
        rows = matrix("terms", array, array.shape[1] if array.ndim == 2 else 1)
        whole("number of entries of a term", rows.shape[1], 1)
        if not len(rows) * self.steps <= _LARGEST_SUM:
            raise bad("number of owners", f"at most {_LARGEST_SUM // self.steps}", len(rows))
        return rows


def encode(terms: FloatArray, steps: int) -> WordArray:
    """Terms as whole numbers 0 .. steps: clipped, NaN as 0, rounded to nearest (ties to even).
    Total.

    >>> encode(np.array([[0.5, -2.0, np.nan, np.inf]]), 1024)
    array([[ 512,    0,    0, 1024]], dtype=uint64)
    """
    inside = np.clip(np.where(np.isnan(terms), 0.0, terms), 0.0, 1.0)
    return np.asarray(np.rint(inside * steps).astype(np.uint64))


def decode(words: WordArray, steps: int) -> FloatArray:
    """A sum modulo 2^64 as a signed number of units.

    >>> decode(np.array([3, 2**64 - 1], dtype=np.uint64), 2)
    array([ 1.5, -0.5])
    """
    return np.asarray(words.view(np.int64) / steps)


def blocks(n: int) -> Iterator[slice]:
    """Rows 0 .. n-1 in pieces that fit the cache."""
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))
