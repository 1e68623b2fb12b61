"""Where shares live: bounded sets of vectors, known to everybody before anything is asked.

A space answers two things. `clip` brings any vector inside, and is total: NaN, infinities and
overflow have defined results, because an error that depends on an owner's rows would itself be a
leak. The three radii say how large the space is in the norms that mechanisms calibrate to: a
mechanism for boxes asks `radius_inf`, PrivUnit asks `radius_2`, Laplace and randomised response ask
`radius_1`. So every mechanism works over every space, and geometry decides how well.

Products of simpler ones (`Mixture`, `Crosses`) are smaller than the box around them: knowing that
pays in noise.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from tacit._util.checks import bad, positive, whole
from tacit._util.kernels import kernel
from tacit._util.types import FloatArray

_UNSIGNED = np.int64((1 << 63) - 1)  # bits of a float but its sign


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
    radius_inf: float = field(init=False, repr=False, compare=False)
    radius_2: float = field(init=False, repr=False, compare=False)
    radius_1: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole("dim", self.dim, 1))

    def _measure(self, radius_inf: float, radius_2: float, radius_1: float) -> None:
        """Note the largest absolute value of a coordinate, the largest Euclidean norm and the
        largest sum of absolute values: each space says so when it is made.
        """
        object.__setattr__(self, "radius_inf", radius_inf)
        object.__setattr__(self, "radius_2", radius_2)
        object.__setattr__(self, "radius_1", radius_1)

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
        self._measure(self.radius, self.radius * math.sqrt(self.dim), self.radius * self.dim)

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
        self._measure(self.radius, self.radius, self.radius * math.sqrt(self.dim))

    def clip(self, x: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(x, dtype=np.float64).reshape(-1, self.dim)
        clipped = np.empty_like(rows)
        is_inside = move_inside(rows, self.radius, clipped)
        return x if is_inside else clipped.reshape(x.shape)


@kernel
def move_inside(x: FloatArray, radius: float, out: FloatArray) -> bool:
    """Whether all rows are in the ball already, never for NaN; else they are, in `out`. One kernel,
    so that no long row is the first for which something is compiled.
    """
    squares = np.empty(len(x))
    add_squares(x, squares)
    is_inside = True
    for i in range(len(x)):
        is_inside = is_inside and squares[i] <= radius * radius
    if not is_inside:
        _shorten(x, squares, radius, out)
    return is_inside


@kernel
def add_squares(rows: FloatArray, out: FloatArray) -> None:
    """Of each row, in the order of its numbers: a library's order may depend on the machine. Four
    rows go side by side, since a sum waits for the one before it.
    """
    fours = len(rows) - len(rows) % 4
    for i in range(0, fours, 4):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
        for j in range(len(a)):
            of_a += a[j] * a[j]
            of_b += b[j] * b[j]
            of_c += c[j] * c[j]
            of_d += d[j] * d[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = of_a, of_b, of_c, of_d
    for i in range(fours, len(rows)):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[i, j] * rows[i, j]
        out[i] = square


@kernel
def _shorten(x: FloatArray, squares: FloatArray, radius: float, out: FloatArray) -> None:
    """Rows of the ball: each as it is if it is short, else along its direction."""
    peaks, again = np.zeros(len(x)), np.empty(len(x))
    for i in range(len(x)):
        row = out[i]
        if squares[i] < np.inf:
            row[:] = x[i]
        else:
            _keep_finite(x[i], radius, row)
        if squares[i] <= radius * radius:
            continue
        _find_peak(row, peaks[i : i + 1])
        peak = peaks[i]
        if peak > 0:
            for j in range(len(row)):
                row[j] /= peak  # so that no square overflows
    add_squares(out, again)
    for i in range(len(x)):
        row, length = out[i], np.sqrt(again[i])
        if peaks[i] * length > radius:
            factor = radius / length
            for j in range(len(row)):
                row[j] *= factor
        elif peaks[i] > 0:
            _keep_finite(x[i], radius, row)


@kernel
def _find_peak(row: FloatArray, peak: FloatArray) -> None:
    """The largest size of some numbers, none of them NaN: of bits without their sign, which are in
    the same order, and which a machine compares several at a time.
    """
    bits, largest = row.view(np.int64), np.int64(0)
    for j in range(len(bits)):
        largest = max(largest, bits[j] & _UNSIGNED)
    peak.view(np.int64)[0] = largest


@kernel
def _keep_finite(row: FloatArray, radius: float, out: FloatArray) -> None:
    """NaN as 0; of a vector with infinite coordinates only those count."""
    is_endless = False
    for j in range(len(row)):
        is_endless = is_endless or np.isinf(row[j])
    for j in range(len(row)):
        out[j] = _finite(row[j], is_endless, radius)


@kernel
def _finite(value: float, is_endless: bool, radius: float) -> float:
    """A coordinate of a vector; of one with infinite coordinates only those count."""
    if is_endless:
        return (radius if value > 0 else -radius) if np.isinf(value) else 0.0
    return 0.0 if np.isnan(value) else value


@move_inside.by_arrays(lambda x, radius, out: 32 * x.size)
def _move_arrays(x: FloatArray, radius: float, out: FloatArray) -> bool:
    is_long = ~(sums_of_squares(x) <= radius * radius)  # so is NaN
    if is_long.any():
        out[:] = x
        out[is_long] = _shorten_arrays(x[is_long], radius)
    return not is_long.any()


def _shorten_arrays(x: FloatArray, radius: float) -> FloatArray:
    """`_shorten` of rows that are long, or have NaN."""
    peak = np.abs(x).max(axis=1, keepdims=True)
    if not np.isfinite(peak).all():
        is_infinite = np.isinf(x)
        finite = np.where(is_infinite.any(axis=1, keepdims=True) | np.isnan(x), 0.0, x)
        x = np.where(is_infinite, np.copysign(radius, x), finite)
        peak = np.abs(x).max(axis=1, keepdims=True)
    scaled = x / np.where(peak > 0, peak, 1.0)
    length = np.sqrt(sums_of_squares(scaled))[:, np.newaxis]
    is_outside = peak * length > radius
    return np.where(is_outside, scaled * (radius / np.where(is_outside, length, 1.0)), x)


def sums_of_squares(rows: FloatArray) -> FloatArray:
    """Of each row, added in the order of its numbers: a library's order may depend on the machine.

    >>> sums_of_squares(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    return np.asarray(np.add.accumulate(rows * rows, axis=1)[:, -1])


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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._measure(1.0, 1.0, 1.0)

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


@dataclass(frozen=True)
class Blocks(Space):
    """`blocks` pieces of `size` coordinates each; NaN counts as 0, infinities as the largest
    number.
    """

    dim: int = field(init=False)
    blocks: int = 1
    size: int = 1

    def __post_init__(self) -> None:
        blocks, size = whole("blocks", self.blocks, 1), whole("size", self.size, 1)
        object.__setattr__(self, "dim", blocks * size)
        longest = math.sqrt(self._spread)
        self._measure(1.0, longest, longest**2)

    @property
    @abstractmethod
    def _spread(self) -> int:
        """How many coordinates may be 1 at once."""

    @abstractmethod
    def _loads(self, sizes: FloatArray) -> FloatArray:
        """What must be at most 1, given absolute values (..., blocks, size): one number per
        block, or one for all.
        """

    def clip(self, x: FloatArray) -> FloatArray:
        parts = self._parts(x)
        with np.errstate(over="ignore"):
            loads = self._loads(np.abs(parts))
        if (loads <= 1).all():  # the usual case; NaN and what overflows fail it
            return x.copy()
        parts = _make_finite(parts)
        loads = self._loads(np.abs(parts))
        return np.where(loads > 1, parts / np.where(loads > 1, loads, 1.0), parts).reshape(x.shape)

    def _parts(self, x: FloatArray) -> FloatArray:
        return x.reshape(*x.shape[:-1], self.blocks, self.size)


@dataclass(frozen=True)
class Mixture(Blocks):
    """(p_1 v_1, ..., p_B v_B) with v_b in [-1, 1]^size and p_b >= 0 adding up to at most 1.

    What class-wise weighted sums look like: the weight of an owner is shared out over classes. Its
    radii are those of one block, however many there are. A vector outside is scaled down.

    >>> Mixture(blocks=2, size=2).clip(np.array([1.0, 0.5, 3.0, 0.0]))
    array([0.25 , 0.125, 0.75 , 0.   ])
    """

    @property
    def _spread(self) -> int:
        return self.size

    def _loads(self, sizes: FloatArray) -> FloatArray:
        return np.asarray(sizes.max(axis=-1, keepdims=True).sum(axis=-2, keepdims=True))


@dataclass(frozen=True)
class Crosses(Blocks):
    """Pieces whose absolute values add up to at most 1 each.

    What cross tables look like: in each table an owner's weight is shared out over its cells. A
    piece outside is scaled down.

    >>> Crosses(blocks=2, size=2).clip(np.array([1.0, -3.0, 0.5, 0.0]))
    array([ 0.25, -0.75,  0.5 ,  0.  ])
    """

    @property
    def _spread(self) -> int:
        return self.blocks

    def _loads(self, sizes: FloatArray) -> FloatArray:
        # A few sums of long columns are quicker than many sums of short rows.
        columns = (sizes[..., column : column + 1] for column in range(self.size))
        return sum(columns, np.zeros((*sizes.shape[:-1], 1)))


def _make_finite(x: FloatArray) -> FloatArray:
    """NaN as 0, and nothing so large that sums overflow."""
    return np.clip(np.where(np.isnan(x), 0.0, x), -1e150, 1e150)
