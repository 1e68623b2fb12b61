import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit import Ball, Box, Piecewise, Simplex, seeded
from tacit.mechanisms.spaces import Crosses, Mixture
from tests.mechanisms.membership import contains

SPACES = [
    Box(dim=3),
    Box(dim=3, radius=0.25),
    Ball(dim=3),
    Ball(dim=3, radius=7.0),
    Simplex(dim=3),
    Mixture(blocks=3, size=1),
    Mixture(blocks=1, size=3),
    Crosses(blocks=3, size=1),
    Crosses(blocks=1, size=3),
]
ANY_FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)


@pytest.mark.parametrize("space", SPACES, ids=str)
@given(x=arrays(np.float64, (4, 3), elements=ANY_FLOATS))
def test_clip_is_total_and_lands_inside(space, x):
    clipped = space.clip(x)
    assert np.isfinite(clipped).all()
    assert contains(space, clipped).all()
    np.testing.assert_allclose(space.clip(clipped), clipped, rtol=1e-14)
    for i in range(len(x)):
        np.testing.assert_array_equal(space.clip(x[i : i + 1])[0], clipped[i])


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_radii_bound_every_point(space):
    rng = np.random.default_rng(0)
    points = space.clip(rng.normal(scale=10, size=(10_000, 3)))
    assert np.abs(points).max() <= space.radius_inf * (1 + 1e-12)
    assert np.sqrt((points**2).sum(axis=1)).max() <= space.radius_2 * (1 + 1e-12)
    assert np.abs(points).sum(axis=1).max() <= space.radius_1 * (1 + 1e-12)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_points_inside_do_not_move(space):
    inside = space.clip(np.random.default_rng(1).normal(size=(100, 3))) * (
        1.0 if isinstance(space, Simplex) else 0.5
    )
    np.testing.assert_allclose(space.clip(inside), inside, rtol=1e-15)


def test_contains_refuses_what_is_outside():
    assert not contains(Box(dim=2), np.array([[1.1, 0.0], [np.nan, 0.0]])).any()
    assert not contains(Ball(dim=2), np.array([[0.8, 0.8], [np.nan, 0.0]])).any()
    assert not contains(Simplex(dim=2), np.array([[0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]])).any()


def test_infinite_coordinates_take_all_the_direction():
    np.testing.assert_allclose(
        Ball(dim=3).clip(np.array([np.inf, -np.inf, 5.0])), [0.5**0.5, -(0.5**0.5), 0]
    )
    np.testing.assert_allclose(Simplex(dim=3).clip(np.array([np.inf, 3.0, np.inf])), [0.5, 0, 0.5])
    np.testing.assert_allclose(Simplex(dim=4).clip(np.full(4, np.nan)), [0.25] * 4)


@pytest.mark.parametrize("dim", [0, -1, 1.5, "3", True, None])
def test_bad_dimension(dim):
    with pytest.raises(ValueError, match=r"^dim must be a whole number >= 1, got "):
        Box(dim=dim)


@pytest.mark.parametrize("radius", [0, -1.0, np.nan, np.inf, "1", None])
@pytest.mark.parametrize("kind", [Box, Ball])
def test_bad_radius(kind, radius):
    with pytest.raises(ValueError, match=r"^radius must be a finite number > 0, got "):
        kind(dim=2, radius=radius)


@pytest.mark.parametrize("radius", [1e-300, 1e300])
@pytest.mark.parametrize("kind", [Box, Ball])
def test_radius_where_kernels_would_overflow(kind, radius):
    with pytest.raises(ValueError, match=r"^radius must be between 1e-100 and 1e100, got "):
        kind(dim=2, radius=radius)


@pytest.mark.parametrize("radius", [1e-100, 1e100])
def test_extreme_radii_stay_on_the_grid(radius):
    mechanism = Piecewise(epsilon=1.0, space=Box(dim=1, radius=radius))
    shares = np.array([[-radius], [radius], [0.0], [np.inf], [np.nan], [5e-324]])
    assert mechanism.valid(mechanism.randomize(shares, seeded(1))).all()


@pytest.mark.parametrize("classes", [[0, 3], [-1], [0.5], [[0]]])
def test_bad_classes(classes):
    with pytest.raises(ValueError, match=r"^classes must "):
        Simplex(dim=3).vertices(classes)


@pytest.mark.parametrize("kind", [Mixture, Crosses])
def test_blocks_are_smaller_than_their_box(kind):
    space = kind(blocks=4, size=5)
    box = Box(dim=space.dim)
    assert space.dim == 20
    assert space.radius_2 < box.radius_2
    assert space.radius_1 < box.radius_1
    with pytest.raises(ValueError, match=r"^size must be a whole number >= 1, got 0"):
        kind(blocks=4, size=0)


def _shortened(row: list[float], radius: float) -> list[float]:
    """One row, number by number, as the ball is described."""
    square = 0.0
    for each in row:
        square += each * each
    if square <= radius * radius:
        return row
    if any(map(math.isinf, row)):
        row = [math.copysign(radius, each) if math.isinf(each) else 0.0 for each in row]
    row = [0.0 if math.isnan(each) else each for each in row]
    peak = max(map(abs, row))
    if not peak > 0:
        return row
    square = 0.0
    for each in row:
        square += (each / peak) * (each / peak)
    length = math.sqrt(square)
    if not peak * length > radius:
        return row
    return [each / peak * (radius / length) for each in row]


@pytest.mark.parametrize("radius", [1e-100, 0.3, 1.0, 1e100])
def test_rows_of_a_ball_are_shortened_number_by_number(radius):
    rng = np.random.default_rng(1)
    odd = [0.0, -0.0, 5e-324, 1e-200, np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, radius, -radius]
    rows = radius * rng.normal(size=(3000, 50)) / 7
    rows[:500, :3] = rng.choice(odd, size=(500, 3))
    rows[500:800] = rng.choice(odd, size=(300, 50))
    rows[800:1300] = 0.0
    rows[800:1300, 7] = rng.choice(odd, size=500)
    found = Ball(dim=50, radius=radius).clip(rows)
    wanted = np.array([_shortened(row, radius) for row in rows.tolist()])
    assert found.tobytes() == wanted.tobytes()
    short = rows[800:801] * 0
    assert Ball(dim=50, radius=radius).clip(short) is short
