"""Decision stumps from cross tables (paper A, Algorithm 6, made sound).

Facts: candidate cuts (column, threshold) from public knowledge alone: one per binary column; for
the others the cut with the fewest errors in the data user's sample, or several quantiles of it.
Share: for every cut and each of its two sides, the owner's weight by class; for two classes only
the difference, so that a cut is a pair (left, right) with |left| + |right| <= 1. Learn: the cut
whose sides are purest; each side's class is the sign (for more classes the largest) of the noisy
sums, so a stump never points the wrong way.

For sums (`SummedStump`) noise follows the length of a share, whatever its numbers. Both sides of a
cut add up to the owner's weight by class, the same for all cuts: that is asked for once, and of
each cut only the left side less the right, which is no longer than the pair and has one noise for
two. So what tells cuts apart has half of the variance.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.kernels import kernel, pieces, spread
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, Learner, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.cross_tables import (
    Cuts,
    OwnedRows,
    StumpReplay,
    tabulate_replayed,
    tabulate_weighted,
)
from tacit.learners.query import Answer, Cost, table
from tacit.mechanisms.spaces import Crosses
from tacit.wire import message

_WORTH = 1 << 17  # rows that are worth a thread: with fewer, a busy core makes the others wait
_LARGEST = 600.0  # sum of votes whose exponential is a number
_ENOUGH = 10_000  # rows of a sample that find its best thresholds
_BUCKETS = 2048  # counters of a column fit the cache, and a bucket holds few values


@message("stump.model")
@dataclass(frozen=True)
class StumpModel:
    """x[column] < threshold ? left : right."""

    column: int
    threshold: float
    left: int
    right: int

    def __post_init__(self) -> None:
        for name in ("column", "left", "right"):
            whole(name, getattr(self, name), 0)

    def check(self, dim: int, classes: int) -> None:
        if not (self.column < dim and max(self.left, self.right) < classes):
            raise bad("column and classes", f"below {dim} and {classes}", self.column)

    def cost(self, dim: int, rows: int) -> Cost:
        return table(rows, 3)

    def predict(self, X: FloatArray) -> IntArray:
        return self.left + (self.right - self.left) * (X[:, self.column] >= self.threshold)


@message("stump")
@dataclass(frozen=True)
class Stump(Learner):
    """Boosted decision stumps with up to `cuts` candidate thresholds per column; any number of
    classes.

    A single one is where the data user's sample has the fewest errors; several are its quantiles.
    """

    name: ClassVar[str] = "stump"
    cuts: int = 1

    def __post_init__(self) -> None:
        whole("cuts", self.cuts, 1)

    def facts(self, public: Public) -> Facts:
        """The best threshold of the data user's sample, or evenly spaced quantiles of it; 0 for
        columns of -1 and +1.
        """
        numbers = [column for column in range(public.dim) if not _is_binary(public.X[:, column])]
        cuts = {column: np.zeros(1) for column in range(public.dim)}
        for column, values in zip(numbers, self._thresholds(public, numbers).T, strict=True):
            cuts[column] = np.unique(values)
        columns = np.repeat(np.arange(public.dim), [len(values) for values in cuts.values()])
        return Facts(public.dim, public.classes, np.concatenate(list(cuts.values())), columns)

    def _thresholds(self, public: Public, columns: list[int]) -> FloatArray:
        """(cuts, columns)."""
        table = public.X if len(columns) == public.dim else public.X[:, columns]
        if self.cuts == 1:
            return best_thresholds(Public(table, public.y, public.classes))[np.newaxis]
        return quantiles(table, np.arange(1, self.cuts + 1) / (self.cuts + 1))

    def for_sums(self) -> "Stump":
        return SummedStump(self.cuts) if type(self) is Stump else self

    def space(self, facts: Facts) -> Crosses:
        _check_cuts(facts)
        return Crosses(blocks=len(facts.values), size=2 * _codes(facts.classes))

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """Replaying the ensemble, then every cell of the cuts' grid for every row and code."""
        facts, codes = query.facts, _codes(query.facts.classes)
        layers = int(np.bincount(facts.columns).max(initial=1))
        grid = layers * facts.dim
        tables = table(len(facts.values), 4 * codes, passes=4) + table(codes + 1, grid, passes=2)
        return query.ensemble.cost(query.facts.dim, rows) + Cost(2 * rows * codes * grid) + tables

    def prepare(self, query: ShareQuery) -> tuple[Cuts, StumpReplay | None]:
        """Where the cuts lie, and how the ensemble is replayed if it is of stumps."""
        facts = query.facts
        cuts = Cuts.of(facts.columns, facts.values, facts.dim)
        return cuts, _replay_of(query.ensemble, facts.dim)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        facts, ensemble = query.facts, query.ensemble
        cuts, replay = query.prepared
        tables = np.empty((len(cohort), len(facts.values), 2, _codes(facts.classes)))
        if replay is None:
            tabulate_weighted(OwnedRows.of(cohort), ensemble.weights(cohort), cuts, tables)
            return tables.reshape(len(cohort), -1)

        def fill(owners: slice) -> None:
            rows = OwnedRows.of(cohort, owners)
            tabulate_replayed(rows, replay, ensemble.unit, cuts, tables[owners])

        least = _WORTH * len(cohort) // max(1, int(cohort.sizes.sum()))
        spread(fill, pieces(len(cohort), least))
        return tables.reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> StumpModel:
        return _purest(answer.mean.reshape(len(query.facts.values), 2, -1), query.facts)


@message("stump.summed")
@dataclass(frozen=True)
class SummedStump(Stump):
    """The same stumps where two servers add up shares: the left side of every cut less the right,
    and the owner's weight by class once.

    Claim: sizes of each piece add up to at most 1. Proof: those of both sides of a cut do, and
    neither their difference nor their sum is larger. Variance: with noise s in each number, that of
    left - right is s^2, for 2 s^2 where the sides are asked for one by one.
    """

    def space(self, facts: Facts) -> Crosses:
        _check_cuts(facts)
        return Crosses(blocks=len(facts.values) + 1, size=_codes(facts.classes))

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """What both sides take, then their sum and differences."""
        numbers = self.space(query.facts).dim
        return super().cost(query, rows) + table(1, 2 * numbers, passes=2)

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        sides = super().share(query, cohort)
        sides = sides.reshape(len(cohort), len(query.facts.values), 2, -1)
        whole = sides[:, :1, 0] + sides[:, :1, 1]
        apart = sides[:, :, 0] - sides[:, :, 1]
        return np.concatenate([whole, apart], axis=1).reshape(len(cohort), -1)

    def learn(self, query: ShareQuery, answer: Answer) -> StumpModel:
        told = answer.mean.reshape(1 + len(query.facts.values), -1)
        whole, apart = told[:1], told[1:]
        return _purest(np.stack([whole + apart, whole - apart], axis=1) / 2, query.facts)


def _purest(tables: FloatArray, facts: Facts) -> StumpModel:
    """The cut whose sides are purest, by tables (cuts, sides, codes)."""
    if facts.classes == 2:
        # side's score for class 0 and class 1
        tables = np.concatenate([-tables, tables], axis=2)
    best = int(np.argmax(tables.max(axis=2).sum(axis=1)))
    left, right = np.argmax(tables[best], axis=1).tolist()
    return StumpModel(int(facts.columns[best]), float(facts.values[best]), left, right)


def _check_cuts(facts: Facts) -> None:
    if not (
        facts.values.shape == facts.columns.shape and facts.values.ndim == 1 and len(facts.values)
    ):
        raise bad(
            "cuts", "pairs of a column and a value", (facts.columns.shape, facts.values.shape)
        )


def best_thresholds(public: Public) -> FloatArray:
    """For each column the threshold whose two sides hold the fewest rows of the wrong class.

    Halfway between two values of the sample that follow each other; of equal ones the lowest. A
    column with a single value is cut there. Of a large sample a part, evenly spaced, is enough.

    >>> public = Public(np.array([[-1.0], [0.0], [0.5], [1.0]]), np.array([1, 0, 0, 0]), 2)
    >>> best_thresholds(public)
    array([-0.5])
    """
    step = -(-len(public.y) // _ENOUGH)
    X, y = public.X[::step], public.y[::step]
    found: FloatArray = X[0].copy()
    for column, values in enumerate(X.T):
        order = np.argsort(values, kind="stable")
        ranked = values[order]
        left = np.cumsum(np.eye(public.classes)[y[order]], axis=0)[:-1]
        right = np.bincount(y, minlength=public.classes) - left
        hits = np.where(ranked[1:] > ranked[:-1], left.max(axis=1) + right.max(axis=1), 0)
        if hits.any():
            best = int(np.argmax(hits))
            found[column] = (ranked[best] + ranked[best + 1]) / 2
    return found


def _codes(classes: int) -> int:
    """How many numbers say a side's classes: their difference for two, one each for more."""
    return 1 if classes == 2 else classes


def _is_binary(column: FloatArray) -> bool:
    # the first value mostly tells
    return all(bool((np.abs(part) == 1.0).all()) for part in (column[:1], column))


def _replay_of(ensemble: Ensemble, dim: int) -> StumpReplay | None:
    """What the kernel needs to replay an ensemble of stumps; None if there are other models, or
    votes out of range.
    """
    stumps = [model for _, model in ensemble.members if isinstance(model, StumpModel)]
    alphas = [alpha for alpha, _ in ensemble.members]
    if len(stumps) < len(ensemble) or not sum(map(abs, alphas)) <= _LARGEST:
        return None
    column = np.array([stump.column for stump in stumps], dtype=np.int64)
    if not ((column >= 0) & (column < dim)).all():  # kernels check nothing
        raise bad("columns of stumps", f"from 0 to {dim - 1}", column.tolist())
    told = np.array([(stump.left, stump.right) for stump in stumps], dtype=np.int64).reshape(-1, 2)
    return StumpReplay.of(
        column,
        np.array([stump.threshold for stump in stumps]),
        told,
        np.array(alphas),
        ensemble.classes,
    )


def quantiles(X: FloatArray, steps: FloatArray) -> FloatArray:
    """`np.quantile(X, steps, axis=0)`, (steps, columns), for finite numbers; quickest where they
    are in [-1, 1].

    The table is not sorted. One pass counts how many values of each column fall into each of many
    equal buckets between -1 and 1, which tells the bucket of every wanted rank; a second pass
    collects those buckets, and only they are sorted. Buckets follow the order of the values, so the
    result does not depend on them; values that crowd into one bucket only cost time.

    >>> quantiles(np.array([[0.1], [0.5], [0.2], [0.4]]), np.array([0.5]))
    array([[0.3]])
    """
    places = steps * (len(X) - 1)
    floors = places.astype(np.int64)
    ranks = np.concatenate([floors, np.minimum(floors + 1, len(X) - 1)])
    low, high = np.split(_values_at(X, ranks), 2)
    part = (places - floors)[:, np.newaxis]
    return np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))


def _values_at(X: FloatArray, ranks: IntArray) -> FloatArray:
    """The values of these ranks (0: the least) in each column, (ranks, columns)."""
    columns = np.arange(X.shape[1])[:, np.newaxis]
    counts = np.zeros((X.shape[1], _BUCKETS), dtype=np.int64)
    _count(X, counts)
    upto = np.cumsum(counts, axis=1)
    bucket = np.array([np.searchsorted(column, ranks, side="right") for column in upto])
    wanted = np.zeros(counts.shape, dtype=np.bool_)
    wanted[columns, bucket] = True
    kept = np.cumsum(counts * wanted, axis=1)
    values = np.full((X.shape[1], int(kept[:, -1].max(initial=0))), np.inf)
    _collect(X, wanted, values)
    values.sort(axis=1)
    return np.asarray(values[columns, ranks - upto[columns, bucket] + kept[columns, bucket]].T)


@kernel
def _count(X: FloatArray, counts: IntArray) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            counts[j, _bucket(X[i, j])] += 1


@kernel
def _collect(X: FloatArray, wanted: BoolArray, values: FloatArray) -> None:
    """The values in wanted buckets, column by column."""
    found = np.zeros(X.shape[1], dtype=np.int64)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if wanted[j, _bucket(X[i, j])]:
                values[j, found[j]] = X[i, j]
                found[j] += 1


@kernel
def _bucket(value: float) -> int:
    """Which bucket; a larger value is never in a lower one. Values beyond [-1, 1] are in the
    outer ones.
    """
    place = (value + 1.0) * (0.5 * _BUCKETS)
    place = place if place > 0.0 else 0.0
    return int(place if place < _BUCKETS - 1.0 else _BUCKETS - 1.0)
