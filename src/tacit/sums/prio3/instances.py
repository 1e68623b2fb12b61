"""Prio3 by name, with the draft's numbers, fields and proofs, and our own, under a number for
private use; how likely each lets an invalid measurement pass; and its messages as bytes.

Error of one proof <= circuit + system, of k proofs its k-th power (section "Choosing FLP
Parameters"). `circuit`: random coefficients cancel, degree in the joint randomness over p, and 1 /
p where outputs are reduced to one. `system`: a wrong polynomial of the gadget agrees with the right
one at the test point, its degree over p less the points that are not asked. Derivation: prio3.md.

Messages are read and written row by row (section "Message Serialization"). Rows that hold no field
elements are marked, not fatal: they are one owner's, and others are in the block.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from math import log2

import numpy as np

from tacit._util.types import BoolArray, ByteArray, WordArray
from tacit.sums.prio3 import flp
from tacit.sums.prio3.bounded import (
    BoundedVector,
    SquaresBesideRanges,
    bounded_vector,
    summed_vector,
)
from tacit.sums.prio3.draft_circuits import (
    ChunkedBits,
    Count,
    Histogram,
    MultihotCountVec,
    NotValidError,
    SmallNumber,
    SmallNumbers,
    Sum,
    SumVec,
    SumVec64,
)
from tacit.sums.prio3.fields import SEED
from tacit.sums.prio3.flp import Circuit
from tacit.sums.prio3.prio3 import HelperShare, LeaderShare, Prio3, VerifierShare

FIELD64_PROOFS = 3  # the least that the draft allows in Field64 with joint randomness
_BOUNDED, _RANGES, _SUMMED = 0xFFFF0001, 0xFFFF0002, 0xFFFF0003
_TESTS = 0xFFFFFFFF  # of the draft's own tests


class WrongSizeError(NotValidError):
    """A message has another length than those of the instance."""


def prio3_count(shares: int = 2) -> Prio3:
    return Prio3(Count(), 1, shares=shares)


def prio3_sum(max_measurement: int, shares: int = 2) -> Prio3:
    return Prio3(Sum(max_measurement), 2, shares=shares)


def prio3_sum_vec(length: int, max_measurement: int, chunk_length: int, shares: int = 2) -> Prio3:
    return Prio3(SumVec(length, chunk_length, max_measurement), 3, shares=shares)


def prio3_histogram(length: int, chunk_length: int, shares: int = 2) -> Prio3:
    return Prio3(Histogram(length, chunk_length), 4, shares=shares)


def prio3_multihot_count_vec(
    length: int, max_weight: int, chunk_length: int, shares: int = 2
) -> Prio3:
    return Prio3(MultihotCountVec(length, chunk_length, max_weight), 5, shares=shares)


def prio3_sum_vec_with_multiproof(
    length: int,
    max_measurement: int,
    chunk_length: int,
    shares: int = 2,
    proofs: int = FIELD64_PROOFS,
) -> Prio3:
    """SumVec in Field64: the draft's test of several proofs."""
    return Prio3(SumVec64(length, chunk_length, max_measurement), _TESTS, proofs, shares)


def prio3_higher_degree(shares: int = 2) -> Prio3:
    """0, 1 or 2 by a gadget of degree three: the draft's test of degrees above two."""
    return Prio3(SmallNumber(2), _TESTS, shares=shares)


def prio3_higher_degrees(degree: int, calls: int, shares: int = 2) -> Prio3:
    """So many numbers below `degree`, a call of a gadget of that degree for each."""
    return Prio3(SmallNumbers(degree - 1, calls), _TESTS, shares=shares)


def prio3_bounded_vector(length: int, bound: int, bits: int = 4, shares: int = 2) -> Prio3:
    """Small signed numbers with a bounded squared length (bounded.py), three proofs in Field64."""
    circuit = bounded_vector(length, bound, bits, FIELD64_PROOFS)
    return Prio3(circuit, _BOUNDED, FIELD64_PROOFS, shares)


def prio3_summed_vector(length: int, bound: int, *, most: int, tally: int, bits: int) -> Prio3:
    """What many bounded vectors add up to, and a tally (bounded.py), three proofs in Field64."""
    circuit = summed_vector(length, bound, most=most, tally=tally, bits=bits, proofs=FIELD64_PROOFS)
    return Prio3(circuit, _SUMMED, FIELD64_PROOFS)


def prio3_ranges(length: int, largest: int) -> Prio3:
    """Whole numbers from 0 to `largest`: the draft's SumVec, three proofs in Field64."""
    bits = length * largest.bit_length()
    chunk = max(1, round(bits**0.5))
    return Prio3(SumVec64(length, chunk, largest), _RANGES, FIELD64_PROOFS)


def prio3_bounded_in_calls(
    length: int, bound: int, bits: int, calls: int, *, shares: int, proofs: int
) -> Prio3:
    """The same with a number of calls and proofs of one's own, as test vectors have it."""
    return Prio3(BoundedVector(length, bound, bits, calls), _BOUNDED, proofs, shares)


def bound_context(prio3: Prio3, application: bytes) -> bytes:
    """The application's context with all parameters of the instance.

    The draft separates kinds of circuits, not their parameters: with this, a report made for other
    parameters is refused even where its bytes have the same length.
    """
    circuit = prio3.circuit
    parameters = {**asdict(circuit), "proofs": prio3.proofs, "shares": prio3.shares}
    text = ",".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    return f"{type(circuit).__name__}({text})".encode() + b"\x00" + application


def joint_degree(circuit: Circuit) -> int:
    """The degree, in any one element of the joint randomness, of what an invalid measurement must
    make zero.
    """
    if isinstance(circuit, ChunkedBits):
        return circuit.chunk_length
    gadget = circuit.gadget
    if isinstance(gadget, SquaresBesideRanges):
        return gadget.ranged
    return gadget.arity if isinstance(circuit, BoundedVector) else 0


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


@dataclass(frozen=True)
class Sizes:
    """Bytes of the messages of one instance."""

    prio3: Prio3

    @property
    def public(self) -> int:
        return SEED * self.prio3.shares * self.prio3.joint

    @property
    def leader(self) -> int:
        elements = (
            self.prio3.circuit.meas_len + flp.proof_len(self.prio3.circuit) * self.prio3.proofs
        )
        return elements * self.prio3.circuit.field.size + SEED * self.prio3.joint

    @property
    def helper(self) -> int:
        return SEED * (1 + self.prio3.joint)

    @property
    def verifier(self) -> int:
        elements = flp.verifier_len(self.prio3.circuit) * self.prio3.proofs
        return elements * self.prio3.circuit.field.size + SEED * self.prio3.joint

    @property
    def message(self) -> int:
        return SEED * self.prio3.joint

    @property
    def report(self) -> int:
        """What an owner sends in all: nonce apart, the public share and every server's."""
        return self.public + self.leader + (self.prio3.shares - 1) * self.helper

    def share(self, place: int) -> int:
        return self.leader if place == 0 else self.helper


def encode_input(prio3: Prio3, share: LeaderShare | HelperShare) -> ByteArray:
    """Input shares as bytes (n, size)."""
    if isinstance(share, HelperShare):
        return np.concatenate([share.seed, share.blind], axis=1)
    field = prio3.circuit.field
    return np.concatenate(
        [field.encode(share.meas), field.encode(share.proofs), share.blind], axis=1
    )


def decode_input(
    prio3: Prio3, place: int, rows: ByteArray
) -> tuple[LeaderShare | HelperShare, BoolArray]:
    """Input shares of server `place` from bytes (n, size), and which of them are shares."""
    _expect("an input share", rows, Sizes(prio3).share(place))
    if place > 0:
        return HelperShare(rows[:, :SEED], rows[:, SEED:]), np.ones(len(rows), np.bool_)
    elements, blind, fits = _elements(prio3, rows)
    meas_len = prio3.circuit.meas_len
    return LeaderShare(elements[:, :meas_len], elements[:, meas_len:], blind), fits


def encode_public(parts: ByteArray) -> ByteArray:
    return parts.reshape(len(parts), -1)


def decode_public(prio3: Prio3, rows: ByteArray) -> ByteArray:
    _expect("a public share", rows, Sizes(prio3).public)
    return rows.reshape(len(rows), prio3.shares if prio3.joint else 0, SEED)


def encode_verifier(prio3: Prio3, share: VerifierShare) -> ByteArray:
    return np.concatenate([prio3.circuit.field.encode(share.verifiers), share.part], axis=1)


def decode_verifier(prio3: Prio3, rows: ByteArray) -> tuple[VerifierShare, BoolArray]:
    _expect("a verifier share", rows, Sizes(prio3).verifier)
    elements, part, fits = _elements(prio3, rows)
    return VerifierShare(elements, part), fits


def _elements(prio3: Prio3, rows: ByteArray) -> tuple[WordArray, ByteArray, BoolArray]:
    """Field elements, then a seed if there is joint randomness."""
    end = rows.shape[1] - SEED * prio3.joint
    elements, fits = prio3.circuit.field.decode(rows[:, :end])
    return elements, rows[:, end:], fits


def _expect(what: str, rows: ByteArray, size: int) -> None:
    if not rows.shape[1] == size:
        raise WrongSizeError(f"{what} must have {size} bytes, got {rows.shape[1]}")
