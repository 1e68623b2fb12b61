"""Servers over blocks: sums are exact however owners are cut into blocks, servers are two or more,
and what servers cannot use is refused with a word on why. Soundness in figures.
"""

from fractions import Fraction

import numpy as np
import pytest

from tacit.sums.prio3 import batch, instances
from tacit.sums.prio3.batch import Server, make_reports, open_sum, verify_block
from tacit.sums.prio3.bounded import BoundedVector, bounded_vector
from tacit.sums.prio3.draft_circuits import NotValidError
from tacit.sums.prio3.instances import Sizes, soundness_bits, soundness_error
from tests.sums.prio3.cheats import APPLICATION, KEY, coins_of, honest, servers_of

VECTOR = instances.prio3_bounded_vector(30, 200)


def vectors(n, length=30, seed=5):
    return np.random.default_rng(seed).integers(-2, 3, (n, length))


@pytest.mark.parametrize("size", [1, 7, 40])
def test_sums_do_not_depend_on_blocks(size):
    measurements = vectors(40)
    sent, servers = honest(VECTOR, measurements), servers_of(VECTOR)
    for start in range(0, 40, size):
        assert not verify_block(servers, sent.block(slice(start, start + size))).any()
    assert open_sum(servers) == measurements.sum(axis=0).tolist()
    assert [server.counted for server in servers] == [40, 40]


def test_a_block_is_verified_in_parts(monkeypatch):
    measurements = vectors(40)
    sent, servers = honest(VECTOR, measurements), servers_of(VECTOR)
    monkeypatch.setattr(batch, "_VERIFIED", 9 * VECTOR.circuit.meas_len)
    block = sent.block(slice(None))
    block.inputs[0][[3, 31], 8] ^= 1
    codes = verify_block(servers, block)
    assert np.flatnonzero(codes).tolist() == [3, 31]
    assert open_sum(servers) == np.delete(measurements, [3, 31], axis=0).sum(axis=0).tolist()


@pytest.mark.parametrize(
    ("prio3", "measurements", "total"),
    [
        (instances.prio3_count(5), [1, 0, 1, 1], 3),
        (instances.prio3_sum(1000, 3), [1000, 7, 0], 1007),
        (instances.prio3_sum_vec(2, 9, 3, 3), [[9, 0], [4, 5]], [13, 5]),
        (instances.prio3_histogram(4, 2, 3), [3, 0, 3], [1, 0, 0, 2]),
        (
            instances.prio3_multihot_count_vec(3, 2, 2, 4),
            [[1, 1, 0], [0, 0, 0], [True, False, True]],
            [2, 1, 1],
        ),
        (instances.prio3_bounded_vector(2, 50, shares=3), [[-7, 1], [-6, 0]], [-13, 1]),
    ],
)
def test_any_number_of_servers(prio3, measurements, total):
    servers = servers_of(prio3)
    assert not verify_block(servers, honest(prio3, measurements)).any()
    assert open_sum(servers) == total


def test_an_empty_block_and_an_empty_sum():
    servers = servers_of(VECTOR)
    assert open_sum(servers) == [0] * 30
    assert verify_block(servers, honest(VECTOR, vectors(0))).shape == (0,)


def test_servers_refuse_what_they_cannot_use():
    sent, servers = honest(VECTOR, vectors(2)), servers_of(VECTOR)
    with pytest.raises(NotValidError, match="an input share must have"):
        servers[0].open(sent.nonces, sent.public, sent.inputs[0][:, :-1])
    with pytest.raises(NotValidError, match="a public share must have"):
        servers[0].open(sent.nonces, sent.public[:, :-1], sent.inputs[0])
    with pytest.raises(NotValidError, match="nonce"):
        servers[0].open(sent.nonces[:, :-1], sent.public, sent.inputs[0])
    opened = servers[0].open(sent.nonces, sent.public, sent.inputs[0])
    with pytest.raises(NotValidError, match="others must be"):
        servers[0].judge(opened, [])
    with pytest.raises(NotValidError, match="what servers tell must be bytes"):
        servers[0].judge(opened, [opened.told[:, 1:]])
    servers[0].count(opened, np.array([True, False]))
    with pytest.raises(NotValidError, match="different owners"):
        open_sum(servers)


def test_specifications_are_checked():
    with pytest.raises(ValueError, match="bits must be from 2 to 6, got 7"):
        instances.prio3_bounded_vector(3, 1, bits=7)
    with pytest.raises(ValueError, match="bound must be from 1 to 147, got 148"):
        instances.prio3_bounded_vector(3, 148)
    with pytest.raises(ValueError, match="length must be"):
        BoundedVector(0, 1, 4, 1)
    with pytest.raises(ValueError, match="calls must be"):
        BoundedVector(1, 1, 4, 0)
    with pytest.raises(ValueError, match="shares must be"):
        instances.prio3_count(1)
    with pytest.raises(ValueError, match="proofs must be"):
        instances.prio3_sum_vec_with_multiproof(2, 3, 2, proofs=0)
    with pytest.raises(ValueError, match="max_measurement"):
        instances.prio3_sum(0)
    with pytest.raises(ValueError, match="max_measurement"):
        instances.prio3_sum_vec(2, 0, 1)
    with pytest.raises(ValueError, match="max_weight"):
        instances.prio3_multihot_count_vec(2, 3, 1)
    with pytest.raises(ValueError, match="chunk_length"):
        instances.prio3_histogram(2, 0)
    with pytest.raises(ValueError, match="key must have 32 bytes"):
        Server(VECTOR, APPLICATION, 0, key=b"short")
    with pytest.raises(ValueError, match="place must be"):
        Server(VECTOR, APPLICATION, 2, key=KEY)
    with pytest.raises(ValueError, match="coins must be"):
        make_reports(VECTOR, APPLICATION, vectors(2), coins_of(VECTOR, 3, 1))


def test_a_key_is_not_shown():
    assert KEY.hex() not in repr(servers_of(VECTOR)[0])
    assert str(KEY) not in repr(servers_of(VECTOR)[0])


def test_the_number_of_calls_is_the_cheapest_power():
    def elements(calls):
        circuit = BoundedVector(1000, 500, 4, calls)
        arity = circuit.gadget.arity
        return calls + 3 * (arity + circuit.gadget.poly_points) + 6 * (arity + 2)

    chosen = bounded_vector(1000, 500, 4, 3).calls
    assert min((elements(2**k - 1), 2**k - 1) for k in range(1, 10))[1] == chosen


@pytest.mark.parametrize(("length", "most"), [(100, 5_000), (1_000, 40_000)])
def test_bytes_stay_within_the_goal(length, most):
    prio3 = instances.prio3_bounded_vector(length, 4 * length)
    assert 16 + Sizes(prio3).report <= most
    assert Sizes(prio3).report == sum(Sizes(prio3).share(k) for k in (0, 1)) + 64


def test_soundness_in_figures():
    p = 2**64 - 2**32 + 1
    assert soundness_error(instances.prio3_count()) == Fraction(2, p - 2)
    multi = instances.prio3_sum_vec_with_multiproof(10, 255, 9)
    assert soundness_error(multi) == (Fraction(9, p) + Fraction(30, p - 16)) ** 3
    for length in (10, 100, 1_000, 10_000):
        assert soundness_bits(instances.prio3_bounded_vector(length, length)) > 160
    wide = instances.prio3_histogram(100, 10)
    assert 120 < soundness_bits(wide) < 128


def test_a_liar_passes_as_often_as_the_formula_says():
    """With the joint randomness known beforehand, the circuit's error is exact: r is a zero of the
    polynomial that the lie makes, and such a lie can be chosen for r. That is why r comes last.
    """
    prio3 = instances.prio3_bounded_in_calls(2, 98, 4, 1, shares=2, proofs=1)
    circuit, field = prio3.circuit, prio3.circuit.field
    p = field.modulus

    def in_range(x):
        return np.prod([x - k for k in range(-7, 8)], dtype=object) % p

    r = -in_range(8) * pow(int(in_range(9)), -1, p) % p  # r Q(8) + r^2 Q(9) = 0
    wires = field.array([[[8], [9], [0]]])
    result = circuit.gadget.evaluate(field, wires[:, : circuit.gadget.arity], field.array([[r]]))
    assert field.integers(result[0]) == [64 + 81]
    other = circuit.gadget.evaluate(field, wires[:, : circuit.gadget.arity], field.array([[r + 1]]))
    assert field.integers(other[0]) != [64 + 81]
