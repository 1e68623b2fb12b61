"""The draws of docs/reference/wire.md, word for word in plain Python: a share in its ball and a
tape to the bytes of a report. Nothing of the package is used: the page is what is tested.
"""

from fractions import Fraction
from math import ceil, exp, floor, isqrt, sqrt

B = 1 << 32
M = 1 << 20
S = 1 << 14


class RejectedError(Exception):
    """A word that is rejected."""


def draw(mechanism, epsilons, level, radius, share, tape):
    """The first draw that is not rejected, from the words of its attempt."""
    epsilon, d = Fraction(repr(epsilons[level])), len(share)
    if mechanism == "laplace":
        return laplace(epsilon, radius, share, tape)
    counts = [max(1, min(d, floor(each / 2.5))) for each in epsilons]
    k, slots = counts[level], max(counts)
    words = {
        "duchi": -(-d // 2) - (-d // 64) + 1,
        "hybrid": 3 * k,
        "piecewise": 2 * k,
        "randomized_response": 2,
    }[mechanism]
    for attempt in range(len(tape) // words):
        mine = tape[attempt * words : (attempt + 1) * words]
        try:
            if mechanism == "duchi":
                return duchi(odds(epsilon, B), radius, share, mine)
            if mechanism == "randomized_response":
                return response(odds(epsilon, B), radius, share, mine)
            branch = 1 << 32 if mechanism == "piecewise" else hybrid_share(epsilons[level] / k)
            return sampled(odds(epsilon / k, M), radius, share, mine, (k, slots, branch))
        except RejectedError:
            continue
    raise AssertionError("the tape has ended")


def odds(epsilon, base):
    term = total = 1 << 320
    n = 0
    while term:
        n += 1
        term = term * epsilon.numerator // (epsilon.denominator * n)
        total += term
    return base * total >> 320


def below(word, bound):
    product = word * bound
    if product % (1 << 64) < (1 << 64) % bound:
        raise RejectedError
    return product >> 64


def up(fraction, coin):
    return int(coin < fraction * 2.0**32)


def coin(tape, j):
    return tape[j // 2] % (1 << 32) if j % 2 == 0 else tape[j // 2] >> 32


def duchi(high, radius, share, tape):
    d = len(share)
    h, limbs = -(-d // 2), -(-d // 64)
    drawn = [tape[h + j // 64] >> (j % 64) & 1 for j in range(d)]
    plus = [up((x / radius + 1) * 0.5, coin(tape, j)) for j, x in enumerate(share)]
    lean = sum(1 if p == sign else -1 for p, sign in zip(plus, drawn, strict=True))
    u = below(tape[-1], high + B)
    if lean == 0 and u >= 2 * B:
        raise RejectedError
    turned = lean != 0 and (lean > 0) != (u < high)
    bits = sum((sign ^ turned) << j for j, sign in enumerate(drawn))
    return bits.to_bytes(8 * limbs, "little")


def hybrid_share(epsilon):
    return round((1 - exp(-epsilon / 2)) * 2**32) if epsilon > 0.610986 else 0


def sampled(high, radius, share, tape, sizes):
    """Piecewise, and where `branch` is less than 2^32 Hybrid."""
    (k, slots, branch), d = sizes, len(share)
    width = max(1, (isqrt(4 * M**3 // high) + 1) // 2)
    chosen: list[int] = []
    points = []
    for s in range(k):
        last = d - k + s
        product = tape[s] % (1 << 32) * (last + 1)
        if product % (1 << 32) < ((1 << 32) - (last + 1)) % (last + 1):
            raise RejectedError
        found = product >> 32
        chosen.append(last if found in chosen else found)
        x, rounding, word = share[chosen[s]], tape[s] >> 32, tape[k + s]
        if branch == 1 << 32 or tape[2 * k + s] % (1 << 32) < branch:
            position = min((x + radius) * (0.5 * M / radius), M)
            step = floor(position) + up(position - floor(position), rounding)
            u = below(word, width * high + M * M)
            far = (u - width * high) // M
            near = u < width * high
            points.append(step + u // high if near else far + width * (far >= step))
        else:
            p = up((x / radius + 1) * 0.5, rounding)
            points.append(width + M + (p if below(word, high + M) < high else 1 - p))
    size = 1 if d <= 1 << 8 else 2 if d <= 1 << 16 else 4
    spare = [0] * (slots - k)
    written = [each.to_bytes(4, "little") for each in points + spare]
    return b"".join(written + [each.to_bytes(size, "little") for each in chosen + spare])


def laplace(epsilon, radius, share, tape):
    d = len(share)
    ratio = Fraction(radius * sqrt(d)) / Fraction(radius)
    t = ceil(min(2 * d * S, 2 * (ceil(ratio * S) + d)) / epsilon)
    rest = iter(tape[-(-d // 2) :])

    def following(bound):
        while True:
            try:
                return below(next(rest), bound)
            except RejectedError:
                continue

    def survives(u):
        r = 0
        while following(t * (r + 1)) < u:
            r += 1
        return r % 2 == 0

    def noise():
        while True:
            z, n = following(t), 0
            if not survives(z):
                continue
            while n < 63 and survives(t):
                n += 1
            z += t * n
            if following(2) == 0:
                return z
            if z:
                return -z

    report = b""
    for j, x in enumerate(share):
        y = x / radius * S
        z = floor(y) + up(y - floor(y), coin(tape, j)) + noise()
        report += min(max(z, -S - 12 * t), S + 12 * t).to_bytes(8, "little", signed=True)
    return report


def response(high, radius, share, tape):
    d, whole = len(share), radius * sqrt(len(share))
    y, vertex = (tape[0] >> 11) / 2.0**53 * whole, -1
    for j, x in enumerate(share):
        y -= abs(x)
        if y < 0:
            vertex = 2 * j + int(x < 0)
            break
    if vertex < 0:
        r = whole
        for x in share:
            r -= abs(x)
        vertex = min(floor(y / r * 2 * d), 2 * d - 1) if r > 0 else 0
    u = below(tape[1], high + (2 * d - 1) * B)
    other = (u - high) // B
    said = vertex if u < high else other + int(other >= vertex)
    return said.to_bytes(4, "little")
