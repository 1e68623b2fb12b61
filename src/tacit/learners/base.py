"""The protocol between a data user and owners, for one base learner.

A `Query` carries only public facts. An owner answers with its share, an exact vector in `learner.space(facts)`, after a
mechanism has randomised it; the data user sees the `Answer`, a mean with its standard error. A learner is one file that
says both sides.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tacit.cohort import Cohort
from tacit.learners.ensemble import Ensemble, Model
from tacit.mechanisms.base import Mechanism
from tacit.spaces import Space
from tacit.streams import Stream
from tacit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Public:
    """The data user's own sample, encoded. Alphas and thresholds show it: it must be public, or its people agree."""

    X: FloatArray
    y: IntArray
    classes: int

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])


@dataclass(frozen=True, eq=False)
class Facts:
    """What a learner takes from public knowledge before anything is asked: sizes, and e.g. candidate cuts."""

    dim: int
    classes: int
    values: FloatArray = field(default_factory=lambda: np.zeros(0))
    columns: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Query:
    """What the data user asks of some owners that were never asked before."""

    round: int
    attempt: int
    learner: "Learner"
    facts: Facts
    ensemble: Ensemble
    owners: int


@dataclass(frozen=True, eq=False)
class Tally:
    """A question to all owners at once: the summed error and weight of a model under the published ensemble."""

    model: Model
    ensemble: Ensemble


@dataclass(frozen=True, eq=False)
class Answer:
    """The estimated mean share of the owners asked, its standard error, and how many there were."""

    mean: FloatArray
    stderr: FloatArray
    n: int


class Learner(ABC):
    """A base learner; frozen dataclasses with their parameters."""

    name: ClassVar[str]
    unsound: ClassVar[str] = ""  # why it may only be simulated; empty: it may run at real owners

    def facts(self, public: Public) -> Facts:
        """Public facts that shares need; by default the sizes alone."""
        return Facts(public.dim, public.classes)

    @abstractmethod
    def space(self, facts: Facts) -> Space:
        """Where shares live, known before anything is asked."""

    @abstractmethod
    def share(self, query: Query, cohort: Cohort) -> FloatArray:
        """What each owner computes from its own rows, (owners, dim); an owner without rows says 0."""

    @abstractmethod
    def learn(self, query: Query, answer: Answer) -> Model:
        """The base model that the answer gives."""


class Simulated(Learner):
    """A learner that releases something other than a randomised share: to show what was published, never to run."""

    @abstractmethod
    def simulate(
        self, query: Query, cohort: Cohort, mechanism: type[Mechanism], epsilon: float | FloatArray, stream: Stream
    ) -> Answer:
        """What the data user would see; `stream` has a tape for every owner."""
