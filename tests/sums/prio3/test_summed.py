"""Sums over many records, proven: honest ones count to the digit, lies do not."""

from typing import cast

import numpy as np
import pytest

from tacit.sums.prio3 import instances
from tacit.sums.prio3.batch import Code, open_sum, verify_block
from tacit.sums.prio3.bounded import SummedVector
from tacit.sums.prio3.draft_circuits import NotValidError
from tests.sums.prio3.cheats import cheat, honest, servers_of, together

BOUND, MOST, TALLY = 90_000, 250, 1_000
SUM = instances.prio3_summed_vector(20, BOUND, most=MOST, tally=TALLY, bits=4)
CIRCUIT = cast(SummedVector, SUM.circuit)
P = CIRCUIT.field.modulus
I = pow(7, (P - 1) // 4, P)  # noqa: E741 - a square root of -1
HALF = pow(2, -1, P)


def vectors(n, seed=0):
    """Honest measurements: some as long and as large as may be, tallies at both ends."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-60, 61, (n, 20))
    numbers[0] = 0
    numbers[1] = 0
    numbers[1, :1], numbers[2] = MOST, np.where(np.arange(20) == 3, -MOST, 0)
    tallies = rng.integers(0, TALLY + 1, (n, 1))
    tallies[0], tallies[1] = 0, TALLY
    return np.concatenate([numbers, tallies - CIRCUIT.middle], axis=1)


def test_honest_sums_count_exactly():
    servers, measured = servers_of(SUM), vectors(12)
    codes = verify_block(servers, honest(SUM, measured))
    assert codes.tolist() == [Code.ACCEPTED] * 12
    assert open_sum(servers) == measured.sum(axis=0).tolist()


def lie(*, digits=None, told=None, slack=None, tally=None, below=None, numbers=None):
    """An encoded sum that follows the rules but for what is given."""
    numbers = [5] * 20 if numbers is None else numbers
    calls, base = CIRCUIT.calls, CIRCUIT.base
    if digits is None:
        digits = [_digits(x, CIRCUIT.places) for x in numbers]
        digits = [each for one in digits for each in one]
    values = [
        sum(base**k * digits[j * CIRCUIT.places + k] for k in range(CIRCUIT.places))
        for j in range(20)
    ]
    padded = [*values, *[0] * (-20 % calls)]
    if told is None:
        told = [sum(x * x for x in padded[i::calls]) % P for i in range(calls)]
    if slack is None:
        rest = (BOUND - sum(told)) % P
        slack = _digits(rest - base**CIRCUIT.slack_places // 2, CIRCUIT.slack_places)
    tally = 30 if tally is None else tally
    below = TALLY - tally if below is None else below
    counts = [_digits(x - CIRCUIT.middle, CIRCUIT.tally_places) for x in (tally, below)]
    return [*digits, *slack, *counts[0], *counts[1], *told]


def _digits(number, places):
    """Balanced digits; what has no place among them is in the last one."""
    base, left, out = CIRCUIT.base, number + CIRCUIT.base**places // 2, []
    for _ in range(places - 1):
        out.append(left % base - CIRCUIT.largest)
        left //= base
    return [*out, left - CIRCUIT.largest]


def test_the_encoding_of_the_tests_is_that_of_the_circuit():
    measured = np.array([[*[5] * 20, 30 - CIRCUIT.middle]])
    assert CIRCUIT.encode(measured[0]) == [x % P for x in lie()]


FAR = CIRCUIT.base**CIRCUIT.places // 2
TURNED = [0] * 20 * CIRCUIT.places
TURNED[0], TURNED[CIRCUIT.places * CIRCUIT.calls] = 2**40, I * 2**40 % P
LIES = {
    "too long": lie(numbers=[100] * 20),
    "too long, told shorter": lie(
        numbers=[100] * 20, told=[BOUND // 4] + [0] * (CIRCUIT.calls - 1)
    ),
    "the largest digits": lie(numbers=[FAR] * 20),
    "a digit of 8": lie(digits=[8, *[0] * (20 * CIRCUIT.places - 1)]),
    "half a unit": lie(digits=[HALF, *[0] * (20 * CIRCUIT.places - 1)]),
    "squares that wrap round": lie(digits=TURNED),
    "a tally below 0": lie(tally=-1),
    "a tally above its most": lie(tally=TALLY + 1),
    "a tally that is not what is left": lie(tally=40, below=TALLY - 30),
    "a slack below 0": lie(numbers=[70] * 20),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_about_sums_are_refused(name):
    servers, measured = servers_of(SUM), vectors(3)
    codes = verify_block(servers, together(honest(SUM, measured), cheat(SUM, [LIES[name]] * 4)))
    assert codes.tolist() == [Code.ACCEPTED] * 3 + [Code.PROOF] * 4
    assert open_sum(servers) == measured.sum(axis=0).tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        [*[MOST + 1], *[0] * 19, -CIRCUIT.middle],
        [*[100] * 20, -CIRCUIT.middle],
        [*[0] * 20, -CIRCUIT.middle - 1],
        [*[0] * 20, TALLY - CIRCUIT.middle + 1],
        [0.5, *[0] * 19, -CIRCUIT.middle],
    ],
)
def test_what_is_off_the_grid_never_leaves(wrong):
    with pytest.raises(NotValidError):
        CIRCUIT.encode_all([wrong])


def test_sums_that_would_wrap_round_are_refused():
    with pytest.raises(ValueError, match="wrap round"):
        SummedVector(1000, 10**9, 10**9, 10**6, 4, 3)


def unchecked(place):
    """One of the last outputs is not looked at."""
    true = SummedVector.outputs

    def outputs(circuit, meas, results, shares):
        found = true(circuit, meas, results, shares)
        found[:, place] = 0
        return found

    return lambda patch: patch.setattr(SummedVector, "outputs", outputs)


def lengths_unchecked(patch):
    true = SummedVector.outputs

    def outputs(circuit, meas, results, shares):
        found = true(circuit, meas, results, shares)
        found[:, :-2] = 0
        return found

    patch.setattr(SummedVector, "outputs", outputs)


def no_range_check(patch):
    def squares(wires, _coefficients, _entries, _largest, result):
        result[:] = 0

    patch.setattr(CIRCUIT.field.kernels, "squares_in_range", squares)


MUTANTS = {
    "the balance of lengths": (
        unchecked(-2),
        lie(numbers=[100] * 20, slack=[0] * CIRCUIT.slack_places),
    ),
    "the tally": (unchecked(-1), lie(tally=TALLY + 1, below=0)),
    "lengths that are told": (
        lengths_unchecked,
        lie(numbers=[100] * 20, told=[0] * CIRCUIT.calls),
    ),
    "ranges of digits": (no_range_check, LIES["squares that wrap round"]),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_every_check_is_needed(name, monkeypatch):
    mutant, lied = MUTANTS[name]
    assert verify_block(servers_of(SUM), cheat(SUM, [lied])).tolist() == [Code.PROOF]
    mutant(monkeypatch)
    assert verify_block(servers_of(SUM), cheat(SUM, [lied])).tolist() == [Code.ACCEPTED]
