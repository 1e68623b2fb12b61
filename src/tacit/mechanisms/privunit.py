"""PrivUnit (Bhowmick et al. 2018, parameters as Asi et al. 2022) by ranking public codewords.
Proof: privunit.md.

Claim: epsilon-LDP for each owner, exactly and without any assumption: whatever the codewords are,
exactly k of N weigh A and the others B, A / B <= e^epsilon in rationals. Variance: `variance`; the
estimate always has length radius / pull. Edges: shares are clipped to the ball, NaN to 0. Unbiased
as far as the codewords are uniform directions: see the note.

A 64-bit number names a codeword, a direction, the same on every machine: its last bit is a sign,
the others seed a generator of 32 bits per coordinate, whose four bytes are added up and bent by a
polynomial so that they follow the normal law; the vector is divided by its length. Everything is
whole numbers or operations that IEEE 754 rounds correctly, so all machines agree on every codeword,
and sums of codewords are exact. Names that differ in the last bit only are opposite codewords: of
each pair one is computed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, BoolArray, FloatArray, WordArray
from tacit.mechanisms.base import Mechanism, Reports
from tacit.mechanisms.caps import Cap, best_cap
from tacit.mechanisms.streams import BASE, high_product, odds, unfair_below, unit

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
_SQUARE_SHIFT = 10  # squares of a block of codewords must fit 64 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivUnit(Mechanism):
    """PrivUnit over the l2 ball that encloses `space`: 64 bits per owner, whatever the dimension.

    Parameters
    ----------
    epsilon : float or array of shape (n,)
        The budget of one report, between 1e-4 and 20.
    space : Space
        Where shares live; the ball around it counts.
    menu : array of floats, default None
        As for every `Mechanism`.

    >>> from tacit import Ball, PrivUnit, seeded
    >>> mechanism = PrivUnit(epsilon=4.0, space=Ball(dim=8))
    >>> reports = mechanism.randomize(np.tile([0.6, -0.8] + [0.0] * 6, (20_000, 1)), seeded(1))
    >>> reports.points.nbytes // len(reports)
    8
    >>> mechanism.mean(reports).round(1)[:3] + 0.0
    array([ 0.6, -0.8,  0. ])
    """

    def _prepare(self) -> None:
        self.laws  # noqa: B018 - computed now, so that a bad epsilon is refused here

    @cached_property
    def laws(self) -> list[Cap]:
        """The cap of each level."""
        return [best_cap(self.space.dim, odds(e, BASE)) for e in self.levels.tolist()]

    @property
    def report_bits(self) -> int:
        return 64

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, 1), dtype=np.uint64))

    def _words(self, level: int) -> int:
        return 3

    def _draw(self, level: int, shares: FloatArray, tape: WordArray, out: Reports) -> BoolArray:
        done = np.ones(len(shares), dtype=np.bool_)
        cap = self.laws[level]
        weights = [cap.candidates, cap.favoured, cap.high, cap.low, cap.total]
        law = _CapLaw(np.array(weights, dtype=np.uint64), self.space.radius_2)
        _draw_codewords(shares, tape, law, out.points, done)
        return done

    @property
    def work(self) -> int:
        """Every pair of candidates is compared with the share."""
        return (16 + max(cap.candidates for cap in self.laws)) * (16 + self.space.dim)

    def _decode(self, level: int, reports: Reports) -> FloatArray:
        return np.asarray(self._scales[level] * codewords(reports.points[:, 0], self.space.dim))

    def _add(self, level: int, reports: Reports) -> tuple[AnyArray, AnyArray]:
        sums, squares = codeword_sums(reports.points[:, 0], self.space.dim, _SQUARE_SHIFT)
        return sums[np.newaxis], squares[np.newaxis].astype(object) << (2 * _SQUARE_SHIFT)

    def _valid(self, level: int, reports: Reports) -> BoolArray:
        return np.ones(len(reports), dtype=np.bool_)  # every 64-bit number names a codeword

    @property
    def _scales(self) -> FloatArray:
        return np.array([self.space.radius_2 / cap.pull / STEPS for cap in self.laws])

    def _variance(self, level: int, x: FloatArray) -> FloatArray:
        # codeword = t * direction + sqrt(1 - t^2) * (uniform among what is orthogonal), E[t^2] =
        # square
        cap, dim, radius = self.laws[level], self.space.dim, self.space.radius_2
        along = _directions(x) ** 2
        across = (1 - along) / max(dim - 1, 1)
        moment = cap.square * along + (1 - cap.square) * across
        return np.asarray((radius / cap.pull) ** 2 * moment - x**2)

    @property
    def risks(self) -> FloatArray:
        # worst at x = 0
        return np.array([(self.space.radius_2 / cap.pull) ** 2 for cap in self.laws])

    @property
    def spans(self) -> FloatArray:
        # codewords have length 1 but for rounding of their coordinates, half a step each
        longest = 1 + self.space.dim**0.5 / STEPS
        return np.array([2 * longest * self.space.radius_2 / cap.pull for cap in self.laws])


def _directions(x: FloatArray) -> FloatArray:
    """Rows divided by their length; a zero row points along the first axis."""
    length = np.sqrt(np.sum(x**2, axis=1, keepdims=True))
    first = np.eye(1, x.shape[1])
    return np.where(length > 0, x / np.where(length > 0, length, 1.0), first)


class _CapLaw(NamedTuple):
    """N, k, A, B and their total weight; the length of the longest share."""

    constants: WordArray
    radius: float


@kernel
def _draw_codewords(
    shares: FloatArray, tape: WordArray, law: _CapLaw, names: AnyArray, done: BoolArray
) -> None:
    """Word 0 rounds the share to the sphere, word 1 is the public part of the name, word 2 chooses
    among N codewords, the ends of N / 2 axes.

    A codeword's place in the order of closeness decides its weight: u < k A goes to the k first
    places, A each, the rest B each. So only the codeword in one place has to be found. The nearer
    ends take the first half of the places, the nearest first; the farther ends the second half, in
    the opposite order.
    """
    constants, radius = law
    candidates, favoured, high, low, total = constants
    unfair = unfair_below(total)
    n, dim = len(shares), shares.shape[1]
    first = tape.shape[1] - 3  # a rejected word makes a row be drawn again whole
    direction = np.empty(dim, dtype=np.float32)
    room = room_for(np.int64(candidates) // 2)
    for i in range(n):
        length = 0.0
        for j in range(dim):
            length += shares[i, j] * shares[i, j]
        length = np.sqrt(length)
        sign = 1.0 if unit(tape[i, first]) < 0.5 + 0.5 * length / radius else -1.0
        for j in range(dim):
            direction[j] = sign * (
                shares[i, j] / length if length > 0 else (1.0 if j == 0 else 0.0)
            )
        public = tape[i, first + 1] & ~(candidates - np.uint64(1))
        closeness(public >> np.uint64(1), direction, room)
        if tape[i, first + 2] * total < unfair:
            done[i] = False
        u = high_product(tape[i, first + 2], total)
        near = favoured * high
        place = u // high if u < near else favoured + (u - near) // low
        names[i, 0] = public | np.uint64(_in_place(room.inner, np.int64(place)))


@kernel
def _in_place(inner: AnyArray, place: int | np.int64) -> int:
    """The number of the candidate in this place, from the inner products of the first ends of all
    axes; equally near axes are in the order of their numbers.
    """
    axes = len(inner)
    is_far = place >= axes
    ahead = 2 * axes - 1 - place if is_far else place
    value = _nearness(inner, ahead)
    for c in range(axes):
        if abs(inner[c]) > value:
            ahead -= 1
    for c in range(axes):
        if abs(inner[c]) == value:
            if ahead == 0:
                return 2 * c + int((inner[c] < 0) != is_far)
            ahead -= 1
    return 0  # not reached: the products are finite, so `value` is among them


@kernel
def _nearness(inner: AnyArray, ahead: int | np.int64) -> np.float32:
    """How near the axis is that has `ahead` axes before it, by Hoare's selection: NumPy's takes
    numba longer to compile than a small fit takes.
    """
    near = np.empty(len(inner), dtype=np.float32)
    for c in range(len(inner)):
        near[c] = abs(inner[c])
    first, last = 0, len(near) - 1
    while first < last:
        pivot, i, j = near[ahead], first, last
        while i <= j:
            while near[i] > pivot:
                i += 1
            while pivot > near[j]:
                j -= 1
            if i <= j:
                near[i], near[j] = near[j], near[i]
                i += 1
                j -= 1
        if j < ahead:
            first = i
        if ahead < i:
            last = j
    return np.float32(near[ahead])


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
    order: that is vectors for the machine, and the same bits whatever their width.
    """
    low, high, inner, square = room
    for c in range(len(low)):
        low[c], high[c] = seeds(first + np.uint64(c))
        inner[c] = square[c] = np.float32(0)
    for j in range(len(direction)):
        along, place = direction[j], np.uint32(np.uint32(j) * _STEP)
        for c in range(len(low)):
            z = coordinate(low[c], high[c], place)
            inner[c] += np.float32(z * along)
            square[c] += np.float32(z * z)
    for c in range(len(low)):
        inner[c] = np.float32(inner[c] / np.sqrt(square[c]))


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
def _whole(name: np.uint64, out: AnyArray) -> None:
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


@kernel
def _fill(names: WordArray, out: AnyArray) -> None:
    for i in range(len(names)):
        _whole(names[i], out[i])


@kernel
def _sum(names: WordArray, shift: int, sums: AnyArray, squares: AnyArray) -> None:
    z = np.empty(len(sums), dtype=np.int64)
    for i in range(len(names)):
        _whole(names[i], z)
        for j in range(len(sums)):
            sums[j] += z[j]
            squares[j] += (z[j] >> shift) * (z[j] >> shift)


def codewords(names: WordArray, dim: int) -> AnyArray:
    """The codewords of some names, (n, dim) whole numbers; divided by STEPS they have length 1."""
    out = np.empty((len(names), dim), dtype=np.int64)
    _fill(names, out)
    return out


def codeword_sums(names: WordArray, dim: int, shift: int) -> tuple[AnyArray, AnyArray]:
    """The sum of the codewords and of the squares of their coordinates (each first divided by
    2^shift).
    """
    sums, squares = np.zeros(dim, dtype=np.int64), np.zeros(dim, dtype=np.int64)
    _sum(names, shift, sums, squares)
    return sums, squares
