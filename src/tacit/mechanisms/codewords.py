"""The codewords of PrivUnit: a 64-bit number names a direction, the same on every machine.

Its last bit is a sign, the others seed a generator of 32 bits per coordinate, whose four bytes are
added up and bent by a polynomial so that they follow the normal law; the vector is divided by its
length. Everything is whole numbers or operations that IEEE 754 rounds correctly, so all machines
agree on every codeword, and sums of codewords are exact. Names that differ in the last bit only are
opposite codewords: of each pair one is computed.
"""

from typing import Any, NamedTuple, cast

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, WordArray
from tacit.mechanisms.spaces import sums_of_squares

STEPS = 1 << 30  # a codeword's coordinates are multiples of 1 / STEPS
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # these three are SplitMix64's own
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint32(0x9E3779B9)
_EVEN_BYTES = np.uint32(0x00FF00FF)
# Sums of bytes to the normal law: odd, of degree 9 in sum / 512; found by making the mean of the
# largest part, for parts from a half to 1 / 1000, as close to the normal law's as can be.
_BEND = (0.10357, 0.28702, -0.61922, 0.76565)
_B1, _B2, _B3, _B4 = (np.float32(c * 2.0 ** (-18 * (i + 1))) for i, c in enumerate(_BEND))
_MIDDLE = np.float32(510.5)
OPERATIONS = 16  # of arrays on each coordinate, as long as this many of other loops


@kernel
def mix(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return np.uint64(word ^ (word >> np.uint64(31)))


@kernel
def coordinate(low: np.uint32, high: np.uint32, place: np.uint32) -> np.float32:
    """A normal coordinate of the axis with the seeds `low` and `high`; never 0.

    One odd byte makes the sum of the four, 1 to 1,020, symmetric around a half.
    """
    word = np.uint32(low + place)
    word = np.uint32(np.uint32(word ^ (word >> np.uint32(16))) * high)
    word = np.uint32(np.uint32(word ^ (word >> np.uint32(15))) | np.uint32(1))
    pairs = np.uint32((word & _EVEN_BYTES) + ((word >> np.uint32(8)) & _EVEN_BYTES))
    total = np.int32((pairs & np.uint32(0xFFFF)) + (pairs >> np.uint32(16)))
    t = np.float32(np.float32(total) - _MIDDLE)
    v = np.float32(t * t)
    bend = np.float32(np.float32(_B4 * v) + _B3)
    bend = np.float32(np.float32(bend * v) + _B2)
    bend = np.float32(np.float32(bend * v) + _B1)
    return np.float32(np.float32(np.float32(bend * v) + np.float32(1)) * t)


@kernel
def seeds(axis: np.uint64) -> tuple[np.uint32, np.uint32]:
    """The two words that an axis's coordinates grow from; the second is odd."""
    word = mix(axis + _GOLDEN)
    return np.uint32(word), np.uint32((word >> np.uint64(32)) | np.uint64(1))


@kernel
def closeness(first: np.uint64, direction: AnyArray, room: "Room") -> None:
    """The inner products of a direction with the axes `first`, first + 1, ..., up to rounding,
    into the room's `inner`.

    The hot loop of PrivUnit. Axes lie side by side and each adds up its own coordinates in their
    order: that is vectors for the machine, and the same bits whatever their width. Four coordinates
    go to memory at once. What is in the room's `low` and `high` is not needed afterwards.
    """
    low, high, inner, square = room
    for c in range(len(low)):
        low[c], high[c] = seeds(first + np.uint64(c))
        inner[c] = square[c] = np.float32(0)
    fours = len(direction) - len(direction) % 4
    for j in range(0, fours, 4):
        a0, a1, a2, a3 = direction[j], direction[j + 1], direction[j + 2], direction[j + 3]
        p0 = np.uint32(np.uint32(j) * _STEP)
        p1 = np.uint32(p0 + _STEP)
        p2 = np.uint32(p1 + _STEP)
        p3 = np.uint32(p2 + _STEP)
        for c in range(len(low)):
            z0, z1 = coordinate(low[c], high[c], p0), coordinate(low[c], high[c], p1)
            z2, z3 = coordinate(low[c], high[c], p2), coordinate(low[c], high[c], p3)
            two = (inner[c] + z0 * a0) + z1 * a1
            inner[c] = (two + z2 * a2) + z3 * a3
            two = (square[c] + z0 * z0) + z1 * z1
            square[c] = (two + z2 * z2) + z3 * z3
    for j in range(fours, len(direction)):
        along, place = direction[j], np.uint32(np.uint32(j) * _STEP)
        for c in range(len(low)):
            z = coordinate(low[c], high[c], place)
            inner[c] += np.float32(z * along)
            square[c] += np.float32(z * z)
    for c in range(len(low)):
        inner[c] = np.float32(inner[c] / np.sqrt(square[c]))


_many_seeds, _many_coordinates = cast(Any, seeds), cast(Any, coordinate)  # arrays as numbers


def closeness_of_many(first: WordArray, directions: AnyArray, axes: int) -> AnyArray:
    """`closeness` of a row of directions each, (n, axes), by arrays: the same bits."""
    low, high = _many_seeds(first[:, np.newaxis] + np.arange(axes, dtype=np.uint64))
    inner, square = np.zeros((2, *low.shape), dtype=np.float32)
    for j in range(directions.shape[1]):
        z = _many_coordinates(low, high, np.uint32(j * int(_STEP) & 0xFFFFFFFF))
        inner += z * directions[:, j, np.newaxis]
        square += z * z
    return np.asarray(inner / np.sqrt(square))


class Room(NamedTuple):
    """Where the axes of one owner are worked on: their seeds, inner products, squared lengths."""

    low: AnyArray
    high: AnyArray
    inner: AnyArray
    square: AnyArray


@kernel
def room_for(axes: int | np.int64) -> Room:
    """Room for so many axes."""
    return Room(
        np.empty(axes, dtype=np.uint32),
        np.empty(axes, dtype=np.uint32),
        np.empty(axes, dtype=np.float32),
        np.empty(axes, dtype=np.float32),
    )


@kernel
def whole_steps(name: np.uint64, out: AnyArray) -> None:
    """The codeword of a name in whole steps, into `out`."""
    low, high = seeds(name >> np.uint64(1))
    sign = 1.0 - 2.0 * np.float64(name & np.uint64(1))
    square = 0.0
    raw = np.empty(len(out))
    for j in range(len(out)):
        raw[j] = sign * np.float64(coordinate(low, high, np.uint32(np.uint32(j) * _STEP)))
        square += raw[j] * raw[j]
    length = np.sqrt(square)
    for j in range(len(out)):
        out[j] = np.int64(np.rint(raw[j] / length * STEPS))


def whole_steps_of_many(names: WordArray, dim: int) -> AnyArray:
    """`whole_steps` of each name, (n, dim), by arrays: the same bits."""
    low, high = (part[:, np.newaxis] for part in _many_seeds(names >> np.uint64(1)))
    sign = 1.0 - 2.0 * (names & np.uint64(1)).astype(np.float64)
    places = np.arange(dim, dtype=np.uint32) * _STEP
    raw = sign[:, np.newaxis] * _many_coordinates(low, high, places).astype(np.float64)
    length = np.sqrt(sums_of_squares(raw))
    return np.asarray(np.rint(raw / length[:, np.newaxis] * STEPS).astype(np.int64))


@kernel
def _fill(names: WordArray, out: AnyArray) -> None:
    for i in range(len(names)):
        whole_steps(names[i], out[i])


@_fill.by_arrays(lambda names, out: OPERATIONS * out.size)
def _fill_arrays(names: WordArray, out: AnyArray) -> None:
    out[:] = whole_steps_of_many(names, out.shape[1])


def codewords(names: WordArray, dim: int) -> AnyArray:
    """The codewords of some names, (n, dim) whole numbers; divided by STEPS they have length 1."""
    out = np.empty((len(names), dim), dtype=np.int64)
    _fill(names, out)
    return out
