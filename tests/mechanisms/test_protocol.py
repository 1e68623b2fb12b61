"""What every mechanism promises to its callers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit import (
    Ball,
    Box,
    Duchi,
    Hybrid,
    Laplace,
    NoPrivacy,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Reports,
    Simplex,
    secure,
    seeded,
)
from tests.mechanisms.cases import ALL, PRIVATE, SPACES, corners, make, name

EVERY = [(kind, space) for kind in ALL for space in SPACES]


def shares_for(space, n, seed=0):
    return space.clip(np.random.default_rng(seed).normal(size=(n, space.dim)))


@pytest.mark.parametrize(("kind", "space"), EVERY, ids=lambda v: name(v))
def test_an_owner_reports_the_same_alone_and_in_a_crowd(kind, space):
    n = 5000 if kind is PrivUnit else 150_000  # several blocks
    mechanism = make(kind, space, 2.0)
    shares = shares_for(space, n)
    together = mechanism.randomize(shares, seeded(1))
    some = np.array([0, 17, n // 2, n - 1])
    alone = mechanism.randomize(shares[some], seeded(1).of(some))
    np.testing.assert_array_equal(alone.points, together.points[some])
    np.testing.assert_array_equal(alone.indices, together.indices[some])


@pytest.mark.parametrize(("kind", "space"), EVERY, ids=lambda v: name(v))
def test_mean_needs_no_dense_matrix_and_no_order(kind, space):
    n = 3000
    mechanism = make(kind, space, 2.0)
    reports = mechanism.randomize(shares_for(space, n), seeded(1))
    dense = mechanism.estimate(reports)
    totals = mechanism.totals(reports)
    np.testing.assert_allclose(totals.mean, dense.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        totals.stderr, dense.std(axis=0, ddof=1) / np.sqrt(n), rtol=2e-3, atol=1e-12
    )
    shuffled = np.random.default_rng(0).permutation(n)
    parts = [
        mechanism.totals(reports[shuffled[lo:hi]]) for lo, hi in ((0, 1), (1, 1000), (1000, 3000))
    ]
    again = parts[2] + parts[0] + parts[1]
    assert again.n == n
    assert again.mean.tobytes() == totals.mean.tobytes()
    assert again.stderr.tobytes() == totals.stderr.tobytes()


@pytest.mark.parametrize("kind", PRIVATE, ids=name)
def test_owners_may_differ_in_epsilon(kind):
    space = Ball(dim=4)
    epsilon = np.array([0.5, 2.0, 5.0, 0.5, 8.0] * 400)
    shares = shares_for(space, 2000)
    mechanism = kind(epsilon=epsilon, space=space)
    reports = mechanism.randomize(shares, seeded(1))
    for value in (0.5, 2.0, 5.0, 8.0):
        rows = np.flatnonzero(epsilon == value)
        same = kind(epsilon=value, space=space)
        np.testing.assert_array_equal(
            same.estimate(same.randomize(shares[rows], seeded(1).of(rows))),
            mechanism.estimate(reports)[rows],
        )
        np.testing.assert_array_equal(same.variance(shares[rows]), mechanism.variance(shares)[rows])
    part = mechanism.select(slice(0, 100))
    np.testing.assert_array_equal(part.estimate(reports[:100]), mechanism.estimate(reports)[:100])


def test_a_menu_is_for_vectors_of_epsilon_only():
    """A level is looked up in the menu: with one number it must never decide the budget."""
    with pytest.raises(ValueError, match=r"^menu must be left out when epsilon is one number"):
        Duchi(epsilon=1.0, space=Box(dim=3), menu=np.array([5.0]))
    outside = Duchi(epsilon=np.array([1.0]), space=Box(dim=3), menu=np.array([5.0]))
    with pytest.raises(ValueError, match=r"^epsilon must be a value of the menu in every row"):
        outside.randomize(np.zeros((1, 3)), seeded(1))


def test_levels_are_weighted_by_inverse_variance():
    space = Box(dim=3)
    shares = np.full((40_000, 3), 0.25)
    epsilon = np.where(np.arange(40_000) < 20_000, 0.2, 4.0)
    mechanism = Piecewise(epsilon=epsilon, space=space)
    totals = mechanism.totals(mechanism.randomize(shares, seeded(1)))
    careful = Piecewise(epsilon=4.0, space=space)
    alone = careful.totals(
        careful.randomize(shares[20_000:], seeded(1).of(np.arange(20_000, 40_000)))
    )
    assert (totals.stderr < 1.05 * alone.stderr).all()  # a plain mean would have six times that
    assert (np.abs(totals.mean - 0.25) < 5 * totals.stderr).all()


@pytest.mark.parametrize(("kind", "space"), EVERY, ids=lambda v: name(v))
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_no_share_is_an_error(kind, space, data):
    """NaN, infinities, overflow: clipped by rule, so the reports are those of the clipped share."""
    wild = data.draw(
        arrays(
            np.float64,
            (3, space.dim),
            elements=st.floats(allow_nan=True, allow_infinity=True, width=64),
        )
    )
    mechanism = make(kind, space, 2.0)
    reports = mechanism.randomize(wild, seeded(4))
    assert mechanism.valid(reports).all()
    assert np.isfinite(mechanism.estimate(reports)).all()
    assert np.isfinite(mechanism.variance(wild)).all()
    if isinstance(space, Box):
        np.testing.assert_array_equal(
            reports.points, mechanism.randomize(space.clip(wild), seeded(4)).points
        )


@pytest.mark.parametrize(("kind", "space"), EVERY, ids=lambda v: name(v))
def test_production_coins_work_too(kind, space):
    mechanism = make(kind, space, 3.0)
    reports = mechanism.randomize(corners(space), secure())
    assert mechanism.valid(reports).all()
    assert mechanism.randomize(corners(space)[:0], secure()).points.shape[0] == 0


@pytest.mark.parametrize(("kind", "space"), EVERY, ids=lambda v: name(v))
def test_reports_fit_their_announced_size(kind, space):
    mechanism = make(kind, space, 5.0)
    reports = mechanism.randomize(shares_for(space, 100), seeded(1))
    assert 0 < mechanism.report_bits <= 8 * reports.nbytes // len(reports)


@pytest.mark.parametrize("kind", PRIVATE, ids=name)
@pytest.mark.parametrize(
    "epsilon",
    [0, -1, float("nan"), float("inf"), "1", None, True, 1e-9, [[1.0]], [1.0, -1.0], ["a"]],
)
def test_bad_epsilon(kind, epsilon):
    with pytest.raises(ValueError, match=r"^epsilon must be "):
        kind(epsilon=epsilon, space=Box(dim=3))


@pytest.mark.parametrize("kind", [Duchi, RandomizedResponse, PrivUnit])
def test_epsilon_too_large_for_the_grid(kind):
    with pytest.raises(
        ValueError,
        match=r"^epsilon must be between 0.0001 and 20.0 for each released value, got 1000.0",
    ):
        kind(epsilon=1000.0, space=Box(dim=3))


@pytest.mark.parametrize("kind", [Piecewise, Hybrid])
def test_sampling_mechanisms_split_a_large_epsilon(kind):
    assert kind(epsilon=50.0, space=Box(dim=30)).slots == 20
    with pytest.raises(ValueError, match=r"^epsilon must be between"):
        kind(epsilon=100.0, space=Box(dim=3))


def test_laplace_says_which_epsilon_the_space_allows():
    with pytest.raises(ValueError, match=r"^epsilon must be between .* for this space, got 200"):
        Laplace(epsilon=200.0, space=Box(dim=3))


def test_no_privacy_takes_no_epsilon():
    with pytest.raises(ValueError, match=r"^epsilon must be left out"):
        NoPrivacy(epsilon=1.0, space=Box(dim=3))


@pytest.mark.parametrize("steps", [0, 3, 1 << 21, 1.0, None])
def test_bad_steps(steps):
    with pytest.raises(ValueError, match=r"^steps must be a power of two"):
        Piecewise(epsilon=1.0, space=Box(dim=3), steps=steps)


@pytest.mark.parametrize("kind", ALL, ids=name)
def test_bad_space(kind):
    with pytest.raises(ValueError, match=r"^space must be a Space such as Box\(dim=50\), got 50"):
        make(kind, 50, 1.0)


@pytest.mark.parametrize("kind", ALL, ids=name)
@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (np.zeros((5, 2)), r"^shares must have shape \(n, 3\), got \(5, 2\)"),
        (np.zeros(3), r"^shares must have shape \(n, 3\), got \(3,\)"),
        (np.zeros((1, 3), dtype=complex), r"^shares must hold real numbers, got dtype complex128"),
        ([["a", "b", "c"]], r"^shares must hold real numbers, got dtype <U1"),
        (np.zeros((1, 3), dtype=bool), r"^shares must hold real numbers, got dtype bool"),
    ],
)
def test_bad_shares(kind, shares, message):
    with pytest.raises(ValueError, match=message):
        make(kind, Box(dim=3), 1.0).randomize(shares, seeded(1))


def test_rows_must_match_a_vector_epsilon():
    mechanism = Duchi(epsilon=np.array([1.0, 2.0]), space=Box(dim=3))
    with pytest.raises(ValueError, match=r"^epsilon has 2 rows, but 3 were given"):
        mechanism.randomize(np.zeros((3, 3)), seeded(1))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_other_number_types_are_taken(dtype):
    mechanism = NoPrivacy(space=Box(dim=2))
    reports = mechanism.randomize(np.array([[1, 0]], dtype=dtype), seeded(1))
    np.testing.assert_allclose(mechanism.estimate(reports), [[1.0, 0.0]])


BOX = Box(dim=3)
FORGED = [
    (
        Piecewise(epsilon=5.0, space=BOX),
        Reports(np.zeros((1, 2), np.uint32), np.array([[0, 3]], np.uint8)),
    ),
    (
        Piecewise(epsilon=5.0, space=BOX),
        Reports(np.zeros((1, 2), np.uint32), np.array([[1, 1]], np.uint8)),
    ),
    (
        Piecewise(epsilon=5.0, space=BOX),
        Reports(np.array([[0, 2**31]], np.uint32), np.array([[0, 1]], np.uint8)),
    ),
    (Piecewise(epsilon=5.0, space=BOX), Reports.of(np.zeros((1, 2), np.uint32))),
    (
        Piecewise(epsilon=5.0, space=BOX),
        Reports(np.zeros((1, 2), np.int64), np.array([[0, 1]], np.uint8)),
    ),
    (
        Hybrid(epsilon=1.0, space=BOX),
        Reports(np.array([[2**22]], np.uint32), np.array([[0]], np.uint8)),
    ),
    (Duchi(epsilon=1.0, space=BOX), Reports.of(np.array([[8]], np.uint64))),
    (Duchi(epsilon=1.0, space=BOX), Reports.of(np.array([[1, 1]], np.uint64))),
    (Laplace(epsilon=1.0, space=BOX), Reports.of(np.array([[0, 0, 2**62]], np.int64))),
    (Laplace(epsilon=1.0, space=BOX), Reports.of(np.array([[0, 0, -(2**63)]], np.int64))),
    (NoPrivacy(space=BOX), Reports.of(np.array([[0, 0, -(2**63)]], np.int64))),
    (RandomizedResponse(epsilon=1.0, space=BOX), Reports.of(np.array([[6]], np.uint32))),
    (RandomizedResponse(epsilon=1.0, space=Simplex(dim=3)), Reports.of(np.array([[3]], np.uint32))),
    (PrivUnit(epsilon=1.0, space=BOX), Reports.of(np.array([[3]], np.uint8))),
]


@pytest.mark.parametrize(("mechanism", "forged"), FORGED, ids=lambda v: type(v).__name__)
def test_forged_reports_are_told_apart(mechanism, forged):
    assert not mechanism.valid(forged).any()
    for use in (mechanism.estimate, mechanism.mean):
        with pytest.raises(
            ValueError,
            match=r"^(1 of 1 )?reports (are not of this|have another form than this) mechanism",
        ):
            use(forged)


def test_unused_slots_must_be_empty():
    mechanism = Piecewise(epsilon=np.array([1.0, 5.0]), space=BOX)
    points, indices = np.zeros((2, 2), np.uint32), np.array([[0, 1], [0, 1]], np.uint8)
    np.testing.assert_array_equal(mechanism.valid(Reports(points, indices)), [False, True])


@pytest.mark.parametrize("kind", PRIVATE, ids=name)
def test_no_report_moves_the_mean_beyond_the_mechanism(kind):
    """Any valid report has an estimate within a bound that follows from public constants."""
    mechanism = kind(epsilon=1.0, space=BOX)
    reports = mechanism.randomize(np.full((10_000, 3), np.inf), seeded(1))
    assert np.abs(mechanism.estimate(reports)).max() <= 70 * np.sqrt(mechanism.risk)


def test_totals_of_different_mechanisms_do_not_add():
    one, other = (Duchi(epsilon=e, space=BOX) for e in (1.0, 2.0))
    with pytest.raises(ValueError, match="cannot be added"):
        one.totals(one.randomize(np.zeros((2, 3)), seeded(1))) + other.totals(
            other.randomize(np.zeros((2, 3)), seeded(1))
        )


def test_the_mean_of_nothing_is_an_error_and_of_one_has_no_error_bar():
    mechanism = Duchi(epsilon=1.0, space=BOX)
    with pytest.raises(ValueError, match="no reports"):
        mechanism.mean(mechanism.randomize(np.zeros((0, 3)), seeded(1)))
    assert np.isinf(mechanism.totals(mechanism.randomize(np.zeros((1, 3)), seeded(1))).stderr).all()
