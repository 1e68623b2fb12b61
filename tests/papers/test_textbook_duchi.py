"""The textbook's Duchi: its law in whole numbers, its draws against the law, and ours beside it."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.spaces import Box
from tacit.mechanisms.streams import seeded
from tacit_papers.a.learners import make
from tacit_papers.shared.textbook_duchi import TextbookDuchi, as_published


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6])
def test_every_output_weighs_a_or_b_whatever_the_input(dim):
    (law,) = TextbookDuchi(epsilon=1.5, space=Box(dim=dim)).laws
    for signs in law.inputs:
        weights = law.weights(signs)
        assert set(weights.values()) <= {law.odds.high, law.odds.low}
        assert sum(weights.values()) == law.total
        mean = np.array([[weights[out] * sign for sign in out] for out in weights]).sum(axis=0)
        np.testing.assert_allclose(mean / law.total * law.scale, signs)
    assert law.odds.high / law.odds.low <= np.exp(1.5)


def test_it_is_the_published_scale_and_ours_is_smaller():
    for dim, epsilon in product((2, 20, 50), (1.0, 5.0)):
        ours, theirs = (
            kind(epsilon=epsilon, space=Box(dim=dim)) for kind in (Duchi, TextbookDuchi)
        )
        assert ours.laws[0].scale < theirs.laws[0].scale
    (law,) = TextbookDuchi(epsilon=5.0, space=Box(dim=20)).laws
    assert law.scale == pytest.approx(6.75, abs=0.01)
    ours, theirs = (kind(epsilon=1.0, space=Box(dim=5)) for kind in (Duchi, TextbookDuchi))
    assert ours.laws[0].scale == theirs.laws[0].scale


@pytest.mark.parametrize("kind", [TextbookDuchi, Duchi])
def test_draws_follow_the_textbook_law_and_those_of_ours_do_not(kind):
    """Chi-square over 16 vectors, 40,000 draws: false alarms at 1e-6."""
    mechanism = kind(epsilon=2.0, space=Box(dim=4))
    (law,) = TextbookDuchi(epsilon=2.0, space=Box(dim=4)).laws
    signs = (1, 1, -1, 1)
    shares = np.tile(np.array(signs, dtype=np.float64), (40_000, 1))
    drawn = mechanism.estimate(mechanism.randomize(shares, seeded(3)))
    counts = Counter(map(tuple, np.sign(drawn).astype(int).tolist()))
    weights = law.weights(signs)
    expected = [len(shares) * weight / law.total for weight in weights.values()]
    likely = chisquare([counts[out] for out in weights], expected).pvalue
    assert (likely > 1e-6) == (kind is TextbookDuchi)


def test_means_are_unbiased_with_the_variance_of_the_law():
    """Five standard errors of 20,000 draws."""
    mechanism = TextbookDuchi(epsilon=3.0, space=Box(dim=6))
    share = np.array([0.9, -0.4, 0.0, 0.2, -1.0, 0.5])
    drawn = mechanism.estimate(mechanism.randomize(np.tile(share, (20_000, 1)), seeded(4)))
    error = mechanism.laws[0].scale / len(drawn) ** 0.5
    assert np.abs(drawn.mean(axis=0) - share).max() < 5 * error


def test_what_is_published_runs_it():
    assert as_published(Duchi) is TextbookDuchi
    assert as_published(Piecewise) is Piecewise
    made = make(Duchi, Box(dim=4), np.full(3, 2.0))
    assert type(made) is TextbookDuchi
