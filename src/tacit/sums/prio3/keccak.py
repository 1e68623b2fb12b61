"""Keccak-p[1600, 12], the permutation of TurboSHAKE (RFC 9861), over eight states at once, and the
sponge around it.

A state has 25 words of 64 bits. Word w of state s is `states[w, s]`, so that one vector instruction
does the same word of all eight; the permutation is written for LLVM in vectors of eight words,
which it fits to what the machine has. No branch or address depends on what is hashed. Reference in
the tests: PyCryptodome's TurboSHAKE128.
"""

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tacit._util.kernels import kernel
from tacit._util.types import ByteArray, WordArray

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
