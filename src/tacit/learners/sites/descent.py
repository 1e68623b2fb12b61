"""The minimum of a regularised risk to within a proven distance, in a number of steps that is known
before rows are.

    J(f) = sum over rows of l(f . x, target) + ridge/2 |f|^2 + tilt . f

    y = x = 0
    repeat steps(n) times:                                  Nesterov's method, constant momentum
        x', x = x, y - gradient J(y) / (9/8 smoothness)
        y     = x + (1 - a) / (1 + a) (x - x')              a = root of 7 ridge / (9 smoothness)

Claim: for at most `most_rows` rows of length at most 1, whatever they hold, and every tilt of
length at most `tilt`, |x - argmin J| <= tolerance / ridge. Proof, rounding included: site.md.
Nothing is looked at to decide when to stop: how many steps there are depends on no row's contents.
Edges: no rows, equal rows, columns of zeros, gradients of any size: nothing special. The arithmetic
has one order, so the same rows give the same bits on every machine (but for the logistic loss,
whose exponential is the machine's own).
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import FloatArray
from tacit.learners.sites.losses import HINGE, HUBER, Loss

UNIT = 2.0**-53  # rounding of one operation, relatively
LANES = 8  # rows that the kernel takes side by side
_TILES = 128  # of LANES rows; so many are added before their sum goes to the total
_SUM_ROUNDINGS = 256  # of one row's part of the gradient: slope, product and all sums; see site.md
_POINT_ROUNDINGS = 64  # of a point, beside one for each coordinate in f . x
_ENTRIES = 1 << 25  # rows times columns: 256 MB
LEAST_ROWS = 1 << 10  # that a question must leave room for


@dataclass(frozen=True)
class Descent:
    """The public constants of one question: bounds of everything that rows and noise can do."""

    dim: int
    slope: float
    curvature: float
    start: float  # the largest loss at f = 0
    ridge: float
    tolerance: float
    tilt: float  # the largest length of a tilt

    def smoothness(self, rows: int) -> float:
        """How fast the gradient can change: rows have length at most 1."""
        return self.ridge + self.curvature * rows

    def contraction(self, rows: int) -> float:
        """`a`: each step takes this part of what is left."""
        return sqrt(7 * self.ridge / (9 * self.smoothness(rows)))

    def fall(self, rows: int) -> float:
        """At least how far J lies at 0 above its minimum, and a little more."""
        widest = rows * self.start + self.tilt**2 / (2 * self.ridge)
        return (widest + self.tolerance**2 / self.ridge) * (1 + 2.0**-30)

    def reach(self, rows: int) -> float:
        """No minimum, and nothing returned, is longer."""
        by_slopes = (rows * self.slope + self.tilt) / self.ridge
        by_values = sqrt(2 * self.fall(rows) / self.ridge)
        return min(by_slopes, by_values) + 2 * self.tolerance / self.ridge

    def steps(self, rows: int) -> int:
        """So many are enough: half of the squared distance allowed is left for rounding."""
        times = 8 * self.fall(rows) * self.ridge / self.tolerance**2
        return ceil(log(times) / -log1p(-self.contraction(rows)) * (1 + 2.0**-30)) + 1

    def rounding(self, rows: int) -> float:
        """How far a computed gradient, and the steps made of it, can be from exact ones."""
        longest = 4 * sqrt(self.fall(rows) / self.ridge)
        points = (self.dim + _POINT_ROUNDINGS) * self.smoothness(rows) * longest
        return 1.01 * UNIT * (_SUM_ROUNDINGS * rows * self.slope + points)

    def covers(self, rows: int) -> bool:
        """Whether the claim holds for so many rows."""
        return self.rounding(rows) <= 0.99 * self.tolerance * sqrt(self.contraction(rows) / 32)

    @cached_property
    def most_rows(self) -> int:
        """The claim holds up to here (`covers` falls in rows), and memory is bounded."""
        low, high = 0, _ENTRIES // self.dim + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.covers(middle) else (low, middle)
        return low


@dataclass(frozen=True, eq=False)
class Tiles:
    """Rows (n, dim) as a kernel likes them: (tiles, dim, LANES), filled up with rows of zeros,
    which add nothing to any sum.
    """

    count: int
    entries: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> "Tiles":
        n, dim = rows.shape
        entries = np.zeros((-(-n // LANES), dim, LANES))
        for lane in range(LANES):
            own = rows[lane::LANES]
            entries[: len(own), :, lane] = own
        return cls(n, entries)


def descend(
    tiles: Tiles, targets: FloatArray, loss: Loss, tilt: FloatArray, bounds: Descent
) -> FloatArray:
    """A point within `bounds.tolerance / bounds.ridge` of the minimum."""
    held = np.zeros((len(tiles.entries), LANES))
    held.reshape(-1)[: tiles.count] = targets
    a = bounds.contraction(tiles.count)
    rate = 8 / (9 * bounds.smoothness(tiles.count))
    found = np.zeros(bounds.dim)
    law = _Descent(loss.code, loss.h, bounds.ridge, rate, (1 - a) / (1 + a))
    _descend(tiles.entries, held, law, tilt, bounds.steps(tiles.count), found)
    return found


class _Descent(NamedTuple):
    """The loss by its code and h, and the constants of the steps."""

    code: int
    h: float
    ridge: float
    rate: float
    momentum: float


class SlopeRoom(NamedTuple):
    """Where slopes are added up: their sums, what rounding lost of them, and the lanes."""

    sums: FloatArray
    lost: FloatArray
    lanes: FloatArray


@kernel
def _descend(
    tiles: FloatArray,
    targets: FloatArray,
    law: _Descent,
    tilt: FloatArray,
    steps: int,
    x: FloatArray,
) -> None:
    """Changes `x` from the start to the end."""
    code, h, ridge, rate, momentum = law
    dim = len(x)
    y, gradient = x.copy(), np.empty(dim)
    room = SlopeRoom(np.empty(dim), np.empty(dim), np.empty((dim, LANES)))
    sums = room.sums
    for _ in range(steps):
        add_slopes(tiles, targets, code, h, y, room)
        for j in range(dim):
            gradient[j] = sums[j] + (ridge * y[j] + tilt[j])
            new = y[j] - rate * gradient[j]
            y[j] = new + momentum * (new - x[j])
            x[j] = new


@kernel
def add_slopes(
    tiles: FloatArray,
    targets: FloatArray,
    code: int,
    h: float,
    f: FloatArray,
    room: SlopeRoom,
) -> None:
    """The room's `sums` become the sum over rows of l'(f . x, target) x."""
    sums, lost, lanes = room
    dim = len(f)
    z, slopes = np.zeros(LANES), np.zeros(LANES)
    sums[:], lost[:], lanes[:] = 0.0, 0.0, 0.0
    for t in range(len(tiles)):
        tile, told = tiles[t], targets[t]
        z[:] = 0.0
        for j in range(dim):
            for lane in range(LANES):
                z[lane] += f[j] * tile[j, lane]
        for lane in range(LANES):
            slopes[lane] = slope_at(code, h, z[lane], told[lane])
        for j in range(dim):
            for lane in range(LANES):
                lanes[j, lane] += slopes[lane] * tile[j, lane]
        if (t + 1) % _TILES == 0:
            _flush(lanes, sums, lost)
    _flush(lanes, sums, lost)
    for j in range(dim):
        sums[j] += lost[j]


@kernel
def _flush(lanes: FloatArray, sums: FloatArray, lost: FloatArray) -> None:
    """Add what the lanes hold to `sums`; what rounding loses there goes to `lost` (Neumaier)."""
    for j in range(len(sums)):
        part = 0.0
        for lane in range(LANES):
            part += lanes[j, lane]
            lanes[j, lane] = 0.0
        total = sums[j] + part
        if abs(sums[j]) >= abs(part):
            lost[j] += (sums[j] - total) + part
        else:
            lost[j] += (part - total) + sums[j]
        sums[j] = total


@kernel
def slope_at(code: int, h: float, z: float, target: float) -> float:
    """l'(z, target)."""
    if code == HINGE:
        return -target * min(max((1.0 - target * z + h) / (2.0 * h), 0.0), 1.0)
    if code == HUBER:
        return min(max(z - target, -h), h)
    return -target / (1.0 + exp(target * z))
