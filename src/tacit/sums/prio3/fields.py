"""The two fields of the draft whose elements can be transformed quickly, over arrays (..., words)
of elements below p.

Operations broadcast over all axes but the last, the words of an element. Bytes are little-endian,
as in the draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from tacit._util.types import BoolArray, ByteArray, WordArray


@dataclass(frozen=True, eq=False)
class Field:
    """Numbers modulo a prime p with a multiplicative subgroup of 2^`log_order` elements, made by
    7^((p - 1) / order).

    >>> FIELD64.integers(FIELD64.multiply(FIELD64.array([3]), FIELD64.array([-1])))
    [18446744069414584318]
    """

    name: str
    modulus: int
    words: int
    log_order: int
    module: str

    @cached_property
    def kernels(self) -> Any:
        """The field's arithmetic, compiled when it is first used: a field that nobody uses costs no
        time.
        """
        return import_module(self.module)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 8 * self.words

    def add(self, a: WordArray, b: WordArray) -> WordArray:
        result: WordArray = self.kernels.add(a, b)
        return result

    def subtract(self, a: WordArray, b: WordArray) -> WordArray:
        result: WordArray = self.kernels.subtract(a, b)
        return result

    def multiply(self, a: WordArray, b: WordArray) -> WordArray:
        result: WordArray = self.kernels.multiply(a, b)
        return result

    def dot(self, a: WordArray, b: WordArray) -> WordArray:
        """Sums of products along the last axis of elements: (..., k, words) to (..., words)."""
        result: WordArray = self.kernels.dot(a, b)
        return result

    def total(self, a: WordArray) -> WordArray:
        """Sums along the last axis of elements."""
        return self.dot(a, np.broadcast_to(self.constant(1), (a.shape[-2], self.words)))

    def power(self, base: WordArray, exponent: int) -> WordArray:
        """base^exponent, by squaring."""
        result = np.broadcast_to(self.constant(1), base.shape)
        for bit in bin(exponent)[2:]:
            result = self.multiply(result, result)
            result = self.multiply(result, base) if bit == "1" else result
        return result

    def powers(self, base: WordArray, count: int) -> WordArray:
        """base^1 .. base^count of elements (..., words), as (..., count, words)."""
        result = np.empty((*base.shape[:-1], count, self.words), np.uint64)
        result[..., 0, :] = base
        done = 1
        while done < count:
            more = min(done, count - done)
            last = result[..., done - 1 : done, :]
            result[..., done : done + more, :] = self.multiply(result[..., :more, :], last)
            done += more
        return result

    def zeros(self, *shape: int) -> WordArray:
        return np.zeros((*shape, self.words), np.uint64)

    def array(self, numbers: Any) -> WordArray:
        """Whole numbers, nested as one likes, as elements: negative ones are taken from p."""
        objects = np.array(numbers, dtype=object) % self.modulus
        limbs = [(objects >> (64 * word)) & (2**64 - 1) for word in range(self.words)]
        return np.stack([np.asarray(limb, dtype=object) for limb in limbs], axis=-1).astype(
            np.uint64
        )

    def integers(self, elements: WordArray) -> list[int]:
        """The elements of a vector (k, words) as whole numbers from 0 to p - 1."""
        return [
            sum(int(word) << (64 * place) for place, word in enumerate(row))
            for row in elements.tolist()
        ]

    def to_signed(self, elements: WordArray) -> list[int]:
        """The same, from -(p - 1)/2 to (p - 1)/2."""
        return [x - self.modulus if 2 * x > self.modulus else x for x in self.integers(elements)]

    def from_small(self, numbers: Any) -> WordArray:
        """Whole numbers of up to 63 bits, an array of any shape, as elements."""
        values = np.asarray(numbers, dtype=np.int64)
        magnitudes = self.zeros(*values.shape)
        magnitudes[..., 0] = np.abs(values)
        return np.where(values[..., None] < 0, self.subtract(self.array(0), magnitudes), magnitudes)

    def below(self, words: WordArray) -> BoolArray:
        """Which of these (..., words) are elements, that is, below p."""
        limits = [np.uint64(self.modulus >> (64 * k) & (2**64 - 1)) for k in range(self.words)]
        result: BoolArray = words[..., 0] < limits[0]
        for word in range(1, self.words):  # the highest word that differs decides
            higher = words[..., word]
            result = (higher < limits[word]) | ((higher == limits[word]) & result)
        return result

    def encode(self, elements: WordArray) -> ByteArray:
        """Vectors (n, k, words) as bytes (n, k * size)."""
        flat = np.ascontiguousarray(elements, dtype="<u8").reshape(len(elements), -1)
        return flat.view(np.uint8)

    def decode(self, encoded: ByteArray) -> tuple[WordArray, BoolArray]:
        """Bytes (n, k * size) as vectors, and which rows hold elements; the others are zeros."""
        rows = (
            np.ascontiguousarray(encoded)
            .view("<u8")
            .reshape(len(encoded), -1, self.words)
            .astype(np.uint64)
        )
        fits = np.asarray(self.below(rows).all(axis=1), dtype=np.bool_)
        rows[~fits] = 0
        return rows, fits

    def root(self, order: int) -> int:
        """The principal root of unity of this order, a power of two."""
        if not (order > 0 and order & (order - 1) == 0 and order <= 2**self.log_order):
            raise ValueError(f"order must be a power of two up to 2^{self.log_order}, got {order}")
        generator = pow(7, (self.modulus - 1) >> self.log_order, self.modulus)
        return pow(generator, 2**self.log_order // order, self.modulus)

    def inverse(self, number: int) -> WordArray:
        """One over a whole number that is the same for everybody."""
        return self.constant(pow(number, -1, self.modulus))

    @lru_cache(maxsize=1024)  # noqa: B019 - there are two fields, for as long as the process
    def constant(self, number: int) -> WordArray:
        """One element that is the same for everybody."""
        return self.array(number)


FIELD64 = Field("Field64", 2**64 - 2**32 + 1, 1, 32, "tacit.sums.prio3.field64")
FIELD128 = Field("Field128", 2**128 - 28 * 2**64 + 1, 2, 66, "tacit.sums.prio3.field128")


@lru_cache(maxsize=64)
def root_powers(field: Field, order: int, stop: int | None = None) -> WordArray:
    """The first `stop` (all) powers of the principal root of this order, from the 0th, as (stop,
    words).
    """
    return field.array(power_list(field, order)[:stop])


@lru_cache(maxsize=64)
def power_list(field: Field, order: int) -> Sequence[int]:
    """All powers of the principal root, from the 0th, as whole numbers."""
    base, powers = field.root(order), [1]
    for _ in range(order - 1):
        powers.append(powers[-1] * base % field.modulus)
    return tuple(powers)
