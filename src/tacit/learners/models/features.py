"""Public feature maps: what every owner makes of a row before it computes anything.

A map is an expansion (the row itself, its products, random waves, the leaves of public trees)
followed by a public affine change of coordinates. It is fitted on the data user's own sample
(`algorithms/feature_maps.py`) and travels with the query, so that nothing of it depends on an
owner's rows. Every row is mapped alone, by loops of a fixed order: the same bits alone and in a
block of millions.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.kernels import affine, kernel, turn, turns
from tacit._util.types import FloatArray
from tacit.learners.query import Cost, table
from tacit.wire import message


class Expansion(ABC):
    """A function of one row that any number of rows are put through."""

    @abstractmethod
    def width(self, dim: int) -> int:
        """How many numbers it makes of a row of `dim` numbers."""

    @abstractmethod
    def cost(self, dim: int, rows: int) -> Cost:
        """What expanding so many rows takes at most."""

    @abstractmethod
    def fill(self, X: FloatArray, out: FloatArray, at: int) -> None:
        """Write what it makes of each row to `out`, from column `at` on."""

    def expand(self, X: FloatArray) -> FloatArray:
        """(rows, width)."""
        out = np.empty((len(X), self.width(X.shape[1])))
        self.fill(X, out, 0)
        return out


@message("features.rows")
@dataclass(frozen=True)
class Rows(Expansion):
    """The row as it is: linear models."""

    def width(self, dim: int) -> int:
        return dim

    def cost(self, dim: int, rows: int) -> Cost:
        return Cost()

    def fill(self, X: FloatArray, out: FloatArray, at: int) -> None:
        out[:, at : at + X.shape[1]] = X

    def expand(self, X: FloatArray) -> FloatArray:
        return X


@message("features.products")
@dataclass(frozen=True, eq=False)
class Products(Expansion):
    """Coordinates (x - centre) @ axes, clipped to [-reach, reach], and all their products of
    two.
    """

    centre: FloatArray
    axes: FloatArray
    reach: float = 3.0

    def __post_init__(self) -> None:
        if not (self.axes.ndim == 2 and self.centre.shape == self.axes.shape[:1]):
            raise bad("axes", "(dim, coordinates) with a centre (dim,)", self.axes.shape)

    def width(self, dim: int) -> int:
        if not dim == len(self.centre):
            raise bad("columns", f"{len(self.centre)} as in the axes", dim)
        coordinates = int(self.axes.shape[1])
        return coordinates + coordinates * (coordinates + 1) // 2

    def cost(self, dim: int, rows: int) -> Cost:
        flat = table(rows, 2 * int(self.axes.shape[1]))
        return Cost(rows * self.axes.size) + flat + table(rows, self.width(dim), passes=2)

    def fill(self, X: FloatArray, out: FloatArray, at: int) -> None:
        flat = np.empty((len(X), self.axes.shape[1]))
        affine(X, self.centre, self.axes, flat)
        _products(np.clip(flat, -self.reach, self.reach), out, at)


@message("features.waves")
@dataclass(frozen=True, eq=False)
class Waves(Expansion):
    """Random Fourier features: cosine and sine of (x - centre) @ axes."""

    centre: FloatArray
    axes: FloatArray

    def __post_init__(self) -> None:
        if not (self.axes.ndim == 2 and self.centre.shape == self.axes.shape[:1]):
            raise bad("axes", "(dim, waves) with a centre (dim,)", self.axes.shape)

    def width(self, dim: int) -> int:
        if not dim == len(self.centre):
            raise bad("columns", f"{len(self.centre)} as in the axes", dim)
        return 2 * int(self.axes.shape[1])

    def cost(self, dim: int, rows: int) -> Cost:
        return Cost(rows * self.axes.size) + table(rows, 3 * self.width(dim), passes=6)

    def fill(self, X: FloatArray, out: FloatArray, at: int) -> None:
        angle = np.empty((len(X), self.axes.shape[1]))
        affine(X, self.centre, self.axes, angle)
        _waves(angle, out, at)


@message("features.joined")
@dataclass(frozen=True, eq=False)
class Joined(Expansion):
    """What several expansions make of a row, side by side."""

    parts: tuple[Expansion, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise bad("parts", "at least one expansion", self.parts)

    def width(self, dim: int) -> int:
        return sum(part.width(dim) for part in self.parts)

    def cost(self, dim: int, rows: int) -> Cost:
        return sum((part.cost(dim, rows) for part in self.parts), table(rows, self.width(dim)))

    def fill(self, X: FloatArray, out: FloatArray, at: int) -> None:
        for part in self.parts:
            part.fill(X, out, at)
            at += part.width(X.shape[1])


@message("features")
@dataclass(frozen=True, eq=False)
class FeatureMap:
    """phi(x) = (level, (expand(x) - centre) @ matrix): the first feature is constant, for the
    intercept. A matrix of one row of numbers is diagonal: each number is only scaled.
    """

    expansion: Expansion
    centre: FloatArray
    matrix: FloatArray
    level: float = 1.0

    def __post_init__(self) -> None:
        if not (self.matrix.ndim in (1, 2) and self.centre.shape == self.matrix.shape[:1]):
            rule = "(width, features) or (width,) with a centre (width,)"
            raise bad("matrix", rule, self.matrix.shape)

    @property
    def dim(self) -> int:
        """How many features, the constant one included."""
        return 1 + int(self.matrix.shape[-1])

    def check(self, dim: int) -> None:
        """Refuse rows of another width: owners must not find out by their own rows."""
        if not self.expansion.width(whole("dim", dim, 1)) == len(self.centre):
            raise bad(
                "width of the expansion",
                f"{len(self.centre)} as in the map",
                self.expansion.width(dim),
            )

    def cost(self, dim: int, rows: int) -> Cost:
        """What mapping so many rows takes at most."""
        product = Cost(rows * self.matrix.size) + table(rows, self.dim) + table(rows, self.dim)
        return self.expansion.cost(dim, rows) + product

    def transform(self, X: FloatArray) -> FloatArray:
        """Features (rows, dim)."""
        self.check(X.shape[1])  # the kernel indexes with these shapes
        out = np.empty((len(X), self.dim))
        if self.matrix.ndim == 1:
            self.expansion.fill(X, out, 1)
            _scale(out, self.level, self.centre, self.matrix)
        else:
            out[:, 0] = self.level
            mapped = np.empty((len(X), self.dim - 1))  # whole: one row's slice is another type
            affine(self.expansion.expand(X), self.centre, self.matrix, mapped)
            out[:, 1:] = mapped
        return out


@kernel
def _scale(rows: FloatArray, level: float, centre: FloatArray, by: FloatArray) -> None:
    """Each row (level, (x - centre) * by), where x is what it has beyond its first number."""
    for i in range(len(rows)):
        rows[i, 0] = level
        each = rows[i, 1:]
        for j in range(len(centre)):
            each[j] = (each[j] - centre[j]) * by[j]


@_scale.by_arrays(lambda rows, level, centre, by: 4 * rows.size)
def _scale_arrays(rows: FloatArray, level: float, centre: FloatArray, by: FloatArray) -> None:
    rows[:, 0] = level
    rows[:, 1:] -= centre
    rows[:, 1:] *= by


@kernel
def _products(flat: FloatArray, out: FloatArray, at: int) -> None:
    size = flat.shape[1]
    for i in range(len(flat)):
        place = at + size
        for j in range(size):
            out[i, at + j] = flat[i, j]
            for k in range(j, size):
                out[i, place] = flat[i, j] * flat[i, k]
                place += 1


@_products.by_arrays(lambda flat, out, at: 2 * flat.size * (flat.shape[1] + 3))
def _products_arrays(flat: FloatArray, out: FloatArray, at: int) -> None:
    rows, columns = np.triu_indices(flat.shape[1])
    place = at + flat.shape[1]
    out[:, at:place] = flat
    out[:, place : place + len(rows)] = flat[:, rows] * flat[:, columns]


@kernel
def _waves(angle: FloatArray, out: FloatArray, at: int) -> None:
    half = angle.shape[1]
    for i in range(len(angle)):
        cosines, sines = out[i, at : at + half], out[i, at + half : at + 2 * half]
        for j in range(half):
            cosine, sine = turn(angle[i, j])
            cosines[j] = cosine
            sines[j] = sine


@_waves.by_arrays(lambda angle, out, at: 64 * angle.size)
def _waves_arrays(angle: FloatArray, out: FloatArray, at: int) -> None:
    middle, end = at + angle.shape[1], at + 2 * angle.shape[1]
    out[:, at:middle], out[:, middle:end] = turns(angle)
