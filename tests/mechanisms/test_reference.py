"""Kernels against their plain reference, coin for coin."""

import numpy as np
import pytest

from tacit import (
    Ball,
    Box,
    Duchi,
    Hybrid,
    Laplace,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Simplex,
    seeded,
)
from tacit.mechanisms.codewords import STEPS, closeness, codewords, room_for
from tests.mechanisms import reference

SHARES = np.random.default_rng(0).uniform(-1.2, 1.2, size=(300, 7))
SHARES[5, 2], SHARES[6, 3], SHARES[7, 1] = np.nan, np.inf, -np.inf


@pytest.mark.parametrize("steps", [8, 1 << 20])
@pytest.mark.parametrize("epsilon", [0.5, 5.0, 8.0])
def test_piecewise(epsilon, steps):
    mechanism = Piecewise(epsilon=epsilon, space=Box(dim=7), steps=steps)
    reports = mechanism.randomize(SHARES, seeded(1))
    k = mechanism.slots
    tape = seeded(1).words(np.arange(300), 0, 2 * k)
    expected = [
        reference.piecewise(mechanism.laws[0], x, t, k, 1.0)
        for x, t in zip(SHARES, tape, strict=True)
    ]
    assert None not in expected
    drawn = np.stack([reports.indices, reports.points], axis=2)
    np.testing.assert_array_equal(drawn, np.array(expected))


@pytest.mark.parametrize("dim", [1, 2, 7, 64, 65, 130])
def test_duchi(dim):
    mechanism = Duchi(epsilon=1.0, space=Box(dim=dim))
    shares = np.random.default_rng(dim).uniform(-1, 1, size=(200, dim))
    signs = mechanism.estimate(mechanism.randomize(shares, seeded(1))) / mechanism.laws[0].scale
    tape = seeded(1).words(np.arange(200), 0, mechanism._words(0))
    expected = [
        reference.duchi(mechanism.laws[0].odds, x, t, 1.0)
        for x, t in zip(shares, tape, strict=True)
    ]
    first_try = np.array([e is not None for e in expected])
    assert first_try.mean() > (0.6 if dim == 2 else 0.8)
    kept = np.array([e for e in expected if e is not None])
    np.testing.assert_allclose(signs[first_try], kept, rtol=1e-12)


def test_a_rejected_row_draws_again_from_the_rest_of_its_tape():
    mechanism = Duchi(epsilon=1.0, space=Box(dim=2))
    shares = np.random.default_rng(2).uniform(-1, 1, size=(200, 2))
    signs = mechanism.estimate(mechanism.randomize(shares, seeded(1))) / mechanism.laws[0].scale
    words = mechanism._words(0)
    tape = seeded(1).words(np.arange(200), 0, 20 * words)
    for x, coins, drawn in zip(shares, tape, signs, strict=True):
        tries = (
            reference.duchi(mechanism.laws[0].odds, x, coins[words * t :], 1.0) for t in range(20)
        )
        np.testing.assert_allclose(drawn, next(t for t in tries if t is not None), rtol=1e-12)


@pytest.mark.parametrize("space", [Box(dim=7), Ball(dim=7)], ids=str)
def test_laplace(space):
    mechanism = Laplace(epsilon=2.0, space=space)
    reports = mechanism.randomize(SHARES, seeded(1))
    inside = space.clip(SHARES)
    tape = seeded(1).words(np.arange(300), 0, 400)
    for i in range(300):
        coins = reference.Tape(tape[i], 4)
        for j in range(7):
            half = int(tape[i, j // 2]) >> (32 * (j % 2)) & 0xFFFFFFFF
            step = reference.rounded(inside[i, j] * 2**14, half)
            assert reports.points[i, j] == step + reference.laplace_noise(
                coins, mechanism.noise_scales[0]
            )


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
def test_hybrid(epsilon):
    mechanism = Hybrid(epsilon=epsilon, space=Box(dim=7))
    reports = mechanism.randomize(SHARES, seeded(1))
    k, law = mechanism.slots, mechanism.laws[0]
    tape = seeded(1).words(np.arange(300), 0, 3 * k)
    inside = mechanism.space.clip(SHARES)
    branches = set()
    for i in range(300):
        pairs = reference.piecewise(law, SHARES[i], tape[i], k, 1.0)
        for s, (j, point) in enumerate(pairs):
            if int(tape[i, 2 * k + s]) & 0xFFFFFFFF >= mechanism.shares_of_piecewise[0]:
                plus = reference.rounded((inside[i, j] + 1) / 2, int(tape[i, s]) >> 32)
                kept = (
                    reference.scaled(tape[i, k + s], law.odds.high + law.odds.low) < law.odds.high
                )
                point = law.size + (plus if kept else 1 - plus)
            branches.add(point >= law.size)
            assert (reports.indices[i, s], reports.points[i, s]) == (j, point)
    assert branches == ({True} if epsilon < 0.61 else {True, False})


def test_randomized_response():
    space = Simplex(dim=5)
    mechanism = RandomizedResponse(epsilon=1.0, space=space)
    classes = np.arange(300) % 5
    reports = mechanism.randomize(space.vertices(classes), seeded(1))
    law = mechanism.laws[0]
    for true, coins, drawn in zip(
        classes, seeded(1).words(np.arange(300), 0, 2), reports.points[:, 0], strict=True
    ):
        u = reference.scaled(coins[1], law.total)
        others = [c for c in range(5) if c != true]
        assert drawn == (true if u < law.odds.high else others[(u - law.odds.high) // law.odds.low])


@pytest.mark.parametrize("dim", [1, 2, 4, 7, 50])
def test_codewords(dim):
    first = seeded(1).words(np.arange(1), 0, 1)[0, 0] & ~np.uint64(127)
    names = first + np.arange(128, dtype=np.uint64)
    vectors = codewords(names, dim) / STEPS
    direction = np.random.default_rng(0).normal(size=dim)
    direction /= np.sqrt(direction @ direction)
    room = room_for(64)
    closeness(first >> np.uint64(1), direction.astype(np.float32), room)
    expected = np.array([reference.codeword(int(name), dim) for name in names])
    np.testing.assert_allclose(vectors, expected, atol=1e-9)
    np.testing.assert_array_equal(vectors[1::2], -vectors[::2])
    np.testing.assert_allclose(room.inner, expected[::2] @ direction, atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_privunit(epsilon):
    mechanism = PrivUnit(epsilon=epsilon, space=Ball(dim=7))
    reports = mechanism.randomize(SHARES, seeded(1))
    cap = mechanism.laws[0]
    inside = mechanism.space.clip(SHARES)
    for x, coins, name in zip(
        inside[:60], seeded(1).words(np.arange(60), 0, 3), reports.points[:60, 0], strict=True
    ):
        length = np.sqrt(x @ x)
        sign = 1 if (int(coins[0]) >> 11) / 2**53 < (1 + length) / 2 else -1
        public = int(coins[1]) // cap.candidates * cap.candidates
        order = reference.places(range(public, public + cap.candidates), sign * x / length)
        u = reference.scaled(coins[2], cap.total)
        near = cap.favoured * cap.high
        place = u // cap.high if u < near else cap.favoured + (u - near) // cap.low
        assert int(name) == order[place]
