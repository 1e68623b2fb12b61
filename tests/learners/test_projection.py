import numpy as np
import pytest

from tacit.learners.sites.projection import Projection, fit_projection

RNG = np.random.default_rng(5)
PUBLIC = RNG.normal(size=(300, 6)) * [3, 1, 1, 0.5, 0.1, 0] + 2
ODD = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0])


@pytest.mark.parametrize("whiten", [0.0, 0.5, 1.0])
def test_whatever_comes_in_stays_inside_both_balls(whiten):
    projection = fit_projection(PUBLIC, whiten=whiten)
    wild = np.concatenate([PUBLIC, 1e9 * RNG.normal(size=(50, 6)), RNG.choice(ODD, size=(200, 6))])
    seen = projection.see(wild)
    assert np.isfinite(seen).all()
    assert (seen.astype(np.longdouble) ** 2).sum(axis=1).max() <= 1
    assert np.abs(seen.astype(np.longdouble)).sum(axis=1).max() <= projection.l1_bound
    assert projection.l1_bound <= np.sqrt(projection.dim)
    assert projection.dim == 6  # five directions and the constant: the sixth column does not vary


def test_few_rows_are_shortened_much():
    projection = fit_projection(PUBLIC)
    lengths = np.sqrt((projection.see(PUBLIC) ** 2).sum(axis=1))
    # scaled to a median length of 1, some shortened for their girth
    assert 0.2 < np.mean(lengths > 0.99) < 0.8
    assert np.min(lengths) > 0.3


def test_components_and_whitening():
    assert fit_projection(PUBLIC, components=2, intercept=False).dim == 2
    assert fit_projection(PUBLIC, components=99, intercept=False).dim == 5
    plain, white = (fit_projection(PUBLIC, whiten=whiten, intercept=False) for whiten in (0.0, 1.0))
    spread = [
        ((PUBLIC - projection.centre) @ projection.directions).std(axis=0)
        for projection in (plain, white)
    ]
    assert spread[0].max() / spread[0].min() > 20
    assert spread[1][:4].max() / spread[1][:4].min() < 1.1
    np.testing.assert_allclose(plain.stretch, plain.stretch[0])


def test_the_classes_side_is_kept():
    """Clipping a row with its constant multiplies its score: no sign changes."""
    projection = fit_projection(PUBLIC)
    far = projection.centre + 50 * (PUBLIC - projection.centre)
    f = RNG.normal(size=projection.dim)
    raw = (far - projection.centre) @ projection.directions @ f[:-1] + projection.constant * f[-1]
    np.testing.assert_array_equal(np.sign(projection.see(far) @ f), np.sign(raw))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Projection(np.zeros(2), np.zeros((3, 1)), 1.0),
            r"^directions must be 2 rows, one per feature",
        ),
        (
            lambda: Projection(np.zeros(2), np.full((2, 1), np.nan), 1.0),
            r"^centre and directions must be finite",
        ),
        (
            lambda: Projection(np.zeros(2), np.full((2, 1), 2.0**21), 1.0),
            r"^centre and directions must be finite, at most 1.04858e\+06 in size",
        ),
        (
            lambda: Projection(np.zeros(2), np.diag([1.0, 2.0**-21]), 1.0),
            r"^directions must be of lengths above 0, the longest at most 1.04858e\+06 times",
        ),
        (
            lambda: Projection(np.zeros(2), np.zeros((2, 2)), 1.0),
            r"^directions must be of lengths above 0",
        ),
        (
            lambda: Projection(np.zeros(2), np.ones((2, 1)), 0.5),
            r"^girth must be at least 1, beside a constant",
        ),
        (
            lambda: fit_projection(PUBLIC, whiten=2.0),
            r"^whiten must be a number from 0 to 1, got 2.0",
        ),
        (
            lambda: fit_projection(PUBLIC, components=0),
            r"^components must be a whole number >= 1, got 0",
        ),
    ],
)
def test_bad_lenses(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_constant_public_rows_make_a_lens():
    projection = fit_projection(np.ones((5, 3)))
    assert np.isfinite(projection.see(np.array([[1.0, 2.0, np.nan]]))).all()


@pytest.mark.parametrize("features", [1, 6, 100])
@pytest.mark.parametrize("columns", [1, 4, 13])
def test_a_row_is_seen_the_same_alone_and_among_any_number_of_others(features, columns):
    """Directions that cancel but for the last bits, so that any other order of adding shows."""
    rows = RNG.normal(size=(50, features))
    directions = np.tile(2.0**18 * RNG.uniform(0.5, 1, size=columns), (features, 1))
    cancelling = Projection(rows.mean(axis=1).mean() * np.ones(features), directions, 1.5, 0.5)
    together = cancelling.see(rows)
    for i in range(50):
        assert cancelling.see(rows[i : i + 1]).tobytes() == together[i].tobytes()
        assert cancelling.see(rows[: i + 1])[i].tobytes() == together[i].tobytes()
        assert cancelling.see(rows[i:])[0].tobytes() == together[i].tobytes()


def test_what_is_seen_is_the_plain_projection():
    projection = fit_projection(PUBLIC)
    plain = np.hstack(
        [(PUBLIC - projection.centre) @ projection.directions, np.full((300, 1), 0.5)]
    )
    length = np.sqrt((plain**2).sum(axis=1))
    stretch = np.maximum(np.maximum(length, np.abs(plain).sum(axis=1) / projection.l1_bound), 1.0)
    np.testing.assert_allclose(projection.see(PUBLIC), plain / stretch[:, None], atol=1e-12)
