"""Public codewords: a 64-bit number names a direction in space, the same on every machine.

The number seeds SplitMix64; each 16 bits of its output pick a quantile of the normal distribution
from a table of whole numbers; the vector is divided by its length. Everything is whole numbers or
operations that IEEE 754 rounds correctly, so all machines agree on every codeword, and sums of
codewords are exact.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from tacit._util.kernels import kernel
from tacit._util.types import AnyArray, FloatArray, WordArray

STEPS = 1 << 30  # a codeword's coordinates are multiples of 1 / STEPS
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # these three are SplitMix64's own
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_BITS = np.uint64(0xFFFF)  # that pick a quantile
_NORMAL_SCALE = 7000  # the largest quantile, 4.3, still fits 16 bits


@lru_cache(maxsize=1)
def normal_table() -> npt.NDArray[np.int16]:
    """65,536 equally likely whole numbers that follow the normal distribution; symmetric, none
    of them 0.
    """
    upper = ndtri((np.arange(32768) + 0.5) / 65536 + 0.5)
    half = np.maximum(1, np.rint(_NORMAL_SCALE * upper)).astype(np.int16)
    table = np.concatenate([-half[::-1], half])
    table.setflags(write=False)
    return table


@kernel
def mix(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return np.uint64(word ^ (word >> np.uint64(31)))


@kernel
def raw_codeword(name: np.uint64, table: AnyArray, out: AnyArray) -> float:
    """The codeword before division, into `out`; answers its length."""
    state = mix(name + _GOLDEN)
    norm = 0
    word = np.uint64(0)
    for j in range(len(out)):
        if j % 4 == 0:
            state += _GOLDEN
            word = mix(state)
        out[j] = table[word & _BITS]
        word >>= np.uint64(16)
        norm += int(out[j]) * int(out[j])
    return float(np.sqrt(np.float64(norm)))


@kernel
def closeness(name: np.uint64, direction: FloatArray, table: AnyArray) -> float:
    """The inner product of a codeword and a direction, up to rounding, without storing the
    codeword.

    The hot loop of PrivUnit: four coordinates to a word, written out, in floats.
    """
    state = mix(name + _GOLDEN)
    dim = len(direction)
    whole = dim - dim % 4
    n0 = n1 = n2 = n3 = d0 = d1 = d2 = d3 = 0.0
    for j in range(0, whole, 4):
        state += _GOLDEN
        word = mix(state)
        a = np.float64(table[word & _BITS])
        b = np.float64(table[(word >> np.uint64(16)) & _BITS])
        c = np.float64(table[(word >> np.uint64(32)) & _BITS])
        d = np.float64(table[word >> np.uint64(48)])
        n0, n1, n2, n3 = n0 + a * a, n1 + b * b, n2 + c * c, n3 + d * d
        d0, d1 = d0 + a * direction[j], d1 + b * direction[j + 1]
        d2, d3 = d2 + c * direction[j + 2], d3 + d * direction[j + 3]
    word = mix(state + _GOLDEN)
    for j in range(whole, dim):
        a = np.float64(table[word & _BITS])
        word >>= np.uint64(16)
        n0, d0 = n0 + a * a, d0 + a * direction[j]
    return float(((d0 + d1) + (d2 + d3)) / np.sqrt((n0 + n1) + (n2 + n3)))


@kernel
def _fill(names: WordArray, table: AnyArray, out: AnyArray) -> None:
    raw = np.empty(out.shape[1], dtype=np.int16)
    for i in range(len(names)):
        length = raw_codeword(names[i], table, raw)
        for j in range(out.shape[1]):
            out[i, j] = np.int64(np.rint(np.float64(raw[j]) / length * STEPS))


@kernel
def _sum(names: WordArray, table: AnyArray, shift: int, sums: AnyArray, squares: AnyArray) -> None:
    raw = np.empty(len(sums), dtype=np.int16)
    for i in range(len(names)):
        length = raw_codeword(names[i], table, raw)
        for j in range(len(sums)):
            z = np.int64(np.rint(np.float64(raw[j]) / length * STEPS))
            sums[j] += z
            squares[j] += (z >> shift) * (z >> shift)


def codewords(names: WordArray, dim: int) -> AnyArray:
    """The codewords of some names, (n, dim) whole numbers; divided by STEPS they have length 1."""
    out = np.empty((len(names), dim), dtype=np.int64)
    _fill(names, normal_table(), out)
    return out


def codeword_sums(names: WordArray, dim: int, shift: int) -> tuple[AnyArray, AnyArray]:
    """The sum of the codewords and of the squares of their coordinates (each first divided by
    2^shift).
    """
    sums, squares = np.zeros(dim, dtype=np.int64), np.zeros(dim, dtype=np.int64)
    _sum(names, normal_table(), shift, sums, squares)
    return sums, squares
