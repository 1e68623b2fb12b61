"""The terms of a campaign, public and fixed from its beginning: what is asked of whom, and on what conditions."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from tacit.checks import bad, positive, whole
from tacit.ensembles.boosting import Boosted, Judge, boost
from tacit.learners.base import Facts, Learner, Terms
from tacit.schema import Schema
from tacit.sums.batch import SumTerms
from tacit.wire import message


@message("campaign.terms")
@dataclass(frozen=True, eq=False)
class CampaignTerms:
    """Rounds of `owners` owners each, a `deadline` in seconds for every question, at least `minimum` reports.

    A question with fewer reports is void, and others are asked the same. The campaign begins when `start` owners have
    enrolled. `sample` is the digest of the data user's own sample, which judges base models, unless `sums` says on what
    terms all owners do, by a sum after every round.
    """

    name: str
    schema: Schema
    learner: Learner
    facts: Facts
    terms: Terms
    rounds: int
    owners: int
    attempts: int
    start: int
    minimum: int
    deadline: float
    sample: bytes
    sums: SumTerms | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= 200:
            raise bad("name", "1 to 200 characters", self.name[:20])
        for name in ("rounds", "owners", "attempts", "start", "minimum"):
            whole(name, getattr(self, name), 1)
        positive("deadline", self.deadline)
        if not self.minimum <= self.owners:
            raise bad("minimum", f"at most owners per round, {self.owners}", self.minimum)
        if self.sums is not None and not self.sums.minimum <= self.start:
            raise bad("minimum of a sum", f"at most start, {self.start}", self.sums.minimum)
        if not (self.facts.dim, self.facts.classes) == (self.schema.dim, len(self.schema.classes)):
            raise bad("facts", "made for the schema", (self.facts.dim, self.facts.classes))

    def algorithm(self, judge: Judge) -> Generator[Any, Any, Boosted]:
        """The algorithm that the campaign runs, from its beginning."""
        return boost(self.learner, self.facts, self.terms, judge, self.rounds, self.owners, self.attempts)
