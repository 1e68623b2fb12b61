"""Peers that learn from each other's noisy counts in turns: paper D. The coordinator relays, and
learns no more.

The file of a campaign in which peers take turns.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import inf
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad, positive, whole
from tacit._util.types import IntArray
from tacit.algorithms.peer_turns import TurnsTaken, fair_share, take_open_turns, turns_each
from tacit.data.sample import Public
from tacit.learners.peers.additive import Additive
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.query import Query
from tacit.mechanisms.streams import seeded
from tacit.service.kinds.campaign_file import CampaignSpec
from tacit.service.protocol.campaign import CampaignTerms
from tacit.wire import message


@message("campaign.peers")
@dataclass(frozen=True, eq=False)
class PeerTerms(CampaignTerms):
    """Those who have enrolled when it begins take turns, about `rounds` in all; whoever comes
    later, after them.

    `epsilon` is what a record may cost in all. The campaign waits `newcomers` seconds after the
    last turn was given for somebody to come; `coins` is the public seed that the order of turns is
    drawn with. The data user's sample gives the schema, and is what the page measures the served
    model on: nothing else of it enters.
    """

    kind: ClassVar[str] = "peers"

    cells: Cells
    rounds: int
    epsilon: float
    newcomers: float
    coins: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("rounds", self.rounds, 1)
        whole("coins", self.coins, 0)
        positive("epsilon", self.epsilon)
        if not 0 <= self.newcomers < inf:
            raise bad("newcomers", "a finite number of seconds", self.newcomers)
        if not (self.cells.schema == self.schema and len(self.schema.classes) == 2):
            raise bad("cells", "made for the schema, with two classes", len(self.schema.classes))

    def with_public_coins(self, seed: int) -> "PeerTerms":
        return replace(self, coins=seed)

    @property
    def once(self) -> bool:
        return False

    @property
    def needed(self) -> int:
        return 1

    @property
    def answers(self) -> int:
        return turns_each(self.rounds, self.start, self.epsilon)

    @property
    def epsilons(self) -> tuple[float, ...]:
        return (self.epsilon,)

    @property
    def rounds_expected(self) -> int:
        return self.start * self.answers

    def example(self) -> Query:
        cuts = tuple(self.cells.every_cell(column) for column in range(len(self.cells)))
        return CountLeaves(
            1, 1, (0,), self.cells, cuts, Additive(), (fair_share(self.epsilon, self.answers),)
        )

    def run(self, public: Public) -> Generator[Any, Any, TurnsTaken]:
        return self.replay()

    def replay(self) -> Generator[Any, Any, TurnsTaken]:
        return take_open_turns(self.cells, self.rounds, self.epsilon, seeded(self.coins))

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        model: Additive = at.model
        cells = self.cells.read(public.X)
        scores = np.cumsum([part.score(cells) for part in model.parts], axis=0)
        return [(each > 0).astype(np.int64) for each in scores]


@dataclass(frozen=True, kw_only=True)
class PeerSpec(CampaignSpec):
    """Entries of a file of kind "peers", beside those of every campaign; two classes.

    epsilon : one number: of each record, for all turns of its participant.
    rounds : about how many turns there are.  bins : cells that a number's range is cut into.
    newcomers : seconds that the campaign waits for newcomers after the last turn was given; 0: it
    ends then.
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
