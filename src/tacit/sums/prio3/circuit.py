"""Circuits: what is proven of a measurement, its encoding and what is summed; and the gadgets they
call.

A circuit here calls one gadget, whose inputs are linear in the measurement; a measurement is valid
if all `checks` outputs are zero. On shares, constants are divided by the number of shares.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._util.types import WordArray
from tacit.sums.prio3.fields import Field


def next_power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length()


@dataclass(frozen=True)
class Gadget(ABC):
    """`calls` calls of a polynomial of total degree `degree` in `arity` inputs."""

    calls: int

    @property
    @abstractmethod
    def arity(self) -> int: ...

    @property
    @abstractmethod
    def degree(self) -> int: ...

    @property
    def random(self) -> bool:
        """Whether its coefficients depend on the joint randomness."""
        return False

    @abstractmethod
    def evaluate(self, field: Field, wires: WordArray, joint: WordArray) -> WordArray:
        """Results (n, points, words) for inputs (n, arity, points, words); `joint` (n,
        JOINT_RAND_LEN, words).
        """

    @property
    def wire_points(self) -> int:
        """Values of a wire's polynomial: a random one, one for each call, zeros up to a power of
        two.
        """
        return next_power_of_2(1 + self.calls)

    @property
    def poly_points(self) -> int:
        """Values that fix the gadget's polynomial: its degree plus one."""
        return self.degree * (self.wire_points - 1) + 1

    @property
    def size(self) -> int:
        """The order of the roots of unity at which the gadget's polynomial is given."""
        return next_power_of_2(self.poly_points)


@dataclass(frozen=True)
class SumOfProducts(Gadget):
    """The draft's ParallelSum of `count` Mul: x1 y1 + x2 y2 + ..., inputs x1, y1, x2, y2, ...; its
    Mul has count 1.
    """

    count: int = 1

    @property
    def arity(self) -> int:
        return 2 * self.count

    @property
    def degree(self) -> int:
        return 2

    def evaluate(self, field: Field, wires: WordArray, joint: WordArray) -> WordArray:
        points_first = np.swapaxes(wires, 1, 2)
        return field.dot(points_first[:, :, 0::2], points_first[:, :, 1::2])


@dataclass(frozen=True)
class Polynomial(Gadget):
    """The draft's PolyEval: a polynomial in one input, coefficients from the constant on, the last
    one not zero.
    """

    coefficients: tuple[int, ...] = (0, -1, 1)

    @property
    def arity(self) -> int:
        return 1

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    def evaluate(self, field: Field, wires: WordArray, joint: WordArray) -> WordArray:
        x = wires[:, 0]
        result = np.broadcast_to(field.constant(self.coefficients[-1]), x.shape)
        for coefficient in reversed(self.coefficients[:-1]):
            result = field.add(field.multiply(result, x), field.constant(coefficient))
        return result


@dataclass(frozen=True)
class Circuit(ABC):
    """Encoding, checks and sums of one kind of measurement."""

    @property
    @abstractmethod
    def field(self) -> Field: ...

    @property
    @abstractmethod
    def gadget(self) -> Gadget: ...

    @property
    @abstractmethod
    def meas_len(self) -> int:
        """Elements of an encoded measurement."""

    @property
    @abstractmethod
    def output_len(self) -> int:
        """Elements of a sum."""

    @property
    def joint_len(self) -> int:
        """Elements of joint randomness for a proof."""
        return 0

    @property
    def checks(self) -> int:
        """Outputs of the circuit."""
        return 1

    @abstractmethod
    def encode(self, measurement: Any) -> list[int]:
        """A measurement as `meas_len` whole numbers; NotValidError if it is none."""

    @abstractmethod
    def wires(self, meas: WordArray, joint: WordArray, shares: int) -> WordArray:
        """The gadget's inputs (n, arity, calls, words) from measurements (n, meas_len, words)."""

    @abstractmethod
    def outputs(self, meas: WordArray, results: WordArray, shares: int) -> WordArray:
        """The circuit's outputs (n, checks, words) from the gadget's results (n, calls, words)."""

    @abstractmethod
    def truncate(self, meas: WordArray) -> WordArray:
        """What is summed, (n, output_len, words)."""

    def decode(self, total: WordArray) -> Any:
        """The result from the sum (output_len, words) over all shares and measurements."""
        return self.field.integers(total)

    def encode_all(self, measurements: Sequence[Any]) -> WordArray:
        """Encoded measurements (n, meas_len, words)."""
        encoded = [self.encode(measurement) for measurement in measurements]
        return self.field.array(encoded).reshape(len(encoded), self.meas_len, self.field.words)
