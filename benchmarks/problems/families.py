"""Families of made-up problems: what rows look like, and how likely each class is for a row.

A family draws its parameters from the seed of the problem, so that another seed is another problem
of the same kind. Rows are raw: the data user's bounds come later, and may be wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit._util.types import FloatArray

Coins = np.random.Generator
Rows = Callable[[Coins, int], FloatArray]
Chances = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Family:
    """`rows` draws raw rows, `chances` says how likely each class is, (rows, classes).

    `bounds` are multiples of the right bounds per column that somebody wrote down, None where the
    sample gives them; `moved` is added to the data user's rows, in the same units; `flips` are the
    chances that an owner has a label wrong, by true class.
    """

    classes: int
    rows: Rows
    chances: Chances
    bounds: FloatArray | None = None
    moved: FloatArray | None = None
    flips: FloatArray | None = None


def linear(coins: Coins, columns: int = 20, strength: float = 1.15) -> Family:
    """Normal columns, one straight line: best possible .70."""
    return Family(2, _normal(columns), _two(_direction(coins, columns, strength)))


def sparse(coins: Coins) -> Family:
    """Forty columns of which three count."""
    weights = np.zeros(40)
    weights[coins.choice(40, 3, replace=False)] = coins.choice([-1.0, 1.0], 3)
    return Family(2, _normal(40), _two(weights))


def correlated(coins: Coins) -> Family:
    """Columns that say nearly the same, and a line through all of them."""
    mixing = coins.normal(size=(15, 15)) * np.exp(-0.25 * np.arange(15))[:, np.newaxis]
    weights = _direction(coins, 15, 0.8)
    return Family(2, lambda c, n: c.normal(size=(n, 15)) @ mixing, _two(weights))


def products(coins: Coins) -> Family:
    """A weak line and three products of two columns."""
    line, pairs = _direction(coins, 12, 0.5), coins.permutation(12)[:6].reshape(3, 2)
    return Family(
        2,
        _normal(12),
        lambda X: _halves(X @ line + (X[:, pairs[:, 0]] * X[:, pairs[:, 1]]).sum(axis=1)),
    )


def boards(coins: Coins) -> Family:
    """A board of three by three fields in two of eight columns, one label in twenty wrong."""
    first, second = coins.choice(8, 2, replace=False)

    def chances(X: FloatArray) -> FloatArray:
        field = np.floor(1.5 * (X[:, first] + 1)) + np.floor(1.5 * (X[:, second] + 1))
        right = np.where(field % 2 == 1, 0.95, 0.05)
        return np.stack([1 - right, right], axis=1)

    return Family(2, lambda c, n: c.uniform(-1, 1, (n, 8)), chances)


def waves(coins: Coins) -> Family:
    """Two waves through ten columns."""
    turns = coins.normal(size=(10, 2)) * 0.5
    return Family(2, _normal(10), lambda X: _halves(2.0 * np.sin(X @ turns).sum(axis=1)))


def clusters(coins: Coins) -> Family:
    """Twelve clouds in ten columns, six of each class."""
    centres = 1.6 * coins.normal(size=(12, 10))

    def chances(X: FloatArray) -> FloatArray:
        near = -0.5 * ((X[:, np.newaxis] - centres) ** 2).sum(axis=2)
        near = np.exp(near - near.max(axis=1, keepdims=True))
        both = np.stack([near[:, :6].sum(axis=1), near[:, 6:].sum(axis=1)], axis=1)
        return np.asarray(both / both.sum(axis=1, keepdims=True))

    return Family(2, lambda c, n: centres[c.integers(0, 12, n)] + c.normal(size=(n, 10)), chances)


def heavy_tails(coins: Coins) -> Family:
    """Student's t with two degrees of freedom in every column; beyond 3 counts as 3."""
    weights = _direction(coins, 15, 1.0)
    return Family(
        2, lambda c, n: c.standard_t(2, size=(n, 15)), lambda X: _two(weights)(np.clip(X, -3, 3))
    )


def outliers(coins: Coins) -> Family:
    """One row in fifty is thirty times as far out, and means nothing."""
    weights = _direction(coins, 15, 1.2)

    def rows(own: Coins, n: int) -> FloatArray:
        return np.asarray(own.normal(size=(n, 15)) * np.where(own.random((n, 1)) < 0.02, 30.0, 1.0))

    def chances(X: FloatArray) -> FloatArray:
        far = (X**2).sum(axis=1, keepdims=True) > 100.0
        return np.where(far, 0.5, _two(weights)(X))

    return Family(2, rows, chances)


def wrong_bounds(coins: Coins) -> Family:
    """Bounds that somebody wrote down: far too wide for a third of the columns, far too narrow for
    another.
    """
    return Family(
        2,
        _normal(15),
        _two(_direction(coins, 15, 1.2)),
        bounds=coins.permutation(np.repeat([0.3, 1.0, 20.0], 5)),
    )


def rare_class(coins: Coins) -> Family:
    """One row in twelve is of the second class."""
    return Family(2, _normal(12), _two(_direction(coins, 12, 1.5), -3.2))


def ten_classes(coins: Coins) -> Family:
    """Ten clouds in fifteen columns."""
    centres = coins.normal(size=(10, 15))
    return Family(
        10, lambda c, n: centres[c.integers(0, 10, n)] + c.normal(size=(n, 15)), _nearest(centres)
    )


def shifted_sample(coins: Coins) -> Family:
    """The data user's rows lie elsewhere than the owners'; the same line, and the same rows to test
    on as owners have.
    """
    made = linear(coins, 12, 1.3)
    return Family(2, made.rows, made.chances, moved=0.7 * coins.normal(size=12))


def mislabelled(coins: Coins) -> Family:
    """Owners have three labels in ten of the second class wrong, and one in ten of the first; the
    data user has none.
    """
    made = linear(coins, 15, 1.5)
    return Family(2, made.rows, made.chances, flips=np.array([0.1, 0.3]))


FAMILIES: dict[str, Callable[[Coins], Family]] = {
    "linear": linear,
    "sparse linear": sparse,
    "correlated": correlated,
    "products": products,
    "boards": boards,
    "waves": waves,
    "clusters": clusters,
    "heavy tails": heavy_tails,
    "outliers": outliers,
    "wrong bounds": wrong_bounds,
    "rare class": rare_class,
    "ten classes": ten_classes,
    "shifted public sample": shifted_sample,
    "mislabelled owners": mislabelled,
}


def _normal(columns: int) -> Rows:
    return lambda coins, n: coins.normal(size=(n, columns))


def _direction(coins: Coins, columns: int, length: float) -> FloatArray:
    weights = coins.normal(size=columns)
    return np.asarray(length * weights / np.sqrt((weights**2).sum()))


def _two(weights: FloatArray, level: float = 0.0) -> Chances:
    return lambda X: _halves(X @ weights + level)


def _halves(score: FloatArray) -> FloatArray:
    second = 1 / (1 + np.exp(-score))
    return np.stack([1 - second, second], axis=1)


def _nearest(centres: FloatArray) -> Chances:
    def chances(X: FloatArray) -> FloatArray:
        score = X @ centres.T - 0.5 * (centres**2).sum(axis=1)
        raised = np.exp(score - score.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    return chances
