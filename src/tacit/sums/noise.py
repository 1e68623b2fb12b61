"""Discrete Laplace noise for sums, drawn exactly.

Claim: z has probability (1 - q) / (1 + q) q^|z| with q = e^(-1/t), for a whole scale t, on all
whole numbers. Proof: the sampler of the Laplace mechanism (laplace.md) draws that law but stops
counting at 63 scales, where that mechanism's clamp hides the stop. A sum has no clamp, so counting
goes on here from where it stopped: given at least 63 successes of coins with chance e^-1, the
number of further ones is again that of successes before a failure. Variance: 2 q / (1 - q)^2 = 1 /
(2 sinh(1 / 2t)^2), just under 2 t^2. Edges: the law has no end; a sum modulo 2^64 takes it modulo
2^64, which is a map after the noise and keeps privacy.
"""

from math import sinh

import numpy as np

from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, IntArray, WordArray
from tacit.mechanisms.laplace import RUNS, draw_noise, survives
from tacit.mechanisms.streams import Stream
from tacit.sums.base import blocks

_WORDS = 28  # coins per draw, unless it needs more
_OWN_PART = 40  # binary digits of the words that one of many draws from a tape may use


def two_sided_geometric(count: int, scale: int, stream: Stream) -> IntArray:
    """`count` draws; draw i is a function of tape i of `stream` alone.

    >>> from tacit import seeded
    >>> many, few = (two_sided_geometric(count, 4, seeded(1)) for count in (9, 3))
    >>> bool((many[:3] == few).all())
    True
    """
    drawn = np.empty(count, dtype=np.int64)
    for rows in blocks(count):
        drawn[rows] = _draw_rows(np.arange(rows.start, rows.stop), np.uint64(scale), stream)
    return drawn


def two_sided_geometric_rows(rows: int, each: int, scale: int, stream: Stream) -> IntArray:
    """`each` draws for every row, (rows, each); row i is a function of tape i of `stream` alone.

    Draw j begins with its own few words near the start of the tape; if these are not enough, it
    goes on in a part of the tape that is its own.

    >>> from tacit import seeded
    >>> many, few = (two_sided_geometric_rows(rows, 5, 4, seeded(1)) for rows in (9, 3))
    >>> bool((many[:3] == few).all())
    True
    """
    tape = stream.words(np.arange(rows), 0, each * _WORDS).reshape(rows * each, _WORDS)
    drawn, done = np.empty(len(tape), dtype=np.int64), np.empty(len(tape), dtype=np.bool_)
    _fill(tape, np.uint64(scale), drawn, done)
    for draw in np.flatnonzero(~done).tolist():
        row, longer, at = np.array([draw // each]), tape[draw], ((draw % each) + 1) << _OWN_PART
        while not done[draw]:
            longer = np.append(longer, stream.words(row, at, _WORDS)[0])
            drawn[draw], end = _endless(longer, np.uint64(scale))
            done[draw], at = end >= 0, at + _WORDS
    return drawn.reshape(rows, each)


def variance(scale: int) -> float:
    """Variance of one draw, in steps^2."""
    return 1 / (2 * sinh(1 / (2 * scale)) ** 2)


def _draw_rows(rows: IntArray, scale: np.uint64, stream: Stream) -> IntArray:
    """One draw per row. A longer tape begins with the shorter one: a draw is a function of it."""
    drawn, done = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.bool_)
    tape = stream.words(rows, 0, _WORDS)
    _fill(tape, scale, drawn, done)
    left = np.flatnonzero(~done)
    tape = tape[left]
    while left.size:
        tape = np.hstack([tape, stream.words(rows[left], tape.shape[1], _WORDS)])
        again, done = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.bool_)
        _fill(tape, scale, again, done)
        drawn[left[done]] = again[done]
        left, tape = left[~done], tape[~done]
    return drawn


@kernel
def _endless(tape: WordArray, scale: np.uint64) -> tuple[int, int]:
    """One draw and the next place on the tape, -1 when the tape has ended."""
    z, at = draw_noise(tape, 0, scale)
    step = int(scale) if z > 0 else -int(scale)
    going = abs(z) >= RUNS * int(scale)
    while going and at >= 0:
        going, at = survives(tape, at, scale, scale)
        if going:
            z += step
    return z, at


@kernel
def _fill(tape: WordArray, scale: np.uint64, drawn: IntArray, done: BoolArray) -> None:
    for i in range(len(tape)):
        drawn[i], at = _endless(tape[i], scale)
        done[i] = at >= 0
