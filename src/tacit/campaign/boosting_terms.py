"""Boosting over owners that are asked once each: papers A and B."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.campaign.terms import CampaignTerms
from tacit.checks import bad, whole
from tacit.ensembles.boosting import AllOwners, Boosted, Judge, OwnSample, boost
from tacit.learners.base import Facts, Learner, Public, ShareQuery, Terms
from tacit.learners.ensemble import Ensemble
from tacit.learners.query import Query
from tacit.sums.batch import SumTerms
from tacit.types import IntArray
from tacit.wire import message


@message("campaign.boosting")
@dataclass(frozen=True, eq=False)
class BoostingTerms(CampaignTerms):
    """Rounds of `owners` owners each. A question with fewer reports than `minimum` is void, and others are asked.

    The data user's sample judges base models, unless `sums` says on what terms all owners do, by a sum after every
    round.
    """

    kind: ClassVar[str] = "boosting"

    learner: Learner
    facts: Facts
    terms: Terms
    rounds: int
    owners: int
    attempts: int
    sums: SumTerms | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rounds", "owners", "attempts"):
            whole(name, getattr(self, name), 1)
        if not self.minimum <= self.owners:
            raise bad("minimum", f"at most owners per round, {self.owners}", self.minimum)
        if self.sums is not None and not self.sums.minimum <= self.start:
            raise bad("minimum of a sum", f"at most start, {self.start}", self.sums.minimum)
        if not (self.facts.dim, self.facts.classes) == (self.schema.dim, len(self.schema.classes)):
            raise bad("facts", "made for the schema", (self.facts.dim, self.facts.classes))

    @property
    def once(self) -> bool:
        return self.sums is None  # sums are asked of everybody, again and again

    @property
    def needed(self) -> int:
        return max(self.owners, 0 if self.sums is None else self.sums.minimum)

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.terms.epsilons

    @property
    def rounds_expected(self) -> int:
        return self.rounds

    def example(self) -> Query:
        return ShareQuery(1, 1, self.owners, self.learner, self.facts, Ensemble(self.facts.classes), self.terms)

    def run(self, public: Public) -> Generator[Any, Any, Boosted]:
        return self.algorithm(OwnSample(public) if self.sums is None else AllOwners())

    def algorithm(self, judge: Judge) -> Generator[Any, Any, Boosted]:
        """Boosting with this judge."""
        return boost(self.learner, self.facts, self.terms, judge, self.rounds, self.owners, self.attempts)

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        ensemble: Ensemble = at.ensemble
        return [np.argmax(votes, axis=1) for votes in ensemble.staged_votes(public.X)]
