"""What is made of released counts: scores, own models, stumps and votes."""

from math import log

import numpy as np
import pytest

from tacit.learners.peers.cells import Cut
from tacit.learners.peers.leaf_counts import cell_scores, groups
from tacit.learners.peers.own_model import OwnRows, distance, fit_own, misfits, say, vote_own
from tacit.learners.peers.peer_model import (
    Additive,
    RandomStump,
    ScorePart,
    SharedStumps,
    adaboost,
    loss_weights,
    random_cut,
)
from tacit.mechanisms.streams import seeded
from tests.learners.peers import CELLS, rows

SURE = ScorePart(1, 0, (-0.5, -0.4, 0.3, 0.3), 0)
OPPOSITE = ScorePart(2, 0, (0.5, 0.4, -0.3, -0.3), 1)


def test_weights_are_the_slope_of_a_loss_with_the_true_odds_at_its_minimum():
    scores = np.linspace(-3, 3, 13)
    for chance in (0.1, 0.5, 0.8):
        slope = (1 - chance) * loss_weights(scores, np.zeros(13, int)) - chance * loss_weights(
            scores, np.ones(13, int)
        )
        assert (
            np.sign(slope.round(12)) == np.sign((scores - log(chance / (1 - chance))).round(12))
        ).all()
    assert loss_weights(np.array([1e9, -1e9]), np.array([1, 1])).tolist() == [np.exp(-700.0), 1.0]


def test_scores_follow_counts_and_noise_alone_says_nothing():
    rng = np.random.default_rng(1)
    sure = cell_scores(np.array([900.0, 100.0]), np.array([100.0, 900.0]), 5.0, ordered=False)
    assert sure[0] == pytest.approx(-1.55, abs=0.02)
    assert sure[1] == -sure[0]
    silent = [
        np.abs(
            cell_scores(rng.laplace(0, 5, 8), rng.laplace(0, 5, 8), 5 * 2**0.5, ordered=False)
        ).mean()
        for _ in range(200)
    ]
    assert np.mean(silent) < 0.1
    assert np.abs(cell_scores(np.zeros(3), np.full(3, 1e9), 0.0, ordered=False)).max() <= 2
    assert cell_scores(np.zeros(3), np.zeros(3), 0.0, ordered=False).tolist() == [0, 0, 0]


def test_neighbours_are_joined_until_they_are_heard():
    assert groups(np.array([0.1, 0.2, 50, 0.3, 60]), 1.0).tolist() == [0, 0, 0, 1, 1]
    assert groups(np.zeros(4), 1.0).tolist() == [0, 0, 0, 0]
    assert groups(np.array([5.0, 9.0]), 0.0).tolist() == [0, 1]
    joined = cell_scores(np.array([30.0, 1, 2, 40]), np.array([1.0, 2, 1, 90]), 10.0, ordered=True)
    assert joined[1] == joined[2]


def test_peers_that_say_the_opposite_are_left_out():
    X, y = rows(400)
    cells = CELLS.read(X)
    released = Additive((SURE, OPPOSITE))
    assert misfits(cells, y, released, rho=1.0, keep=()) == (1,)
    assert misfits(cells, y, released, rho=1.0, keep={1}) == ()
    assert misfits(cells, y, released, rho=5.0, keep=()) == ()
    own = fit_own(OwnRows(cells, y, CELLS.sizes), released, me=7, rho=1.0, ridge=5.0)
    assert own.left_out == (1,)
    assert own.released.parts == (SURE,)


def test_own_models_start_from_what_was_released_and_learn_from_own_rows():
    X, y = rows(3000)
    cells, test = CELLS.read(X[:2000]), CELLS.read(X[2000:])

    def accuracy(n, released):
        model = fit_own(OwnRows(cells[:n], y[:n], CELLS.sizes), released, 0, 1.0, 5.0)
        return np.mean((model.score(test) > 0) == (y[2000:] == 1))

    alone = [accuracy(n, Additive()) for n in (0, 10, 2000)]
    helped = [accuracy(n, Additive((SURE,))) for n in (0, 10, 2000)]
    assert helped[0] > 0.7 > alone[0]
    assert helped[1] >= alone[1]
    assert min(helped[2], alone[2]) > 0.72


@pytest.mark.parametrize("label", [0, 1])
def test_own_rows_of_one_class_do_not_run_away(label):
    cells = CELLS.read(rows(50)[0])
    own_rows = OwnRows(cells, np.full(50, label), CELLS.sizes)
    own = fit_own(own_rows, Additive((SURE,)), me=0, rho=1.0, ridge=5.0)
    assert np.isfinite(own.score(cells)).all()
    assert np.abs(own.score(cells)).max() < 30


def test_distance():
    assert distance(0.25, 0.25) == 0
    assert distance(0.5, 0.25) == 1
    assert distance(0.75, 0.25) == 2
    assert distance(0.5, 0.5) == 0
    assert distance(0.6, 0.5) > 1e6


def test_random_cuts_have_two_sides_and_take_all_attributes_held():
    cuts = [random_cut(CELLS, (0, 1, 2), "halves", seeded(1).child(k)) for k in range(300)]
    assert {cut.column for cut in cuts} == {0, 1, 2}
    assert all(set(cut.leaves) == {0, 1} for cut in cuts)
    assert len({cut.leaves for cut in cuts if cut.column == 0}) == 3
    assert {random_cut(CELLS, (1,), "halves", seeded(1).child(k)).column for k in range(20)} == {1}


def test_leaves_are_halves_categories_or_cells():
    """Columns 0 and 1 of four cells each, a number and a category."""
    for leaves, sizes in {"halves": (2, 2), "values": (2, 4), "cells": (4, 4)}.items():
        cuts = [random_cut(CELLS, (column,), leaves, seeded(2)) for column in (0, 1)]
        assert tuple(len(set(cut.leaves)) for cut in cuts) == sizes
    with pytest.raises(ValueError, match=r"^leaves must be one of"):
        random_cut(CELLS, (0,), "thirds", seeded(1))


def test_a_stump_says_what_its_noisy_counts_say():
    stump = RandomStump(1, 4, Cut(0, (0, 0, 1, 1)), (80.0, 20.0), (10.0, 60.0))
    assert stump.signs.tolist() == [-1, -1, 1, 1]
    assert stump.votes(np.array([[0], [3], [-1]])).tolist() == [-1, 1, 0]
    assert stump.alpha == adaboost(30 / 170)
    assert stump.part(0.5).scores == tuple(0.5 * stump.alpha * stump.signs)
    drowned = RandomStump(1, 4, Cut(0, (0, 0, 1, 1)), (-80.0, -20.0), (-10.0, -60.0))
    assert drowned.support == 1
    assert np.isfinite(drowned.alpha)
    assert adaboost(0.6) == 0
    assert adaboost(0.0) == pytest.approx(log(99) / 2)


def test_own_say_is_larger_and_bounded():
    shares = {0: 0.1, 1: 0.3, 2: 0.6}
    assert say(1, 0, shares) == 0.3
    own = [say(me, me, shares) for me in shares]
    assert own == pytest.approx([0.1 / 0.36 * 4, 0.3 / 0.36 * 4, 0.6 / 0.36 * 4])
    assert all(say(me, me, shares) >= shares[me] for me in shares)


def honest(number, participant, X, y, flip=1):
    cut = Cut(0, (0, 0, 1, 1))
    leaf = cut.leaf_of(CELLS.read(X))
    counts = [[float(np.sum((leaf == side) & (y == label))) for side in (0, 1)] for label in (0, 1)]
    zeros, ones = counts[::flip]
    return RandomStump(number, participant, cut, (zeros[0], zeros[1]), (ones[0], ones[1]))


def test_a_poisoned_peer_has_no_vote():
    X, y = rows(600)
    good, own, poisoned = honest(1, 1, X, y), honest(1, 0, X, y), honest(1, 2, X, y, flip=-1)
    model = vote_own(CELLS.read(X), y, SharedStumps().plus((own, good, poisoned)), rho=1.0, me=0)
    ((alpha, voters),) = model.rounds
    assert alpha > 0
    assert [stump.participant for _, stump in voters] == [0, 1]
    assert model.left_out == {2: 1}
    kept = vote_own(CELLS.read(X), y, SharedStumps().plus((own, good, poisoned)), rho=5.0, me=0)
    assert len(kept.rounds[0][1]) == 3


def test_sizes_are_known_from_noisy_counts_only():
    X, y = rows(300)
    shared = SharedStumps().plus((honest(1, 0, X[:100], y[:100]), honest(1, 1, X[100:], y[100:])))
    assert shared.shares() == {0: pytest.approx(1 / 3), 1: pytest.approx(2 / 3)}
    left = shared.without({0})
    assert left.shares() == {1: 1.0}
    assert {part.speaker for part in left.model.parts} == {1}
