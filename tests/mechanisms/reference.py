"""The kernels again in plain NumPy or Python: slower, longer to trust nothing, from the same
tape of coins.
"""

import numpy as np

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def scaled(word, bound):
    """floor(word * bound / 2^64), or None when the word must be rejected."""
    product = int(word) * bound
    return None if product % (1 << 64) < (1 << 64) % bound else product >> 64


def rounded(position: float, coin: int) -> int:
    floor = int(np.floor(position))
    return floor + (coin < (position - floor) * 2**32)


def coordinates(tape, k, dim):
    """Floyd's algorithm on the low halves of the first k words."""
    chosen: list[int] = []
    for s in range(k):
        bound = dim - k + s + 1
        product = (int(tape[s]) & 0xFFFFFFFF) * bound
        if product % (1 << 32) < (1 << 32) % bound:
            return None
        pick = product >> 32
        chosen.append(pick if pick not in chosen else bound - 1)
    return chosen


def piecewise(law, share, tape, k, radius):
    """(coordinate, point) pairs of one owner, or None on rejection."""
    chosen = coordinates(tape, k, len(share))
    if chosen is None:
        return None
    pairs = []
    for s, j in enumerate(chosen):
        x = 0.0 if np.isnan(share[j]) else min(max(share[j], -radius), radius)
        step = rounded((x + radius) * (law.steps / 2 / radius), int(tape[s]) >> 32)
        u = scaled(tape[k + s], law.total)
        if u is None:
            return None
        outcomes = np.repeat(np.arange(law.size), law.weights(step)) if law.total < 10_000 else None
        near = law.width * law.odds.high
        if u < near:
            point = step + u // law.odds.high
        else:
            q = (u - near) // law.odds.low
            point = q if q < step else q + law.width
        if outcomes is not None:
            assert np.count_nonzero(outcomes == point) == law.weights(step)[point]
        pairs.append((j, point))
    return pairs


def duchi(odds, share, tape, radius):
    """Signs of one owner, or None on rejection."""
    dim = len(share)
    first = (dim + 1) // 2
    limbs = (dim + 63) // 64
    halves = [int(tape[j // 2]) >> (32 * (j % 2)) & 0xFFFFFFFF for j in range(dim)]
    rounded_signs = np.array(
        [1 if c < (x / radius + 1) / 2 * 2**32 else -1 for c, x in zip(halves, share, strict=True)]
    )
    drawn = np.array([1 if int(tape[first + j // 64]) >> (j % 64) & 1 else -1 for j in range(dim)])
    u = scaled(tape[first + limbs], odds.high + odds.low)
    if u is None:
        return None
    lean = int(rounded_signs @ drawn)
    if lean == 0:
        return drawn if u < 2 * odds.low else None
    wanted = 1 if u < odds.high else -1
    return drawn * wanted * (1 if lean > 0 else -1)


class Tape:
    """A tape that is read word by word, for the variable-length draws of Laplace."""

    def __init__(self, words, at):
        self.words, self.at = words, at

    def below(self, bound):
        while True:
            value = scaled(self.words[self.at], bound)
            self.at += 1
            if value is not None:
                return value


def survives(tape, u, scale):
    """Bernoulli(e^(-u/scale)) by von Neumann's alternating series."""
    k = 1
    while tape.below(scale * k) < u:
        k += 1
    return k % 2 == 1


def laplace_noise(tape, scale):
    while True:
        rest = tape.below(scale)
        if not survives(tape, rest, scale):
            continue
        runs = 0
        while runs < 63 and survives(tape, scale, scale):
            runs += 1
        negative = tape.below(2)
        size = rest + scale * runs
        if not (negative and size == 0):
            return -size if negative else size


def mix(word):
    word &= (1 << 64) - 1
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & ((1 << 64) - 1)
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & ((1 << 64) - 1)
    return word ^ word >> 31


def codeword(name, dim, table):
    """The direction that a name stands for, as floats."""
    golden = 0x9E3779B97F4A7C15
    state = mix(name + golden)
    entries = []
    for group in range((dim + 3) // 4):
        word = mix(state + (group + 1) * golden)
        entries += [int(table[word >> 16 * i & 0xFFFF]) for i in range(4)]
    raw = np.array(entries[:dim], dtype=np.float64)
    return raw / np.sqrt((raw**2).sum())
