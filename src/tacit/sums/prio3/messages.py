"""Messages as bytes, row by row, and back (section "Message Serialization").

Rows that hold no field elements are marked, not fatal: they are one owner's, and others are in the
block.
"""

from dataclasses import dataclass

import numpy as np

from tacit._util.types import BoolArray, ByteArray, WordArray
from tacit.sums.prio3 import flp
from tacit.sums.prio3.prio3 import HelperShare, LeaderShare, Prio3, VerifierShare
from tacit.sums.prio3.scalars import NotValidError
from tacit.sums.prio3.xof import SEED


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
        raise NotValidError(f"{what} must have {size} bytes, got {rows.shape[1]}")
