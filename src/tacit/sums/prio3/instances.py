"""Prio3 by name, with the draft's numbers, fields and proofs; and our own, under a number for
private use.
"""

from dataclasses import asdict

from tacit.sums.prio3.bit_vectors import Histogram, MultihotCountVec, SumVec, SumVec64
from tacit.sums.prio3.bounded import BoundedVector, bounded_vector
from tacit.sums.prio3.prio3 import Prio3
from tacit.sums.prio3.scalars import Count, SmallNumber, Sum

FIELD64_PROOFS = 3  # the least that the draft allows in Field64 with joint randomness
_BOUNDED = 0xFFFF0001
_TESTS = 0xFFFFFFFF  # of the draft's own tests


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


def prio3_bounded_vector(length: int, bound: int, bits: int = 4, shares: int = 2) -> Prio3:
    """Small signed numbers with a bounded squared length (bounded.py), three proofs in Field64."""
    circuit = bounded_vector(length, bound, bits, FIELD64_PROOFS)
    return Prio3(circuit, _BOUNDED, FIELD64_PROOFS, shares)


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
