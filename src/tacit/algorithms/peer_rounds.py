"""Paper D's scheme with a guarantee that holds: everybody shares a random stump in every round.

    for t = 1 .. T:
        each participant takes a public random cut, counts its rows in the two leaves by class,
        every row with weight
            min(1, exp(-y F)), and sends the counts with noise of scale T / epsilon
        everybody adds the stumps to F, with alpha from the released error and say from the released
        sizes

Each participant then makes its own ensemble of the shared stumps (`learners/voted_model.py`). F is
what may be served.

Boosted trees passed along participants, as in InPriv: the comparison of paper D, with a guarantee
that holds.

for each turn: the participant grows a tree on the gradients of F and passes F with it to the next
"""

from collections.abc import Generator, Mapping, Sequence

from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.noisy_tree import GrowTree, Trees, all_cuts
from tacit.learners.peers.random_stump import Shared, Stump, random_cut
from tacit.learners.query import Estimates
from tacit.mechanisms.streams import Stream


def exchange_stumps(
    cells: Cells,
    held: Mapping[int, tuple[int, ...]],
    rounds: int,
    menu: tuple[float, ...],
    coins: Stream,
    known: Shared,
) -> Generator[CountLeaves, Estimates | None, Shared]:
    """`rounds` more rounds of the participants in `held` (their attributes); coins are public."""
    shared = known
    first = max((stump.round for stumps in known.rounds for stump in stumps), default=0)
    for number in range(first + 1, first + rounds + 1):
        stumps = []
        for participant, own in held.items():
            cut = random_cut(cells, own, coins.child("cut", number, participant))
            query = CountLeaves(number, 1, (participant,), cells, (cut,), shared.model, menu)
            told = yield query
            if told is not None and told.n:
                (z0, z1), (o0, o1) = query.read(told.values[0])[1].tolist()
                stumps.append(Stump(number, participant, cut, (z0, z1), (o0, o1)))
        shared = shared.plus(stumps)
    return shared


def pass_trees(
    cells: Cells,
    held: Mapping[int, tuple[int, ...]],
    order: Sequence[int],
    depth: int,
    menu: tuple[float, ...],
    known: Trees,
) -> Generator[GrowTree, Estimates | None, Trees]:
    """Participants grow trees in this order; `held` are their attributes, `menu` holds what one
    answer may cost.
    """
    model = known
    candidates = {participant: all_cuts(cells, own) for participant, own in held.items()}
    for number, participant in enumerate(
        order, start=1 + max((tree.round for tree in known.trees), default=0)
    ):
        query = GrowTree(
            number, 1, (participant,), cells, depth, candidates[participant], model, menu
        )
        told = yield query
        if told is not None and told.n:
            model = Trees((*model.trees, query.tree(told, participant)))
    return model
