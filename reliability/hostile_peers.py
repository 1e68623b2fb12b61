"""Hostile questions to peers: cuts beyond the attributes, trees without leaves, menus out of
order.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from reliability.campaign import Campaign
from tacit.learners.peers.alike import CountClasses
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.noisy_tree import GrowTree, all_cuts
from tacit.learners.peers.peer_model import Additive, NoisyTrees, ScorePart, Tree
from tacit.learners.query import Query

Content = list[Any]  # ["invitation", campaign, number, expires, schema, query]
_QUERY = 5
_CELLS, _CUTS, _MODEL = (
    4,
    5,
    6,
)  # of ["count leaves", round, attempt, owners, cells, cuts, model, menu]
_DEPTH = 5  # of ["grow tree", round, attempt, owners, cells, depth, candidates, model, menu]
_SIZES = (-1, 0, 1, 2, 3, 16, 1000, 65_535, 65_536, 2**31, 2**63)
_SCORES = (0.0, 1.0, -700.0, 1.7e308, -1.7e308, float("nan"), float("inf"))
_EPSILONS = (1e-300, 1e-5, 0.1, 0.3, 1.0, 4.0, 50.0, 51.0, 1e300)


def peer_queries(campaign: Campaign) -> list[Query]:
    """What peers are asked, where there are two classes."""
    if campaign.classes != 2:
        return []
    cells = Cells(campaign.schema, bins=4)
    cuts = all_cuts(cells, cells.columns_of(None))
    tree = Tree(1, cuts[:3], (0.5, -0.5, 0.25, -0.25), 0)
    menu = (0.1, 0.3)
    return [
        CountLeaves(
            1,
            1,
            10,
            cells=cells,
            cuts=cuts[:1],
            model=Additive((ScorePart(1, 0, (0.5, -0.5, 0.1, 0.0), 0),)),
            menu=menu,
        ),
        CountLeaves(1, 1, 10, cells=cells, cuts=cuts, model=Additive(), menu=menu),
        CountClasses(1, 1, 10, cells=cells, cuts=cuts[:2], model=Additive(), menu=menu),
        GrowTree(
            1, 1, 1, cells=cells, depth=2, candidates=cuts, model=NoisyTrees((tree,)), menu=menu
        ),
    ]


def is_peers(content: Content) -> bool:
    return content[_QUERY][0] in ("count leaves", "count classes", "grow tree")


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _cut(rng: np.random.Generator) -> Any:
    """A cut of an attribute that may not be there, in leaves that may be none or very many."""
    cells = int(_pick(rng, (0, 1, 3, 4, 5, 500)))
    most = int(_pick(rng, (1, 2, 2, 2, 16, 65_536)))
    leaves = rng.integers(0, most, cells).tolist()
    if leaves and rng.random() < 0.2:
        leaves[0] = _pick(rng, _SIZES)
    return ["cut", int(_pick(rng, (0, 1, 2, 0, 1, 2, 3, -1, 2**31, 2**63))), leaves]


def _cuts(content: Content, rng: np.random.Generator) -> None:
    place = _CUTS + (content[_QUERY][0] == "grow tree")
    many = int(_pick(rng, (0, 1, 1, 2, 3, 3, 5000)))
    content[_QUERY][place] = [_cut(rng)] * many if many > 5 else [_cut(rng) for _ in range(many)]


def _scores(rng: np.random.Generator, many: int) -> list[float]:
    return [
        float(_pick(rng, _SCORES)) if rng.random() < 0.1 else float(rng.normal())
        for _ in range(many)
    ]


def _model(content: Content, rng: np.random.Generator) -> None:
    """Parts about attributes that are not there; trees with fewer scores than leaves."""
    query = content[_QUERY]
    if query[0] == "grow tree":
        cuts = [_cut(rng) for _ in range(int(_pick(rng, (0, 1, 2, 3, 7))))]
        scores = _scores(rng, len(cuts) + 1 + int(_pick(rng, (0, 0, 0, -1, 1))))
        query[_MODEL + 1] = ["trees", [["tree", 1, cuts, scores, 0]] * int(_pick(rng, (1, 2, 50)))]
    else:
        part = [
            "part",
            1,
            _pick(rng, (0, 1, 2, 3, -1, 2**63)),
            _scores(rng, int(_pick(rng, (0, 1, 4, 4, 900)))),
            0,
        ]
        query[_MODEL] = ["additive", [part] * int(_pick(rng, (1, 2, 50)))]


def _menu(content: Content, rng: np.random.Generator) -> None:
    epsilons = rng.choice(_EPSILONS, size=int(_pick(rng, (0, 1, 2, 3))), replace=False).tolist()
    content[_QUERY][-1] = sorted(epsilons) if rng.random() < 0.7 else epsilons


def _cells(content: Content, rng: np.random.Generator) -> None:
    """Another number of cells, or cells of another schema of the same width."""
    cells = content[_QUERY][_CELLS]
    if rng.random() < 0.5:
        cells[2] = _pick(rng, _SIZES)
    else:
        width = int(_pick(rng, (4, 5, 5, 5, 6)))
        cells[1] = ["schema", [["number", str(i), -1.0, 1.0] for i in range(width)], [0, 1]]


def _depth(content: Content, rng: np.random.Generator) -> None:
    if content[_QUERY][0] == "grow tree":
        content[_QUERY][_DEPTH] = _pick(rng, (-1, 0, 1, 3, 6, 10, 11, 60, 2**63))


PEER_CHANGES: tuple[Callable[[Content, np.random.Generator], None], ...] = (
    _cuts,
    _model,
    _menu,
    _cells,
    _depth,
)


def terms_of_peers(query: Any) -> tuple[str, str, Any, int, int, int]:
    """What is asked, how, the epsilons, numbers of a row, classes, numbers of a share: told from
    the plain content.
    """
    features = query[_CELLS][1][1]
    dim = sum(
        len(each[2]) if each[0] == "category" and len(each[2]) > 2 else 1 for each in features
    )
    if query[0] == "grow tree":
        nodes = 2 ** query[_DEPTH] - 1
        return "tree", "counts", query[-1], dim, 2, 3 * nodes + 2
    sizes = [max(cut[2]) + 1 for cut in query[_CUTS]]
    if query[0] == "count classes":
        return "contrasts", "counts", query[-1], dim, 2, 2 * sum(sizes)
    leaves = max(sizes)
    return "leaves", "counts", query[-1], dim, 2, 1 + 2 * leaves
