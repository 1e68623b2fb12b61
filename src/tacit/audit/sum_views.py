"""All that a server of a sum holds of an owner, byte for byte: does any of it tell worlds apart?

Owners in one world and in the other seal what they add; both servers open, exchange what they
found, judge and count (`protocol`). What a server has of an owner then is its sealed half, the
opened one (nonce, parts of the joint randomness, every element of measurement and proofs, or the
seed; blind), what it found, what the other found, and what both findings add up to. All of it is
cut into words.

Claim: no word tells anything, at any epsilon: each has the same law in both worlds (prio3.md, Claim
3). Events of a word are fixed before anything is counted: it lies in the upper half; it is odd; a
word of the second half of the runs was seen in the first half, in the first world. What their
frequencies prove must be zero; the error is shared out over words and events. Beside the words
whatever has a length or an order, or is said for all owners together, is the same to the byte: how
long messages are, who counts, and in which place.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit._util.types import BoolArray, ByteArray, IntArray, WordArray
from tacit.mechanisms.streams import Stream
from tacit.sums.halves import COORDINATOR, HELPER, Batch, open_halves, seal_reports
from tacit.sums.prio3.batch import message_size
from tacit.sums.prio3.fields import SEED
from tacit.sums.prio3.instances import Sizes
from tacit.sums.protocol import CoordinatorSide, HelperSide
from tacit.wire import encode

Prove = Callable[[int, int, int, float], float]  # hits in both worlds, runs, error: epsilon
_WORD = 8  # bytes
_EVENTS = 3  # of a word


class WordRow(NamedTuple):
    """The word that proves most in a server's view, by the part that it is in."""

    server: str
    part: str
    word: int
    proven: float


@dataclass(frozen=True, eq=False)
class ServerView:
    """What a server has of each of some owners, part by part, as words (owners, words)."""

    server: str
    parts: dict[str, WordArray]

    @property
    def words(self) -> int:
        return sum(part.shape[1] for part in self.parts.values())


@dataclass(frozen=True, eq=False)
class WorldView:
    """A world as both servers have it; `shape` is what has no word of anybody's: lengths of what
    was said, in its order, and the places of those who count.
    """

    servers: tuple[ServerView, ServerView]
    shape: tuple[int, ...]

    @classmethod
    def of(
        cls,
        batch: Batch,
        measured: IntArray,
        keys: tuple[X25519PrivateKey, X25519PrivateKey],
        stream: Stream,
    ) -> "WorldView":
        """Of these owners, through sealing, opening, exchange and verdict."""
        # in the order in which the coordinator goes through them
        reports = sorted(row.tobytes() for row in seal_reports(measured, batch, stream))
        sealed = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), -1)
        coordinator = CoordinatorSide(batch, keys[COORDINATOR])
        helper = HelperSide(batch, keys[HELPER])
        block = coordinator.block(reports)
        checked, counted = helper.check(block, _none)
        coordinator.take(checked)
        size = message_size(batch.terms.law.prio3)
        told = [
            np.frombuffer(each, np.uint8).reshape(-1, size) for each in (block.told, checked.told)
        ]
        cut = batch.half_size(COORDINATOR)
        halves = sealed[:, :cut], sealed[:, cut:]
        servers = tuple(
            _view_of(batch, place, halves[place], keys[place], told)
            for place in (COORDINATOR, HELPER)
        )
        nonces = [bytes(row) for row in np.ascontiguousarray(servers[1].parts["nonce"])]
        said = (encode(block), encode(checked), encode(coordinator.request))
        shape = (
            *(len(each) for each in said),
            *(len(each) for each in reports),
            coordinator.counted,
            *(nonces.index(nonce) for nonce in counted),
        )
        return cls((servers[0], servers[1]), shape)


def _none(_nonces: Collection[bytes]) -> set[bytes]:
    """No earlier block has counted any nonce."""
    return set()


def _view_of(
    batch: Batch, place: int, sealed: ByteArray, key: X25519PrivateKey, told: list[ByteArray]
) -> ServerView:
    prio3 = batch.terms.law.prio3
    opened = open_halves([row.tobytes() for row in sealed], batch, place, key)
    end = Sizes(prio3).verifier - SEED * prio3.joint
    verifiers = [prio3.circuit.field.decode(each[:, :end])[0] for each in told]
    both = prio3.circuit.field.add(*verifiers)
    own, other = (told[place], told[1 - place])
    parts = {
        "sealed half": sealed,
        "nonce": opened.nonces,
        "parts of the joint randomness": opened.public,
        "own share": opened.inputs,
        "what it found": own,
        "what the other found": other,
    }
    words = {name: _words(part) for name, part in parts.items()}
    words["both findings"] = both.reshape(len(both), both.shape[1] * both.shape[2])
    return ServerView(("coordinator", "helper")[place], words)


def _words(rows: ByteArray) -> WordArray:
    """Bytes (n, size) as words; what is left of the last one is zeros."""
    more = -rows.shape[1] % _WORD
    padded = np.pad(rows, ((0, 0), (0, more)))
    return np.ascontiguousarray(padded).view("<u8").astype(np.uint64)


def audit_words(one: WorldView, other: WorldView, error: float, prove: Prove) -> list[WordRow]:
    """For each server the word that proves most; `error` is that of all words together."""
    rows = []
    for first, second in zip(one.servers, other.servers, strict=True):
        each = error / (len(one.servers) * first.words * _EVENTS)
        found = [
            WordRow(first.server, name, word, _most(a[:, word], b[:, word], each, prove))
            for name, a in first.parts.items()
            for b in (second.parts[name],)
            for word in range(a.shape[1])
        ]
        rows.append(max(found, key=lambda row: row.proven))
    return rows


def _most(one: WordArray, other: WordArray, error: float, prove: Prove) -> float:
    """What a word proves by the event that proves most."""
    proven = 0.0
    for a, b in _events(one, other):
        n, hits, others = len(a), int(a.sum()), int(b.sum())
        pairs = ((hits, others), (others, hits), (n - hits, n - others), (n - others, n - hits))
        if hits != others:
            proven = max(proven, *(prove(*pair, n, error / len(pairs)) for pair in pairs))
    return proven


def _events(one: WordArray, other: WordArray) -> Iterator[tuple[BoolArray, BoolArray]]:
    half = np.uint64(1 << 63)
    yield one >= half, other >= half
    yield (one & np.uint64(1)).astype(bool), (other & np.uint64(1)).astype(bool)
    before, middle = one[: len(one) // 2], len(one) // 2
    yield np.isin(one[middle:], before), np.isin(other[middle:], before)
