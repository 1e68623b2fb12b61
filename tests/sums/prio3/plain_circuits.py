"""The circuits for the reference, written as their definitions say."""

from tests.sums.prio3.reference import P64, P128, Plain, PlainPrio3


def weights(most):
    bits = most.bit_length()
    return [*(2**k for k in range(bits - 1)), most - 2 ** (bits - 1) + 1]


def bits_of(value, most):
    """Any bits with the right weighted sum; the draft takes the last one only where it must."""
    *rest, last = weights(most)
    top = 0 if value <= sum(rest) else 1
    return [*(((value - top * last) >> k) & 1 for k in range(len(rest))), top]


def count(shares=2):
    plain = Plain(
        P64, 1, 0, 2, 2, 1, 1,
        inputs=lambda x, r, s: [[x[0], x[0]]],
        gadget=lambda w, r: w[0] * w[1],
        outputs=lambda x, g, s: [g[0] - x[0]],
        truncate=lambda x: x,
    )  # fmt: skip
    return PlainPrio3(plain, 1, 1, shares)


def sum_(most, shares=2):
    n = most.bit_length()
    plain = Plain(
        P64, n, 0, 1, 2, n, n,
        inputs=lambda x, r, s: [[bit] for bit in x],
        gadget=lambda w, r: w[0] * w[0] - w[0],
        outputs=lambda x, g, s: g,
        truncate=lambda x: [sum(w * bit for w, bit in zip(weights(most), x, strict=True))],
    )  # fmt: skip
    return PlainPrio3(plain, 2, 1, shares)


def small_numbers(most, length, shares=2):
    def in_range(x):
        product = 1
        for k in range(most + 1):
            product = product * (x - k) % P64
        return product

    plain = Plain(
        P64, length, 0, 1, most + 1, length, length,
        inputs=lambda x, r, s: [[each] for each in x],
        gadget=lambda w, r: in_range(w[0]),
        outputs=lambda x, g, s: g,
        truncate=lambda x: x,
    )  # fmt: skip
    return PlainPrio3(plain, 0xFFFFFFFF, 1, shares)


def _chunked(p, meas_len, chunk, checks, extra, truncate):
    calls = -(-meas_len // chunk)

    def inputs(x, r, s):
        rows = []
        for i in range(calls):
            row = []
            for j in range(chunk):
                bit = x[i * chunk + j] if i * chunk + j < meas_len else 0
                row += [pow(r[i], j + 1, p) * bit % p, bit - s]
            rows.append(row)
        return rows

    return Plain(
        p, meas_len, calls, 2 * chunk, 2, calls, checks,
        inputs=inputs,
        gadget=lambda w, r: sum(w[2 * j] * w[2 * j + 1] for j in range(chunk)),
        outputs=lambda x, g, s: [sum(g), *extra(x, s)],
        truncate=truncate,
    )  # fmt: skip


def sum_vec(length, most, chunk, shares=2, *, p=P128, proofs=1, algorithm=3):
    n = most.bit_length()

    def truncate(x):
        each = [x[k * n : (k + 1) * n] for k in range(length)]
        return [sum(w * b for w, b in zip(weights(most), bits, strict=True)) for bits in each]

    plain = _chunked(p, length * n, chunk, 1, lambda x, s: [], truncate)
    return PlainPrio3(plain, algorithm, proofs, shares)


def histogram(length, chunk, shares=2):
    plain = _chunked(P128, length, chunk, 2, lambda x, s: [sum(x) - s], lambda x: x)
    return PlainPrio3(plain, 4, 1, shares)


def multihot(length, most, chunk, shares=2):
    def weight(x, s):
        told = sum(w * bit for w, bit in zip(weights(most), x[length:], strict=True))
        return [sum(x[:length]) - told]

    n = length + most.bit_length()
    return PlainPrio3(_chunked(P128, n, chunk, 2, weight, lambda x: x[:length]), 5, 1, shares)


def bounded(length, bound, bits, calls, shares=2, proofs=3):
    """Entries -m..m, digits of the slack in base 2m + 1, squared lengths of the calls."""
    m = 2 ** (bits - 1) - 1
    digits = 1
    while (2 * m + 1) ** digits <= bound:
        digits += 1
    each, more = -(-length // calls), -(-digits // calls)

    def inputs(x, r, s):
        entries, rest = x[:length], x[length : length + digits]
        entries = entries + [0] * (each * calls - length)
        rest = rest + [0] * (more * calls - digits)
        return [
            [
                *(entries[j * calls + i] for j in range(each)),
                *(rest[j * calls + i] for j in range(more)),
            ]
            for i in range(calls)
        ]

    def in_range(x):
        product = 1
        for k in range(-m, m + 1):
            product = product * (x - k) % P64
        return product

    def gadget(w, r):
        squares = sum(x * x for x in w[:each])
        return squares + sum(pow(r[0], j + 1, P64) * in_range(x) for j, x in enumerate(w))

    def outputs(x, g, s):
        told = x[length + digits :]
        places = [(2 * m + 1) ** k for k in range(digits)]
        slack = sum(
            w * (d + m * s) for w, d in zip(places, x[length : length + digits], strict=True)
        )
        return [*(a - b for a, b in zip(g, told, strict=True)), sum(told) + slack - bound * s]

    plain = Plain(
        P64, length + digits + calls, 1, each + more, 2 * m + 1, calls, calls + 1,
        inputs=inputs, gadget=gadget, outputs=outputs, truncate=lambda x: x[:length],
    )  # fmt: skip
    return PlainPrio3(plain, 0xFFFF0001, proofs, shares)


def bounded_meas(entries, bound, bits, calls):
    """A vector with its slack's digits and its calls' squared lengths."""
    m = 2 ** (bits - 1) - 1
    norms = [sum(x * x for x in entries[i::calls]) for i in range(calls)]
    slack, digits, power = bound - sum(norms), [], 1
    while power <= bound:
        digits.append(slack // power % (2 * m + 1) - m)
        power *= 2 * m + 1
    return [x % P64 for x in [*entries, *digits, *norms]]
