"""Every check is needed: with one of them taken out, a lie that is refused otherwise counts."""

from dataclasses import replace

import numpy as np
import pytest

from tacit.sums.prio3 import batch, flp, instances
from tacit.sums.prio3.batch import Code, verify_block
from tacit.sums.prio3.bounded import BoundedVector, SquaresInRange
from tacit.sums.prio3.fields import Field
from tacit.sums.prio3.prio3 import Prio3
from tests.sums.prio3.cheats import (
    APPLICATION,
    cheat,
    honest,
    sent_of,
    servers_of,
    shares_of,
    together,
)
from tests.sums.prio3.test_liars import BOUND, VECTOR, forged
from tests.sums.prio3.test_liars import bounded as encoded

CIRCUIT, FIELD = VECTOR.circuit, VECTOR.circuit.field


def no_range_check(patch):
    """The gadget is the squared length only."""

    def squares(wires, _coefficients, entries, _largest, result):
        x = np.swapaxes(wires[:, :entries], 1, 2)
        result[:] = FIELD.dot(x, x)

    patch.setattr(FIELD.kernels, "squares_in_range", squares)


def same_coefficients(patch):
    patch.setattr(
        Field, "powers", lambda field, base, n: np.ones((*base.shape[:-1], n, 1), np.uint64)
    )


def digits_unchecked(patch):
    true = BoundedVector.wires

    def wires(circuit, meas, joint, shares):
        result = true(circuit, meas, joint, shares)
        result[:, circuit.gadget.entries :] = 0
        return result

    patch.setattr(BoundedVector, "wires", wires)


def lengths_unchecked(patch):
    true = BoundedVector.outputs

    def outputs(circuit, meas, results, shares):
        found = true(circuit, meas, results, shares)
        found[:, :-1] = 0
        return found

    patch.setattr(BoundedVector, "outputs", outputs)


def balance_unchecked(patch):
    true = BoundedVector.outputs

    def outputs(circuit, meas, results, shares):
        found = true(circuit, meas, results, shares)
        found[:, -1] = 0
        return found

    patch.setattr(BoundedVector, "outputs", outputs)


def outputs_not_decided(patch):
    true = flp.decide

    def decide(circuit, verifier, joint):
        verifier = verifier.copy()
        verifier[:, 0] = 0
        return true(circuit, verifier, joint)

    patch.setattr(flp, "decide", decide)


def gadget_not_tested(patch):
    patch.setattr(
        flp, "decide", lambda _circuit, verifier, _joint: (verifier[:, 0] == 0).all(axis=-1)
    )


def one_proof_decided(patch):
    """Only the last of the three is looked at."""
    true = flp.decide
    turn = iter(range(10**6))

    def decide(circuit, verifier, joint):
        return true(circuit, verifier, joint) | (next(turn) % VECTOR.proofs < VECTOR.proofs - 1)

    patch.setattr(flp, "decide", decide)


def joint_randomness_not_compared(patch):
    patch.setattr(
        Prio3, "verify_next", lambda _prio3, state, _message: np.ones(len(state.fit), bool)
    )


def nonces_not_compared(patch):
    patch.setattr(batch, "_find_repeats", lambda nonces: np.zeros(len(nonces), bool))


def context_without_parameters(patch):
    patch.setattr(batch, "bound_context", lambda _prio3, application: application)
    patch.setattr("tests.sums.prio3.cheats.bound_context", lambda _prio3, application: application)


def elements_not_compared(patch):
    patch.setattr(Field, "below", lambda _field, words: np.ones(words.shape[:-1], bool))


def wrong_public_share():
    nonces, made = shares_of(VECTOR, [CIRCUIT.encode([1] * 20)])
    return sent_of(VECTOR, nonces, replace(made, public=made.public[:, ::-1]))


def first_proof_spoiled():
    nonces, made = shares_of(VECTOR, [CIRCUIT.encode([1] * 20)])
    proofs = made.leader.proofs.copy()
    proofs[:, 1] = FIELD.add(proofs[:, 1], FIELD.constant(1))
    return sent_of(VECTOR, nonces, replace(made, leader=replace(made.leader, proofs=proofs)))


def sent_twice():
    block = honest(VECTOR, [[1] * 20])
    return together(block, block)


MUTANTS = {
    no_range_check: lambda: cheat(VECTOR, [encoded([8])]),
    same_coefficients: lambda: cheat(VECTOR, [encoded([8, 0, 0, -8])]),
    digits_unchecked: lambda: cheat(VECTOR, [encoded([7] * 20, digits=[BOUND - 980 - 7, -7])]),
    lengths_unchecked: lambda: cheat(VECTOR, [encoded([7] * 20, told=[60, 60, 60])]),
    balance_unchecked: lambda: cheat(VECTOR, [encoded([7] * 20)]),
    outputs_not_decided: lambda: cheat(VECTOR, [encoded([7] * 20)]),
    gadget_not_tested: lambda: forged(encoded([7] * 20, told=[60, 60, 60])),
    one_proof_decided: first_proof_spoiled,
    joint_randomness_not_compared: wrong_public_share,
    nonces_not_compared: sent_twice,
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_without_a_check_a_lie_counts(mutant, monkeypatch):
    block = MUTANTS[mutant]()
    assert (verify_block(servers_of(VECTOR), block) != Code.ACCEPTED).any()
    mutant(monkeypatch)
    block = MUTANTS[mutant]()  # a prover that knows of the mutant
    assert (verify_block(servers_of(VECTOR), block) == Code.ACCEPTED).all()


def test_without_parameters_in_the_context_another_instance_s_report_counts(monkeypatch):
    seven, six = (instances.prio3_sum_vec(2, most, 3) for most in (7, 6))
    assert (verify_block(servers_of(six), honest(seven, [[7, 0]])) != Code.ACCEPTED).all()
    context_without_parameters(monkeypatch)
    assert (verify_block(servers_of(six), honest(seven, [[7, 0]])) == Code.ACCEPTED).all()


def test_without_the_comparison_with_the_modulus_words_are_not_called_by_their_name(monkeypatch):
    block = honest(VECTOR, [[1] * 20])
    block.inputs[0][0, :8] = 255
    assert verify_block(servers_of(VECTOR), block).tolist() == [Code.NOT_ELEMENTS]
    elements_not_compared(monkeypatch)
    assert verify_block(servers_of(VECTOR), block).tolist() != [Code.NOT_ELEMENTS]


def at_a_root_of_unity(patch):
    """Query randomness whose test points are the places of the first call."""
    true = Prio3._query_rands
    point = FIELD.constant(FIELD.root(CIRCUIT.gadget.wire_points))

    def rands(prio3, key, context, nonces):
        found = true(prio3, key, context, nonces).copy()
        found[:, CIRCUIT.checks :: CIRCUIT.checks + 1] = point
        return found

    patch.setattr(Prio3, "_query_rands", rands)


def test_a_test_point_that_would_tell_a_measurement_is_not_answered(monkeypatch):
    at_a_root_of_unity(monkeypatch)
    entries = [[3, 0, 0, 2] + [0] * 16]
    servers = servers_of(VECTOR)
    block = honest(VECTOR, entries)
    opened = [s.open(block.nonces, block.public, block.inputs[s.place]) for s in servers]
    assert [each.codes.tolist() for each in opened] == [[Code.TEST_POINT]] * 2
    assert all((each.told == 0xFF).all() for each in opened)
    monkeypatch.setattr(Field, "power", lambda field, base, _n: field.zeros(len(base)))
    opened = [s.open(block.nonces, block.public, block.inputs[s.place]) for s in servers]
    verifier = FIELD.add(*(each.shares[0].verifiers for each in opened))
    assert FIELD.integers(verifier[0, 1:3]) == [3, 2]  # what the check keeps from being told


def test_the_range_check_s_kernel_is_its_definition():
    rng = np.random.default_rng(9)
    gadget = SquaresInRange(3, 2, 1, 3)
    wires = FIELD.from_small(rng.integers(-5, 6, (4, 3, 5)))
    joint = FIELD.from_small(rng.integers(0, 10**9, (4, 1)))
    found = gadget.evaluate(FIELD, wires, joint)
    for row in range(4):
        (r,) = FIELD.integers(joint[row])
        columns = [FIELD.to_signed(wire) for wire in wires[row]]
        for point, inputs in enumerate(zip(*columns, strict=True)):
            checks = [np.prod([x - k for k in range(-3, 4)], dtype=object) for x in inputs]
            expected = sum(x * x for x in inputs[:2])
            expected += sum(pow(r, j + 1) * check for j, check in enumerate(checks))
            assert FIELD.integers(found[row, point][None]) == [expected % FIELD.modulus]


def test_an_application_is_bound():
    assert instances.bound_context(VECTOR, APPLICATION).endswith(b"\x00" + APPLICATION)
