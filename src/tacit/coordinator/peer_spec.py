"""The file of a campaign in which peers take turns."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

from tacit.campaign.peer_terms import PeerTerms
from tacit.checks import bad
from tacit.coordinator.spec import CampaignSpec
from tacit.learners.base import Public
from tacit.learners.cells import Cells


@dataclass(frozen=True, kw_only=True)
class PeerSpec(CampaignSpec):
    """Entries of a file of kind "peers", beside those of every campaign; two classes.

    epsilon : one number: of each record, for all turns of its participant.
    rounds : about how many turns there are.  bins : cells that a number's range is cut into.
    newcomers : seconds that the campaign waits for newcomers after the last turn was given; 0: it ends then.
    """

    kind: ClassVar[str] = "peers"

    rounds: int = 30
    bins: int = 16
    newcomers: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.epsilon) == 1:
            raise bad("epsilon", "one number: all participants have the same", self.epsilon)

    def prepared(self, sum_key: bytes = b"") -> tuple[PeerTerms, Public]:
        sample = self.read_sample()
        coins = blake2b(self.name.encode() + sample.digest, digest_size=7).digest()
        made = PeerTerms(
            *self.common(sample, 1),
            Cells(sample.schema, self.bins),
            self.rounds,
            self.epsilon[0],
            float(self.newcomers),
            int.from_bytes(coins, "little"),
        )
        return made, sample.public
