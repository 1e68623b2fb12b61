"""Peers that take turns, open to newcomers: nothing that was released changes, and nobody else speaks again.

    repeat until nobody comes or goes any more:
        ask who takes part
        drop the parts of those who left
        newcomers take their turns, each with all of its budget

The generator yields a `Roll` and receives a `Roster` (None: it is over), or yields `CountLeaves` and receives
`Estimates` (None: the speaker was silent, and is passed over). Everything it does is a function of what it is told, so
everybody who is told the same has the same model: the coordinator that relays, and every participant for itself.
"""

from collections.abc import Generator
from dataclasses import dataclass

from tacit.ensembles.peers import fair_share, speakers, take_turns, turns_each
from tacit.ensembles.roster import Roll, Roster
from tacit.learners.additive import Additive
from tacit.learners.cells import Cells
from tacit.learners.leaf_counts import CountLeaves
from tacit.learners.query import Estimates
from tacit.streams import Stream


@dataclass(frozen=True)
class TurnsTaken:
    """The sum of released parts of those who stayed, and who took part."""

    model: Additive
    roster: Roster


def take_open_turns(
    cells: Cells, rounds: int, epsilon: float, coins: Stream
) -> Generator[Roll | CountLeaves, Roster | Estimates | None, TurnsTaken]:
    """Each participant spends `epsilon` over its turns, of which there are about `rounds` in all; coins are public."""
    model, roster = Additive(), Roster()
    while True:
        called = yield Roll(model)
        if not isinstance(called, Roster):
            return TurnsTaken(model, roster)
        if not called.follows(roster):
            raise ValueError("a roster must add to the one before, and change nobody")
        roster, model = called, model.without(called.gone)
        held = {peer.number: peer.held for peer in roster.newcomers}
        if held:
            turns = turns_each(rounds, roster.present, epsilon)
            order = speakers(dict.fromkeys(held, turns), coins.child("public coins", min(held)))
            model = yield from take_turns(cells, held, order, (fair_share(epsilon, turns),), model)
