import numpy as np
import pytest

from tacit import (
    Ball,
    Box,
    Duchi,
    Hybrid,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Simplex,
    choose,
    seeded,
)
from tacit.mechanisms.registry import best_mechanism
from tacit.mechanisms.spaces import Crosses, Mixture


@pytest.mark.parametrize(
    ("space", "epsilon", "expected"),
    [
        (Ball(dim=50), 1.0, PrivUnit),
        (Ball(dim=50), 7.0, PrivUnit),
        (Box(dim=1), 2.0, Hybrid),
        (Box(dim=50), 0.1, Hybrid),
        (Simplex(dim=10), 3.0, RandomizedResponse),
    ],
    ids=str,
)
def test_geometry_decides(space, epsilon, expected):
    choice = choose(space, epsilon)
    assert type(choice.mechanism) is expected
    assert choice.why.startswith(expected.__name__ + ":")
    assert choice.mechanism.risk == min(choice.risks.values())
    assert list(choice.risks.values()) == sorted(choice.risks.values())


def test_the_choice_is_right_in_a_sample():
    """Measured mean squared errors rank the mechanisms as the formulas do."""
    space = Ball(dim=20)
    x = np.zeros((20_000, 20))
    measured: dict[str, float] = {}
    for kind in (PrivUnit, Piecewise, Duchi):
        mechanism = kind(epsilon=2.0, space=space)
        measured[kind.__name__] = (
            (mechanism.estimate(mechanism.randomize(x, seeded(1))) ** 2).sum(axis=1).mean()
        )
    risks = choose(space, 2.0).risks
    assert sorted(measured, key=lambda kind: measured[kind]) == [k for k in risks if k in measured]
    for label, error in measured.items():
        assert 0.8 * risks[label] < error < 1.1 * risks[label]


def test_bad_epsilon():
    with pytest.raises(ValueError, match=r"^epsilon must be"):
        choose(Box(dim=3), float("nan"))


@pytest.mark.parametrize("dim", [2, 3, 4, 5, 8, 20, 300])
def test_on_a_ball_it_is_privunit_up_to_epsilon_twice_the_dimension(dim):
    """What `best_mechanism` relies on, at budgets between which errors change by less than the
    factor that is left.
    """
    for epsilon in np.geomspace(0.01, min(2 * dim, 16), 25).tolist():
        choice = choose(Ball(dim=dim), epsilon)
        privunit, second, *_ = choice.risks.values()
        assert isinstance(choice.mechanism, PrivUnit)
        assert second / privunit > 1.19
        assert best_mechanism(Ball(dim=dim), epsilon).risk == privunit
    beyond = best_mechanism(Ball(dim=2), 8.0)
    assert type(beyond) is type(choose(Ball(dim=2), 8.0).mechanism) is Piecewise


@pytest.mark.parametrize(("blocks", "size"), [(2, 5), (2, 60), (3, 7), (5, 5), (5, 8), (5, 200)])
def test_in_blocks_it_is_privunit_where_the_ball_around_them_is_a_few_times_flatter(blocks, size):
    """What `best_mechanism` relies on; least is the factor at five by five and epsilon 6, 1.064."""
    for epsilon in np.geomspace(0.01, 16, 25).tolist():
        for space in (Mixture(blocks=blocks, size=size), Crosses(blocks=size, size=blocks)):
            privunit, second, *_ = choose(space, epsilon).risks.values()
            assert second / privunit > 1.06
            assert best_mechanism(space, epsilon).risk == privunit
    narrow = Mixture(blocks=10, size=5)
    assert type(best_mechanism(narrow, 8.0)) is RandomizedResponse
