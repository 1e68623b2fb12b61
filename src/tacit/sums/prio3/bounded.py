"""Our own circuits: a vector of small signed numbers whose squared length is at most a bound, and
what many such vectors add up to, with their number. Proofs: prio3.md.

Claim: what is accepted is x in {-m .. m}^length with x_1^2 + x_2^2 + ... <= bound. An entry is one
field element, and its range one polynomial Q(x) = x (x^2 - 1) (x^2 - 4) ... (x^2 - m^2) that is
zero on it and nowhere else: fewer bytes and products than an element for each bit. Squares come
with it, from the same wires.

A measurement: the entries, digits of the slack (bound minus squared length), squared lengths of the
calls' entries. Edges: a gadget's degree is 2m + 1, so proofs grow with m; more than six bits are
refused.

The sum of up to n vectors (`SummedVector`) has larger entries: each is written in balanced digits
of this range, and the squared length is that of the numbers which the digits make.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._util.types import WordArray
from tacit.sums.prio3.draft_circuits import NotValidError
from tacit.sums.prio3.fields import FIELD64, Field
from tacit.sums.prio3.flp import Circuit, Gadget

MOST_BITS = 6
MOST_ENTRIES = 2**20


@dataclass(frozen=True)
class SquaresInRange(Gadget):
    """sum over entries x of x^2, plus sum over all inputs j of r^j Q(x_j), with r the joint
    randomness.

    `entries` inputs count in the squared length; `digits` more are checked for their range only. If
    all are in range the result is the squared length, for every r.
    """

    entries: int = 1
    digits: int = 0
    largest: int = 7

    @property
    def arity(self) -> int:
        return self.entries + self.digits

    @property
    def degree(self) -> int:
        return 2 * self.largest + 1

    @property
    def random(self) -> bool:
        return True

    def evaluate(self, field: Field, wires: WordArray, joint: WordArray) -> WordArray:
        n, _, points, words = wires.shape
        result = np.empty((n, points, words), np.uint64)
        field.kernels.squares_in_range(
            wires, field.powers(joint[:, 0], self.arity), self.entries, self.largest, result
        )
        return result


@dataclass(frozen=True)
class BoundedVector(Circuit):
    """Entries from -(2^(bits-1) - 1) to 2^(bits-1) - 1, squared length at most `bound`, in `calls`
    gadget calls.

    Input j of call i is entry j * calls + i, so that a wire's values lie side by side.
    """

    length: int
    bound: int
    bits: int
    calls: int

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits must be from 2 to {MOST_BITS}, got {self.bits}")
        if not 1 <= self.length <= MOST_ENTRIES:
            raise ValueError(f"length must be from 1 to {MOST_ENTRIES}, got {self.length}")
        if not 1 <= self.bound <= self.length * self.largest**2:
            most = self.length * self.largest**2
            raise ValueError(f"bound must be from 1 to {most}, got {self.bound}")
        if not self.calls >= 1:
            raise ValueError(f"calls must be at least 1, got {self.calls}")

    @property
    def field(self) -> Field:
        return FIELD64

    @property
    def largest(self) -> int:
        return (1 << (self.bits - 1)) - 1

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Of the slack's digits, each `largest` above an entry's range: powers of 2m + 1, enough
        for `bound`.
        """
        base, weights = 2 * self.largest + 1, [1]
        while weights[-1] * base <= self.bound:
            weights.append(weights[-1] * base)
        return tuple(weights)

    @cached_property
    def _slack_weights(self) -> WordArray:
        return self.field.array(self.weights)

    @cached_property
    def gadget(self) -> Gadget:
        each, slack = -(-self.length // self.calls), -(-len(self.weights) // self.calls)
        return SquaresInRange(self.calls, each, slack, self.largest)

    @property
    def meas_len(self) -> int:
        return self.length + len(self.weights) + self.calls

    @property
    def output_len(self) -> int:
        return self.length

    @property
    def joint_len(self) -> int:
        return 1

    @property
    def checks(self) -> int:
        return self.calls + 1

    def encode(self, measurement: Any) -> list[int]:
        return self.field.integers(self.encode_all([measurement])[0])

    def encode_all(self, measurements: Sequence[Any] | Any) -> WordArray:
        """Vectors of whole numbers (n, length); one off the grid or too long is refused, whoever's
        it is.
        """
        entries = np.asarray(measurements)
        if not (
            entries.ndim == 2 and entries.shape[1] == self.length and entries.dtype.kind in "iu"
        ):
            raise NotValidError(f"measurements must be whole numbers (n, {self.length})")
        if not ((-self.largest <= entries) & (entries <= self.largest)).all():
            raise NotValidError(
                f"entries must be from {-self.largest} to {self.largest}; clip and round them first"
            )
        entries = entries.astype(np.int64)
        norms = _by_call(entries**2, self.calls).sum(axis=1)
        slack = self.bound - norms.sum(axis=1)
        if not (slack >= 0).all():
            raise NotValidError(
                f"a vector's squared length must be at most {self.bound}; shorten it first"
            )
        digits = slack[:, None] // np.array(self.weights) % (2 * self.largest + 1) - self.largest
        return self.field.from_small(np.concatenate([entries, digits, norms], axis=1))

    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        digits_end = self.length + len(self.weights)
        return np.concatenate(
            [
                _by_call(meas[:, : self.length], self.calls),
                _by_call(meas[:, self.length : digits_end], self.calls),
            ],
            axis=1,
        )

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        """Per call: the gadget's result is the squared length told; then told lengths + slack =
        bound.
        """
        field, digits_end = self.field, self.length + len(self.weights)
        told = meas[:, digits_end:]
        slack = field.dot(meas[:, self.length : digits_end], self._slack_weights)
        constant = field.multiply(
            field.constant(self.largest * sum(self.weights) - self.bound), field.inverse(shares)
        )
        balance = field.add(field.add(field.total(told), slack), constant)
        return np.concatenate([field.subtract(results, told), balance[:, None]], axis=1)

    def truncate(self, meas: WordArray) -> WordArray:
        return meas[:, : self.length]

    def decode(self, total: WordArray) -> Any:
        return self.field.to_signed(total)


def _by_call(values: Any, calls: int) -> Any:
    """Values (n, k, ...) as (n, inputs, calls, ...), zeros at the end."""
    n, k, *rest = values.shape
    inputs = -(-k // calls)
    padded = np.zeros((n, inputs * calls, *rest), values.dtype)
    padded[:, :k] = values
    return padded.reshape(n, inputs, calls, *rest)


def bounded_vector(length: int, bound: int, bits: int, proofs: int) -> BoundedVector:
    """With as many calls, one below a power of two, as cost the fewest bytes in all."""

    def elements(calls: int) -> int:
        circuit = BoundedVector(length, bound, bits, calls)
        arity, points = circuit.gadget.arity, circuit.gadget.poly_points
        return calls + proofs * (arity + points) + 2 * proofs * (arity + 2)

    choices = [2**k - 1 for k in range(1, length.bit_length() + 2)]
    return BoundedVector(length, bound, bits, min(choices, key=elements))


# What one reporter adds up over many records
# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SquaresBesideRanges(Gadget):
    """sum over the first `squared` inputs x of x^2, plus sum over the others j of r^j Q(x_j)."""

    squared: int = 1
    ranged: int = 1
    largest: int = 7

    @property
    def arity(self) -> int:
        return self.squared + self.ranged

    @property
    def degree(self) -> int:
        return 2 * self.largest + 1

    @property
    def random(self) -> bool:
        return True

    def evaluate(self, field: Field, wires: WordArray, joint: WordArray) -> WordArray:
        n, _, points, words = wires.shape
        result = np.empty((n, points, words), np.uint64)
        digits = np.ascontiguousarray(wires[:, self.squared :])
        coefficients = field.powers(joint[:, 0], self.ranged)
        field.kernels.squares_in_range(digits, coefficients, 0, self.largest, result)
        numbers = np.ascontiguousarray(np.swapaxes(wires[:, : self.squared], 1, 2))
        return field.add(result, field.dot(numbers, numbers))


@dataclass(frozen=True)
class SummedVector(Circuit):
    """`length` numbers with squared length at most `bound`, none above what digits for `most` can
    write, and a tally from 0 to `tally`.

    A measurement has the tally last, less `middle`, so that its digits are balanced, too. Encoded:
    digits of the numbers, of the slack, of the tally and of what it is below its most; squared
    lengths of the calls' numbers.
    """

    length: int
    bound: int
    most: int
    tally: int
    bits: int
    calls: int

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits must be from 2 to {MOST_BITS}, got {self.bits}")
        if not 1 <= self.length <= MOST_ENTRIES:
            raise ValueError(f"length must be from 1 to {MOST_ENTRIES}, got {self.length}")
        for name in ("bound", "most", "tally", "calls"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        largest = self.length * self._farthest_number**2 + self.base**self.slack_places
        if not max(largest, 2 * self.base**self.tally_places) < 1 << 62:  # nothing wraps round
            raise ValueError("most, bound and tally must be smaller: numbers would wrap round")

    @property
    def field(self) -> Field:
        return FIELD64

    @property
    def largest(self) -> int:
        return (1 << (self.bits - 1)) - 1

    @property
    def base(self) -> int:
        return 2 * self.largest + 1

    @cached_property
    def places(self) -> int:
        """Digits of a number."""
        return _places(2 * self.most + 1, self.base)

    @cached_property
    def slack_places(self) -> int:
        return _places(self.bound + 1, self.base)

    @cached_property
    def tally_places(self) -> int:
        return _places(self.tally + 1, self.base)

    @property
    def middle(self) -> int:
        """Of what the tally's digits can write."""
        return int(self.base**self.tally_places // 2)

    @property
    def farthest(self) -> int:
        """The largest size of a number or tally that digits can write."""
        return max(self.middle, self._farthest_number)

    @property
    def _farthest_number(self) -> int:
        return int(self.base**self.places // 2)

    @cached_property
    def gadget(self) -> Gadget:
        digits = self.length * self.places + self.slack_places + 2 * self.tally_places
        each, ranged = -(-self.length // self.calls), -(-digits // self.calls)
        return SquaresBesideRanges(self.calls, each, ranged, self.largest)

    @property
    def _ends(self) -> tuple[int, int, int, int]:
        """Where digits of numbers, slack, tally and of what it is below its most end."""
        numbers = self.length * self.places
        slack = numbers + self.slack_places
        return numbers, slack, slack + self.tally_places, slack + 2 * self.tally_places

    @property
    def meas_len(self) -> int:
        return self._ends[-1] + self.calls

    @property
    def output_len(self) -> int:
        return self.length + 1

    @property
    def joint_len(self) -> int:
        return 1

    @property
    def checks(self) -> int:
        return self.calls + 2

    def encode(self, measurement: Any) -> list[int]:
        return self.field.integers(self.encode_all([measurement])[0])

    def encode_all(self, measurements: Sequence[Any] | Any) -> WordArray:
        """Vectors of whole numbers (n, length + 1); one that is off the grid or too long is
        refused, whoever's it is.
        """
        given = np.asarray(measurements)
        if not (given.ndim == 2 and given.shape[1] == self.length + 1 and given.dtype.kind in "iu"):
            raise NotValidError(f"measurements must be whole numbers (n, {self.length + 1})")
        numbers, tally = given[:, :-1].astype(np.int64), given[:, -1:].astype(np.int64)
        if not (np.abs(numbers) <= self.most).all():
            raise NotValidError(f"numbers must be at most {self.most} in size; clip them first")
        below = self.tally - (tally + self.middle)
        if not ((below >= 0) & (below <= self.tally)).all():
            raise NotValidError(f"a tally must be from 0 to {self.tally}, less {self.middle}")
        norms = _by_call(numbers**2, self.calls).sum(axis=1)
        slack = self.bound - norms.sum(axis=1, keepdims=True)
        if not (slack >= 0).all():
            raise NotValidError(
                f"a vector's squared length must be at most {self.bound}; shorten it first"
            )
        middle = self.base**self.slack_places // 2
        parts = (
            self._digits(numbers, self.places),
            self._digits(slack - middle, self.slack_places),
            self._digits(tally, self.tally_places),
            self._digits(below - self.middle, self.tally_places),
            norms,
        )
        return self.field.from_small(np.concatenate(parts, axis=1))

    def _digits(self, numbers: Any, places: int) -> Any:
        """Numbers (n, k) as balanced digits (n, k * places), the lowest first."""
        powers = self.base ** np.arange(places)
        raised = numbers[:, :, None] + self.base**places // 2
        return (raised // powers % self.base - self.largest).reshape(len(numbers), -1)

    def _numbers(self, digits: WordArray, places: int) -> WordArray:
        """The numbers (n, k) that digits (n, k * places) make."""
        grouped = digits.reshape(len(digits), -1, places, self.field.words)
        powers = self.field.array([self.base**place for place in range(places)])
        return self.field.dot(grouped, np.broadcast_to(powers, grouped.shape))

    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        numbers_end, *_, end = self._ends
        numbers = self._numbers(meas[:, :numbers_end], self.places)
        parts = _by_call(numbers, self.calls), _by_call(meas[:, :end], self.calls)
        return np.concatenate(parts, axis=1)

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        """Per call: the gadget's result is the squared length told; then told lengths + slack =
        bound, and the tally + what it is below its most = its most.
        """
        field, (numbers_end, slack_end, tally_end, end) = self.field, self._ends
        told = meas[:, end:]
        slack = self._numbers(meas[:, numbers_end:slack_end], self.slack_places)[:, 0]
        tally, below = (
            self._numbers(part, self.tally_places)[:, 0]
            for part in (meas[:, slack_end:tally_end], meas[:, tally_end:end])
        )
        offsets = (
            self.base**self.slack_places // 2 - self.bound,
            2 * self.middle - self.tally,
        )
        length, count = (
            field.multiply(field.constant(offset), field.inverse(shares)) for offset in offsets
        )
        lengths = field.add(field.add(field.total(told), slack), length)
        counts = field.add(field.add(tally, below), count)
        checked = field.subtract(results, told), lengths[:, None], counts[:, None]
        return np.concatenate(checked, axis=1)

    def truncate(self, meas: WordArray) -> WordArray:
        numbers_end, slack_end, tally_end, _ = self._ends
        numbers = self._numbers(meas[:, :numbers_end], self.places)
        tally = self._numbers(meas[:, slack_end:tally_end], self.tally_places)
        return np.concatenate([numbers, tally], axis=1)

    def decode(self, total: WordArray) -> Any:
        return self.field.to_signed(total)


def _places(values: int, base: int) -> int:
    """Digits that so many values need."""
    places = 1
    while base**places < values:
        places += 1
    return places


def summed_vector(
    length: int, bound: int, *, most: int, tally: int, bits: int, proofs: int
) -> SummedVector:
    """With as many calls, one below a power of two, as cost the fewest bytes in all."""

    def elements(calls: int) -> int:
        circuit = SummedVector(length, bound, most, tally, bits, calls=calls)
        arity, points = circuit.gadget.arity, circuit.gadget.poly_points
        return calls + proofs * (arity + points) + 2 * proofs * (arity + 2)

    choices = [2**k - 1 for k in range(1, length.bit_length() + 2)]
    return SummedVector(length, bound, most, tally, bits, calls=min(choices, key=elements))
