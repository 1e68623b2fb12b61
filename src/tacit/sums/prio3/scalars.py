"""Whole numbers as bits, as the draft encodes them, what is refused, and the circuits of one
number: Count, Sum, and one that tests gadgets of a higher degree.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit._util.types import WordArray
from tacit.sums.prio3.circuit import Circuit, Gadget, Polynomial, SumOfProducts
from tacit.sums.prio3.fields import FIELD64, Field


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
class SmallNumber(Circuit):
    """A whole number from 0 to `max_measurement` as itself, checked by a polynomial with these
    zeros.

    With maximum 2 this is the draft's test of gadgets of a degree above two (Prio3HigherDegree).
    """

    max_measurement: int = 2

    @property
    def field(self) -> Field:
        return FIELD64

    @property
    def gadget(self) -> Gadget:
        coefficients = [1]
        for zero in range(self.max_measurement + 1):
            shifted, scaled = [0, *coefficients], [-zero * x for x in (*coefficients, 0)]
            coefficients = [a + b for a, b in zip(shifted, scaled, strict=True)]
        return Polynomial(1, tuple(coefficients))

    @property
    def meas_len(self) -> int:
        return 1

    @property
    def output_len(self) -> int:
        return 1

    def encode(self, measurement: Any) -> list[int]:
        return [whole_number(measurement, self.max_measurement)]

    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        return meas[:, :, None]

    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        return results

    def truncate(self, meas: WordArray) -> WordArray:
        return meas

    def decode(self, total: WordArray) -> Any:
        return self.field.integers(total)[0]
