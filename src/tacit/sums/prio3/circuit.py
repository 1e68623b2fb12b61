"""What is proven of a measurement: a circuit, its encoding and what is summed.

A circuit here calls one gadget, whose inputs are linear in the measurement; a measurement is valid
if all `checks` outputs are zero. On shares, constants are divided by the number of shares.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit._util.types import WordArray
from tacit.sums.prio3.fields import Field
from tacit.sums.prio3.gadgets import Gadget


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
