"""How a site looks at its rows before it trains: a public shift and projection, then a public clip.
Total.

Everything here comes from the data user's sample or from the schema: a projection fitted to private
rows would tell about them without being charged.

The published model of sites: linear scores of what a public lens sees.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import FloatArray, IntArray
from tacit.wire import message

_INSIDE = 1 - 2.0**-40  # rounding cannot carry a clipped row out of its balls
_LARGEST = 2.0**100  # entry of a lens: squares of what is seen stay finite
_MOST = 1 << 12  # columns of what is seen
_HELD = 0.01  # of the mean variance, added to each before whitening
_INTERCEPT = 0.5  # the size of the constant column, beside rows of about length 1


@message("lens")
@dataclass(frozen=True, eq=False)
class Projection:
    """x becomes ((x - centre) @ directions, constant), shortened to length at most 1 and to l1
    length at most `l1_bound`.

    `l1_bound` is between 1 and the root of `dim`: the smaller, the less noise an exact release
    needs, and the more rows are shortened. What is not a number counts as the centre, and values
    are cut to [-2^20, 2^20] first.
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
        shifted = np.asarray(X, dtype=np.float64) - self.centre
        np.clip(shifted, -(2.0**20), 2.0**20, out=shifted)
        if np.isnan(
            np.einsum("ij,ij->", shifted, shifted)
        ):  # rare, and looking for it costs a pass of its own
            shifted[np.isnan(shifted)] = 0.0
        seen = shifted @ self.directions
        if self.constant:
            seen = np.hstack([seen, np.full((len(seen), 1), self.constant)])
        length = np.sqrt(np.einsum("ij,ij->i", seen, seen))
        stretch = np.maximum(np.maximum(length, np.abs(seen).sum(axis=1) / self.l1_bound), 1.0)
        seen *= (_INSIDE / stretch)[:, np.newaxis]
        return seen


def fit_projection(
    X: FloatArray, components: int | None = None, whiten: float = 0.0, intercept: bool = True
) -> Projection:
    """A lens for rows like the public X: centred, turned to principal components, scaled to a
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
    usual = float(np.median(lengths))
    wide = Projection(centre, directions / usual if usual > 0 else directions, np.inf, constant)
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
                "vectors", f"(vectors, {self.projection.dim}) as the lens sees", self.vectors.shape
            )

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (rows, vectors) of encoded rows."""
        return np.asarray(self.projection.see(X) @ self.vectors.T)

    def winners(self, scores: FloatArray) -> IntArray:
        """The class of each row: the sign of the only score, or the largest of several."""
        return (
            (scores[:, 0] > 0).astype(np.int64)
            if scores.shape[1] == 1
            else np.argmax(scores, axis=1)
        )
