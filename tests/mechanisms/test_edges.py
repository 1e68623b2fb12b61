"""Kernels against their plain reference on coins that are at the edge of something: the last that
favours, the first that does not, and words that are rejected. Among random coins they never come.
"""

from itertools import product

import numpy as np
import pytest

from tacit import Ball, Box, Duchi, Hybrid, Piecewise, PrivUnit, RandomizedResponse, Simplex
from tacit.mechanisms.laplace import draw_below, survives
from tests.mechanisms import reference

OWNERS = 200


def word(value, total):
    """A word that a kernel reads as this one of `total` values."""
    found = -(-(value << 64) // total)
    while reference.scaled(found, total) != value:
        found += 1
    return found


def barely(total):
    """The word that is nearest to being rejected, and one that is, where there are some."""
    if total % 2 == 0:
        return [0]
    unfair, inverse = (1 << 64) % total, pow(total, -1, 1 << 64)
    return [unfair * inverse % (1 << 64), (unfair - 1) * inverse % (1 << 64)]


def edges(total, *marks):
    """Words at these values and beside them, at both ends, and at the edge of being rejected."""
    values = {value for mark in marks for value in (mark - 1, mark, mark + 1)}
    within = sorted(value for value in {0, *values, total - 1} if 0 <= value < total)
    return [*(word(value, total) for value in within), *barely(total)]


def tapes(words, last):
    """Random words, of which the last is one of these in turn."""
    made = np.random.default_rng(4).integers(0, 1 << 64, size=(OWNERS, words), dtype=np.uint64)
    made[:, -1] = np.resize(np.array(last, dtype=np.uint64), OWNERS)
    return made


def drawn(mechanism, shares, tape):
    out = mechanism.blank(len(shares))
    done = mechanism._draw(0, shares, tape, out)
    assert 0 < done.sum() <= len(done)
    return done, out


def inside(dim):
    return np.random.default_rng(dim).uniform(-1, 1, size=(OWNERS, dim))


@pytest.mark.parametrize("bound", [1, 3, 7, 16384, 2**40 + 15, 2**62 - 57])
def test_numbers_below_a_bound(bound):
    """Laplace's noise is made of these."""
    words = [*edges(bound), word(bound // 2, bound)]
    for each in words:
        value, at = draw_below(np.array([each], dtype=np.uint64), 0, np.uint64(bound))
        expected = reference.scaled(each, bound)
        assert (int(value), at) == ((0, -1) if expected is None else (expected, 1))


@pytest.mark.parametrize("scale", [1, 2, 3, 5])
def test_all_runs_that_decide_whether_noise_survives(scale):
    """Every sequence of three numbers below scale, 2 scale, 3 scale: where the first is that is not
    below u decides. Of equal numbers one in `scale` depends on this, which no sample shows.
    """
    for u in range(scale + 1):
        for drawn in product(range(scale), range(2 * scale), range(3 * scale)):
            words = [word(value, (r + 1) * scale) for r, value in enumerate(drawn)]
            tape = np.array([*words, (1 << 64) - 1], dtype=np.uint64)
            run = next((r for r, value in enumerate(drawn) if value >= u), 3)
            said = survives(tape, 0, np.uint64(u), np.uint64(scale))
            assert said == (run % 2 == 0, run + 1), (u, drawn)


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_duchi(dim):
    mechanism, shares = Duchi(epsilon=1.0, space=Box(dim=dim)), inside(dim)
    law = mechanism.laws[0]
    total = law.odds.high + law.odds.low
    tape = tapes(mechanism._words(0), edges(total, law.odds.high, 2 * law.odds.low))
    done, out = drawn(mechanism, shares, tape)
    signs = mechanism.estimate(out) / law.scale
    for x, coins, kept, said in zip(shares, tape, done, signs, strict=True):
        expected = reference.duchi(law.odds, x, coins, 1.0)
        assert kept == (expected is not None)
        assert not kept or np.allclose(said, expected)


@pytest.mark.parametrize("steps", [8, 1 << 20])
def test_piecewise(steps):
    mechanism = Piecewise(epsilon=1.0, space=Box(dim=1), steps=steps)
    law, shares = mechanism.laws[0], np.resize([-1.0, 1.0, 0.0, 0.25], (OWNERS, 1))
    near, low = law.width * law.odds.high, law.odds.low
    middle, quarter = steps // 2, steps * 5 // 8
    ends = (near, near + low, near + middle * low, near + quarter * low, law.odds.high)
    tape = tapes(mechanism._words(0), edges(law.total, *ends))
    done, out = drawn(mechanism, np.random.default_rng(1).permutation(shares), tape)
    shuffled = np.random.default_rng(1).permutation(shares)
    for x, coins, kept, said in zip(shuffled, tape, done, out.points[:, 0], strict=True):
        expected = reference.piecewise(law, x, coins, 1, 1.0)
        assert kept == (expected is not None)
        assert not kept or said == expected[0][1]


def test_the_coin_of_hybrid():
    mechanism, shares = Hybrid(epsilon=2.0, space=Box(dim=1)), inside(1)
    law, limit = mechanism.laws[0], int(mechanism.shares_of_piecewise[0])
    tape = tapes(mechanism._words(0), [limit - 1, limit, limit + 1, (1 << 64) - 1, 0])
    done, out = drawn(mechanism, shares, tape)
    of_duchi = (tape[:, -1] & reference.LOW) >= np.uint64(limit)
    assert ((out.points[:, 0] >= law.size) == of_duchi)[done].all()
    two = law.odds.high + law.odds.low
    tape[:, -1] = np.uint64(limit)
    tape[:, -2] = np.resize(np.array(edges(two, law.odds.high), dtype=np.uint64), OWNERS)
    done, out = drawn(mechanism, shares, tape)
    for x, coins, kept, said in zip(shares[:, 0], tape, done, out.points[:, 0], strict=True):
        u = reference.scaled(coins[1], two)
        assert kept == (u is not None)
        if kept:
            plus = reference.rounded((x + 1) / 2, int(coins[0]) >> 32)
            assert said == law.size + (plus if u < law.odds.high else 1 - plus)


def test_randomized_response():
    space = Simplex(dim=5)
    mechanism = RandomizedResponse(epsilon=1.0, space=space)
    law, classes = mechanism.laws[0], np.random.default_rng(2).integers(0, 5, OWNERS)
    ends = [law.odds.high + k * law.odds.low for k in range(4)]
    tape = tapes(mechanism._words(0), edges(law.total, *ends))
    done, out = drawn(mechanism, space.vertices(classes), tape)
    for true, coins, kept, said in zip(classes, tape, done, out.points[:, 0], strict=True):
        u = reference.scaled(coins[1], law.total)
        assert kept == (u is not None)
        if kept:
            others = [c for c in range(5) if c != true]
            wrong = others[(u - law.odds.high) // law.odds.low] if u >= law.odds.high else None
            assert said == (true if wrong is None else wrong)


def test_privunit():
    mechanism, shares = PrivUnit(epsilon=1.0, space=Ball(dim=3)), inside(3) / 2
    cap = mechanism.laws[0]
    near = cap.favoured * cap.high
    tape = tapes(mechanism._words(0), edges(cap.total, cap.high, near, near + cap.low))
    done, out = drawn(mechanism, shares, tape)
    for x, coins, kept, said in zip(shares, tape, done, out.points[:, 0], strict=True):
        u = reference.scaled(coins[2], cap.total)
        assert kept == (u is not None)
        if kept:
            length = np.sqrt(x @ x)
            sign = 1 if (int(coins[0]) >> 11) / 2**53 < (1 + length) / 2 else -1
            public = int(coins[1]) // cap.candidates * cap.candidates
            order = reference.places(range(public, public + cap.candidates), sign * x / length)
            place = u // cap.high if u < near else cap.favoured + (u - near) // cap.low
            assert said == order[place]
