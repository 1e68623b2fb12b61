"""The file of a campaign that boosts over owners that are asked once each."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import httpx
import numpy as np

from tacit.campaign.address import checked_url, trust
from tacit.campaign.boosting_terms import BoostingTerms
from tacit.checks import positive
from tacit.coordinator.spec import CampaignSpec
from tacit.learners.base import Public, Terms
from tacit.learners.names import learner_of, one_of
from tacit.sums.batch import SumTerms
from tacit.sums.rehearsal import no_rehearsal

_SUMS = {"error_epsilon", "helper", "helper_key"}


@dataclass(frozen=True, kw_only=True)
class BoostingSpec(CampaignSpec):
    """Entries of a file of kind "boosting", which is the default, beside those of every campaign.

    learner, mechanism, rounds, attempts : as in `PrivateBoosting`.
    owners_per_round : how many owners a round asks.  minimum : reports that a round needs.
    error : who judges base models: "public" (the sample) or "owners" (all of them, by a sum after every round); then
        error_epsilon : what each sum costs every owner; sums add up.  error_minimum : reports that a sum needs.
        helper, helper_key : address and public key (hex) of the second server.  helper_ca : a certificate to trust.
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
            raise ValueError(f"{', '.join(sorted(_SUMS))} must be given with error = 'owners', and only then")

    def prepared(self, sum_key: bytes = b"") -> tuple[BoostingTerms, Public]:
        sample = self.read_sample()
        learner = learner_of(self.learner)
        facts = learner.facts(sample.public)
        made = BoostingTerms(
            *self.common(sample, self.minimum),
            learner,
            facts,
            Terms.of(self.mechanism, learner.space(facts), np.array(self.epsilon)),
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
