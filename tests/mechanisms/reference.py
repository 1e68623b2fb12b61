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


def normal(word):
    """A 32-bit word as a normal number: its bytes, one of them odd, added up and bent."""
    t = np.float32(sum((word | 1).to_bytes(4, "little")) - 510.5)
    v = t * t
    bend = np.float32(0.0)
    for power, coefficient in ((4, 0.76565), (3, -0.61922), (2, 0.28702), (1, 0.10357)):
        bend = (bend + np.float32(coefficient / 2 ** (18 * power))) * v
    return float((bend + np.float32(1)) * t)


def codeword(name, dim):
    """The direction that a name stands for, as floats."""
    word = mix((name >> 1) + 0x9E3779B97F4A7C15)
    low, high = word & 0xFFFFFFFF, word >> 32 | 1
    entries = []
    for j in range(dim):
        x = (low + j * 0x9E3779B9) & 0xFFFFFFFF
        x = (x ^ x >> 16) * high & 0xFFFFFFFF
        entries.append(normal(x ^ x >> 15))
    raw = np.array(entries) * (-1 if name & 1 else 1)
    return raw / np.sqrt((raw**2).sum())


def places(names, direction):
    """Codewords' names in the order of closeness: by pairs, the nearest axis first."""
    inner = [codeword(int(name), len(direction)) @ direction for name in names[::2]]
    axes = np.argsort(-np.abs(inner), kind="stable")
    near = [int(names[2 * c]) + int(inner[c] < 0) for c in axes]
    return near + [name ^ 1 for name in reversed(near)]
