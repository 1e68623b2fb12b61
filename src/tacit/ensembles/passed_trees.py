"""Boosted trees passed along participants, as in InPriv: the comparison of paper D, with a guarantee that holds.

for each turn: the participant grows a tree on the gradients of F and passes F with it to the next
"""

from collections.abc import Generator, Mapping, Sequence

from tacit.learners.cells import Cells
from tacit.learners.noisy_tree import GrowTree, Trees, all_cuts
from tacit.learners.query import Estimates


def pass_trees(
    cells: Cells,
    held: Mapping[int, tuple[int, ...]],
    order: Sequence[int],
    depth: int,
    menu: tuple[float, ...],
    known: Trees,
) -> Generator[GrowTree, Estimates | None, Trees]:
    """Participants grow trees in this order; `held` are their attributes, `menu` holds what one answer may cost."""
    model = known
    candidates = {participant: all_cuts(cells, own) for participant, own in held.items()}
    for number, participant in enumerate(order, start=1 + max((tree.round for tree in known.trees), default=0)):
        query = GrowTree(number, 1, (participant,), cells, depth, candidates[participant], model, menu)
        told = yield query
        if told is not None and told.n:
            model = Trees((*model.trees, query.tree(told, participant)))
    return model
