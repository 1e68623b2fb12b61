"""How likely an invalid measurement passes: the draft's formula (section "Choosing FLP Parameters")
with our degrees.

Error of one proof <= circuit + system, of k proofs its k-th power. `circuit`: random coefficients
cancel, degree in the joint randomness over p, and 1 / p where outputs are reduced to one. `system`:
a wrong polynomial of the gadget agrees with the right one at the test point, its degree over p less
the points that are not asked. Derivation: prio3.md.
"""

from fractions import Fraction
from math import log2

from tacit.sums.prio3.bit_vectors import ChunkedBits
from tacit.sums.prio3.bounded import BoundedVector
from tacit.sums.prio3.circuit import Circuit
from tacit.sums.prio3.prio3 import Prio3


def joint_degree(circuit: Circuit) -> int:
    """The degree, in any one element of the joint randomness, of what an invalid measurement must
    make zero.
    """
    if isinstance(circuit, ChunkedBits):
        return circuit.chunk_length
    return circuit.gadget.arity if isinstance(circuit, BoundedVector) else 0


def soundness_error(prio3: Prio3) -> Fraction:
    """An upper bound, over joint and query randomness, of the probability that an invalid
    measurement is accepted.
    """
    circuit, gadget = prio3.circuit, prio3.circuit.gadget
    p = circuit.field.modulus
    circuit_error = Fraction(joint_degree(circuit) + (circuit.checks > 1), p)
    system_error = Fraction(gadget.degree * (gadget.wire_points - 1), p - gadget.wire_points)
    return (circuit_error + system_error) ** prio3.proofs


def soundness_bits(prio3: Prio3) -> float:
    """-log2 of the error.

    >>> from tacit.sums.prio3.instances import prio3_bounded_vector
    >>> round(soundness_bits(prio3_bounded_vector(1000, 2000)))
    167
    """
    error = soundness_error(prio3)
    return log2(error.denominator) - log2(error.numerator)
