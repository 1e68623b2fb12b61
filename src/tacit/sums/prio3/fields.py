"""The two fields of the draft whose elements can be transformed quickly, over arrays (..., words)
of elements below p; and XofTurboShake128, which makes seeds and elements out of seeds.

Operations broadcast over all axes but the last, the words of an element. Bytes are little-endian,
as in the draft. What is expanded (section "Extendable Output Functions") is bytes of everybody's
own, (n, length), or of all, `bytes`; below it is TurboSHAKE128 as a kernel over several states at a
time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, cast

import numpy as np

from tacit._util.kernels import Instruction, kernel
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
        flat = np.ascontiguousarray(elements, dtype="<u8")
        return flat.reshape(len(elements), elements.shape[1] * self.words).view(np.uint8)

    def decode(self, encoded: ByteArray) -> tuple[WordArray, BoolArray]:
        """Bytes (n, k * size) as vectors, and which rows hold elements; the others are zeros."""
        rows = (
            np.ascontiguousarray(encoded)
            .view("<u8")
            .reshape(len(encoded), encoded.shape[1] // self.size, self.words)
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


LANES = 8
RATE = 168  # bytes of a block of TurboSHAKE128
_WORDS = RATE // 8
_LAST_ROUNDS = (
    0x000000008000808B,
    0x800000000000008B,
    0x8000000000008089,
    0x8000000000008003,
    0x8000000000008002,
    0x8000000000000080,
    0x000000000000800A,
    0x800000008000000A,
    0x8000000080008081,
    0x8000000000008080,
    0x0000000080000001,
    0x8000000080008008,
)


def _rotations() -> list[int]:
    """By how much word x + 5 y turns in step rho: triangular numbers along the path of step pi."""
    turns, x, y = [0] * 25, 1, 0
    for step in range(24):
        turns[x + 5 * y] = (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return turns


def _emit_round(build: Any, words: list[Any], constant: Any, vector: Any) -> list[Any]:
    """One round in LLVM's language: theta, rho and pi, chi, iota."""
    from llvmlite import ir
    from numba.core import cgutils

    rotate = cast(Any, cgutils).get_or_insert_function(
        build.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fshl.v{LANES}i64"
    )

    def turn(word: Any, by: int) -> Any:
        return build.call(rotate, [word, word, ir.Constant(vector, [by] * LANES)]) if by else word

    columns = []
    for x in range(5):
        column = words[x]
        for y in range(1, 5):
            column = build.xor(column, words[x + 5 * y])
        columns.append(column)
    spread = [build.xor(columns[(x + 4) % 5], turn(columns[(x + 1) % 5], 1)) for x in range(5)]
    turns, moved = _rotations(), [None] * 25
    for y in range(5):
        for x in range(5):
            mixed = build.xor(words[x + 5 * y], spread[x])
            moved[y + 5 * ((2 * x + 3 * y) % 5)] = turn(mixed, turns[x + 5 * y])
    after = [
        build.xor(
            moved[x + 5 * y],
            build.and_(build.not_(moved[(x + 1) % 5 + 5 * y]), moved[(x + 2) % 5 + 5 * y]),
        )
        for y in range(5)
        for x in range(5)
    ]
    after[0] = build.xor(after[0], constant)
    return after


@Instruction
def permute(_: Any, states: Any) -> tuple[Any, Any]:
    """What numba compiles `permute(states)` to: load, twelve rounds, store."""
    from llvmlite import ir
    from numba import types

    def emit(context: Any, build: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(64), LANES)
        array = context.make_array(signature.args[0])(context, build, arguments[0])
        first = build.bitcast(array.data, vector.as_pointer())
        places = [build.gep(first, [ir.Constant(ir.IntType(64), word)]) for word in range(25)]
        words = [build.load(place, align=8) for place in places]
        for constant in _LAST_ROUNDS:
            words = _emit_round(build, words, ir.Constant(vector, [constant] * LANES), vector)
        for word, place in zip(words, places, strict=True):
            build.store(word, place, align=8)
        return context.get_dummy_value()

    return types.void(states), emit


@kernel
def sponge(blocks: WordArray, squeezed: WordArray) -> None:
    """Absorb each row of `blocks` (n, 21 x blocks), padded, and squeeze as many words as a row of
    `squeezed` holds.
    """
    states = np.empty((25, LANES), np.uint64)
    n, words = blocks.shape
    wanted = squeezed.shape[1]
    for first in range(0, n, LANES):
        together = min(LANES, n - first)
        states[:] = np.uint64(0)
        for start in range(0, words, _WORDS):
            for lane in range(together):
                for word in range(_WORDS):
                    states[word, lane] ^= blocks[first + lane, start + word]
            permute(states)
        for start in range(0, wanted, _WORDS):
            if start:
                permute(states)
            for lane in range(together):
                for word in range(min(_WORDS, wanted - start)):
                    squeezed[first + lane, start + word] = states[word, lane]


def turboshake128(messages: ByteArray, domain: int, words: int) -> WordArray:
    """The first 64-bit words (n, words) of TurboSHAKE128 of each row of `messages` (n, length)."""
    n, length = messages.shape
    padded = np.zeros((n, (length // RATE + 1) * RATE), np.uint8)
    padded[:, :length] = messages
    padded[:, length] = domain
    padded[:, -1] ^= 0x80
    squeezed = np.empty((n, words), np.uint64)
    sponge(padded.view("<u8"), squeezed)
    return squeezed


SEED = 32
LONGEST_TAG = 65535  # bytes
_DOMAIN = 1
_SPARE = 8  # elements more than are wanted, for rows in which some are refused

Bytes = bytes | ByteArray


def derive_seeds(seeds: Bytes, tag: bytes, binders: Bytes) -> ByteArray:
    """A fresh seed (n, 32) from each seed."""
    return _squeeze(seeds, tag, binders, SEED // 8).view(np.uint8)


def expand(field: Field, seeds: Bytes, tag: bytes, binders: Bytes, length: int) -> WordArray:
    """Each seed as a vector (n, length, words) of field elements: candidates of the stream that are
    below p, in order.

    A candidate of Field64 is refused with probability 2^-32, one of Field128 with 2^-59: only then
    is more asked for.
    """
    wanted = length
    while True:
        stream = _squeeze(seeds, tag, binders, wanted * field.words)
        vectors = keep_elements(field, stream.reshape(len(stream), wanted, field.words), length)
        if vectors is not None:
            return vectors
        wanted += _SPARE


def keep_elements(field: Field, candidates: WordArray, length: int) -> WordArray | None:
    """The first `length` candidates (n, k, words) of each row that are below p; None if a row has
    too few.
    """
    fits = field.below(candidates)
    if fits[:, :length].all():
        return candidates[:, :length]
    if fits.sum(axis=1).min() < length:
        return None
    return np.stack([row[fit][:length] for row, fit in zip(candidates, fits, strict=True)])


def _squeeze(seeds: Bytes, tag: bytes, binders: Bytes, words: int) -> WordArray:
    """TurboSHAKE128 of: length of tag in two bytes, tag, length of seed in one, seed, binder."""
    seed_size, binder_size = _width(seeds), _width(binders)
    if not (len(tag) <= LONGEST_TAG and seed_size < 2**8):
        raise ValueError(
            f"tag and seed must have at most 65535 and 255 bytes, got {len(tag)} and {seed_size}"
        )
    prefix = len(tag).to_bytes(2, "little") + tag + bytes([seed_size])
    n = max(_rows(seeds), _rows(binders))
    message = np.empty((n, len(prefix) + seed_size + binder_size), np.uint8)
    message[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    message[:, len(prefix) : len(prefix) + seed_size] = _as_rows(seeds)
    message[:, len(prefix) + seed_size :] = _as_rows(binders)
    return turboshake128(message, _DOMAIN, words)


def _as_rows(part: Bytes) -> ByteArray:
    return np.frombuffer(part, np.uint8)[None] if isinstance(part, bytes) else part


def _rows(part: Bytes) -> int:
    return 1 if isinstance(part, bytes) else len(part)


def _width(part: Bytes) -> int:
    return len(part) if isinstance(part, bytes) else part.shape[1]
