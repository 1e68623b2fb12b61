"""Peers that learn from each other's noisy counts in turns: paper D. The coordinator relays, and learns no more."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from tacit.campaign.terms import CampaignTerms
from tacit.checks import bad, positive, whole
from tacit.ensembles.open_turns import TurnsTaken, take_open_turns
from tacit.ensembles.peers import fair_share, turns_each
from tacit.learners.additive import Additive
from tacit.learners.base import Public
from tacit.learners.cells import Cells
from tacit.learners.leaf_counts import CountLeaves
from tacit.learners.query import Query
from tacit.streams import seeded
from tacit.types import IntArray
from tacit.wire import message


@message("campaign.peers")
@dataclass(frozen=True, eq=False)
class PeerTerms(CampaignTerms):
    """Those who have enrolled when it begins take turns, about `rounds` in all; whoever comes later, after them.

    `epsilon` is what a record may cost in all. The campaign waits `newcomers` seconds after the last turn was given for
    somebody to come; `coins` is the public seed that the order of turns is drawn with. The data user's sample gives the
    schema, and is what the page measures the served model on: nothing else of it enters.
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
        return CountLeaves(1, 1, (0,), self.cells, cuts, Additive(), (fair_share(self.epsilon, self.answers),))

    def run(self, public: Public | None = None) -> Generator[Any, Any, TurnsTaken]:
        return take_open_turns(self.cells, self.rounds, self.epsilon, seeded(self.coins))

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        model: Additive = at.model
        cells = self.cells.read(public.X)
        scores = np.cumsum([part.score(cells) for part in model.parts], axis=0)
        return [(each > 0).astype(np.int64) for each in scores]
