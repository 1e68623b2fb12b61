"""Randomness: `secure()` for releases, `seeded(seed)` for simulation, behind one method.

Every owner has its own endless tape of 64-bit words, and a report is a deterministic function of
the owner's share and tape. `stream.words(rows, start, count)` reads a piece of the tapes of some
owners.

- `secure()` has no seed and keeps no state: each call takes a fresh 256-bit key from the operating
  system, expands it with AES-256-CTR and forgets it. So a forked process, a thread or a copied
  object cannot repeat a word, and nothing that stays in memory helps to recover past coins.
- `seeded(seed)` computes word p of owner o as AES-256 under a key derived from the seed, of the
  block (o, p // 2). An owner's coins are therefore the same drawn alone, in a block, or on another
  worker. Runs with it are reproducible, not private: never use it for a release.

A seeded stream is a value, like a key, not a generator that moves on: asked twice, it answers the
same. For fresh coins derive another stream, `stream.child("round", 3)`.
"""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit._util.checks import whole
from tacit._util.types import IntArray, WordArray


class Stream(ABC):
    """A tape of random 64-bit words for every owner."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What may be said of results drawn from this stream."""

    @abstractmethod
    def words(self, rows: IntArray, start: int, count: int) -> WordArray:
        """Words start .. start+count-1 of each row's tape, shape (len(rows), count)."""

    @abstractmethod
    def child(self, *path: int | str | bytes) -> "Stream":
        """Another stream, independent of this one, named by `path` (a query, a round, ...)."""

    @abstractmethod
    def of(self, owners: IntArray) -> "Stream":
        """The same tapes in another order: row i now reads the tape of owner owners[i]."""


@dataclass(frozen=True)
class SecureStream(Stream):
    """Unpredictable words; every call is fresh, whatever rows and positions it names."""

    @property
    def label(self) -> str:
        return "secure"

    def words(self, rows: IntArray, start: int, count: int) -> WordArray:
        size = 8 * len(rows) * count
        coins = np.empty(size, dtype=np.uint8)
        encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        encryptor.update_into(bytes(size), coins.data)
        return coins.view("<u8").reshape(len(rows), count)

    def child(self, *path: int | str | bytes) -> "SecureStream":
        return self

    def of(self, owners: IntArray) -> "SecureStream":
        return self


@dataclass(frozen=True, eq=False)
class SeededStream(Stream):
    """Reproducible words: AES-256 under `key` of the pair (owner, position)."""

    key: bytes = field(repr=False)
    owners: IntArray | None = None

    @property
    def label(self) -> str:
        return "reproducible, not private"

    def words(self, rows: IntArray, start: int, count: int) -> WordArray:
        owners = rows if self.owners is None else self.owners[rows]
        first, last = start // 2, (start + count + 1) // 2
        counters = np.empty((len(owners), last - first, 2), dtype="<u8")
        for position in range(first, last):  # columns, not broadcasting: short inner loops are slow
            counters[:, position - first, 0] = owners
            counters[:, position - first, 1] = position
        # the library asks for one block to spare
        coins = np.empty(counters.nbytes + 15, dtype=np.uint8)
        # ECB of distinct counters is counter mode with counters we choose: one call serves any set
        # of owners.
        cipher = Cipher(algorithms.AES(self.key), modes.ECB())  # noqa: S305
        cipher.encryptor().update_into(counters.data.cast("B"), coins.data)
        words = coins[: counters.nbytes].view("<u8").reshape(len(owners), -1)
        return np.ascontiguousarray(words[:, start - 2 * first : start - 2 * first + count])

    def child(self, *path: int | str | bytes) -> "SeededStream":
        return SeededStream(key=_derive(self.key, path), owners=self.owners)

    def of(self, owners: IntArray) -> "SeededStream":
        chosen = np.asarray(owners, dtype=np.int64)
        return SeededStream(
            key=self.key, owners=chosen if self.owners is None else self.owners[chosen]
        )


def secure() -> SecureStream:
    """The stream for releases: no seed, no state."""
    return SecureStream()


def seeded(seed: int) -> SeededStream:
    """The stream for simulation. Reproducible, not private.

    Parameters
    ----------
    seed : int
        A whole number >= 0; the same seed gives the same coins.

    >>> coins = seeded(7)
    >>> together = coins.words(np.arange(100), 0, 3)
    >>> bool((together[42:43] == coins.words(np.array([42]), 0, 3)).all())
    True
    """
    return SeededStream(key=_derive(b"tacit seeded stream", (whole("seed", seed, 0),)))


def _derive(key: bytes, path: tuple[int | str | bytes, ...]) -> bytes:
    """A 256-bit key from another and a path; the encoding is injective (kind, length, bytes)."""
    digest = blake2b(key, digest_size=32, person=b"tacit.streams")
    for part in path:
        raw = part if isinstance(part, bytes) else str(part).encode()
        digest.update(type(part).__name__[:1].encode() + len(raw).to_bytes(8, "little") + raw)
    return digest.digest()
