"""Prio3 of the draft (section "Prio3: Specification"), over many owners at once and any number of
servers.

Server 0 ("leader" in the draft) holds field elements, every other ("helper") a seed that stands for
them. Where there is no joint randomness, the arrays for its parts have width 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._util.types import BoolArray, ByteArray, WordArray
from tacit.sums.prio3 import flp
from tacit.sums.prio3.fields import SEED, Bytes, derive_seeds, expand
from tacit.sums.prio3.flp import Circuit

NONCE = 16
VERSION = 18
TAG_PREFIX = 8  # bytes of a tag before the application's context
_MEAS_SHARE, _PROOF_SHARE, _JOINT_RANDOMNESS, _PROVE_RANDOMNESS = 1, 2, 3, 4
_QUERY_RANDOMNESS, _JOINT_RAND_SEED, _JOINT_RAND_PART = 5, 6, 7


@dataclass(frozen=True, eq=False)
class LeaderShare:
    """For server 0: measurement (n, meas_len, words), proofs (n, proofs * proof_len, words), blind
    (n, 32 or 0).
    """

    meas: WordArray
    proofs: WordArray
    blind: ByteArray


@dataclass(frozen=True, eq=False)
class HelperShare:
    """For any other server: seed (n, 32) of measurement and proofs, blind (n, 32 or 0)."""

    seed: ByteArray
    blind: ByteArray


@dataclass(frozen=True, eq=False)
class SplitReports:
    """What n owners send: parts of the joint randomness (n, servers or 0, 32) to all, a share to
    each server.
    """

    public: ByteArray
    leader: LeaderShare
    helpers: tuple[HelperShare, ...]

    @property
    def inputs(self) -> tuple[LeaderShare | HelperShare, ...]:
        """The shares in the order of the servers."""
        return (self.leader, *self.helpers)


@dataclass(frozen=True, eq=False)
class VerifyState:
    """What a server keeps: outputs (n, output_len, words), its seed of joint randomness, whose test
    point is fit.
    """

    outputs: WordArray
    joint_seed: ByteArray
    fit: BoolArray


@dataclass(frozen=True, eq=False)
class VerifierShare:
    """What a server tells the others: verifiers (n, proofs * verifier_len, words), its part (n, 32
    or 0).
    """

    verifiers: WordArray
    part: ByteArray


@dataclass(frozen=True)
class Prio3:
    """A circuit with its number in the draft's registry, number of proofs and number of servers."""

    circuit: Circuit
    algorithm: int
    proofs: int = 1
    shares: int = 2
    version: int = VERSION  # of the draft; others are for vectors that are replayed

    def __post_init__(self) -> None:
        if not 2 <= self.shares < 256:
            raise ValueError(f"shares must be from 2 to 255, got {self.shares}")
        if not 1 <= self.proofs < 256:
            raise ValueError(f"proofs must be from 1 to 255, got {self.proofs}")

    @property
    def joint(self) -> bool:
        return self.circuit.joint_len > 0

    @property
    def rand_size(self) -> int:
        """Bytes of coins for a report."""
        return SEED * self.shares * (2 if self.joint else 1)

    def shard(
        self, context: bytes, meas: WordArray, nonces: ByteArray, coins: ByteArray
    ) -> SplitReports:
        """Reports of encoded measurements (n, meas_len, words), nonces (n, 16), coins (n,
        rand_size).
        """
        field = self.circuit.field
        if not (nonces.shape == (len(meas), NONCE) and coins.shape == (len(meas), self.rand_size)):
            raise ValueError(
                f"every report needs a nonce of {NONCE} bytes and {self.rand_size} bytes of coins"
            )
        helpers, blind, prove_seed = self._split(coins)
        shares = [self._helper_meas(context, k, each.seed) for k, each in enumerate(helpers, 1)]
        first = meas
        for share in shares:
            first = field.subtract(first, share)
        blinds = [blind, *(each.blind for each in helpers)]
        public = self._parts(context, blinds, [first, *shares], nonces)
        joint = self._joint_rands(context, self._joint_seed(context, public))
        proofs = self._prove(context, meas, prove_seed, joint)
        for k, each in enumerate(helpers, 1):
            proofs = field.subtract(proofs, self._helper_proofs(context, k, each.seed))
        return SplitReports(public, LeaderShare(first, proofs, blind), helpers)

    def verify_init(
        self,
        key: bytes,
        context: bytes,
        place: int,
        *,
        nonces: ByteArray,
        public: ByteArray,
        share: LeaderShare | HelperShare,
    ) -> tuple[VerifyState, VerifierShare]:
        """At server `place`: query the share, with a part of the joint randomness that the server
        makes itself.
        """
        if isinstance(share, HelperShare):
            meas = self._helper_meas(context, place, share.seed)
            proofs = self._helper_proofs(context, place, share.seed)
        else:
            meas, proofs = share.meas, share.proofs
        part = np.zeros((len(meas), 0), np.uint8)
        if self.joint:
            part = self._part(context, place, share.blind, meas, nonces)
            public = public.copy()
            public[:, place] = part
        seed = self._joint_seed(context, public)
        joint = self._joint_rands(context, seed)
        rands = self._query_rands(key, context, nonces)
        verifiers, fit = [], np.ones(len(meas), np.bool_)
        for proof, rand, each in zip(
            self._each(proofs), self._each(rands), self._each(joint), strict=True
        ):
            verifier, fine = flp.query(self.circuit, meas, proof, rand, each, shares=self.shares)
            verifiers.append(verifier)
            fit &= fine
        return (
            VerifyState(self.circuit.truncate(meas), seed, fit),
            VerifierShare(np.concatenate(verifiers, axis=1), part),
        )

    def combine(
        self, context: bytes, shares: Sequence[VerifierShare]
    ) -> tuple[ByteArray, BoolArray]:
        """Anywhere: the verifier messages (n, 32 or 0) and whose proofs are all valid."""
        verifiers = shares[0].verifiers
        for share in shares[1:]:
            verifiers = self.circuit.field.add(verifiers, share.verifiers)
        message = self._joint_seed(context, np.stack([share.part for share in shares], axis=1))
        joint = np.zeros((len(verifiers), 0, self.circuit.field.words), np.uint64)
        if self.circuit.gadget.random:
            joint = self._joint_rands(context, message)
        valid = np.ones(len(verifiers), np.bool_)
        for verifier, each in zip(self._each(verifiers), self._each(joint), strict=True):
            valid &= flp.decide(self.circuit, verifier, each)
        return message, valid

    def verify_next(self, state: VerifyState, message: ByteArray) -> BoolArray:
        """At a server: whose joint randomness was the one that all servers' parts make."""
        same: BoolArray = (state.joint_seed == message).all(axis=1)
        return same

    def aggregate(self, outputs: WordArray) -> WordArray:
        """The sum (output_len, words) of output shares (n, output_len, words)."""
        return self.circuit.field.total(np.swapaxes(outputs, 0, 1))

    def _split(self, coins: ByteArray) -> tuple[tuple[HelperShare, ...], ByteArray, ByteArray]:
        """Seeds in their order: each helper's, with its blind after it; the leader's blind; the
        prover's. Without joint randomness there are no blinds.
        """
        seeds = coins.reshape(len(coins), -1, SEED)
        none = np.zeros((len(coins), 0), np.uint8)
        others = range(self.shares - 1)
        if not self.joint:
            return tuple(HelperShare(seeds[:, k], none) for k in others), none, seeds[:, -1]
        helpers = tuple(HelperShare(seeds[:, 2 * k], seeds[:, 2 * k + 1]) for k in others)
        return helpers, seeds[:, -2], seeds[:, -1]

    def _parts(
        self,
        context: bytes,
        blinds: Sequence[ByteArray],
        shares: Sequence[WordArray],
        nonces: ByteArray,
    ) -> ByteArray:
        """All servers' parts of the joint randomness, (n, servers or 0, 32)."""
        if not self.joint:
            return np.zeros((len(nonces), 0, SEED), np.uint8)
        pairs = enumerate(zip(blinds, shares, strict=True))
        parts = [self._part(context, k, blind, meas, nonces) for k, (blind, meas) in pairs]
        return np.stack(parts, axis=1)

    def _each(self, vectors: WordArray) -> list[WordArray]:
        """A vector for each proof."""
        return list(np.split(vectors, self.proofs, axis=1))

    def _prove(
        self, context: bytes, meas: WordArray, seed: ByteArray, joint: WordArray
    ) -> WordArray:
        count = flp.prove_rand_len(self.circuit) * self.proofs
        rands = self._expand(_PROVE_RANDOMNESS, context, seed, bytes([self.proofs]), count)
        pairs = zip(self._each(rands), self._each(joint), strict=True)
        return np.concatenate(
            [flp.prove(self.circuit, meas, rand, each) for rand, each in pairs], axis=1
        )

    def _helper_meas(self, context: bytes, place: int, seed: ByteArray) -> WordArray:
        return self._expand(_MEAS_SHARE, context, seed, bytes([place]), self.circuit.meas_len)

    def _helper_proofs(self, context: bytes, place: int, seed: ByteArray) -> WordArray:
        count = flp.proof_len(self.circuit) * self.proofs
        return self._expand(_PROOF_SHARE, context, seed, bytes([self.proofs, place]), count)

    def _query_rands(self, key: bytes, context: bytes, nonces: ByteArray) -> WordArray:
        if not len(key) == SEED:
            raise ValueError(f"a verification key must have {SEED} bytes, got {len(key)}")
        count = flp.query_rand_len(self.circuit) * self.proofs
        return self._expand(
            _QUERY_RANDOMNESS, context, key, _prefix(bytes([self.proofs]), nonces), count
        )

    def _part(
        self, context: bytes, place: int, blind: ByteArray, meas: WordArray, nonces: ByteArray
    ) -> ByteArray:
        binder = np.concatenate(
            [_prefix(bytes([place]), nonces), self.circuit.field.encode(meas)], axis=1
        )
        return derive_seeds(blind, self._tag(_JOINT_RAND_PART, context), binder)

    def _joint_seed(self, context: bytes, parts: ByteArray) -> ByteArray:
        if not self.joint:
            return np.zeros((len(parts), 0), np.uint8)
        return derive_seeds(
            bytes(SEED), self._tag(_JOINT_RAND_SEED, context), parts.reshape(len(parts), -1)
        )

    def _joint_rands(self, context: bytes, seed: ByteArray) -> WordArray:
        if not self.joint:
            return np.zeros((len(seed), 0, self.circuit.field.words), np.uint64)
        count = self.circuit.joint_len * self.proofs
        return self._expand(_JOINT_RANDOMNESS, context, seed, bytes([self.proofs]), count)

    def _expand(
        self, usage: int, context: bytes, seeds: Bytes, binders: Bytes, count: int
    ) -> WordArray:
        return expand(self.circuit.field, seeds, self._tag(usage, context), binders, count)

    def _tag(self, usage: int, context: bytes) -> bytes:
        """Domain separation: version, class 0 for a VDAF, algorithm, usage, and the application's
        context.
        """
        return (
            bytes([self.version, 0])
            + self.algorithm.to_bytes(4, "big")
            + usage.to_bytes(2, "big")
            + context
        )


def _prefix(prefix: bytes, rows: ByteArray) -> ByteArray:
    return np.concatenate([np.tile(np.frombuffer(prefix, np.uint8), (len(rows), 1)), rows], axis=1)
