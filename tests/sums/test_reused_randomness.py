"""Joint randomness that serves again: who knows it beforehand makes an entry of any size count. The
whole path, from sealed halves to the opened sum, with fixed seeds.
"""

from typing import Any

import numpy as np
import pytest

from tacit import Ball, seeded
from tacit.sums.halves import Batch, SumTerms, seal_sent
from tacit.sums.prio3.batch import coins_size
from tacit.sums.prio3.fields import SEED
from tacit.sums.prio3.instances import bound_context
from tacit.sums.prio3.prio3 import NONCE, Prio3
from tacit.sums.vector_terms import VectorTerms
from tacit.wire.envelopes import KEY
from tests.sums.made import COORDINATOR_KEY, HELPER_KEY, Pair, public
from tests.sums.prio3.cheats import sent_of

LAW = VectorTerms.of(Ball(dim=20), 1.0, 1e-6, minimum=3)
BATCH = Batch(b"q" * 32, 1, 1, SumTerms(LAW, public(COORDINATOR_KEY), public(HELPER_KEY)))
CIRCUIT: Any = LAW.prio3.circuit  # a bounded vector
P = CIRCUIT.field.modulus
HONEST = [CIRCUIT.encode([1, -1, 2] + [0] * 17)] * 4


def sealed(encoded, seed=1):
    """Reports of any encoded vectors, as they leave owners."""
    prio3, n = LAW.prio3, len(encoded)
    coins = np.random.default_rng(seed).integers(0, 256, (n, coins_size(prio3)), dtype=np.uint8)
    nonces, meas = coins[:, :NONCE], CIRCUIT.field.array(encoded)
    made = prio3.shard(bound_context(prio3, BATCH.application), meas, nonces, coins[:, NONCE:])
    secrets = np.random.default_rng(seed + 1).integers(0, 256, (n, 2 * KEY), dtype=np.uint8)
    return [row.tobytes() for row in seal_sent(sent_of(prio3, nonces, made), BATCH, secrets)]


def reuse(patch):
    """The same joint randomness for every report and every proof."""
    true = Prio3._joint_rands

    def rands(prio3, _context, seed):
        drawn = true(prio3, b"", np.zeros_like(seed))[:, : prio3.circuit.joint_len]
        return np.tile(drawn, (1, prio3.proofs, 1))

    patch.setattr(Prio3, "_joint_rands", rands)


def foreseen():
    """What the joint randomness of every report is, to whoever can reuse it."""
    drawn = LAW.prio3._joint_rands(b"", np.zeros((1, SEED), np.uint8))
    return CIRCUIT.field.integers(drawn[0, :1])[0]


def crafted():
    """A first entry out of range whose range check and square add up to what an honest vector of
    some short length has, if r is what it was before.
    """
    r, check = foreseen(), [0, 1]
    for k in range(1, CIRCUIT.largest + 1):
        check = times(check, [-k * k, 0, 1])
    for told in range(LAW.bound + 1):
        lie = [c * r % P for c in check]
        lie[0], lie[2] = (lie[0] - told) % P, (lie[2] + 1) % P
        entry = root_of(lie)
        if entry is not None and min(entry, P - entry) > CIRCUIT.largest:
            break
    slack, base = LAW.bound - told, 2 * CIRCUIT.largest + 1
    digits = [slack // weight % base - CIRCUIT.largest for weight in CIRCUIT.weights]
    return [entry, *[0] * 19, *digits, told, *[0] * (CIRCUIT.calls - 1)]


def test_a_lie_made_for_known_randomness_counts_only_where_it_serves_again(monkeypatch):
    pair = Pair(BATCH)
    assert pair.check([*sealed(HONEST), *sealed([crafted()], seed=7)]) == (4, 4)
    mean = pair.open(seeded(3))[0]
    assert np.sqrt((mean**2).sum()) < 10 * np.sqrt(20 * LAW.variance)  # noise of one sum of four
    reuse(monkeypatch)
    pair = Pair(BATCH)
    assert pair.check([*sealed(HONEST), *sealed([crafted()], seed=7)]) == (5, 5)
    mean = pair.open(seeded(3))[0]
    assert np.sqrt((mean**2).sum()) > 1e6 * LAW.influence


def times(a, b):
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] = (out[i + j] + x * y) % P
    return out


def rest(a, b):
    """The polynomial a modulo b, lowest coefficient first, without leading zeros."""
    a, inverse = [x % P for x in a], pow(b[-1], -1, P)
    while len(a) >= len(b):
        lead = a[-1] * inverse % P
        for i, y in enumerate(b):
            place = len(a) - len(b) + i
            a[place] = (a[place] - lead * y) % P
        a.pop()
    while a and not a[-1]:
        a.pop()
    return a


def power(base, exponent, modulus):
    found = [1]
    for bit in bin(exponent)[2:]:
        found = rest(times(found, found), modulus)
        found = rest(times(found, base), modulus) if bit == "1" else found
    return found


def less(a, number, place):
    """The polynomial less number x^place."""
    a = [*a, *[0] * (place + 1 - len(a))]
    a[place] = (a[place] - number) % P
    while a and not a[-1]:
        a.pop()
    return a


def common(a, b):
    while b:
        a, b = b, rest(a, b)
    return a


def root_of(polynomial):
    """A root in the field, None where there is none: x^p - x has all elements for its roots."""
    linear = common(polynomial, less(power([0, 1], P, polynomial), 1, 1))
    shift = 0
    while len(linear) > 2:
        shift += 1
        half = power([shift, 1], (P - 1) // 2, linear)
        part = common(linear, less(half, 1, 0))
        linear = part if 1 < len(part) < len(linear) else linear
    return -linear[0] * pow(linear[1], -1, P) % P if len(linear) == 2 else None


@pytest.mark.parametrize("roots", [[5], [3, 8], [2, P - 7, 10**12]])
def test_roots_are_found(roots):
    polynomial = [1]
    for root in roots:
        polynomial = times(polynomial, [-root % P, 1])
    assert root_of(polynomial) in roots
    seven = [-7 % P, 0, 1]  # 7 generates the field: it is no square
    assert root_of(seven) is None
    assert root_of(times(seven, [-roots[0] % P, 1])) == roots[0]
