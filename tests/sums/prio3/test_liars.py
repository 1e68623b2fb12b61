"""Liars are refused, all of them, and the sum is the honest owners' to the last digit; who does not
lie about the rules moves a sum by no more than they allow.
"""

from dataclasses import replace

import numpy as np
import pytest

from tacit.sums.prio3 import instances
from tacit.sums.prio3.batch import Code, open_sum, verify_block
from tacit.sums.prio3.draft_circuits import NotValidError
from tacit.sums.prio3.flp import extend
from tacit.sums.prio3.prio3 import LeaderShare, SplitReports
from tests.sums.prio3.cheats import (
    cheat,
    flipped,
    honest,
    sent_of,
    servers_of,
    shares_of,
    together,
)

BOUND = 200
VECTOR = instances.prio3_bounded_in_calls(20, BOUND, 4, 3, shares=2, proofs=3)
P = VECTOR.circuit.field.modulus
I = pow(7, (P - 1) // 4, P)  # noqa: E741 - a square root of -1
HALF = pow(2, -1, P)


def bounded(entries, *, told=None, digits=None):
    """An encoded vector, honest but for what is given; the slack's digits make the balance right
    where digits in range can.
    """
    entries = [*entries, *[0] * (20 - len(entries))]
    told = [sum(x * x for x in entries[i::3]) % P for i in range(3)] if told is None else told
    slack = (BOUND - sum(told)) % P
    if digits is None:
        digits = [slack // 15**k % 15 - 7 for k in range(2)]
    return [*entries, *digits, *told]


LIES = {
    "an entry of 8": bounded([8]),
    "entries whose range checks cancel": bounded([8, 0, 0, -8]),
    "half a unit": bounded([HALF, HALF, 1]),
    "a huge entry": bounded([P // 3], told=[0, 0, 0]),
    "squares that wrap round to zero": bounded([2**40, 0, 0, I * 2**40 % P]),
    "squares that wrap round, in two calls": bounded([2**40, I * 2**40 % P]),
    "too long, digits of anything": bounded([7] * 20),
    "too long, a digit out of range": bounded([7] * 20, digits=[BOUND - 980 - 7, -7]),
    "too long, told shorter": bounded([7] * 20, told=[60, 60, 60]),
    "lengths told in the wrong places": bounded([3, 1], told=[1, 9, 0]),
    "slack above the bound": bounded([1], told=[1, 0, 0], digits=[7, 7]),
}


@pytest.mark.parametrize("lie", LIES)
def test_invalid_vectors_are_refused(lie):
    servers = servers_of(VECTOR)
    truth = honest(VECTOR, np.eye(3, 20, dtype=int))
    codes = verify_block(servers, together(truth, cheat(VECTOR, [LIES[lie]] * 4)))
    assert codes.tolist() == [Code.ACCEPTED] * 3 + [Code.PROOF] * 4
    assert open_sum(servers) == [1, 1, 1] + [0] * 17


INVALID = {
    "count of 2": (instances.prio3_count(), [[2]]),
    "count of -1": (instances.prio3_count(3), [[-1]]),
    "count of a half": (instances.prio3_count(), [[HALF]]),
    "sum with a bit of 2": (instances.prio3_sum(100), [[2, 0, 0, 0, 0, 0, 0]]),
    "sum with bits that cancel": (instances.prio3_sum(100), [[2, P - 1, 0, 0, 0, 0, 0]]),
    "vector with a bit of 2": (instances.prio3_sum_vec(2, 3, 2), [[0, 2, 0, 0]]),
    "vector with bits that cancel": (
        instances.prio3_sum_vec_with_multiproof(2, 3, 4),
        [[2, P - 1, 0, 0]],
    ),
    "histogram of two": (instances.prio3_histogram(4, 2), [[1, 0, 1, 0]]),
    "histogram of none": (instances.prio3_histogram(4, 2), [[0, 0, 0, 0]]),
    "histogram of 2 - 1": (instances.prio3_histogram(4, 2, 3), [[2, -1, 0, 0]]),
    "too many marks": (instances.prio3_multihot_count_vec(4, 2, 3), [[1, 1, 1, 0, 0, 1]]),
    "marks told too few": (instances.prio3_multihot_count_vec(4, 2, 3), [[1, 1, 0, 0, 1, 0]]),
    "marks of 2": (instances.prio3_multihot_count_vec(4, 2, 3), [[2, 0, 0, 0, 0, 1]]),
    "weight of 3": (instances.prio3_multihot_count_vec(4, 2, 3), [[1, 1, 1, 0, 1, 2]]),
    "three of two": (instances.prio3_higher_degree(), [[3]]),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_measurements_of_every_kind_are_refused(name):
    prio3, encoded = INVALID[name]
    servers = servers_of(prio3)
    assert verify_block(servers, cheat(prio3, encoded * 8)).tolist() == [Code.PROOF] * 8
    assert servers[0].counted == 0


def forged(too_long):
    """A proof whose polynomial is, at every call, the length that was told, not the true one."""
    nonces, made = shares_of(VECTOR, [too_long])
    gadget, field = VECTOR.circuit.gadget, VECTOR.circuit.field
    true = [sum(x * x for x in too_long[:20][i::3]) for i in range(3)]
    lies = [0, *(told - truth for told, truth in zip(too_long[-3:], true, strict=True))]
    shift = extend(field, field.array(lies), gadget.size)[: gadget.poly_points]
    nothing = field.zeros(gadget.arity)
    everywhere = np.concatenate([nothing, shift] * VECTOR.proofs)
    leader = replace(made.leader, proofs=field.add(made.leader.proofs, everywhere))
    return sent_of(VECTOR, nonces, replace(made, leader=leader))


def test_forged_copied_and_inconsistent_reports_are_refused():
    entries = np.random.default_rng(7).integers(-1, 2, (6, 20))
    encoded = [VECTOR.circuit.encode(row) for row in entries]
    nonces, made = shares_of(VECTOR, encoded)
    turned = np.roll(np.arange(6), 1)
    leader, helper = made.leader, made.helpers[0]
    lies = {
        "copied proofs": replace(made, leader=replace(leader, proofs=leader.proofs[turned])),
        "copied measurements": replace(made, leader=replace(leader, meas=leader.meas[turned])),
        "copied halves": SplitReports(
            made.public,
            LeaderShare(leader.meas[turned], leader.proofs[turned], leader.blind[turned]),
            made.helpers,
        ),
        "halves of two owners": replace(made, helpers=(replace(helper, seed=helper.seed[turned]),)),
        "another's blind": replace(made, helpers=(replace(helper, blind=helper.blind[turned]),)),
        "another's public share": replace(made, public=made.public[turned]),
        "proofs of zeros": replace(made, leader=replace(leader, proofs=0 * leader.proofs)),
    }
    for name, lie in lies.items():
        servers = servers_of(VECTOR)
        codes = verify_block(servers, sent_of(VECTOR, nonces, lie))
        assert (codes != Code.ACCEPTED).all(), name
        assert servers[0].counted == servers[1].counted == 0
    codes = verify_block(servers_of(VECTOR), sent_of(VECTOR, nonces, made))
    assert (codes == Code.ACCEPTED).all()
    codes = verify_block(servers_of(VECTOR), forged(bounded([7] * 20, told=[60, 60, 60])))
    assert codes.tolist() == [Code.PROOF]
    mixed = replace(made, public=made.public[turned])
    codes = verify_block(servers_of(VECTOR), sent_of(VECTOR, nonces, mixed))
    assert (codes == Code.JOINT_RANDOMNESS).all()


def test_one_bit_changed_anywhere_is_refused():
    """800 changes: every part of a report, every kind of place in it."""
    rng = np.random.default_rng(8)
    truth = honest(VECTOR, np.eye(1, 20, dtype=int).repeat(50, axis=0))
    parts = {"nonce": 16, "public": 64, 0: truth.inputs[0].shape[1], 1: 64}
    for part, size in parts.items():
        for _ in range(4):
            block = truth
            for row in range(50):
                block = flipped(block, row, part, rng.integers(size), rng.integers(8))
            servers = servers_of(VECTOR)
            assert (verify_block(servers, block) != Code.ACCEPTED).all(), part
            assert open_sum(servers) == [0] * 20


def test_words_that_are_no_elements_are_refused_alone():
    block = honest(VECTOR, np.eye(3, 20, dtype=int))
    block.inputs[0][1, 40:48] = 255
    servers = servers_of(VECTOR)
    assert verify_block(servers, block).tolist() == [0, Code.NOT_ELEMENTS, 0]
    assert open_sum(servers) == [1, 0, 1] + [0] * 17


def test_a_report_counts_once_in_a_block():
    block = honest(VECTOR, np.eye(2, 20, dtype=int))
    servers = servers_of(VECTOR)
    twice = together(block, block)
    expected = [0, 0, Code.REPEATED_NONCE, Code.REPEATED_NONCE]
    assert verify_block(servers, twice).tolist() == expected
    assert open_sum(servers) == [1, 1] + [0] * 18


def test_reports_for_another_application_or_other_parameters_are_refused():
    block = honest(VECTOR, np.eye(2, 20, dtype=int))
    codes = verify_block(servers_of(VECTOR, b"another"), block)
    assert (codes != Code.ACCEPTED).all()
    seven, six = (instances.prio3_sum_vec(2, most, 3) for most in (7, 6))
    codes = verify_block(servers_of(six), honest(seven, [[7, 0], [1, 2]]))
    assert (codes != Code.ACCEPTED).all()


def test_servers_with_different_keys_count_nothing():
    servers = servers_of(VECTOR)
    servers[1].key = bytes(32)
    codes = verify_block(servers, honest(VECTOR, np.eye(3, 20, dtype=int)))
    assert (codes == Code.PROOF).all()


def test_the_furthest_that_valid_owners_move_a_sum():
    corner = np.array([[7, -7, 7, 7, 2] + [0] * 15, [7, 7, -7, -7, 0, 2] + [0] * 14])
    assert (np.sum(corner**2, axis=1) == BOUND).all()
    servers = servers_of(VECTOR)
    assert not verify_block(servers, honest(VECTOR, corner)).any()
    assert open_sum(servers) == corner.sum(axis=0).tolist()
    for wrong in ([[7, 7, 7, 7, 2, 1] + [0] * 14], [[8] + [0] * 19]):
        with pytest.raises(NotValidError, match=r"at most|from -7 to 7"):
            honest(VECTOR, wrong)


def test_measurements_off_the_grid_never_leave():
    for prio3, wrong in (
        (VECTOR, [[0.5] * 20]),
        (VECTOR, [[1] * 19]),
        (VECTOR, [[-(2**63)] + [0] * 19]),
        (VECTOR, np.full((1, 20), 2**64 - 1, np.uint64)),
        (instances.prio3_count(), [2]),
        (instances.prio3_sum(5), [6]),
        (instances.prio3_sum(5), [1.5]),
        (instances.prio3_histogram(4, 2), [4]),
        (instances.prio3_sum_vec(2, 3, 2), [[1]]),
        (instances.prio3_multihot_count_vec(3, 1, 2), [[1, 1, 0]]),
    ):
        with pytest.raises(NotValidError) as refusal:
            honest(prio3, wrong)
        assert "1.5" not in str(refusal.value)
