"""The circuits of the draft: of one number (Count, Sum, and one that tests gadgets of a higher
degree), and of many bits, checked in chunks (SumVec, Histogram, MultihotCountVec); whole numbers as
bits, as the draft encodes them, and what is refused.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit._util.types import WordArray
from tacit.sums.prio3.fields import FIELD64, FIELD128, Field
from tacit.sums.prio3.flp import Circuit, Gadget, Polynomial, SumOfProducts

_SMALL = 63  # the largest number that is checked by one polynomial


class NotValidError(ValueError):
    """Raised for data from outside; programming errors are other exceptions, so that a test cannot
    mistake one.
    """


def whole_number(value: Any, most: int) -> int:
    """The value, if it is a whole number from 0 to `most`. The message does not repeat it: it is
    somebody's.
    """
    if not (isinstance(value, (int, np.integer)) and 0 <= value <= most):
        raise NotValidError(
            f"a measurement must be a whole number from 0 to {most}; clip or round it first"
        )
    return int(value)


def of_length(values: Any, length: int) -> list[Any]:
    if not (isinstance(values, (list, tuple, np.ndarray)) and len(values) == length):
        raise NotValidError(f"a measurement must be a vector of length {length}")
    return list(values)


def range_weights(most: int) -> list[int]:
    """Weights of the bits of a number from 0 to `most`: powers of two, and a last one so that all
    add up to `most`.

    >>> range_weights(10)
    [1, 2, 4, 3]
    """
    bits = most.bit_length()
    return [*(1 << bit for bit in range(bits - 1)), most - (1 << (bits - 1)) + 1]


@lru_cache(maxsize=64)
def weights_of(field: Field, most: int) -> WordArray:
    """The same as field elements."""
    return field.array(range_weights(most))


def range_bits(value: Any, most: int) -> list[int]:
    """The bits of a number from 0 to `most`; the last is set only if the others cannot say it
    alone.
    """
    number, bits = whole_number(value, most), most.bit_length()
    last = int(number > (1 << (bits - 1)) - 1)
    rest = number - last * range_weights(most)[-1]
    return [*((rest >> bit) & 1 for bit in range(bits - 1)), last]


@dataclass(frozen=True)
class Count(Circuit):
    """0 or 1: x x - x = 0."""

    @property
    def field(self) -> Field:
        return FIELD64

    @property
    def gadget(self) -> Gadget:
        return SumOfProducts(1)

    @property
    def meas_len(self) -> int:
        return 1

    @property
    def output_len(self) -> int:
        return 1

    def encode(self, measurement: Any) -> list[int]:
        return [whole_number(measurement, 1)]

    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        return np.repeat(meas[:, :, None], 2, axis=1)

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        return self.field.subtract(results, meas)

    def truncate(self, meas: WordArray) -> WordArray:
        return meas

    def decode(self, total: WordArray) -> Any:
        return self.field.integers(total)[0]


@dataclass(frozen=True)
class Sum(Circuit):
    """A whole number from 0 to `max_measurement`: bits whose weights add up to the maximum, each
    checked.
    """

    max_measurement: int

    def __post_init__(self) -> None:
        if not 0 < self.max_measurement < self.field.modulus:
            raise ValueError(f"max_measurement must be from 1 to p - 1, got {self.max_measurement}")

    @property
    def field(self) -> Field:
        return FIELD64

    @property
    def gadget(self) -> Gadget:
        return Polynomial(self.meas_len, (0, -1, 1))

    @property
    def meas_len(self) -> int:
        return self.max_measurement.bit_length()

    @property
    def output_len(self) -> int:
        return 1

    @property
    def checks(self) -> int:
        return self.meas_len

    def encode(self, measurement: Any) -> list[int]:
        return range_bits(measurement, self.max_measurement)

    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        return meas[:, None]

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        return results

    def truncate(self, meas: WordArray) -> WordArray:
        return self.field.dot(meas, weights_of(self.field, self.max_measurement))[:, None]

    def decode(self, total: WordArray) -> Any:
        return self.field.integers(total)[0]


@dataclass(frozen=True)
class SmallNumbers(Circuit):
    """`length` whole numbers from 0 to `max_measurement` as themselves, each checked by a
    polynomial with these zeros: the draft's tests of gadgets of a higher degree.
    """

    max_measurement: int
    length: int = 1

    def __post_init__(self) -> None:
        if not (0 <= self.max_measurement <= _SMALL and self.length > 0):
            raise ValueError(
                f"max_measurement must be from 0 to {_SMALL} and length positive, got "
                f"{self.max_measurement}, {self.length}"
            )

    @property
    def field(self) -> Field:
        return FIELD64

    @property
    def gadget(self) -> Gadget:
        coefficients = [1]
        for zero in range(self.max_measurement + 1):
            shifted, scaled = [0, *coefficients], [-zero * x for x in (*coefficients, 0)]
            coefficients = [a + b for a, b in zip(shifted, scaled, strict=True)]
        return Polynomial(self.length, tuple(coefficients))

    @property
    def meas_len(self) -> int:
        return self.length

    @property
    def output_len(self) -> int:
        return self.length

    @property
    def checks(self) -> int:
        return self.length

    def encode(self, measurement: Any) -> list[int]:
        return [
            whole_number(value, self.max_measurement)
            for value in of_length(measurement, self.length)
        ]

    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        return meas[:, None]

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        return results

    def truncate(self, meas: WordArray) -> WordArray:
        return meas


@dataclass(frozen=True)
class SmallNumber(SmallNumbers):
    """One of them, which is no vector."""

    def encode(self, measurement: Any) -> list[int]:
        return super().encode([measurement])

    def decode(self, total: WordArray) -> Any:
        return self.field.integers(total)[0]


@dataclass(frozen=True)
class ChunkedBits(Circuit):
    """Circuits whose measurement is bits, checked in chunks: sum over j of r^j x_j (x_j - 1), one r
    for each chunk.
    """

    length: int
    chunk_length: int

    def __post_init__(self) -> None:
        if not (self.length > 0 and self.chunk_length > 0):
            raise ValueError(
                f"length, chunk_length must be positive, got {self.length}, {self.chunk_length}"
            )

    @property
    def field(self) -> Field:
        return FIELD128

    @property
    def gadget(self) -> Gadget:
        return SumOfProducts(self.joint_len, self.chunk_length)

    @property
    def output_len(self) -> int:
        return self.length

    @property
    def joint_len(self) -> int:
        return -(-self.meas_len // self.chunk_length)

    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        field, gadget = self.field, self.gadget
        bits = field.zeros(len(meas), gadget.calls * self.chunk_length)
        bits[:, : self.meas_len] = meas
        bits = bits.reshape(len(meas), gadget.calls, self.chunk_length, field.words)
        wires = np.empty((len(meas), gadget.calls, gadget.arity, field.words), np.uint64)
        wires[:, :, 0::2] = field.multiply(field.powers(joint, self.chunk_length), bits)
        wires[:, :, 1::2] = field.subtract(bits, field.inverse(shares))
        return np.swapaxes(wires, 1, 2)

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        return self.field.total(results)[:, None]

    def truncate(self, meas: WordArray) -> WordArray:
        return meas[:, : self.length]


@dataclass(frozen=True)
class SumVec(ChunkedBits):
    """Whole numbers from 0 to `max_measurement`, each encoded as in Sum."""

    max_measurement: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.max_measurement < self.field.modulus:
            raise ValueError(f"max_measurement must be from 1 to p - 1, got {self.max_measurement}")

    @property
    def meas_len(self) -> int:
        return self.length * self.max_measurement.bit_length()

    def encode(self, measurement: Any) -> list[int]:
        return [
            bit
            for value in of_length(measurement, self.length)
            for bit in range_bits(value, self.max_measurement)
        ]

    def truncate(self, meas: WordArray) -> WordArray:
        bits = meas.reshape(len(meas), self.length, -1, self.field.words)
        return self.field.dot(bits, weights_of(self.field, self.max_measurement))


@dataclass(frozen=True)
class SumVec64(SumVec):
    """SumVec in the 64-bit field, for several proofs."""

    @property
    def field(self) -> Field:
        return FIELD64


@dataclass(frozen=True)
class Histogram(ChunkedBits):
    """One of `length` buckets: bits, and their sum is one."""

    @property
    def meas_len(self) -> int:
        return self.length

    @property
    def checks(self) -> int:
        return 2

    def encode(self, measurement: Any) -> list[int]:
        bucket = whole_number(measurement, self.length - 1)
        return [int(place == bucket) for place in range(self.length)]

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        field = self.field
        one_hot = field.subtract(field.total(meas), field.inverse(shares))
        return np.stack([field.total(results), one_hot], axis=1)


@dataclass(frozen=True)
class MultihotCountVec(ChunkedBits):
    """Bits, at most `max_weight` of which are one: the weight is encoded as in Sum, and equals the
    bits' sum.
    """

    max_weight: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.max_weight <= self.length:
            raise ValueError(
                f"max_weight must be from 1 to length = {self.length}, got {self.max_weight}"
            )

    @property
    def meas_len(self) -> int:
        return self.length + self.max_weight.bit_length()

    @property
    def checks(self) -> int:
        return 2

    def encode(self, measurement: Any) -> list[int]:
        bits = [whole_number(bit, 1) for bit in of_length(measurement, self.length)]
        return bits + range_bits(sum(bits), self.max_weight)

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        field = self.field
        told = field.dot(meas[:, self.length :], weights_of(field, self.max_weight))
        return np.stack(
            [field.total(results), field.subtract(field.total(meas[:, : self.length]), told)],
            axis=1,
        )
