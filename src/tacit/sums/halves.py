"""Sealed halves: what leaves an owner for a sum over the network, and what each server reads of it.

The two servers of a campaign are named by their public keys. The coordinator's half is a seed of 32
bytes, which AES-256-CTR stretches to the mask; the helper's is the residual, the encoded term minus
the mask modulo 2^64. Both travel together, sealed to their servers: a half opens at one of them,
for one question, at one epsilon, and for no other, because all of this is the context it was
sealed in. A report is a function of term and tape: an owner reads 12 words of it, for the seed and
for the keys of the two seals. Proof: two_servers.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit._util.checks import bad, positive, whole
from tacit._util.types import AnyArray, FloatArray, WordArray
from tacit.mechanisms.streams import Stream
from tacit.sums.base import encode as encode_terms
from tacit.sums.two_servers import Half, TwoServers
from tacit.wire import encode, message
from tacit.wire.sealing import KEY, OVERHEAD, seal, unseal

ENTRIES = 2  # of a term: weighted error, weight
COORDINATOR, HELPER = "coordinator", "helper"
_DIGEST = 32  # bytes
_SEED = 32  # bytes: a key of AES-256
SIZES = {COORDINATOR: _SEED + OVERHEAD, HELPER: 8 * ENTRIES + OVERHEAD}  # bytes of a sealed half
SIZE = sum(SIZES.values())
_WORDS = (_SEED + 2 * KEY) // 8


@message("sum.terms")
@dataclass(frozen=True)
class SumTerms:
    """The terms of a campaign's sums: epsilon of ONE sum, the least batch, and the two servers'
    public keys.
    """

    epsilon: float
    minimum: int
    coordinator: bytes
    helper: bytes

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        for name in (COORDINATOR, HELPER):
            if not len(getattr(self, name)) == KEY:
                raise bad(f"key of the {name}", f"{KEY} bytes", len(getattr(self, name)))
        if self.coordinator == self.helper:
            raise ValueError(
                "coordinator and helper must have different keys: one server that plays both "
                "sees terms"
            )
        self.sums(self.minimum).scale(ENTRIES)  # refuses an epsilon that is too small for the noise

    def sums(self, minimum: int) -> TwoServers:
        """The sum as each server runs it; a server may ask for more owners than the terms do."""
        return TwoServers(epsilon=self.epsilon, minimum=max(minimum, self.minimum))


@message("sum.batch")
@dataclass(frozen=True)
class Batch:
    """One sum: the digest of its question, its place among the campaign's sums (from 1), and the
    terms.
    """

    question: bytes
    number: int
    terms: SumTerms

    def __post_init__(self) -> None:
        if not len(self.question) == _DIGEST:
            raise bad("question", f"a digest of {_DIGEST} bytes", len(self.question))
        whole("number", self.number, 1)

    def context(self, server: str) -> bytes:
        """What a half for this server is sealed in."""
        return server.encode() + b"\n" + encode(self)


def seal_halves(terms: FloatArray, batch: Batch, stream: Stream) -> AnyArray:
    """At the owners: the bytes (owners, SIZE) that leave for terms (owners, 2), the
    coordinator's half first.
    """
    spec, contexts = batch.terms, (batch.context(COORDINATOR), batch.context(HELPER))
    encoded = encode_terms(terms, spec.sums(1).steps)
    coins = stream.words(np.arange(len(terms)), 0, _WORDS).astype("<u8")
    rows = np.empty((len(terms), SIZE), dtype=np.uint8)
    for row, term, tape in zip(rows, encoded, coins, strict=True):
        raw = tape.tobytes()
        seed, first, second = raw[:_SEED], raw[_SEED : _SEED + KEY], raw[_SEED + KEY :]
        residual = (term - mask_of(seed)).astype("<u8").tobytes()
        mask = seal(seed, spec.coordinator, contexts[0], first)
        rest = seal(residual, spec.helper, contexts[1], second)
        row[:] = np.frombuffer(mask + rest, np.uint8)
    return rows


def open_halves(sealed: Sequence[bytes], batch: Batch, server: str, key: X25519PrivateKey) -> Half:
    """At a server: the halves that open, named by their places; a copy of one that has opened is
    left out.

    Sealed bytes open only as they are (wire/sealing.py), so a copy has the same first 32 bytes, and
    an honest owner uses them once: whoever relays halves cannot make a term count twice.
    """
    context = batch.context(server)
    places: list[int] = []
    words: list[WordArray] = []
    seen: set[bytes] = set()
    for place, each in enumerate(sealed):
        if len(each) != SIZES[server] or each[:KEY] in seen:
            continue
        plain = unseal(each, key, context)
        if plain is not None:
            seen.add(each[:KEY])
            places.append(place)
            words.append(mask_of(plain) if server == COORDINATOR else np.frombuffer(plain, "<u8"))
    return Half(
        np.array(places, dtype=np.int64), np.array(words, dtype=np.uint64).reshape(-1, ENTRIES)
    )


def mask_of(seed: bytes) -> WordArray:
    """The words of a mask, stretched from its seed, which serves one term only."""
    stretched = (
        Cipher(algorithms.AES(seed), modes.CTR(bytes(16))).encryptor().update(bytes(8 * ENTRIES))
    )
    return np.frombuffer(stretched, "<u8").astype(np.uint64)
