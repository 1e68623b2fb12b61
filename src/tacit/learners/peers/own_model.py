"""What a participant makes for itself of what was released and of its own exact rows. It stays with
the participant.

`OwnModel`: first it leaves out peers whose parts fit its rows badly (the selection of paper D, eq.
7 and 8), then it corrects the sum of the rest: a ridge logistic regression on its own cells that
starts from that sum. With few rows the correction is small and the peers speak; with many rows the
participant's own data do.

`VotedModel` is paper D's ensemble at one participant: in each round the vote of the stumps it
keeps, AdaBoost over the rounds; its exact rows decide selection and alpha.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.learners.peers.cells import Cells, at_cells
from tacit.learners.peers.peer_model import (
    Additive,
    RandomStump,
    SharedStumps,
    adaboost,
    loss_weights,
)

RHO, RIDGE = 1.0, 5.0  # what is usual: who is left out, and how strongly the rest holds
_SCALE_RIDGE = 10.0  # how strongly the released sum keeps its own scale
_STEPS = 200  # of the solver, far more than it takes


@dataclass(frozen=True, eq=False)
class OwnRows:
    """A participant's exact rows: the cell of each attribute (rows, attributes), the class, and how
    many cells the attributes have.
    """

    cells: IntArray
    y: IntArray
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, cells: Cells, own: Cohort) -> "OwnRows":
        return cls(cells.read(own.X), own.y, cells.sizes)


@dataclass(frozen=True, eq=False)
class OwnModel:
    """scale * F + the participant's own scores. Not private: it must not be published or served
    to others.
    """

    released: Additive
    left_out: tuple[int, ...]
    scale: float
    offset: float
    tables: tuple[FloatArray, ...]

    def score(self, cells: IntArray) -> FloatArray:
        """The log odds of class 1."""
        own = sum(at_cells(table, cells[:, column]) for column, table in enumerate(self.tables))
        return np.asarray(self.scale * self.released.score(cells) + self.offset + own)


def fit_own(
    rows: OwnRows, released: Additive, me: int, rho: float = RHO, ridge: float = RIDGE
) -> OwnModel:
    """The model of participant `me` with these rows. Few rows change little.

    `rho` says who is left out, `ridge` how strongly the rest holds.
    """
    cells, y, sizes = rows.cells, rows.y, rows.sizes
    left_out = misfits(cells, y, released, rho, keep={me})
    kept = released.without(left_out)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    there = cells >= 0
    places = (cells + starts[:-1])[there]
    hot = csr_array(
        (np.ones(len(places)), places, np.append(0, np.cumsum(there.sum(axis=1)))),
        (len(cells), starts[-1]),
    )
    sign, known = np.where(y == 1, 1.0, -1.0), kept.score(cells)
    penalty = np.array([_SCALE_RIDGE, ridge / 10, *np.full(starts[-1], ridge)])
    prior = np.zeros(len(penalty))
    prior[0] = 1.0

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        margin = sign * (theta[0] * known + theta[1] + hot @ theta[2:])
        slope = -sign / (1 + np.exp(np.clip(margin, -700, 700)))
        away = theta - prior
        value = np.logaddexp(0, -margin).sum() + away @ (penalty * away) / 2
        return value, np.concatenate([[slope @ known, slope.sum()], hot.T @ slope]) + penalty * away

    theta = minimize(loss, prior, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
    tables = tuple(np.split(theta[2:], starts[1:-1]))
    return OwnModel(kept, left_out, float(theta[0]), float(theta[1]), tables)


def misfits(
    cells: IntArray, y: IntArray, released: Additive, rho: float, keep: Collection[int]
) -> tuple[int, ...]:
    """Participants whose parts are too far off on these rows: `distance` of at least rho.

    For every part, errors are taken under the weights of its round and under the part's own
    emphasis |score|: gamma_q is the error of the part's sign, gamma that of the best sign for each
    cell of the same attribute.
    """
    sums: dict[
        int, FloatArray
    ] = {}  # of each speaker: weight in error, least there could be, in all
    before = np.zeros(len(cells))  # the sum of the parts so far, for each row
    for part in released.parts:
        scores, cell = np.array(part.scores), cells[:, part.column]
        counts = weight_of(cell, y, loss_weights(before, y), len(scores))
        against = np.where(scores > 0, counts[0], counts[1])
        errors = np.abs(scores) @ np.stack(
            [against, counts.min(axis=0), counts.sum(axis=0)], axis=1
        )
        sums[part.speaker] = sums.get(part.speaker, 0.0) + errors
        before += part.score(cells)
    judged = {
        q: distance(wrong / total, least / total)
        for q, (wrong, least, total) in sums.items()
        if total > 0
    }
    return tuple(sorted(q for q, far in judged.items() if q not in keep and far >= rho))


def weight_of(leaf: IntArray, y: IntArray, weights: FloatArray, leaves: int) -> FloatArray:
    """The weight of rows of each class in each leaf, (2, leaves); leaf -1 is none."""
    there = (leaf >= 0) & (leaf < leaves)
    sums = np.bincount(y[there] * leaves + leaf[there], weights[there], minlength=2 * leaves)
    return np.asarray(sums.reshape(2, leaves))


def distance(gamma_q: float, gamma: float) -> float:
    """How far a peer's error is from one's own: 0 as good, 1 as bad as chance, 2 the exact
    opposite.

    Paper D compares |gamma_q - gamma| with rho. In units of what there is to lose, 1/2 - gamma, the
    same rho fits easy and hard data; above 2 it keeps everybody.

    >>> distance(0.5, 0.25), distance(0.75, 0.25), distance(0.2, 0.25)
    (1.0, 2.0, 0.0)
    """
    return max(0.0, gamma_q - gamma) / max(0.5 - gamma, 1e-9)


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
        counts = weight_of(stump.cut.leaf_of(self.cells), self.y, weights, len(stump.zeros))
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


@dataclass(frozen=True)
class PublishedScheme:
    """All participants of a scheme as it was published, simulated together: `run` takes cohort,
    cells, held attributes, rounds and epsilon, public coins and a stream, and says what each holds
    in the end. Nothing of it may be served; `unsound` says why no real participant may run it.
    """

    run: Callable[..., Sequence[VotedModel]]
    unsound: str


SCHEMES: dict[str, PublishedScheme] = {}  # by the names that estimators know them by
