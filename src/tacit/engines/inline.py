"""The engine in this process: a cohort in memory, shares computed and randomised block by block.

It simulates honest owners: each is asked at most once, with its own epsilon. Peak memory grows with the block, not with
the cohort.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from tacit.cohort import Cohort
from tacit.ensembles.boosting import Ask, Boosted, Told, Verdict
from tacit.learners.base import Answer, Query, Simulated, Tally
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.choose import choose
from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.hybrid import Hybrid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.no_privacy import NoPrivacy
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.reports import Totals
from tacit.spaces import Space
from tacit.streams import Stream
from tacit.sums.base import SecureSum
from tacit.types import FloatArray, IntArray

MECHANISMS: dict[str, type[Mechanism]] = {
    "laplace": Laplace,
    "duchi": Duchi,
    "piecewise": Piecewise,
    "hybrid": Hybrid,
    "privunit": PrivUnit,
    "randomized_response": RandomizedResponse,
    "none": NoPrivacy,
}
_BLOCK = 1 << 22  # numbers of a block of shares


def mechanism_for(name: str, space: Space, epsilon: float | FloatArray) -> Mechanism:
    """The mechanism of that name; "auto" takes the best one for the space at the median epsilon."""
    if name == "none":
        return NoPrivacy(space=space)
    kind = type(choose(space, float(np.median(epsilon))).mechanism) if name == "auto" else MECHANISMS.get(name)
    if kind is None:
        raise ValueError(f"mechanism must be 'auto' or one of {sorted(MECHANISMS)}, got {name!r}")
    return kind(space=space, epsilon=epsilon)


@dataclass(eq=False)
class Inline:
    """Answers queries from `cohort`; owners are drawn at random among those never asked."""

    cohort: Cohort
    mechanism: str
    epsilon: float | FloatArray
    stream: Stream
    sums: SecureSum | None = None
    _waiting: IntArray = field(init=False, repr=False)
    _asked: int = field(init=False, default=0)
    _tallies: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if np.ndim(self.epsilon) == 0:
            self.epsilon = float(self.epsilon)
        coins = self.stream.child("order").words(np.arange(len(self.cohort)), 0, 1)[:, 0]
        self._waiting = np.argsort(coins, kind="stable")
        if isinstance(self.epsilon, np.ndarray) and self.epsilon.shape != (len(self.cohort),):
            raise ValueError(f"epsilon must be one number per owner, {len(self.cohort)}, got {self.epsilon.shape}")

    @property
    def asked(self) -> int:
        """How many owners have spoken."""
        return self._asked

    def run(self, algorithm: Generator[Ask, Told, Boosted]) -> Boosted:
        """Drive an algorithm to its end."""
        try:
            ask = next(algorithm)
            while True:
                ask = algorithm.send(self.tally(ask) if isinstance(ask, Tally) else self.ask(ask))
        except StopIteration as end:
            result: Boosted = end.value
            return result

    def ask(self, query: Query) -> Answer | None:
        """The mean of `query.owners` fresh owners' reports, or None when there are not that many left."""
        if len(self._waiting) - self._asked < query.owners:
            return None
        owners = np.sort(self._waiting[self._asked : self._asked + query.owners])
        self._asked += query.owners
        coins = self.stream.child("round", query.round, query.attempt)
        space = query.learner.space(query.facts)
        epsilon = self.epsilon if isinstance(self.epsilon, float) else self.epsilon[owners]
        if isinstance(query.learner, Simulated):
            kind = type(mechanism_for(self.mechanism, space, epsilon))
            return query.learner.simulate(query, self.cohort[owners], kind, epsilon, coins.of(owners))
        mechanism = mechanism_for(self.mechanism, space, epsilon)
        totals: Totals | None = None
        size = max(1, _BLOCK // space.dim)
        for start in range(0, len(owners), size):
            block = owners[start : start + size]
            shares = query.learner.share(query, self.cohort[block])
            part = mechanism.select(slice(start, start + size))
            added = part.totals(part.randomize(shares, coins.of(block)))
            totals = added if totals is None else totals + added
        if totals is None:
            return None
        return Answer(totals.mean, totals.stderr, totals.n)

    def tally(self, question: Tally) -> Verdict:
        """The error of a model over all owners, by a secure sum: paper B."""
        if self.sums is None:
            raise ValueError("this algorithm asks for sums over all owners: give sums, e.g. TwoServers(epsilon=0.1)")
        terms = question.ensemble.error_terms(question.model, self.cohort)
        self._tallies += 1
        told = self.sums.total(terms, self.stream.child("tally", self._tallies))
        wrong, weight = told.sums.tolist()
        error = min(max(wrong / max(weight, 1.0), 0.0), 1.0)
        return Verdict(error, float(np.hypot(told.stderr[0], error * told.stderr[1])) / max(weight, 1.0))
