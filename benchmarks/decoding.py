"""What decoding costs per byte: the worst of many searched inputs, against ordinary messages.

    python -m benchmarks.decoding [--inputs 1000000] [--seed 1]

Inputs are made in four ways: patterns built to do harm (unions inside unions, deep lists, many
tiny objects, large numbers, long texts, maps, odd extensions), messages made at random from the
declared types, ordinary messages with some places changed, and, half of the time, changes of the
costliest inputs found so far. The cost of an input is processor time over its bytes, with 256
bytes added, as a message has a fixed cost; what looks costly is measured again, and the least of
seven counts, so that the scheduler's noise is not taken for a find. Ordinary is the costliest of
the messages that honest parties send. A refusal counts like an answer.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import process_time_ns
from typing import Any

import msgpack
import numpy as np

from benchmarks.decoding_inputs import KINDS, Made, changed, hostile_patterns, ordinary, typed
from tacit.wire import WireError, decode, encode
from tacit.wire.codec import LARGEST

GOAL = 3.0
_FIXED = 256  # bytes
_AGAIN = 7
_POOL = 64


@dataclass(frozen=True)
class Found:
    """The costliest input, its cost and the ordinary one, in ns per byte."""

    worst: float
    where: str
    size: int
    ordinary: float
    usual: float
    inputs: int

    @property
    def ratio(self) -> float:
        return self.worst / self.ordinary


def cost(data: bytes, kind: Callable[..., object], again: int = 1) -> float:
    """Processor time per byte in ns, the least of some tries."""
    least = float("inf")
    for _ in range(again):
        begin = process_time_ns()
        with suppress(WireError):
            decode(data, kind, LARGEST)
        least = min(least, process_time_ns() - begin)
    return least / (len(data) + _FIXED)


def search(inputs: int, rng: np.random.Generator) -> Found:
    """The worst of so many inputs."""
    honest = ordinary()
    costs = sorted(cost(encode(each), type(each), 4 * _AGAIN) for each in honest)
    pool: list[tuple[float, Made]] = []
    patterns = list(hostile_patterns())
    for number in range(inputs):
        made = _made(number, patterns, honest, pool, rng)
        try:
            data = msgpack.packb(made.content) if made.data is None else made.data
        except (ValueError, OverflowError, RecursionError, TypeError):
            continue
        found = cost(data, KINDS[made.kind])
        if len(pool) < _POOL or found > pool[-1][0]:
            found = cost(data, KINDS[made.kind], _AGAIN)
        if len(pool) < _POOL or found > pool[-1][0]:
            pool = sorted([*pool, (found, made)], key=lambda each: -each[0])[:_POOL]
    sure = []
    for _, made in pool:
        data = msgpack.packb(made.content) if made.data is None else made.data
        sure.append((cost(data, KINDS[made.kind], 4 * _AGAIN), made.kind, made.way, len(data)))
    worst, kind, way, size = max(sure)
    return Found(
        worst,
        f"{kind}: {way}",
        size,
        ordinary=costs[-1],
        usual=float(np.median(costs)),
        inputs=inputs,
    )


def _made(
    number: int,
    patterns: list[Made],
    honest: list[Any],
    pool: list[tuple[float, Made]],
    rng: np.random.Generator,
) -> Made:
    if number < len(patterns):
        return patterns[number]
    match int(rng.integers(4)):
        case 0:
            return typed(rng)
        case 1:
            return changed(honest[int(rng.integers(len(honest)))], rng)
        case _:
            return changed(pool[int(rng.integers(len(pool)))][1], rng)


def main() -> int:
    """Search, print, and fail when the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found = search(asked.inputs, np.random.default_rng(asked.seed))
    print(f"{found.inputs:,} inputs; ordinary messages: {found.ordinary:.0f} ns per byte at most,")
    print(f"{found.usual:.0f} in the middle; worst input: {found.worst:.0f} ({found.where},")
    print(f"{found.size:,} bytes), {found.ratio:.2f} times ordinary; goal: at most {GOAL:g}")
    return 0 if found.ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
