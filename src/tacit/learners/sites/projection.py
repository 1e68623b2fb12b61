"""How a site looks at its rows before it trains: a public shift and projection, then a public clip.
Total.

Everything here comes from the data user's sample or from the schema: a projection fitted to private
rows would tell about them without being charged. What becomes of a row is a function of that row
alone, to the last bit: sums have one order, whatever the number of rows around it.

The published model of sites: linear scores of what a public projection sees.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.kernels import kernel
from tacit._util.types import FloatArray, IntArray
from tacit.learners.models.scores import logistic
from tacit.wire import message

INSIDE = 1 - 2.0**-40  # rounding cannot carry a clipped row out of its balls
_LARGEST = 2.0**20  # entry of a projection, and of a shifted row
_CONDITION = 2.0**20  # the longest direction over the shortest
_MOST = 1 << 12  # columns of what is seen
_HELD = 0.01  # of the mean variance, added to each before whitening
_INTERCEPT = 0.5  # the size of the constant column, beside rows of about length 1
_LEAST_SPREAD = 2.0**-10  # public rows that vary less are not stretched any further


@message("lens")
@dataclass(frozen=True, eq=False)
class Projection:
    """x becomes ((x - centre) @ directions, constant), shortened to length at most 1 and to l1
    length at most `l1_bound`.

    `l1_bound` is between 1 and the root of `dim`: the smaller, the less noise an exact release
    needs, and the more rows are shortened. What is not a number counts as the centre, and shifted
    values are cut to [-2^20, 2^20] first. Entries are at most 2^20 in size, and no direction is
    2^20 times as long as another: refused when a question is read, before rows are.
    """

    centre: FloatArray
    directions: FloatArray
    l1_bound: float
    constant: float = 0.0

    def __post_init__(self) -> None:
        if not (
            self.directions.ndim == 2
            and self.centre.ndim == 1
            and len(self.directions) == len(self.centre)
            and self.directions.size
        ):
            raise bad(
                "directions",
                f"{len(self.centre)} rows, one per feature",
                f"shape {self.directions.shape}",
            )
        if not self.directions.shape[1] < _MOST:  # training makes matrices of this size
            raise bad("directions", f"fewer than {_MOST}", self.directions.shape[1])
        if not (
            np.abs(self.directions).max() <= _LARGEST and np.abs(self.centre).max() <= _LARGEST
        ):
            raise ValueError(f"centre and directions must be finite, at most {_LARGEST:g} in size")
        lengths = np.sqrt((self.directions**2).sum(axis=0))
        if not 0 < lengths.max() <= _CONDITION * lengths.min():
            raise bad(
                "directions",
                f"of lengths above 0, the longest at most {_CONDITION:g} times the shortest",
                f"from {lengths.min():g} to {lengths.max():g}",
            )
        if not (self.l1_bound >= 1 and 0 <= self.constant <= 1):
            raise bad(
                "girth", "at least 1, beside a constant from 0 to 1", (self.l1_bound, self.constant)
            )

    @cached_property
    def dim(self) -> int:
        """Columns of what is seen."""
        return int(self.directions.shape[1]) + (1 if self.constant else 0)

    @cached_property
    def stretch(self) -> FloatArray:
        """How much each column is stretched: the length of its direction, 1 for the constant."""
        lengths = np.sqrt((self.directions**2).sum(axis=0))
        return np.append(lengths, 1.0) if self.constant else lengths

    def see(self, X: FloatArray) -> FloatArray:
        """Rows (n, dim) of length at most 1 and l1 length at most `l1_bound`, in exact
        arithmetic.
        """
        rows = np.ascontiguousarray(X, dtype=np.float64)
        seen = np.empty((len(rows), self.dim))
        _see(rows, self.centre, np.ascontiguousarray(self.directions), self.constant, seen)
        _shorten(seen, self.l1_bound)
        return seen


@kernel
def _see(
    X: FloatArray, centre: FloatArray, directions: FloatArray, constant: float, seen: FloatArray
) -> None:
    """Each sum runs over features in order; four of them are added before it goes to memory."""
    features, columns = directions.shape
    away, fours = np.empty(features), features - features % 4
    for i in range(len(X)):
        for j in range(features):
            shifted = 0.0 if np.isnan(X[i, j]) else X[i, j] - centre[j]
            away[j] = min(max(shifted, -_LARGEST), _LARGEST)
        seen[i, :columns] = 0.0
        for j in range(0, fours, 4):
            a, b, c, d = away[j], away[j + 1], away[j + 2], away[j + 3]
            for k in range(columns):
                two = (seen[i, k] + a * directions[j, k]) + b * directions[j + 1, k]
                seen[i, k] = (two + c * directions[j + 2, k]) + d * directions[j + 3, k]
        for j in range(fours, features):
            for k in range(columns):
                seen[i, k] += away[j] * directions[j, k]
        if constant > 0.0:
            seen[i, columns] = constant


@kernel
def _shorten(seen: FloatArray, l1_bound: float) -> None:
    """Each row into both balls."""
    for i in range(len(seen)):
        squares, sizes = 0.0, 0.0
        for k in range(seen.shape[1]):
            squares += seen[i, k] * seen[i, k]
            sizes += abs(seen[i, k])
        factor = INSIDE / max(np.sqrt(squares), sizes / l1_bound, 1.0)
        for k in range(seen.shape[1]):
            seen[i, k] *= factor


def fit_projection(
    X: FloatArray, components: int | None = None, whiten: float = 0.0, intercept: bool = True
) -> Projection:
    """A projection for rows like the public X: centred, turned to principal components, scaled to a
    median length of 1.

    `components` None keeps all directions that X spans. `whiten` 1 gives all of them the same
    spread, 0 leaves them as they are; directions that X hardly spans are held back. The girth is
    the l1 length that three of four rows keep to.
    """
    if not 0 <= whiten <= 1:
        raise bad("whiten", "a number from 0 to 1", whiten)
    centre = X.mean(axis=0)
    variance, turned = np.linalg.eigh((X - centre).T @ (X - centre) / len(X))
    variance, turned = np.maximum(variance[::-1], 0.0), turned[:, ::-1]
    spanned = max(1, int(np.sum(variance > 1e-12 * variance[0])))
    kept = spanned if components is None else min(whole("components", components, 1), spanned)
    held = np.sqrt(variance[:kept] + _HELD * variance[:kept].mean() + 1e-300)
    directions = turned[:, :kept] * (held / held[0]) ** -whiten
    constant = _INTERCEPT if intercept else 0.0
    lengths = np.sqrt((((X - centre) @ directions) ** 2).sum(axis=1) / (1 - constant**2))
    usual = max(float(np.median(lengths)), _LEAST_SPREAD)
    wide = Projection(centre, directions / usual, np.inf, constant)
    l1_bound = max(1.0, float(np.quantile(np.abs(wide.see(X)).sum(axis=1), 0.75)))
    return Projection(centre, wide.directions, min(l1_bound, float(np.sqrt(wide.dim))), constant)


@message("linear")
@dataclass(frozen=True, eq=False)
class LinearModel:
    """`vectors` (1, dim) for two classes or for numbers, else one against the rest for each class,
    (classes, dim).

    `bounds` are the public range of targets that are numbers; None: the model tells classes apart.
    """

    projection: Projection
    vectors: FloatArray
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (self.vectors.ndim == 2 and self.vectors.shape[1] == self.projection.dim):
            raise bad(
                "vectors",
                f"(vectors, {self.projection.dim}) as the projection sees",
                self.vectors.shape,
            )

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (rows, vectors) of encoded rows."""
        return np.asarray(self.projection.see(X) @ self.vectors.T)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Chances of the classes of encoded rows: logistic probabilities of the scores; for more
        than two classes, made to add up to 1.
        """
        return chances_of(self.scores(X))


def chances_of(scores: FloatArray) -> FloatArray:
    """Chances of the classes by scores (rows, vectors).

    >>> chances_of(np.zeros((1, 1))).tolist(), chances_of(np.zeros((1, 4))).tolist()
    ([[0.5, 0.5]], [[0.25, 0.25, 0.25, 0.25]])
    """
    chances = logistic(scores)
    if chances.shape[1] == 1:
        return np.hstack([1 - chances, chances])
    chances = np.maximum(chances, 1e-300)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def winners(scores: FloatArray) -> IntArray:
    """The class of each row of scores (rows, vectors): by the sign of the only one, or the largest.

    >>> winners(np.array([[0.5], [-0.5]])).tolist(), winners(np.eye(3)).tolist()
    ([1, 0], [0, 1, 2])
    """
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return np.asarray(np.argmax(scores, axis=1))
