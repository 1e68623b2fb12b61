"""The published ensemble: base models with their votes. Everybody may know it; owners replay it
on their own rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort, add_by_owner, owner_weights
from tacit.learners.query import Cost, in_blocks, table
from tacit.wire import message

LARGEST = 1 << 20  # numbers of a row, classes
LOUDEST = 700.0  # an alpha, so that its exponential and sums of alphas are finite


@runtime_checkable
class Model(Protocol):
    """A base model: encoded rows in, class numbers out."""

    def predict(self, X: FloatArray) -> IntArray: ...

    def check(self, dim: int, classes: int) -> None:
        """Refuse rows of another width, and classes beyond the ensemble's. From shapes and
        numbers alone, in time linear in their size: strangers send them.
        """

    def cost(self, dim: int, rows: int) -> Cost:
        """What predicting so many rows takes at most."""
        ...


@message("ensemble")
@dataclass(frozen=True)
class Ensemble:
    """SAMME's weighted vote over `classes` classes; `members` are pairs (alpha, model) in the
    order of publication.
    """

    classes: int
    members: tuple[tuple[float, Model], ...] = ()

    def __post_init__(self) -> None:
        whole("classes", self.classes, 2)
        for alpha, model in self.members:
            if not -LOUDEST <= alpha <= LOUDEST:
                raise bad("alpha", f"between -{LOUDEST:g} and {LOUDEST:g}", alpha)
            if isinstance(model, Ensemble):
                raise bad("a member", "a base model", "an ensemble")

    def check(self, dim: int, classes: int) -> None:
        """Refuse members that are not made for rows of `dim` numbers and these classes: owners
        must not find out by their own rows.
        """
        if not dim <= LARGEST:
            raise bad("numbers of a row", f"at most {LARGEST}", dim)
        if not classes == self.classes:
            raise bad("classes of the ensemble", f"{classes} as in the question", self.classes)
        for _, model in self.members:
            model.check(dim, classes)

    def cost(self, dim: int, rows: int) -> Cost:
        """What replaying all members on so many rows takes at most, and sharing weights out."""

        def replay_cost(rows: int) -> Cost:
            parts = (model.cost(dim, rows) + table(rows, 2) for _, model in self.members)
            return sum(parts, Cost())

        return table(rows, 8, passes=4) + in_blocks(replay_cost, rows)

    def __len__(self) -> int:
        return len(self.members)

    def plus(self, alpha: float, model: Model) -> "Ensemble":
        """The ensemble after one more round."""
        return Ensemble(self.classes, (*self.members, (alpha, model)))

    def staged_votes(self, X: FloatArray) -> Iterator[FloatArray]:
        """Votes (rows, classes) after each round."""
        votes = np.zeros((len(X), self.classes))
        rows = np.arange(len(X))
        for alpha, model in self.members:
            votes[rows, model.predict(X)] += alpha
            yield votes.copy()

    def votes(self, X: FloatArray) -> FloatArray:
        """Votes (rows, classes) of the whole ensemble."""
        votes = np.zeros((len(X), self.classes))
        for alpha, model in self.members:
            votes[np.arange(len(X)), model.predict(X)] += alpha
        return votes

    def parts(self, votes: FloatArray, frequencies: FloatArray) -> FloatArray:
        """Votes that add up to 1 in every row; without members, how frequent the classes are in
        the data user's sample.
        """
        if not self.members:
            return np.tile(frequencies, (len(votes), 1))
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def predict(self, X: FloatArray) -> IntArray:
        """argmax_k sum_m alpha_m [T_m(x) = k]; the first class of equal ones."""
        return np.asarray(np.argmax(self.votes(X), axis=1))

    def log_weights(self, X: FloatArray, y: IntArray) -> FloatArray:
        """sum_m alpha_m [T_m(x_i) != y_i]: the logarithm of what boosting multiplies row i's
        weight with.
        """
        total = np.zeros(len(y))
        for alpha, model in self.members:
            total += alpha * (model.predict(X) != y)
        return total

    @cached_property
    def mean_weight(self) -> float:
        """What exp(log_weights) is on average over everybody, as the published alphas imply.

        alpha was log((1 - e) / e) + log(K - 1), and such a round multiplies the mean weight by K (1
        - e).
        """
        product = 1.0
        for alpha, _ in self.members:
            odds = np.exp(min(alpha, LOUDEST)) / (self.classes - 1)  # (1 - e) / e
            product *= self.classes * odds / (1 + odds)
        return float(product)

    def error_terms(self, model: Model, cohort: Cohort) -> FloatArray:
        """Per owner (weighted error of `model`, weight), each in [0, 1]: what sums over all owners
        are made of.

        A row's weight is exp(log weight) in units of four times the mean weight, clipped to 1, and
        averaged over the owner's rows; an owner without rows says (0, 0).
        """
        sums = np.zeros((len(cohort), 2))
        for block in cohort.row_blocks():
            logs = self.log_weights(block.X, block.y)
            weights = np.minimum(np.exp(np.minimum(logs, 700.0)) / (4 * self.mean_weight), 1.0)
            wrong = model.predict(block.X) != block.y
            add_by_owner(np.stack([weights * wrong, weights], axis=1), block.of, sums[block.owners])
        return sums / np.maximum(cohort.sizes, 1)[:, np.newaxis]

    @cached_property
    def unit(self) -> float:
        """The public unit of loudness: twice the mean weight that the alphas imply, or the
        largest there can be.
        """
        largest = float(np.exp(min(sum(alpha for alpha, _ in self.members), LOUDEST)))
        return min(largest, 2 * self.mean_weight)

    def weights(self, cohort: Cohort) -> FloatArray:
        """Each owner's row weights after replaying the ensemble, adding up to at most 1 per owner
        (`owner_weights`).

        Equal to multiplying everybody's weights in every round, because a weight depends on its own
        row and on the published members only.
        """
        logs = np.empty(int(cohort.offsets[-1]))
        for block in cohort.row_blocks():
            logs[block.rows] = self.log_weights(block.X, block.y)
        return owner_weights(logs, cohort.offsets, self.unit)
