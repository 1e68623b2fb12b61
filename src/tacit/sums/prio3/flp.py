"""The fully linear proof system of the draft (section "FLP Specification"), over many owners at
once; the circuits that it proves, and the gadgets they call.

A circuit says what is proven of a measurement, its encoding and what is summed. Here it calls one
gadget, whose inputs are linear in the measurement; a measurement is valid if all `checks` outputs
are zero. On shares, constants are divided by the number of shares.

The owner proves, each server queries its share of measurement and proof, anybody decides from the
sum of the answers. A proof: one random value for each wire, then the values of the gadget's
polynomial. A verifier: the circuit's output, reduced to one element, the wires' polynomials and the
gadget's polynomial at a secret random point.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit._util.types import BoolArray, WordArray
from tacit.sums.prio3.fields import Field, power_list, root_powers


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


def transform(field: Field, coefficients: WordArray) -> WordArray:
    """Values at the n-th roots of unity of polynomials with n coefficients (..., n, words), n a
    power of two.

    Cooley and Tukey: the transforms of even and odd coefficients, put together by one product each.
    """
    n = coefficients.shape[-2]
    shuffled = coefficients[..., _reverse_bits(n), :]
    values: WordArray = field.kernels.butterflies(shuffled, root_powers(field, n))
    return values


def interpolate(field: Field, values: WordArray) -> WordArray:
    """Coefficients from values at the n-th roots of unity: the transform at the inverse root, over
    n.
    """
    n = values.shape[-2]
    backwards = -np.arange(n) % n
    return field.multiply(transform(field, values)[..., backwards, :], field.inverse(n))


def extend(field: Field, values: WordArray, size: int) -> WordArray:
    """Values at the size-th roots of unity of polynomials given at the n-th roots, n <= size."""
    *others, n, words = values.shape
    coefficients = np.zeros((*others, size, words), np.uint64)
    coefficients[..., :n, :] = interpolate(field, values)
    return transform(field, coefficients)


@lru_cache(maxsize=64)
def _reverse_bits(n: int) -> WordArray:
    order = np.zeros(1, np.uint64)
    while len(order) < n:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


@dataclass(frozen=True, eq=False)
class Nodes:
    """The first `count` of the `size`-th roots of unity, and what it takes to evaluate at other
    points.

    Lagrange: P(t) = sum of P(x_i) s_i prod_{j != i} (t - x_j), with s_i = prod_{j != i} 1 / (x_i -
    x_j). There is no division, so t may be a node itself.
    """

    field: Field
    points: WordArray
    scales: WordArray

    def weights(self, at: WordArray) -> WordArray:
        """Weights (..., count, words) of the values at the nodes for the value at the points `at`
        (..., words).
        """
        result: WordArray = self.field.kernels.lagrange(at, self.points, self.scales)
        return result


@lru_cache(maxsize=64)
def nodes(field: Field, count: int, size: int) -> Nodes:
    """Over all roots the product of x_i - x_j is size / x_i; the roots that are left out are
    multiplied back in.
    """
    powers, p = power_list(field, size), field.modulus
    one_over_size = pow(size, -1, p)
    scales = []
    for x in powers[:count]:
        scale = x * one_over_size % p
        for left_out in powers[count:]:
            scale = scale * (x - left_out) % p
        scales.append(scale)
    return Nodes(field, root_powers(field, size, count), field.array(scales))


def proof_len(circuit: Circuit) -> int:
    return circuit.gadget.arity + circuit.gadget.poly_points


def verifier_len(circuit: Circuit) -> int:
    return 1 + circuit.gadget.arity + 1


def prove_rand_len(circuit: Circuit) -> int:
    return circuit.gadget.arity


def query_rand_len(circuit: Circuit) -> int:
    return 1 + (circuit.checks if circuit.checks > 1 else 0)


def prove(circuit: Circuit, meas: WordArray, prove_rand: WordArray, joint: WordArray) -> WordArray:
    """Proofs (n, proof_len, words) for encoded measurements (n, meas_len, words)."""
    field, gadget = circuit.field, circuit.gadget
    wires = _wire_values(circuit, meas, prove_rand, joint, shares=1)
    points = extend(field, wires, gadget.size)[:, :, : gadget.poly_points]
    return np.concatenate([prove_rand, gadget.evaluate(field, points, joint)], axis=1)


def query(
    circuit: Circuit,
    meas: WordArray,
    proof: WordArray,
    query_rand: WordArray,
    joint: WordArray,
    *,
    shares: int,
) -> tuple[WordArray, BoolArray]:
    """Verifiers (n, verifier_len, words) of shares, and whose test point is fit.

    At a root of unity the wires' polynomials are the measurement itself: such a point (probability
    below 2^-50) must not be answered, and the verifier is zeros there.
    """
    field, gadget = circuit.field, circuit.gadget
    seeds, poly = proof[:, : gadget.arity], proof[:, gadget.arity :]
    outputs = circuit.outputs(meas, _gadget_outputs(gadget, field, poly), shares)
    reduced = field.dot(query_rand[:, :-1], outputs) if circuit.checks > 1 else outputs[:, 0]
    test = query_rand[:, -1]
    wires = _wire_values(circuit, meas, seeds, joint, shares)
    wire_weights = nodes(field, gadget.wire_points, gadget.wire_points).weights(test)
    poly_weights = nodes(field, gadget.poly_points, gadget.size).weights(test)
    verifier = np.concatenate(
        [
            reduced[:, None],
            field.dot(wires, wire_weights[:, None]),
            field.dot(poly, poly_weights)[:, None],
        ],
        axis=1,
    )
    fit = (field.power(test, gadget.wire_points) != field.constant(1)).any(axis=1)
    return (verifier if fit.all() else np.where(fit[:, None, None], verifier, np.uint64(0))), fit


def decide(circuit: Circuit, verifier: WordArray, joint: WordArray) -> BoolArray:
    """Who is valid: the circuit's output is zero, and at the test point the gadget's polynomial is
    the gadget of the wires' polynomials.
    """
    zero: BoolArray = (verifier[:, 0] == 0).all(axis=-1)
    again = circuit.gadget.evaluate(circuit.field, verifier[:, 1:-1, None], joint)[:, 0]
    same: BoolArray = (again == verifier[:, -1]).all(axis=-1)
    return zero & same


def _wire_values(
    circuit: Circuit, meas: WordArray, seeds: WordArray, joint: WordArray, shares: int
) -> WordArray:
    """The wires' polynomials by their values (n, arity, wire_points, words): random one, calls,
    zeros.
    """
    gadget = circuit.gadget
    values = circuit.field.zeros(len(meas), gadget.arity, gadget.wire_points)
    values[:, :, 0] = seeds
    values[:, :, 1 : 1 + gadget.calls] = circuit.wires(meas, joint, shares)
    return values


def _gadget_outputs(gadget: Gadget, field: Field, poly: WordArray) -> WordArray:
    """The polynomial (n, poly_points, words) where it is the gadget's result (n, calls, words).

    Call k is at every (size / wire_points)-th value; those beyond what a proof holds follow from
    its degree.
    """
    step = gadget.size // gadget.wire_points
    places = step * np.arange(1, gadget.calls + 1)
    sent = places < gadget.poly_points
    if sent.all():
        return poly[:, places]
    rest = field.dot(poly[:, None], _weights_beyond(gadget, field))
    return np.concatenate([poly[:, places[sent]], rest], axis=1)


@lru_cache(maxsize=64)
def _weights_beyond(gadget: Gadget, field: Field) -> WordArray:
    step = gadget.size // gadget.wire_points
    places = [step * k for k in range(1, gadget.calls + 1) if step * k >= gadget.poly_points]
    return nodes(field, gadget.poly_points, gadget.size).weights(
        root_powers(field, gadget.size)[places]
    )
