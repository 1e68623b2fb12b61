"""Boosting over owners that are asked once each: papers A and B.

The file of a campaign that boosts over owners that are asked once each.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import httpx
import numpy as np

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.types import IntArray
from tacit.algorithms.boosting import AllOwners, Boosted, Judge, OwnSample, boost
from tacit.data.sample import Public
from tacit.learners.learner import Facts, Learner, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.query import Query
from tacit.learners.registry import learner_of
from tacit.service.kinds.campaign_file import CampaignSpec
from tacit.service.protocol.campaign import CampaignTerms
from tacit.service.protocol.signed_requests import checked_url, trust
from tacit.sums.halves import SumTerms
from tacit.sums.protocol import REHEARSAL_HELPER, no_rehearsal
from tacit.wire import message


@message("campaign.boosting")
@dataclass(frozen=True, eq=False)
class BoostingTerms(CampaignTerms):
    """Rounds of `owners` owners each. A question with fewer reports than `minimum` is void, and
    others are asked.

    The data user's sample judges base models, unless `sums` says on what terms all owners do, by a
    sum after every round.
    """

    kind: ClassVar[str] = "boosting"

    learner: Learner
    facts: Facts
    terms: ReportTerms
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

    def with_public_coins(self, seed: int) -> "BoostingTerms":
        if self.sums is None:
            return self
        return replace(self, sums=replace(self.sums, helper=REHEARSAL_HELPER))

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
        return ShareQuery(
            1, 1, self.owners, self.learner, self.facts, Ensemble(self.facts.classes), self.terms
        )

    def run(self, public: Public) -> Generator[Any, Any, Boosted]:
        return self.algorithm(OwnSample(public) if self.sums is None else AllOwners())

    def algorithm(self, judge: Judge) -> Generator[Any, Any, Boosted]:
        """Boosting with this judge."""
        return boost(
            self.learner, self.facts, self.terms, judge, self.rounds, self.owners, self.attempts
        )

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        ensemble: Ensemble = at.ensemble
        return [np.argmax(votes, axis=1) for votes in ensemble.staged_votes(public.X)]


_SUMS = {"error_epsilon", "helper", "helper_key"}


@dataclass(frozen=True, kw_only=True)
class BoostingSpec(CampaignSpec):
    """Entries of a file of kind "boosting", which is the default, beside those of every campaign.

    learner, mechanism, rounds, attempts : as in `PrivateBoosting`.
    owners_per_round : how many owners a round asks.  minimum : reports that a round needs.
    error : who judges base models: "public" (the sample) or "owners" (all of them, by a sum after
    every round); then
        error_epsilon : what each sum costs every owner; sums add up.  error_minimum : reports that
        a sum needs. helper, helper_key : address and public key (hex) of the second server.
        helper_ca : a certificate to trust.
    """

    kind: ClassVar[str] = "boosting"
    paths: ClassVar[tuple[str, ...]] = ("sample", "helper_ca")

    learner: str = "centroid"
    mechanism: str = "auto"
    rounds: int = 10
    owners_per_round: int
    minimum: int = 2
    attempts: int = 5
    error: str = "public"
    error_epsilon: float | None = None
    error_minimum: int = 10
    helper: str | None = None
    helper_key: str | None = None
    helper_ca: Path | None = None

    def __post_init__(self) -> None:
        one_of("error", self.error, ("public", "owners"))
        given = {name for name in _SUMS if getattr(self, name) is not None}
        if given != (_SUMS if self.error == "owners" else set()):
            raise ValueError(
                f"{', '.join(sorted(_SUMS))} must be given with error = 'owners', and only then"
            )

    def prepared(self, sum_key: bytes = b"") -> tuple[BoostingTerms, Public]:
        sample = self.read_sample()
        learner = learner_of(self.learner)
        facts = learner.facts(sample.public)
        made = BoostingTerms(
            *self.common(sample, self.minimum),
            learner,
            facts,
            ReportTerms.of(self.mechanism, learner.space(facts), np.array(self.epsilon)),
            self.rounds,
            self.owners_per_round,
            self.attempts,
            self._sums(sum_key),
        )
        return made, sample.public

    def _sums(self, sum_key: bytes) -> SumTerms | None:
        if self.error_epsilon is None or self.helper_key is None:
            return None
        epsilon = positive("error_epsilon", self.error_epsilon)
        helper = no_rehearsal("helper_key", bytes.fromhex(self.helper_key))
        return SumTerms(epsilon, self.error_minimum, sum_key, helper)

    def helper_client(self) -> httpx.Client:
        """A connection to the helper; opening many halves takes it a while."""
        address = checked_url("helper", str(self.helper))
        return httpx.Client(base_url=address, verify=trust(self.helper_ca), timeout=300.0)
