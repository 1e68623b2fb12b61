"""The one-run bound: true as often as it says, and near the truth."""

import numpy as np
import pytest

from tacit.audit.statistical import boldness, guess, one_run_bound


def test_the_bound_holds_as_often_as_it_says():
    """Guesses right with the largest probability that epsilon 1 allows: at 95 %, the bound
    passes 1 in at most 5 %.
    """
    right = np.random.default_rng(0).binomial(2000, 0.7310585786, size=2000)
    wrong = sum(one_run_bound(int(each), 2000, 0.95) > 1 for each in right)
    # 5 % and three standard errors; and not merely careful
    assert 0.02 * 2000 < wrong <= 0.065 * 2000


@pytest.mark.parametrize(("right", "guesses"), [(0, 1), (0, 100), (50, 100), (30, 100), (1, 1)])
def test_no_evidence_is_no_bound(right, guesses):
    assert one_run_bound(right, guesses, 0.999) == 0


def test_all_right_is_a_large_but_finite_bound():
    assert 2 < one_run_bound(100, 100, 0.999) < 5


def test_only_telling_reports_are_guessed():
    """Most scores are noise; the loud ones are right nine times in ten."""
    rng = np.random.default_rng(1)
    bits = rng.random(4000) < 0.5
    loud = rng.random(4000) < 0.2
    right = rng.random(4000) < 0.9
    scores = np.where(loud, 5.0, 0.1 * rng.random(4000)) * np.where(
        np.where(loud, right, rng.random(4000) < 0.5) == bits, 1, -1
    )
    expected, least = boldness(scores, bits, 1, 0.999)
    assert 0.1 < least <= 5
    # half a guess of one is none
    assert expected == pytest.approx(guess(scores, bits, least, 0.999))
    assert boldness(scores, bits, 4, 0.999)[0] > expected
    assert 1.6 < guess(scores, bits, least, 0.999) < np.log(9)
    assert guess(scores, bits, 0.0, 0.999) < 0.6
    assert guess(np.zeros(100), bits[:100], 0.0, 0.999) == 0
