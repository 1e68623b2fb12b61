"""The draft's circuits of many bits, checked in chunks: SumVec, Histogram, MultihotCountVec."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._util.types import WordArray
from tacit.sums.prio3.circuit import Circuit, Gadget, SumOfProducts
from tacit.sums.prio3.fields import FIELD64, FIELD128, Field
from tacit.sums.prio3.scalars import of_length, range_bits, weights_of, whole_number


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
