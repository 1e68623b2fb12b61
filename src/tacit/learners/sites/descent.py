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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np

from tacit._util.kernels import Instruction, kernel
from tacit._util.types import FloatArray
from tacit.learners.sites.losses import HINGE, HUBER, Loss

UNIT = 2.0**-53  # rounding of one operation, relatively
LANES = 8  # rows that the kernel takes side by side
_TOGETHER = 4  # tiles of LANES rows that are read at once: a sum waits for the one before it
_TILES = 128  # so many are added before their sum goes to the total; a multiple of _TOGETHER
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
    which add nothing to any sum, to a multiple of `_TOGETHER` tiles.
    """

    count: int
    entries: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> "Tiles":
        n, dim = rows.shape
        entries = np.zeros((-(-n // (LANES * _TOGETHER)) * _TOGETHER, dim, LANES))
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
    slopes = np.empty((_TOGETHER, LANES))
    sums[:], lost[:], lanes[:] = 0.0, 0.0, 0.0
    for first in range(0, len(tiles), _TOGETHER):
        _score_tiles(tiles, first, f, slopes)
        for t in range(_TOGETHER):
            for lane in range(LANES):
                slopes[t, lane] = slope_at(code, h, slopes[t, lane], targets[first + t, lane])
        _add_tiles(tiles, first, slopes, lanes)
        if (first + _TOGETHER) % _TILES == 0:
            _flush(lanes, sums, lost)
    _flush(lanes, sums, lost)
    for j in range(len(f)):
        sums[j] += lost[j]


@Instruction
def _score_tiles(_: Any, tiles: Any, first: Any, f: Any, out: Any) -> tuple[Any, Any]:
    """`out` (_TOGETHER, LANES) becomes f . x of the rows of as many tiles from `first` on; each
    sum runs over columns in order, LANES of them in one register: numba would add one at a time.
    """
    from numba.core import types

    def emit(context: Any, build: Any, signature: Any, arguments: Any) -> Any:
        in_tiles = _InTiles(context, build, signature.args[0], *arguments[:2])
        columns = in_tiles.pointer(signature.args[2], arguments[2])
        scores = [in_tiles.local() for _ in range(_TOGETHER)]
        for j in in_tiles.columns():
            factor = in_tiles.spread(build.load(build.gep(columns, [j])))
            for t, score in enumerate(scores):
                product = build.fmul(factor, in_tiles.load(t, j))
                build.store(build.fadd(build.load(score), product), score)
        told = in_tiles.vectors(in_tiles.pointer(signature.args[3], arguments[3]))
        for t, score in enumerate(scores):
            place = build.gep(told, [in_tiles.number(t)])
            build.store(build.load(score), place, align=8)
        return context.get_dummy_value()

    return types.void(tiles, first, f, out), emit


@Instruction
def _add_tiles(_: Any, tiles: Any, first: Any, slopes: Any, lanes: Any) -> tuple[Any, Any]:
    """Add slopes (_TOGETHER, LANES) times rows to `lanes` (dim, LANES), one tile after another."""
    from numba.core import types

    def emit(context: Any, build: Any, signature: Any, arguments: Any) -> Any:
        in_tiles = _InTiles(context, build, signature.args[0], *arguments[:2])
        factors = in_tiles.vectors(in_tiles.pointer(signature.args[2], arguments[2]))
        totals = in_tiles.vectors(in_tiles.pointer(signature.args[3], arguments[3]))
        held = [
            build.load(build.gep(factors, [in_tiles.number(t)]), align=8) for t in range(_TOGETHER)
        ]
        for j in in_tiles.columns():
            place = build.gep(totals, [j])
            total = build.load(place, align=8)
            for t, factor in enumerate(held):
                total = build.fadd(total, build.fmul(factor, in_tiles.load(t, j)))
            build.store(total, place, align=8)
        return context.get_dummy_value()

    return types.void(tiles, first, slopes, lanes), emit


class _InTiles:
    """Writes machine code that reads `_TOGETHER` tiles, LANES rows of a column at once; arrays are
    contiguous.
    """

    def __init__(self, context: Any, build: Any, kind: Any, tiles: Any, first: Any) -> None:
        from llvmlite import ir

        self._context, self._build = context, build
        self._vector = ir.VectorType(ir.DoubleType(), LANES)
        self._word = ir.IntType(64)
        self._dim = build.extract_value(context.make_array(kind)(context, build, tiles).shape, 1)
        self._first = build.mul(first, self._dim)
        self._tiles = self.vectors(self.pointer(kind, tiles))

    def pointer(self, kind: Any, array: Any) -> Any:
        """To the first entry of an array."""
        return self._context.make_array(kind)(self._context, self._build, array).data

    def vectors(self, pointer: Any) -> Any:
        """The same as a pointer to LANES entries."""
        return self._build.bitcast(pointer, self._vector.as_pointer())

    def number(self, value: int) -> Any:
        return self._word(value)

    def local(self) -> Any:
        """Room for LANES sums, zero at first."""
        from llvmlite import ir
        from numba.core import cgutils

        zeros = ir.Constant(self._vector, [0.0] * LANES)
        room = cgutils.alloca_once(self._build, self._vector)  # type: ignore[no-untyped-call]
        self._build.store(zeros, room)
        return room

    def spread(self, value: Any) -> Any:
        """LANES times the same number."""
        from llvmlite import ir

        empty, first = ir.Constant(self._vector, ir.Undefined), ir.IntType(32)(0)
        one = self._build.insert_element(empty, value, first)
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self._build.shuffle_vector(one, empty, places)

    def columns(self) -> Iterator[Any]:
        """A loop over columns: what is written between is in it."""
        from numba.core import cgutils

        with cgutils.for_range(self._build, self._dim) as loop:
            yield loop.index

    def load(self, tile: int, column: Any) -> Any:
        """LANES rows of a column of one of the tiles."""
        before = self._build.add(self._first, self._build.mul(self.number(tile), self._dim))
        place = self._build.gep(self._tiles, [self._build.add(before, column)])
        return self._build.load(place, align=8)


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
