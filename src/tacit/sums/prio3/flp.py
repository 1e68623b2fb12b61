"""The fully linear proof system of the draft (section "FLP Specification"), over many owners at
once.

The owner proves, each server queries its share of measurement and proof, anybody decides from the
sum of the answers. A proof: one random value for each wire, then the values of the gadget's
polynomial. A verifier: the circuit's output, reduced to one element, the wires' polynomials and the
gadget's polynomial at a secret random point.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit._util.types import BoolArray, WordArray
from tacit.sums.prio3.circuit import Circuit, Gadget
from tacit.sums.prio3.fields import Field, power_list, root_powers


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
