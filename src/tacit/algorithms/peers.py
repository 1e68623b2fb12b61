"""Boosting among peers, without a server: participants release noisy counts, everybody adds scores
of them to the same F. Three ways to share out the speaking.

Turns (the default): each participant speaks in a few rounds, with much of its budget.

    for each turn, in a public order of the participants:
        the speaker weights its rows with min(1, exp(-y F)), takes the attribute that tells most
            about what F gets wrong (the largest of noisy gains), counts its rows by cell of it
            and by class, and sends the noisy counts
        everybody makes scores of them and adds these to F

F is made of released numbers alone, so everybody has the same F, nobody has to be trusted with
more, and whoever comes later takes its turns after the others: nothing that was released changes.
Taking turns is what makes small budgets go far. When all M participants speak in all T rounds,
noise of scale T / epsilon is added M times to each count; with T / M turns each, noise of scale T /
(M epsilon) is added once, and rows number M times less: the counts are sqrt(M) times clearer.

Stumps, paper D's scheme with a guarantee that holds: everybody speaks in every round.

    for t = 1 .. T:
        each participant takes a public random cut, counts its rows in the two leaves by class,
            weighted as above, and sends the counts with noise of scale T / epsilon
        everybody adds the stumps to F, with alpha from the released error and say from the
            released sizes; its own ensemble of them (`learners/peers/own_model.py`) it keeps

Trees, as in InPriv, with a guarantee that holds.

    for each turn: the speaker grows a tree on the gradients of F and passes F with it to the next

Whom to listen to: before any of these, everybody may tell a little of its distribution, and those
that are alike learn by themselves (`learn_among_alike`, `learners/peers/alike.py`).

The generators yield a query to one participant and receive `Estimates` (None: it was silent, and is
passed over). Everything they do is a function of what they are told, so everybody who is told the
same has the same model: the coordinator that relays, and every participant for itself.

Who takes part is public (`Roster`), numbered in the order they came, and never renumbered.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, isinf, nextafter
from typing import Any, TypeAlias

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray
from tacit.learners.peers.alike import (
    Circles,
    Contrast,
    CountClasses,
    draw_columns,
    few_leaves,
)
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import CountLeaves, cell_scores
from tacit.learners.peers.noisy_tree import GrowTree, all_cuts
from tacit.learners.peers.peer_model import (
    Additive,
    NoisyTrees,
    RandomStump,
    ScorePart,
    SharedStumps,
    Tree,
    random_cut,
)
from tacit.learners.query import Estimates
from tacit.mechanisms.streams import Stream, rational
from tacit.wire import message
from tacit.wire.envelopes import KEY

# all that left participants
Released: TypeAlias = Additive | SharedStumps | NoisyTrees | Circles


@dataclass(frozen=True)
class Roll:
    """Asks who takes part from now on; the answer is a `Roster`, or None when nobody comes or goes
    any more.

    `model` is what was released so far.
    """

    model: Released


@message("peer")
@dataclass(frozen=True)
class Peer:
    """A participant: its number, the public key that it signs with, its name, and the attributes
    it holds by number.
    """

    number: int
    key: bytes
    name: str
    held: tuple[int, ...]

    def __post_init__(self) -> None:
        whole("number", self.number, 0)
        if not len(self.key) == KEY:
            raise bad("key", f"{KEY} bytes", len(self.key))
        if not (len(self.name) <= 200 and self.name.isprintable()):
            raise bad("name", "at most 200 printable characters", self.name[:20])
        if not (self.held and all(whole("held", column, 0) >= 0 for column in self.held)):
            raise bad("held", "one attribute at least", self.held)


@message("roster")
@dataclass(frozen=True)
class Roster:
    """All that ever came, those who are new since the roster before (from number `first` on),
    and those who left.
    """

    peers: tuple[Peer, ...] = ()
    first: int = 0
    gone: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not tuple(peer.number for peer in self.peers) == tuple(range(len(self.peers))):
            raise ValueError("numbers must count the participants from 0")
        if not len({peer.key for peer in self.peers}) == len(self.peers):
            raise ValueError("keys must be those of different participants")
        if not 0 <= whole("first", self.first, 0) <= len(self.peers):
            raise bad("first", f"at most {len(self.peers)}", self.first)
        if not (
            tuple(sorted(set(self.gone))) == self.gone
            and set(self.gone) <= set(range(len(self.peers)))
        ):
            raise bad("gone", "numbers of participants in rising order", self.gone)

    def follows(self, before: "Roster") -> bool:
        """Whether this may come after `before`: nobody was changed, renumbered or brought back."""
        return (
            self.peers[: self.first] == before.peers
            and set(before.gone) <= set(self.gone)
            and self != before
        )

    @property
    def newcomers(self) -> tuple[Peer, ...]:
        """Those who have not had their turns, and have not left."""
        return tuple(peer for peer in self.peers[self.first :] if peer.number not in self.gone)

    @property
    def present(self) -> int:
        """How many take part."""
        return len(self.peers) - len(self.gone)


_LEAST = 0.3  # epsilon of a turn: below it, fewer turns with clearer counts are better
Attributes = Mapping[int, tuple[int, ...]]  # that each participant holds, by number


@dataclass(frozen=True)
class TurnsTaken:
    """What those who stayed have released, and who took part."""

    model: Released
    roster: Roster


# so many participants are present, of whom these, with the attributes they hold, speak now with
# public coins; added to what is known
Speaking: TypeAlias = Callable[[int, Attributes, Stream, Any], Generator[Any, Any, Any]]


def welcome_newcomers(
    nothing: Released, speak: Speaking, coins: Stream
) -> Generator[Any, Roster | Estimates | None, TurnsTaken]:
    """Turns that newcomers may join: nothing that was released changes, nobody else speaks again.

        repeat until nobody comes or goes any more:
            ask who takes part
            drop the parts of those who left
            newcomers speak, each with all of its budget

    It yields a `Roll` and receives a `Roster` (None: it is over), or yields as `speak` does, which
    is one of the methods below; `nothing` is what that method has released before anybody spoke.
    """
    model, roster = nothing, Roster()
    while True:
        called = yield Roll(model)
        if not isinstance(called, Roster):
            return TurnsTaken(model, roster)
        if not called.follows(roster):
            raise ValueError("a roster must add to the one before, and change nobody")
        roster, model = called, model.without(called.gone)
        held = {peer.number: peer.held for peer in roster.newcomers}
        if held:
            public = coins.child("public coins", min(held))
            model = yield from speak(roster.present, held, public, model)


def take_turns(
    cells: Cells, held: Attributes, order: Sequence[int], menu: tuple[float, ...], known: Additive
) -> Generator[CountLeaves, Estimates | None, Additive]:
    """Add one part per turn to what is `known`; `menu` holds what one answer may cost."""
    model = known
    for number, speaker in enumerate(order, start=_next_round(known.parts)):
        query = CountLeaves(
            round=number,
            attempt=1,
            owners=(speaker,),
            cells=cells,
            cuts=tuple(cells.every_cell(column) for column in held[speaker]),
            model=model,
            menu=menu,
        )
        estimates = yield query
        if estimates is not None and estimates.n:
            cut, (zeros, ones) = query.read(estimates.values[0])
            std = query.std(float(estimates.epsilons[0]))
            scores = cell_scores(zeros, ones, std, cells.is_ordered[cut.column])
            model = model.plus(ScorePart(number, cut.column, tuple(scores.tolist()), speaker))
    return model


def turns_each(rounds: int, participants: int, epsilon: float) -> int:
    """How often each participant speaks and divides its budget: rounds / participants, less with
    less budget.

    >>> [turns_each(30, 10, epsilon) for epsilon in (0.1, 0.7, 4.0)], turns_each(30, 100, 1.0)
    ([1, 2, 3], 1)
    """
    most = max(1, whole("rounds", rounds, 1) // whole("number of participants", participants, 1))
    return max(1, floor(min(most, epsilon / _LEAST)))


def speakers(turns: Mapping[int, int], coins: Stream) -> tuple[int, ...]:
    """Who speaks when, for participants with so many turns: in an order drawn with public coins,
    over and over.

    >>> from tacit.mechanisms.streams import seeded
    >>> speakers({0: 1, 1: 2, 2: 2}, seeded(1))
    (1, 0, 2, 1, 2)
    """
    luck = coins.child("speakers").words(np.array(list(turns), dtype=np.int64), 0, 1)[:, 0]
    order = [list(turns)[place] for place in np.argsort(luck, kind="stable").tolist()]
    return tuple(who for lap in range(max(turns.values())) for who in order if turns[who] > lap)


def fair_share(epsilon: float, answers: int) -> float:
    """What one of so many answers may cost: a float whose multiple, as written, is at most epsilon.

    >>> fair_share(0.3, 3) * 3 <= 0.3
    True
    """
    share = epsilon / answers
    while not isinf(share) and rational(share) * answers > rational(epsilon):
        share = nextafter(share, 0.0)
    return share


def exchange_stumps(
    cells: Cells,
    held: Attributes,
    rounds: int,
    menu: tuple[float, ...],
    coins: Stream,
    *,
    known: SharedStumps,
    leaves: str = "cells",
) -> Generator[CountLeaves, Estimates | None, SharedStumps]:
    """`rounds` more rounds of all participants; `menu` as above, coins are public; `leaves` as in
    `random_cut`.
    """
    shared = known
    first = _next_round(stump for stumps in known.rounds for stump in stumps)
    for number in range(first, first + rounds):
        stumps = []
        for participant, own in held.items():
            cut = random_cut(cells, own, leaves, coins.child("cut", number, participant))
            query = CountLeaves(
                round=number,
                attempt=1,
                owners=(participant,),
                cells=cells,
                cuts=(cut,),
                model=shared.model,
                menu=menu,
            )
            estimates = yield query
            if estimates is not None and estimates.n:
                zeros, ones = map(tuple, query.read(estimates.values[0])[1].tolist())
                stumps.append(RandomStump(number, participant, cut, zeros, ones))
        shared = shared.plus(stumps)
    return shared


def pass_trees(
    cells: Cells,
    held: Attributes,
    order: Sequence[int],
    depth: int,
    menu: tuple[float, ...],
    known: NoisyTrees,
) -> Generator[GrowTree, Estimates | None, NoisyTrees]:
    """One more tree per turn, of this depth; `menu` as above."""
    model = known
    candidates = {participant: all_cuts(cells, own) for participant, own in held.items()}
    for number, speaker in enumerate(order, start=_next_round(known.trees)):
        query = GrowTree(
            round=number,
            attempt=1,
            owners=(speaker,),
            cells=cells,
            depth=depth,
            candidates=candidates[speaker],
            model=model,
            menu=menu,
        )
        estimates = yield query
        if estimates is not None and estimates.n:
            model = NoisyTrees((*model.trees, query.tree(estimates, speaker)))
    return model


def learn_among_alike(
    cells: Cells,
    held: Attributes,
    prices: Mapping[int, float],
    coins: Stream,
    known: Circles,
    *,
    nothing: Any,
    speak: Speaking,
) -> Generator[Any, Estimates | None, Circles]:
    """Ask each that comes what tells its distribution from others', at its price, seat it in the
    circle of those that are alike, and let the circles speak, one after the other.

    Attributes are drawn once, by those who come first; `nothing` and `speak` are the method's.
    """
    circles = known if known.columns else Circles(draw_columns(cells, coins))
    cuts = [few_leaves(cells, column) for column in circles.columns]
    told = []
    for who, own in held.items():
        mine = tuple(cut for cut in cuts if cut.column in own)
        tables, noise = dict[int, FloatArray](), 0.0
        if mine:
            query = CountClasses(
                round=1,
                attempt=1,
                owners=(who,),
                cells=cells,
                cuts=mine,
                model=Additive(),
                menu=(prices[who],),
            )
            estimates = yield query
            if estimates is not None and estimates.n:
                said = query.tables(estimates.values[0])
                tables = {cut.column: each for cut, each in zip(mine, said, strict=True)}
                noise = query.std(float(estimates.epsilons[0])) ** 2
        told.append(Contrast.of(who, cuts, tables, noise))
    circles = circles.seat(told, nothing)
    for place, circle in enumerate(circles.circles):
        new = {who: held[who] for who in circle.numbers if who in held}
        if new:
            luck = coins.child("circle", place)
            released = yield from speak(len(circle.members), new, luck, circle.released)
            circles = circles.after(place, released)
    return circles


def _next_round(released: Iterable[ScorePart | RandomStump | Tree]) -> int:
    return 1 + max((each.round for each in released), default=0)
