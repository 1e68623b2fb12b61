"""What owners send for a sum of two servers: a number or a vector in two halves with a proof, each
half sealed to its server. Proofs: two_servers.md and prio3/prio3.md.

A half is whole in itself: nonce, the parts of the joint randomness, and its server's share. The
coordinator's share is the large one, field elements and proof; the helper's is a seed of 32 bytes
and a blind, because whoever runs the helper for others receives and stores the least that way, and
the coordinator has received the report in any case.

What is summed, and with which noise, is a `SumLaw`. Law and both servers' keys are `SumTerms`; a
`Batch` is one sum on these terms. Halves are sealed in, and proofs are bound to, the whole batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit._util.checks import bad, positive, whole
from tacit._util.types import ByteArray, FloatArray, IntArray
from tacit.mechanisms.streams import Stream
from tacit.sums.prio3.batch import Sent, coins_size, make_reports
from tacit.sums.prio3.instances import Sizes, prio3_ranges
from tacit.sums.prio3.prio3 import NONCE, Prio3
from tacit.sums.secure_sum import SumAnswer, TwoServers, two_sided_geometric
from tacit.sums.secure_sum import encode as encode_terms
from tacit.wire import encode, message
from tacit.wire.envelopes import KEY, OVERHEAD, has_one_writing, seal, unseal

COORDINATOR, HELPER = 0, 1  # places of the two servers, as in Prio3
_NAMES = ("coordinator", "helper")
_DIGEST = 32  # bytes


class SumLaw(ABC):
    """What every owner adds to a sum, how it is proven, and the noise that each server adds."""

    minimum: int

    @property
    @abstractmethod
    def prio3(self) -> Prio3:
        """The proof system of one report."""

    @property
    @abstractmethod
    def price(self) -> float:
        """The epsilon of one sum for an owner in it."""

    @property
    @abstractmethod
    def most(self) -> int:
        """The largest size of a number of the sum that one owner can add, by what is proven."""

    @abstractmethod
    def draw_noise(self, stream: Stream) -> IntArray:
        """One server's noise, a whole number for each number of the sum, from its own tape."""

    @abstractmethod
    def tape(self, batch: "Batch", stream: Stream) -> Stream:
        """Where the noise of a batch comes from: in a rehearsal what the sum in one process
        reads.
        """

    @abstractmethod
    def answer(self, total: Sequence[int], n: int) -> Any:
        """What the sum of n owners says, noise of both servers included."""


@message("sum.tally")
@dataclass(frozen=True)
class TallyLaw(SumLaw):
    """Sums of (weighted error, weight), each from 0 to 1: pure `epsilon` for ONE sum, over at least
    `minimum` owners. Proven: whole numbers 0 .. 2^20 steps, so one owner moves a sum by at most 1.
    """

    epsilon: float
    minimum: int

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        self.spec.scale(ENTRIES)  # refuses an epsilon that is too small for the noise

    @property
    def price(self) -> float:
        return self.epsilon

    @property
    def most(self) -> int:
        return self.spec.steps

    @property
    def spec(self) -> TwoServers:
        """The same sum in one process."""
        return TwoServers(epsilon=self.epsilon, minimum=self.minimum)

    @cached_property
    def prio3(self) -> Prio3:
        return prio3_ranges(ENTRIES, self.spec.steps)

    def measure(self, terms: FloatArray) -> IntArray:
        """Terms (owners, 2) as steps: clipped, NaN as 0."""
        return encode_terms(terms, self.spec.steps).astype(np.int64)

    def tape(self, batch: "Batch", stream: Stream) -> Stream:
        return stream.child("tally", batch.number)

    def draw_noise(self, stream: Stream) -> IntArray:
        return two_sided_geometric(ENTRIES, self.spec.scale(ENTRIES), stream)

    def answer(self, total: Sequence[int], n: int) -> SumAnswer:
        return self.spec.answer_of(np.array(total, dtype=np.int64), n)


ENTRIES = 2  # of a term: weighted error, weight


@message("sum.terms")
@dataclass(frozen=True)
class SumTerms:
    """A law and the public keys of the two servers, which are fixed before anybody reports."""

    law: SumLaw
    coordinator: bytes
    helper: bytes

    def __post_init__(self) -> None:
        for name in _NAMES:
            if not len(getattr(self, name)) == KEY:
                raise bad(f"key of the {name}", f"{KEY} bytes", len(getattr(self, name)))
            if not has_one_writing(getattr(self, name)):
                raise ValueError(
                    f"key of the {name} must be written with a number below 2^255 - 19: one key "
                    "has one writing"
                )
        if self.coordinator == self.helper:
            raise ValueError(
                "coordinator and helper must have different keys: one server that plays both "
                "sees terms"
            )

    @property
    def keys(self) -> tuple[bytes, bytes]:
        """Of the servers, by place."""
        return self.coordinator, self.helper


@message("sum.batch")
@dataclass(frozen=True)
class Batch:
    """One sum: the digest of its question, its place among the campaign's sums (from 1), which
    attempt at it this is, and the terms.
    """

    question: bytes
    number: int
    attempt: int
    terms: SumTerms

    def __post_init__(self) -> None:
        if not len(self.question) == _DIGEST:
            raise bad("question", f"a digest of {_DIGEST} bytes", len(self.question))
        whole("number", self.number, 1)
        whole("attempt", self.attempt, 1)

    @cached_property
    def digest(self) -> bytes:
        """The name of this batch: of its question, its law and its servers together."""
        return blake2b(encode(self), digest_size=_DIGEST).digest()

    @property
    def application(self) -> bytes:
        """What proofs are bound to."""
        return b"tacit sum " + self.digest

    def context(self, place: int) -> bytes:
        """What a half for this server is sealed in."""
        return _NAMES[place].encode() + b"\n" + encode(self)

    def half_size(self, place: int) -> int:
        """Bytes of a sealed half."""
        sizes = Sizes(self.terms.law.prio3)
        return NONCE + sizes.public + sizes.share(place) + OVERHEAD

    @property
    def report_size(self) -> int:
        """Bytes that an owner sends."""
        return self.half_size(COORDINATOR) + self.half_size(HELPER)

    def verify_key(self, place: int, key: X25519PrivateKey) -> bytes:
        """The verification key of this batch, the same at both servers and known to nobody else.

        It follows from the two keys that the terms name, so it was settled before the first report
        was made: no server can choose it afterwards, and owners cannot know it.
        """
        return self._agree(place, key, b"tacit verify key ")

    def bond(self, place: int, key: X25519PrivateKey, campaign: bytes) -> bytes:
        """What shows that the campaign that signs with a key has this batch's coordinator's key,
        too: the same at both servers, and known to nobody else.
        """
        if not len(campaign) == KEY:
            raise bad("key of the campaign", f"{KEY} bytes", len(campaign))
        return self._agree(place, key, b"tacit batch of campaign " + campaign + b" ")

    def _agree(self, place: int, key: X25519PrivateKey, purpose: bytes) -> bytes:
        """A secret of the two servers of this batch, for one purpose."""
        other = X25519PublicKey.from_public_bytes(self.terms.keys[1 - place])
        info = purpose + self.application
        return HKDF(SHA256(), KEY, salt=None, info=info).derive(key.exchange(other))


def seal_reports(measurements: IntArray, batch: Batch, stream: Stream) -> ByteArray:
    """At the owners: the bytes (owners, report_size) that leave, the coordinator's half first.

    A measurement that the law does not allow raises, and nothing leaves.
    """
    prio3 = batch.terms.law.prio3
    proving, n = coins_size(prio3), len(measurements)
    words = (proving + 2 * KEY + 7) // 8
    coins = np.ascontiguousarray(stream.words(np.arange(n), 0, words), dtype="<u8")
    tape = coins.view(np.uint8).reshape(n, 8 * words)
    sent = make_reports(prio3, batch.application, measurements, tape[:, :proving])
    return seal_sent(sent, batch, tape[:, proving : proving + 2 * KEY])


def seal_sent(sent: Sent, batch: Batch, secrets: ByteArray) -> ByteArray:
    """Reports as they leave, (owners, report_size); `secrets` (owners, 64) serve once."""
    rows = np.empty((len(sent.nonces), batch.report_size), dtype=np.uint8)
    contexts = [batch.context(place) for place in (COORDINATOR, HELPER)]
    for owner, row in enumerate(rows):
        shared = sent.nonces[owner].tobytes() + sent.public[owner].tobytes()
        secret = secrets[owner].tobytes()
        halves = [
            seal(
                shared + sent.inputs[place][owner].tobytes(),
                batch.terms.keys[place],
                contexts[place],
                secret[KEY * place : KEY * (place + 1)],
            )
            for place in (COORDINATOR, HELPER)
        ]
        row[:] = np.frombuffer(b"".join(halves), np.uint8)
    return rows


@dataclass(frozen=True, eq=False)
class OpenedHalves:
    """Halves that opened at a server, by their `places` among those that were sent."""

    places: IntArray
    nonces: ByteArray
    public: ByteArray
    inputs: ByteArray

    def __getitem__(self, rows: Any) -> "OpenedHalves":
        return OpenedHalves(
            self.places[rows], self.nonces[rows], self.public[rows], self.inputs[rows]
        )


def open_halves(
    sealed: Sequence[bytes], batch: Batch, place: int, key: X25519PrivateKey
) -> OpenedHalves:
    """At a server: the halves that open; what was not sealed to it, in this batch, is left out."""
    context, size = batch.context(place), batch.half_size(place)
    opened = {
        at: plain
        for at, each in enumerate(sealed)
        if len(each) == size and (plain := unseal(each, key, context)) is not None
    }
    joined = np.frombuffer(b"".join(opened.values()), np.uint8)
    rows = joined.reshape(len(opened), size - OVERHEAD)
    end = NONCE + Sizes(batch.terms.law.prio3).public
    places = np.array(list(opened), dtype=np.int64)
    return OpenedHalves(places, rows[:, :NONCE], rows[:, NONCE:end], rows[:, end:])


# Rehearsals
# ---------------------------------------------------------------------------------------------


def rehearsal_key() -> X25519PrivateKey:
    """The key of the helper of rehearsals, which everybody knows: whoever seals a half to it hides
    nothing. Owners that are not rehearsing refuse it, and so does a campaign file; a rehearsal
    accepts no other. Reproducible, not private.
    """
    return X25519PrivateKey.from_private_bytes(
        sha256(b"tacit helper: reproducible, not private").digest()
    )


REHEARSAL_HELPER = rehearsal_key().public_key().public_bytes_raw()


def no_rehearsal(name: str, helper: bytes) -> bytes:
    """`helper`, unless it is the helper of rehearsals."""
    if helper == REHEARSAL_HELPER:
        raise ValueError(
            f"{name} must be a helper's own key, got that of rehearsals: everybody knows it"
        )
    return helper
