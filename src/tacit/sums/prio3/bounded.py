"""Our own circuit: a vector of small signed numbers whose squared length is at most a bound.
Proofs: prio3.md.

Claim: what is accepted is x in {-m .. m}^length with x_1^2 + x_2^2 + ... <= bound. An entry is one
field element, and its range one polynomial Q(x) = x (x^2 - 1) (x^2 - 4) ... (x^2 - m^2) that is
zero on it and nowhere else: fewer bytes and products than an element for each bit. Squares come
with it, from the same wires.

A measurement: the entries, digits of the slack (bound minus squared length), squared lengths of the
calls' entries. Edges: a gadget's degree is 2m + 1, so proofs grow with m; more than six bits are
refused.
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
        norms = self._by_call(entries**2).sum(axis=1)
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
                self._by_call(meas[:, : self.length]),
                self._by_call(meas[:, self.length : digits_end]),
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

    def _by_call(self, values: Any) -> Any:
        """Values (n, k, ...) as (n, inputs, calls, ...), zeros at the end."""
        n, k, *rest = values.shape
        inputs = -(-k // self.calls)
        padded = np.zeros((n, inputs * self.calls, *rest), values.dtype)
        padded[:, :k] = values
        return padded.reshape(n, inputs, self.calls, *rest)


def bounded_vector(length: int, bound: int, bits: int, proofs: int) -> BoundedVector:
    """With as many calls, one below a power of two, as cost the fewest bytes in all."""

    def elements(calls: int) -> int:
        circuit = BoundedVector(length, bound, bits, calls)
        arity, points = circuit.gadget.arity, circuit.gadget.poly_points
        return calls + proofs * (arity + points) + 2 * proofs * (arity + 2)

    choices = [2**k - 1 for k in range(1, length.bit_length() + 2)]
    return BoundedVector(length, bound, bits, min(choices, key=elements))
