"""Coins read from a tape of 64-bit words: the primitives that every kernel draws with.

Each primitive is a deterministic function of the words it is given, so tests can enumerate it; a
draw that must be repeated (rejection) is reported, never approximated.
"""

import numpy as np

from tacit._util.kernels import kernel

_LOW = np.uint64(0xFFFFFFFF)  # the low half of a word
_HALF = np.uint64(32)
_TWO_32 = 4294967296.0
_TWO_53 = 9007199254740992.0


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
    return float(np.float64(np.int64(word >> np.uint64(11))) / _TWO_53)


@kernel
def clip(value: float, radius: float) -> float:
    """`value` in [-radius, radius], NaN as 0: one coordinate of `Box.clip`."""
    kept = value if value == value else 0.0
    return radius if kept > radius else (-radius if kept < -radius else kept)
