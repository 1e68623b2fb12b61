"""Questions to peers that rows could stop: each would tell one bit of the rows that no epsilon
pays for.
"""

import pytest

from tacit import Number, Schema
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.noisy_tree import GrowTree
from tacit.learners.peers.peer_model import Additive, NoisyTrees, ScorePart, Tree

CELLS = Cells(Schema((Number("x", -1, 1),), (0, 1)), bins=2)
CUT = Cut(0, (0, 1))


def test_a_tree_has_a_score_for_every_leaf():
    """With one score for two leaves, an owner with a row on the right could not answer, and one
    without could.
    """
    with pytest.raises(ValueError, match="scores must be one for each of 2 leaves"):
        Tree(1, (CUT,), (0.5,), 0)


@pytest.mark.parametrize("menu", [(), (0.0,), (1.0, 0.5), (1.0, 1.0), (-1.0, 1.0)])
def test_a_menu_rises(menu):
    with pytest.raises(ValueError, match="menu must be numbers > 0 in rising order, at least one"):
        CountLeaves(1, 1, 1, CELLS, (CUT,), Additive(), menu)
    with pytest.raises(ValueError, match="menu must be numbers > 0 in rising order, at least one"):
        GrowTree(1, 1, 1, CELLS, 1, (CUT,), NoisyTrees(), menu)


def test_nothing_is_about_attributes_that_are_not_there():
    beyond = Cut(1, (0, 1))
    with pytest.raises(ValueError, match="cuts of the model must be of the 1 attributes"):
        GrowTree(
            1, 1, 1, CELLS, 1, (CUT,), NoisyTrees((Tree(1, (beyond,), (0.5, 0.5), 0),)), (1.0,)
        )
    with pytest.raises(ValueError, match="columns of the model"):
        CountLeaves(1, 1, 1, CELLS, (CUT,), Additive((ScorePart(1, 1, (0.5, 0.5), 0),)), (1.0,))


def test_cuts_that_would_cost_an_owners_memory_are_refused():
    with pytest.raises(ValueError, match="leaves of all cuts must be at most"):
        CountLeaves(1, 1, 1, CELLS, (Cut(0, (0, 65_535)),) * 3, Additive(), (1.0,))
    with pytest.raises(ValueError, match="candidates must be at most"):
        GrowTree(1, 1, 1, CELLS, 1, (CUT,) * 5000, NoisyTrees(), (1.0,))
