"""Where shares live: bounded sets of vectors, known to everybody before anything is asked.

A space answers two things. `clip` brings any vector inside, and is total: NaN, infinities and
overflow have defined results, because an error that depends on an owner's rows would itself be a
leak. The three radii say how large the space is in the norms that mechanisms calibrate to: a
mechanism for boxes asks `radius_inf`, PrivUnit asks `radius_2`, Laplace and randomised response ask
`radius_1`. So every mechanism works over every space, and geometry decides how well.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tacit._util.checks import bad, positive, whole
from tacit._util.types import FloatArray


def _accept_radius(radius: object) -> float:
    """Far from where sums or quotients of coordinates overflow: kernels rely on it."""
    number = positive("radius", radius)
    if not 1e-100 <= number <= 1e100:
        raise bad("radius", "between 1e-100 and 1e100", radius)
    return number


@dataclass(frozen=True)
class Space(ABC):
    """A bounded set of vectors; rows of a (..., dim) array are its points.

    Parameters
    ----------
    dim : int
        How many coordinates a vector has.
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole("dim", self.dim, 1))

    @property
    @abstractmethod
    def radius_inf(self) -> float:
        """The largest absolute value of a coordinate."""

    @property
    @abstractmethod
    def radius_2(self) -> float:
        """The largest Euclidean norm."""

    @property
    @abstractmethod
    def radius_1(self) -> float:
        """The largest sum of absolute values."""

    @abstractmethod
    def clip(self, x: FloatArray) -> FloatArray:
        """Each row of `x` moved into the space; rows already inside stay as they are."""


@dataclass(frozen=True)
class Box(Space):
    """[-radius, radius]^dim. NaN clips to 0, infinities to the nearer side.

    Parameters
    ----------
    dim : int
        How many coordinates a vector has.
    radius : float, default 1.0
        The largest absolute value of a coordinate, between 1e-100 and 1e100.

    >>> Box(dim=3).clip(np.array([0.5, -7.0, np.nan]))
    array([ 0.5, -1. ,  0. ])
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", _accept_radius(self.radius))

    @property
    def radius_inf(self) -> float:
        return self.radius

    @property
    def radius_2(self) -> float:
        return self.radius * math.sqrt(self.dim)

    @property
    def radius_1(self) -> float:
        return self.radius * self.dim

    def clip(self, x: FloatArray) -> FloatArray:
        return np.clip(np.where(np.isnan(x), 0.0, x), -self.radius, self.radius)


@dataclass(frozen=True)
class Ball(Space):
    """Vectors of Euclidean norm at most `radius`.

    A longer vector is shortened, keeping its direction. NaN counts as 0; a vector with infinite
    coordinates takes the direction of those coordinates alone.

    Parameters
    ----------
    dim : int
        How many coordinates a vector has.
    radius : float, default 1.0
        The largest Euclidean norm, between 1e-100 and 1e100.

    >>> Ball(dim=2).clip(np.array([[3.0, 4.0], [np.inf, 5.0]]))
    array([[0.6, 0.8],
           [1. , 0. ]])
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", _accept_radius(self.radius))

    @property
    def radius_inf(self) -> float:
        return self.radius

    @property
    def radius_2(self) -> float:
        return self.radius

    @property
    def radius_1(self) -> float:
        return self.radius * math.sqrt(self.dim)

    def clip(self, x: FloatArray) -> FloatArray:
        inside = np.einsum("...i,...i->...", x, x) <= self.radius**2  # False for NaN
        if inside.all():
            return x
        clipped = x.copy()
        clipped[~inside] = self._shorten(x[~inside])
        return clipped

    def _shorten(self, x: FloatArray) -> FloatArray:
        endless = np.isinf(x)
        limit = np.where(endless, np.sign(x), 0.0)
        x = np.where(
            endless.any(axis=-1, keepdims=True), limit * self.radius, np.where(np.isnan(x), 0.0, x)
        )
        # Dividing by the largest coordinate first keeps the squares from overflowing.
        peak = np.max(np.abs(x), axis=-1, keepdims=True)
        unit = x / np.where(peak > 0, peak, 1.0)
        length = np.sqrt(np.sum(np.square(unit), axis=-1, keepdims=True))
        with np.errstate(over="ignore"):
            outside = peak * length > self.radius
        return np.where(outside, unit * (self.radius / np.where(outside, length, 1.0)), x)


@dataclass(frozen=True)
class Simplex(Space):
    """Probability vectors over `dim` classes; a class is a vertex.

    Negative coordinates and NaN count as 0, then the row is divided by its sum. A row with nothing
    left is the uniform vector.

    Parameters
    ----------
    dim : int
        How many classes there are.

    >>> Simplex(dim=4).clip(np.array([1.0, 3.0, -2.0, np.nan]))
    array([0.25, 0.75, 0.  , 0.  ])
    """

    @property
    def radius_inf(self) -> float:
        return 1.0

    @property
    def radius_2(self) -> float:
        return 1.0

    @property
    def radius_1(self) -> float:
        return 1.0

    def vertices(self, classes: object) -> FloatArray:
        """One-hot rows for class numbers 0 .. dim-1.

        >>> Simplex(dim=3).vertices([2, 0])
        array([[0., 0., 1.],
               [1., 0., 0.]])
        """
        labels = np.asarray(classes)
        if labels.ndim != 1 or labels.dtype.kind not in "iu":
            raise ValueError(
                f"classes must be a vector of whole numbers, got {labels.dtype} of shape "
                f"{labels.shape}"
            )
        if not np.all((labels >= 0) & (labels < self.dim)):
            raise ValueError(f"classes must lie in 0 .. {self.dim - 1}")
        return np.asarray(np.eye(self.dim)[labels])

    def clip(self, x: FloatArray) -> FloatArray:
        x = np.where(np.isnan(x), 0.0, np.maximum(x, 0.0))
        endless = np.isinf(x)
        x = np.where(endless.any(axis=-1, keepdims=True), endless.astype(np.float64), x)
        peak = np.max(x, axis=-1, keepdims=True)
        x = np.where(peak > 0, x / np.where(peak > 0, peak, 1.0), 1.0)
        return np.asarray(x / np.sum(x, axis=-1, keepdims=True))
