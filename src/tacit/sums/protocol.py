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
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit._util.checks import bad
from tacit._util.types import BoolArray, IntArray, WordArray
from tacit.mechanisms.streams import Stream
from tacit.sums.base import SumAnswer, SumRefusedError
from tacit.sums.halves import COORDINATOR, ENTRIES, HELPER, SIZES, Batch, open_halves
from tacit.sums.two_servers import Half, Release, SumServer, open_sum
from tacit.wire import message


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
