"""Paper D's ensemble at one participant: in each round the vote of the stumps it keeps, AdaBoost
over the rounds.

It uses the participant's exact rows for selection (eq. 7 and 8) and for alpha, so it stays there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.learners.peers.own_model import distance, weight_of
from tacit.learners.peers.peer_model import loss_weights
from tacit.learners.peers.random_stump import RandomStump, SharedStumps, adaboost


@dataclass(frozen=True, eq=False)
class VotedModel:
    """sum_t alpha_t sign(sum_q weight_q stump_q). Not private: it must not be published or served
    to others.

    `left_out` counts, for each peer, the rounds in which its stump was not kept.
    """

    rounds: tuple[tuple[float, tuple[tuple[float, RandomStump], ...]], ...]
    left_out: Mapping[int, int]

    def score(self, cells: IntArray) -> FloatArray:
        total = np.zeros(len(cells))
        for alpha, voters in self.rounds:
            total += alpha * _vote(voters, cells)
        return total


class OwnBoosting:
    """Grows a `VotedModel` round by round from shared stumps, at participant `me` with rows of
    these cells.
    """

    def __init__(self, cells: IntArray, y: IntArray, me: int, rho: float) -> None:
        self.cells, self.y, self.me, self.rho = cells, y, me, rho
        self.sign = np.where(y == 1, 1.0, -1.0)
        self.weights = np.full(len(y), 1 / max(len(y), 1))
        self.rounds: list[tuple[float, tuple[tuple[float, RandomStump], ...]]] = []
        self.left_out: dict[int, int] = {}

    def step(
        self, stumps: Sequence[RandomStump], shares: Mapping[int, float], made_with: FloatArray
    ) -> None:
        """Take one round's stumps in.

        `shares` are the participants' parts of all rows, as far as they are known; `made_with` are
        the weights that these rows would have in the round's counts, under which stumps are judged.
        """
        kept = [
            stump
            for stump in stumps
            if stump.participant == self.me or self._keeps(stump, made_with)
        ]
        voters = tuple((say(stump.participant, self.me, shares), stump) for stump in kept)
        guess = _vote(voters, self.cells)
        alpha = adaboost(float(self.weights @ (guess != self.sign)))
        self.rounds.append((alpha, voters))
        self.weights = self.weights * np.exp(-alpha * self.sign * guess)
        self.weights = self.weights / max(float(self.weights.sum()), 1e-300)

    def _keeps(self, stump: RandomStump, weights: FloatArray) -> bool:
        """Eq. 7 and 8: is the stump's error near the least that a stump with this cut can have
        here?
        """
        counts = weight_of(stump.cut.leaf_of(self.cells), self.y, weights, leaves=2)
        if not counts.sum() > 0:
            return False  # an attribute that this participant does not hold
        against = np.where(np.array(stump.ones) > np.array(stump.zeros), counts[0], counts[1]).sum()
        far = distance(
            float(against / counts.sum()), float(counts.min(axis=0).sum() / counts.sum())
        )
        if far >= self.rho:
            self.left_out[stump.participant] = self.left_out.get(stump.participant, 0) + 1
        return far < self.rho

    def model(self) -> VotedModel:
        return VotedModel(tuple(self.rounds), dict(self.left_out))


def vote_own(cells: IntArray, y: IntArray, shared: SharedStumps, rho: float, me: int) -> VotedModel:
    """The ensemble of participant `me` from everything that was shared."""
    own, shares, before = OwnBoosting(cells, y, me, rho), shared.shares(), np.zeros(len(y))
    parts = iter(shared.model.parts)
    for stumps in shared.rounds:
        own.step(stumps, shares, loss_weights(before, y))
        for part in islice(parts, len(stumps)):
            before = before + part.score(cells)
    return own.model()


def say(participant: int, me: int, shares: Mapping[int, float]) -> float:
    """Eq. 10: a peer's say is its share of all rows; one's own is larger, and bounded.

    >>> say(1, 0, {0: 0.25, 1: 0.75}), say(0, 0, {0: 0.25, 1: 0.75})
    (0.75, 1.3333333333333333)
    """
    if participant != me:
        return shares[participant]
    largest, least = max(shares.values()), min(shares.values())
    return shares[me] / largest**2 * ceil(largest**2 / least)


def _vote(voters: Sequence[tuple[float, RandomStump]], cells: IntArray) -> FloatArray:
    """The weighted vote, -1 or +1; without voters, or in a tie, -1."""
    total = np.zeros(len(cells))
    for weight, stump in voters:
        total += weight * stump.votes(cells)
    return np.where(total > 0, 1.0, -1.0)
