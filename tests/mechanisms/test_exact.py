"""Exact privacy: whole tables in rationals, and kernels that reproduce the tables coin by coin."""

from collections import Counter
from fractions import Fraction
from itertools import product

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
)
from tacit.mechanisms.duchi import DuchiLaw
from tacit.mechanisms.piecewise import PiecewiseLaw, point_of
from tacit.mechanisms.privunit import Cap, _in_place, _nearness
from tacit.mechanisms.randomized_response import ResponseLaw
from tacit.mechanisms.registry import enumerate_law
from tacit.mechanisms.streams import Odds, exp_below, odds

EPSILONS = [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "law",
    [
        lambda e: PiecewiseLaw.of(e, 16),
        lambda e: DuchiLaw(1, odds(e, 64)),
        lambda e: DuchiLaw(4, odds(e, 64)),
        lambda e: DuchiLaw(5, odds(e, 64)),
        lambda e: ResponseLaw(6, odds(e, 64)),
        lambda e: Cap(3, 16, 5, odds(e, 64).high, 64),
    ],
    ids=["piecewise", "duchi-1", "duchi-4", "duchi-5", "response", "privunit"],
)
def test_whole_table_in_rationals(law, epsilon):
    verdict = enumerate_law(law(epsilon), epsilon)
    assert verdict.holds
    assert 0.8 * epsilon < verdict.epsilon <= epsilon


def test_a_table_that_is_too_steep_is_refused():
    """The same enumeration with one weight more than the odds allow."""
    fair = odds(1.0, 64)
    steep = PiecewiseLaw(steps=16, odds=Odds(fair.high + 1, fair.low), width=10)
    assert not enumerate_law(steep, 1.0).holds
    assert not enumerate_law(DuchiLaw(3, Odds(fair.high + 1, fair.low)), 1.0).holds


def test_a_table_with_an_impossible_output_is_refused():
    with pytest.raises(ValueError, match="impossible"):
        enumerate_law(ResponseLaw(3, Odds(5, 0)), 1.0)


def test_totals_that_depend_on_the_input_are_refused():
    class Uneven(ResponseLaw):
        def weights(self, true):
            return [1 + true] * self.size

    with pytest.raises(ValueError, match="common denominator"):
        enumerate_law(Uneven(3, Odds(3, 1)), 1.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_piecewise_kernel_reproduces_its_table(epsilon):
    law = PiecewiseLaw.of(epsilon, 16)
    for step in law.inputs:
        drawn = Counter(point_of(step, u, law.odds.high, law.width, 4) for u in range(law.total))
        assert [drawn[k] for k in range(law.size)] == law.weights(step)


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_duchi_accepts_in_proportion_to_its_table(dim):
    """All sign vectors and all values of the side coin, counted as the kernel uses them."""
    law = DuchiLaw(dim, Odds(7, 2))
    for signs in law.inputs:
        counts: Counter[tuple[int, ...]] = Counter()
        for drawn, u in product(law.inputs, range(9)):
            lean = sum(a * b for a, b in zip(drawn, signs, strict=True))
            if lean == 0 and u >= 4:
                continue
            turned = lean != 0 and (lean > 0) != (u < 7)
            counts[tuple(-d if turned else d for d in drawn)] += 1
        weights = law.weights(signs)
        assert {counts[out] * weights[signs] for out in weights if weights[out] == 7} == {
            counts[signs] * 7
        }
        assert all(
            Fraction(counts[out], weights[out]) == Fraction(counts[signs], 7) for out in weights
        )


@pytest.mark.parametrize(
    "scores", [[0.3, -0.1, 0.2], [0.5, 0.5, -0.5, 0.1], [1.0, -1.0, 0.0, -1.0, -0.0]]
)
def test_every_place_belongs_to_one_codeword(scores):
    """PrivUnit's privacy rests on this alone: places and codewords correspond one to one, ties
    included.
    """
    inner = np.array(scores, dtype=np.float32)
    room = np.empty(len(scores), dtype=np.uint32)
    order = [int(_in_place(inner, room, place)) for place in range(2 * len(scores))]
    assert sorted(order) == list(range(2 * len(scores)))
    both = np.stack([inner, -inner], axis=1).ravel()
    assert (np.diff(both[order]) <= 0).all()


@pytest.mark.parametrize("axes", [1, 2, 3, 16, 2048])
def test_the_selection_finds_what_sorting_finds(axes):
    rng = np.random.default_rng(axes)
    for inner in (rng.normal(size=axes), rng.integers(-2, 3, axes), -np.arange(axes)):
        near = np.abs(inner.astype(np.float32))
        for ahead in {0, axes // 3, axes // 2, axes - 1}:
            found = np.uint32(_nearness(near.view(np.uint32), ahead)).view(np.float32)
            assert found == np.sort(near)[::-1][ahead]


def test_shipped_mechanisms_stay_below_e_to_the_epsilon():
    """A / B as rationals for the grids that ship, epsilon in [0.05, 12]; k coordinates share the
    budget.
    """
    for epsilon in np.linspace(0.05, 12, 120).tolist():
        bound = exp_below(epsilon)
        for kind in (Piecewise, Hybrid):
            mechanism = kind(epsilon=epsilon, space=Box(dim=50))
            assert mechanism.laws[0].odds.ratio ** int(mechanism.counts[0]) <= bound
        assert Duchi(epsilon=epsilon, space=Box(dim=50)).laws[0].odds.ratio <= bound
        assert RandomizedResponse(epsilon=epsilon, space=Simplex(dim=9)).laws[0].odds.ratio <= bound
        laplace = Laplace(epsilon=epsilon, space=Ball(dim=9))
        assert Fraction(laplace.width, laplace.noise_scales[0]) <= Fraction(repr(epsilon))
    for epsilon in (0.05, 1.0, 12.0):
        cap = PrivUnit(epsilon=epsilon, space=Ball(dim=50)).laws[0]
        assert Fraction(cap.high, cap.low) <= exp_below(epsilon)
        assert cap.total < 1 << 63


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_laplace_width_bounds_rounded_shares(dim):
    """The l1 distance of two rounded shares, whatever the coins: floor and ceiling at worst."""
    space = Ball(dim=dim, radius=3.0)
    mechanism = Laplace(epsilon=1.0, space=space)
    points = space.clip(np.random.default_rng(dim).normal(size=(2000, dim)) * 10) / 3.0 * 2**14
    worst = (
        np.maximum(np.ceil(points) - np.floor(-points), np.ceil(-points) - np.floor(points))
        .sum(axis=1)
        .max()
    )
    assert 0.9 * mechanism.width <= worst <= mechanism.width
