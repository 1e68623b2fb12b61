"""How two servers add up the reports to one question, without a socket: what they say and what each
computes.

    coordinator: open its own halves; relay the helper's halves of those owners  -> RelayedHalves
    helper:      open them, leave out what does not open or is a copy, add, add noise, once
                                                                                 -> HelperSum
    coordinator: add its own halves of the owners that were counted, add noise, open the sum

Each server's noise is an explicit stream. Proof: two_servers.md.

A rehearsal has a helper whose key everybody knows, so that nobody can take it for a helper: whoever
seals a half to it hides nothing, whatever noise is added. Owners that are not rehearsing refuse it,
and so does a campaign file; a rehearsal accepts no other. Reproducible, not private.

What a sum is about (`SumTerms`, `Batch`) is what owners seal their halves to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit._util.checks import bad, positive, whole
from tacit._util.types import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from tacit.mechanisms.streams import Stream
from tacit.sums.base import SumAnswer, SumRefusedError
from tacit.sums.base import encode as encode_terms
from tacit.sums.two_servers import Half, Release, SumServer, TwoServers, open_sum
from tacit.wire import encode, message
from tacit.wire.envelopes import KEY, OVERHEAD, seal, unseal

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

    Sealed bytes open only as they are (wire/envelopes.py), so a copy has the same first 32 bytes,
    and an honest owner uses them once: whoever relays halves cannot make a term count twice.
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


@message("sum.relay")
@dataclass(frozen=True)
class RelayedHalves:
    """From the coordinator to the helper: sealed halves one after the other; it cannot open
    them.
    """

    batch: Batch
    halves: bytes

    def __post_init__(self) -> None:
        if len(self.halves) % SIZES[HELPER]:
            raise bad("halves", f"pieces of {SIZES[HELPER]} bytes", len(self.halves))

    @property
    def pieces(self) -> list[bytes]:
        size = SIZES[HELPER]
        return [self.halves[at : at + size] for at in range(0, len(self.halves), size)]


@message("sum.added")
@dataclass(frozen=True, eq=False)
class HelperSum:
    """From the helper, once per question: which of the halves were counted (a bit each), and their
    noisy sum.

    `words` are the sum's entries modulo 2^64, as signed numbers.
    """

    question: bytes
    counted: bytes
    words: IntArray


class HelperSide:
    """The helper's part in one sum over the halves of a relay."""

    def __init__(self, relay: RelayedHalves, key: X25519PrivateKey, minimum: int) -> None:
        pieces = relay.pieces
        self._batch = relay.batch
        self._server = SumServer(relay.batch.terms.sums(minimum), len(pieces), ENTRIES)
        self._server.receive(open_halves(pieces, relay.batch, HELPER, key))

    def release(self, noise: Stream) -> HelperSum:
        """The noisy sum, once. Fewer owners than its own or the campaign's minimum are a
        `SumRefusedError`.
        """
        relayed = np.ones_like(self._server.present)
        release = self._server.release(relayed, tape(self._batch, HELPER, noise))
        return HelperSum(
            self._batch.question,
            np.packbits(release.counted).tobytes(),
            release.words.view(np.int64),
        )


class CoordinatorSide:
    """The coordinator's part in one sum over some owners' reports, each two sealed halves."""

    def __init__(self, batch: Batch, reports: Sequence[bytes], key: X25519PrivateKey) -> None:
        own = open_halves(
            [report[: SIZES[COORDINATOR]] for report in reports], batch, COORDINATOR, key
        )
        theirs = [reports[place][SIZES[COORDINATOR] :] for place in own.owners.tolist()]
        self._words: WordArray = own.words
        self.relay = RelayedHalves(batch, b"".join(theirs))

    def open(self, said: HelperSum, noise: Stream) -> SumAnswer:
        """The sum, from what the helper said; what does not fit is a `SumRefusedError`."""
        n, batch = len(self._words), self.relay.batch
        if not (
            said.question == batch.question
            and len(said.counted) == (n + 7) // 8
            and said.words.shape == (ENTRIES,)
        ):
            raise SumRefusedError("the helper's answer is not about this batch")
        counted: BoolArray = np.unpackbits(np.frombuffer(said.counted, np.uint8), count=n).astype(
            np.bool_
        )
        spec = batch.terms.sums(1)
        server = SumServer(spec, n, ENTRIES)
        server.receive(Half(np.arange(n), self._words))
        return open_sum(
            server.release(counted, tape(batch, COORDINATOR, noise)),
            Release(spec, counted, said.words.view(np.uint64)),
        )


def tape(batch: Batch, server: str, noise: Stream) -> Stream:
    """The tape of a server's noise in one sum: in a rehearsal that of the sum in one process
    (`TwoServers.total`).
    """
    return noise.child("tally", batch.number).child("noise", "a" if server == COORDINATOR else "b")


def rehearsal_key() -> X25519PrivateKey:
    """The key that everybody knows."""
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
