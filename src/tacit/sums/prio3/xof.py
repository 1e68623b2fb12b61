"""XofTurboShake128 of the draft, over many owners at once: seeds from seeds, field elements from
seeds; below it TurboSHAKE128 as a kernel over several states at a time.

Inputs are bytes of everybody's own, (n, length), or of all, `bytes`. Section "Extendable Output
Functions".
"""

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tacit._util.kernels import kernel
from tacit._util.types import ByteArray, WordArray
from tacit.sums.prio3.fields import Field

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


def _permutation(_: Any, states: Any) -> tuple[Any, Any]:
    """What numba compiles `permute(states)` to: load, twelve rounds, store."""

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


permute = cast(Any, intrinsic)(_permutation)


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
    if not (len(tag) < 2**16 and seed_size < 2**8):
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
