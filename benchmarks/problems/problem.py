"""A problem: the data user's rows, the owners' rows, rows to test on, and the best that is
possible.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.problems.families import FAMILIES, Family
from tacit._util.types import FloatArray, IntArray
from tacit.data.cohort import Cohort, Public
from tacit.data.schema import Number, Schema

_TEST_ROWS = 20_000
_PLACES = {name: place for place, name in enumerate(FAMILIES)}
KINDS = ("alike", "skewed", "own epsilons", "trees")  # owners with labels mostly of one class, with
# budgets of their own, or a data user whose model is boosted trees
_SKEW = 0.5  # standard deviation of the noise on classes by which rows are dealt to skewed owners
_ROOM = 3.0  # bounds that are written down, in standard deviations, before they are made wrong


@dataclass(frozen=True)
class Setting:
    """Which problem: its family, its seed, how many owners of how many rows, how many rows the data
    user holds; `kind` is one of `KINDS`.
    """

    family: str
    seed: int
    owners: int
    public_rows: int
    rows: int = 1
    kind: str = "alike"


@dataclass(frozen=True, eq=False)
class Problem:
    """Encoded rows of everybody; `best` is the accuracy of the true chances on the test rows."""

    public: Public
    cohort: Cohort
    X_test: FloatArray
    y_test: IntArray
    best: float

    def accuracy(self, guesses: IntArray) -> float:
        return float(np.mean(guesses == self.y_test))


def problem_of(setting: Setting) -> Problem:
    """Rows drawn by the setting's seed: the same parameters for every number of owners and public
    rows.
    """
    path = [setting.seed, _PLACES[setting.family]]
    family = FAMILIES[setting.family](np.random.default_rng([*path, 0]))
    X0, y0 = _drawn(
        family,
        np.random.default_rng([*path, 1, setting.public_rows]),
        setting.public_rows,
        family.moved,
    )
    X, y = _drawn(family, np.random.default_rng([*path, 2]), setting.owners * setting.rows, None)
    X_test, y_test = _drawn(family, np.random.default_rng([*path, 3]), _TEST_ROWS, None)
    if family.flips is not None:
        coins = np.random.default_rng([*path, 4])
        y = np.where(coins.random(len(y)) < family.flips[y], (y + 1) % family.classes, y)
    if setting.kind == "skewed":
        near = np.argsort(y + _SKEW * np.random.default_rng([*path, 5]).normal(size=len(y)))
        X, y = X[near], y[near]
    schema = _schema(family, X0, y0)
    best = float(np.mean(np.argmax(family.chances(X_test), axis=1) == y_test))
    public = Public(schema.encode(X0).X, y0, family.classes)
    cohort = Cohort(schema.encode(X).X, y, np.arange(setting.owners + 1) * setting.rows)
    return Problem(public, cohort, schema.encode(X_test).X, y_test, best)


def _drawn(
    family: Family, coins: np.random.Generator, rows: int, moved: FloatArray | None
) -> tuple[FloatArray, IntArray]:
    X = family.rows(coins, rows)
    X = X if moved is None else X + moved
    y = (family.chances(X).cumsum(axis=1) < coins.random((rows, 1))).sum(axis=1)
    return X, np.minimum(y, family.classes - 1).astype(np.int64)


def _schema(family: Family, X: FloatArray, y: IntArray) -> Schema:
    """Bounds as the data user's sample shows them, or as somebody wrote them down."""
    classes = tuple(range(family.classes))
    if family.bounds is None:
        shown = Schema.of_public(X, y)
        return Schema(shown.features, classes)
    features = tuple(
        Number(str(place), -_ROOM * size, _ROOM * size)
        for place, size in enumerate(family.bounds.tolist())
    )
    return Schema(features, classes)
