"""Every step of the batched code gives the bytes of the plain reference, report by report."""

from typing import Any

import numpy as np
import pytest

from tacit.sums.prio3 import instances
from tacit.sums.prio3.bounded import BoundedVector
from tacit.sums.prio3.prio3 import Prio3
from tests.sums.prio3 import plain_circuits as plain
from tests.sums.prio3.reference import P64, PlainPrio3

KEY, CONTEXT = bytes(range(32)), b"a context"
BOUNDED = Prio3(BoundedVector(11, 60, 4, 3), 0xFFFF0001, 3, 2)
BOUNDED_OF_THREE = Prio3(BoundedVector(5, 20, 3, 7), 0xFFFF0001, 2, 3)
TWO_BITS = Prio3(BoundedVector(9, 9, 2, 1), 0xFFFF0001, 3, 2)

CASES: dict[str, tuple[Prio3, PlainPrio3, Any]] = {
    "count": (instances.prio3_count(), plain.count(), [0, 1, 1]),
    "count of 4": (instances.prio3_count(4), plain.count(4), [1, 0]),
    "sum": (instances.prio3_sum(10, 3), plain.sum_(10, 3), [0, 7, 8, 10]),
    "sum of one bit": (instances.prio3_sum(1), plain.sum_(1), [0, 1]),
    "vector": (
        instances.prio3_sum_vec(3, 5, 2, 3),
        plain.sum_vec(3, 5, 2, 3),
        [[0, 5, 3], [1, 2, 4]],
    ),
    "vector, five proofs": (
        instances.prio3_sum_vec_with_multiproof(4, 9, 3, proofs=5),
        plain.sum_vec(4, 9, 3, p=P64, proofs=5, algorithm=0xFFFFFFFF),
        [[9, 0, 1, 8], [2, 3, 4, 5]],
    ),
    "histogram": (instances.prio3_histogram(7, 3), plain.histogram(7, 3), [0, 6, 3]),
    "multihot": (
        instances.prio3_multihot_count_vec(6, 3, 4, 3),
        plain.multihot(6, 3, 4, 3),
        [[0, 1, 0, 1, 1, 0], [0] * 6],
    ),
    "bounded": (
        BOUNDED,
        plain.bounded(11, 60, 4, 3),
        [[7, -3, 1] + [0] * 8, [0] * 11, [-1, 2, -2, 3, -3, 1, 0, 0, 4, 4, 0]],
    ),
    "bounded of 3": (
        BOUNDED_OF_THREE,
        plain.bounded(5, 20, 3, 7, 3, 2),
        [[3, -3, 1, 1, 0], [-1, 0, 0, 0, 2]],
    ),
    "bounded, two bits": (TWO_BITS, plain.bounded(9, 9, 2, 1), [[1, -1, 0] * 3, [1] * 9]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_all_messages_are_the_reference_s(case):
    prio3, reference, measurements = CASES[case]
    n, rng = len(measurements), np.random.default_rng(3)
    nonces = rng.integers(0, 256, (n, 16), dtype=np.uint8)
    coins = rng.integers(0, 256, (n, prio3.rand_size), dtype=np.uint8)
    meas = prio3.circuit.encode_all(measurements)
    made = prio3.shard(CONTEXT, meas, nonces, coins)
    public = instances.encode_public(made.public)
    inputs = [instances.encode_input(prio3, share) for share in made.inputs]
    verified = [
        prio3.verify_init(KEY, CONTEXT, k, nonces=nonces, public=made.public, share=share)
        for k, share in enumerate(made.inputs)
    ]
    shares = [instances.encode_verifier(prio3, share) for _, share in verified]
    message, valid = prio3.combine(CONTEXT, [share for _, share in verified])
    assert valid.all()
    for row in range(n):
        numbers = prio3.circuit.field.integers(meas[row])
        nonce = nonces[row].tobytes()
        expected = reference.shard(CONTEXT, numbers, nonce, coins[row].tobytes())
        assert public[row].tobytes() == expected["public_share"]
        assert [each[row].tobytes() for each in inputs] == expected["input_shares"]
        told = []
        for place, share in enumerate(expected["input_shares"]):
            one = reference.verify_init(KEY, CONTEXT, place, nonce, expected["public_share"], share)
            told.append(one["verifier_share"])
            state = verified[place][0]
            assert shares[place][row].tobytes() == one["verifier_share"]
            assert state.joint_seed[row].tobytes() == one["seed"]
            out = prio3.circuit.field.encode(state.outputs)[row].tobytes()
            assert out == one["out_share"]
        assert reference.combine(CONTEXT, told) == (message[row].tobytes(), True)


@pytest.mark.parametrize("case", CASES)
def test_a_batch_is_its_reports_one_by_one(case):
    prio3, _, measurements = CASES[case]
    many = [measurements[k % len(measurements)] for k in range(19)]
    rng = np.random.default_rng(4)
    nonces = rng.integers(0, 256, (19, 16), dtype=np.uint8)
    coins = rng.integers(0, 256, (19, prio3.rand_size), dtype=np.uint8)

    def run(rows):
        meas = prio3.circuit.encode_all(many[rows])
        made = prio3.shard(CONTEXT, meas, nonces[rows], coins[rows])
        found = [made.public.reshape(len(meas), -1)]
        shares = []
        for place, share in enumerate(made.inputs):
            state, verifier = prio3.verify_init(
                KEY, CONTEXT, place, nonces=nonces[rows], public=made.public, share=share
            )
            found += [
                instances.encode_input(prio3, share),
                instances.encode_verifier(prio3, verifier),
            ]
            found.append(prio3.circuit.field.encode(state.outputs))
            shares.append(verifier)
        return np.concatenate([*found, prio3.combine(CONTEXT, shares)[0]], axis=1)

    together = run(slice(0, 19))
    alone = np.concatenate([run(slice(k, k + 1)) for k in range(19)])
    assert (together == alone).all()


def test_bounded_vectors_are_encoded_as_defined():
    vectors = [[7, -3, 1] + [0] * 8, [0] * 11, [4, 4, 4, 2, 2, 2] + [0] * 5]
    encoded = BOUNDED.circuit.encode_all(vectors)
    for vector, row in zip(vectors, encoded, strict=True):
        assert BOUNDED.circuit.field.integers(row) == plain.bounded_meas(vector, 60, 4, 3)
