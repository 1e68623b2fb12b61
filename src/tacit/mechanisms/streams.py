"""Randomness in whole numbers: tapes of coins, and the odds that they decide.

`secure()` is for releases, `seeded(seed)` for simulation, behind one method that gives every owner
a tape of 64-bit words; kernels read coins from such a tape.

Odds are whole numbers A and B with A / B <= e^epsilon, as close to it as the base allows. A
mechanism that draws every outcome with a whole-number weight between B and A (the same total for
every input) is epsilon-private exactly: no probability ratio can exceed A / B, and A / B <=
e^epsilon is an inequality between a rational number and a rational lower bound of e^epsilon, not
between two floats. An epsilon is the number that one writes: 0.1 means a tenth, and that is what is
claimed, spent and charged, not the binary float nearest to it.
"""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit._util.checks import bad, positive, whole
from tacit._util.kernels import kernel
from tacit._util.types import IntArray, WordArray

# epsilon of one released value, as whole-number weights of 64 bits carry it
SMALLEST, LARGEST = 1e-4, 20.0
BASE = 1 << 32  # weight B of mechanisms without a grid: sums of weights stay within 64 bits
_EXPONENT_BITS = 320  # fixed-point bits of the exponential; far beyond what any base here resolves


class Stream(ABC):
    """A tape of random 64-bit words for every owner."""

    label: ClassVar[str]  # what may be said of results drawn from this stream

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

    label: ClassVar[str] = "secure"

    def words(self, rows: IntArray, start: int, count: int) -> WordArray:
        size = 8 * len(rows) * count
        if size <= _FEW:  # a cipher would take longer to set up
            few = np.frombuffer(bytearray(os.urandom(size)), dtype="<u8")
            return few.reshape(len(rows), count)
        coins = np.empty(size, dtype=np.uint8)
        encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        encryptor.update_into(bytes(size), coins.data)
        return coins.view("<u8").reshape(len(rows), count)

    def child(self, *path: int | str | bytes) -> "SecureStream":
        return self

    def of(self, owners: IntArray) -> "SecureStream":
        return self


_FEW = 1024  # bytes that the operating system gives at once
_LONG = 32  # positions: counters of fewer are written column by column, short loops being slow


@dataclass(frozen=True, eq=False)
class SeededStream(Stream):
    """Reproducible words: AES-256 under `key` of the pair (owner, position)."""

    label: ClassVar[str] = "reproducible, not private"

    key: bytes = field(repr=False)
    owners: IntArray | None = None

    def words(self, rows: IntArray, start: int, count: int) -> WordArray:
        owners = rows if self.owners is None else self.owners[rows]
        first, last = start // 2, (start + count + 1) // 2
        counters = np.empty((len(owners), last - first, 2), dtype="<u8")
        if last - first < _LONG:
            for position in range(first, last):
                counters[:, position - first, 0] = owners
                counters[:, position - first, 1] = position
        else:
            counters[:, :, 0] = owners[:, np.newaxis]
            counters[:, :, 1] = np.arange(first, last)
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


def stream_of(random_state: Any) -> Stream:
    """Secure coins for None; otherwise seeded ones, by a seed that is given or drawn from one of
    numpy's generators.

    >>> stream_of(None).label, stream_of(3).label
    ('secure', 'reproducible, not private')
    """
    if random_state is None:
        return secure()
    if isinstance(random_state, Integral):
        return seeded(whole("random_state", int(random_state), 0))
    if isinstance(random_state, np.random.Generator):
        return seeded(int(random_state.integers(2**63)))
    if hasattr(random_state, "randint"):  # a RandomState, or numpy.random itself
        return seeded(int(random_state.randint(2**31)))
    raise bad("random_state", "None, a whole number, a RandomState or a Generator", random_state)


def _derive(key: bytes, path: tuple[int | str | bytes, ...]) -> bytes:
    """A 256-bit key from another and a path; the encoding is injective (kind, length, bytes)."""
    digest = blake2b(key, digest_size=32, person=b"tacit.streams")
    for part in path:
        raw = part if isinstance(part, bytes) else str(part).encode()
        digest.update(type(part).__name__[:1].encode() + len(raw).to_bytes(8, "little") + raw)
    return digest.digest()


_LOW = np.uint64(0xFFFFFFFF)  # the low half of a word
_HALF = np.uint64(32)
_TWO_32 = 4294967296.0
_TWO_53 = 9007199254740992.0
_SOME = 1 << 16  # owners whose coins are drawn at a time: more would only take memory


def drawing_order(owners: int, stream: Stream, purpose: str = "order") -> IntArray:
    """The order in which owners 0 .. owners - 1 are drawn: by a coin each."""
    tapes, coins = stream.child(purpose), np.empty(owners, dtype=np.uint64)
    for first in range(0, owners, _SOME):
        some = np.arange(first, min(first + _SOME, owners))
        coins[some] = tapes.words(some, 0, 1)[:, 0]
    return np.argsort(coins, kind="stable")


@kernel
def high_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of a * b."""
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a1 * b0 + ((a0 * b0) >> _HALF)
    lower = a0 * b1 + (middle & _LOW)
    return np.uint64(a1 * b1 + (middle >> _HALF) + (lower >> _HALF))


@kernel
def unfair_below(bound: np.uint64) -> np.uint64:
    """2^64 mod bound: the word is rejected when the low half of word * bound is under this.

    Of the 2^64 words each value 0 .. bound-1 keeps exactly floor(2^64 / bound), so
    `high_product(word, bound)` of an accepted word is uniform (Lemire 2019).
    """
    return np.uint64((np.uint64(0) - bound) % bound)


@kernel
def low_half(word: np.uint64) -> np.uint64:
    return np.uint64(word & _LOW)


@kernel
def high_half(word: np.uint64) -> np.uint64:
    return np.uint64(word >> _HALF)


@kernel
def round_up(fraction: float, coin32: np.uint64) -> int:
    """1 with probability `fraction` (to a resolution of 2^-32), else 0. For 0 <= fraction <= 1."""
    return int(np.float64(np.int64(coin32)) < fraction * _TWO_32)


@kernel
def unit(word: np.uint64) -> float:
    """A uniform multiple of 2^-53 in [0, 1)."""
    return np.float64(np.int64(word >> np.uint64(11))) / _TWO_53


@kernel
def clip(value: float, radius: float) -> float:
    """`value` in [-radius, radius], NaN as 0: one coordinate of `Box.clip`."""
    kept = value if value == value else 0.0
    return radius if kept > radius else (-radius if kept < -radius else kept)


@dataclass(frozen=True)
class Odds:
    """A : B, the odds of the likelier outcome; `ratio` is at most e^epsilon."""

    high: int
    low: int

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.high, self.low)

    @property
    def contrast(self) -> float:
        """(A - B) / (A + B): how much of the signal a two-way answer at these odds keeps."""
        return (self.high - self.low) / (self.high + self.low)


def rational(epsilon: float | Fraction) -> Fraction:
    """The epsilon that one writes, exactly.

    >>> 3 * rational(0.1) == rational(0.3)
    True
    """
    return epsilon if isinstance(epsilon, Fraction) else _as_written(float(epsilon))


@lru_cache(maxsize=4096)
def _as_written(number: float) -> Fraction:
    return Fraction(repr(number))


def exp_below(epsilon: float | Fraction) -> Fraction:
    """A rational number at most e^epsilon, and within 2^-300 of it relatively.

    The Taylor series of e^x has only positive terms for x > 0, so cutting it off and rounding every
    term down gives a lower bound.
    """
    numerator, denominator = rational(epsilon).as_integer_ratio()
    term = total = 1 << _EXPONENT_BITS
    count = 0
    while term:
        count += 1
        term = term * numerator // (denominator * count)
        total += term
    return Fraction(total, 1 << _EXPONENT_BITS)


@lru_cache(maxsize=4096)
def odds(epsilon: float | Fraction, base: int) -> Odds:
    """The best odds A : base with A / base <= e^epsilon, for one released value.

    Refuses an epsilon outside [SMALLEST, LARGEST], the range in which weights of 64 bits represent
    the odds well (on the shipped grids of 2^20 and 2^32, A / base falls short of e^epsilon by less
    than one part in 100 of epsilon at the lower end), and a base too coarse to tell the odds from 1
    : 1.
    """
    positive("epsilon", epsilon)
    if not SMALLEST <= epsilon <= LARGEST:
        raise bad("epsilon", f"between {SMALLEST} and {LARGEST} for each released value", epsilon)
    high = int(exp_below(epsilon) * base)
    if not high > base:
        raise bad("epsilon", f"larger: a grid of {base} steps cannot tell it from 0", epsilon)
    return Odds(high=high, low=base)
