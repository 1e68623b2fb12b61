"""What a campaign publishes at its end."""

from dataclasses import dataclass
from hashlib import blake2b

from tacit.campaign.terms import CampaignTerms
from tacit.ensembles.boosting import Boosted
from tacit.learners.ensemble import Ensemble
from tacit.schema import Schema
from tacit.wire import message


@message("publication")
@dataclass(frozen=True, eq=False)
class Publication:
    """The model, the schema it reads rows by, why it ended, and a hash over all questions in order."""

    name: str
    schema: Schema
    ensemble: Ensemble
    ended: str
    transcript: bytes

    @classmethod
    def of(cls, terms: CampaignTerms, result: Boosted, questions: tuple[bytes, ...]) -> "Publication":
        digest = blake2b(b"".join(questions), digest_size=32).digest()
        return cls(terms.name, terms.schema, result.ensemble, result.ended, digest)
