"""Wide public features: a thousand numbers and more of a row, which a sum of two servers can carry.
Why these: summed_gradients.md.
"""

from typing import NamedTuple

import numpy as np

from tacit._util.types import FloatArray
from tacit.algorithms.feature_maps import COORDINATES, shrunk_axes
from tacit.algorithms.public_relevance import relevance
from tacit.data.cohort import Public
from tacit.learners.models.features import Expansion, FeatureMap, Joined, Products, Rows, Waves
from tacit.learners.models.scores import Leaves, Trees

WIDE = 2000  # numbers of a share that is added up by servers, for two classes
_BY_HEART = 300  # public rows, below which wide features would know them by heart
_MOST_WIDE = 9000  # numbers for any number of classes
_LEVEL = 0.2  # of their constant
_FLATTEST = 0.25  # part of the mean deviation that a column is taken to have at least
_TREES, _LEAVES, _LEAF = 40, 16, 3  # of a forest, of a tree, rows of a leaf
_LEAST_FOR_TREES = 20  # rows


class Mix(NamedTuple):
    """What features are made of: the part of each kind in their squared length, how much faster
    the fastest waves turn than the slowest, and along how many columns each does (0: along all).
    """

    parts: dict[type[Expansion], float]
    finest: float
    columns: int = 0


ROUGH = Mix({Rows: 0.2, Products: 0.2, Leaves: 0.3, Waves: 0.3}, 6.0)
SMOOTH = Mix({Rows: 0.3, Products: 0.2, Waves: 0.5}, 1.0)
NEARLY_ADDITIVE = SMOOTH._replace(columns=6)
LINEAR = Mix({Rows: 1.0}, 1.0)


def is_few(public: Public) -> bool:
    """Whether wide features would know these rows by heart, so that they cannot judge them."""
    return len(public.y) < _BY_HEART


def mixes_for(public: Public) -> tuple[Mix, ...]:
    """Kinds of features that are worth comparing on these rows. Few rows cannot tell, and then of
    two classes rough ones have more to learn from owners; of more classes the slopes share one
    length, so that each is heard less well, and smooth ones need fewer.
    """
    if not is_few(public):
        few = 2 * NEARLY_ADDITIVE.columns >= public.dim  # for a few of them to be others than all
        return (ROUGH, SMOOTH, LINEAR) if few else (ROUGH, SMOOTH, NEARLY_ADDITIVE, LINEAR)
    return (ROUGH,) if public.classes == 2 else (SMOOTH,)


def wide_map(public: Public, mix: Mix) -> FeatureMap:
    """Columns, products of their first principal coordinates, leaves of a forest of public rows and
    as many random waves as there is room for, where the mix has them; each only centred and scaled:
    squared lengths add up to 1 on average over public rows. Columns and waves follow how much each
    column counts.

    Owners compute it without a matrix product, and a coefficient's scale is a guess of a smooth
    function, not of what few rows happen to span.
    """
    room = min(WIDE, _MOST_WIDE // (public.classes - 1))
    centre, width = public.X.mean(axis=0), _widths(public.X)
    rows = (public.X - centre) / width
    parts: list[Expansion] = [Rows()]
    if Products in mix.parts:
        parts.append(_products(rows, centre, width))
    counts = np.sqrt(relevance(rows, public.y, public.classes))
    width, rows = width / counts, rows * counts
    if Leaves in mix.parts and len(public.y) >= _LEAST_FOR_TREES:
        parts.append(Leaves(_forest_trees(public, max(1, min(_TREES, room // (3 * _LEAVES))))))
    if Waves in mix.parts:
        left = room - sum(part.width(public.dim) for part in parts)
        parts.append(Waves(centre, _wave_axes(rows, width, max(1, left // 2), mix)))
    centres, scales, whole = [], [], sum(mix.parts[type(part)] for part in parts)
    for part in parts:
        raw = part.expand(public.X)
        centres.append(raw.mean(axis=0))
        each = 1 / width if isinstance(part, Rows) else np.ones(raw.shape[1])
        length = float((((raw - centres[-1]) * each) ** 2).sum(axis=1).mean())
        scales.append(each * np.sqrt(mix.parts[type(part)] / whole / max(length, 1e-12)))
    return FeatureMap(Joined(tuple(parts)), np.concatenate(centres), np.concatenate(scales), _LEVEL)


def _widths(X: FloatArray) -> FloatArray:
    """By what columns are divided: deviations, none much less than the others; constant ones say
    nothing.
    """
    deviation = X.std(axis=0)
    least = _FLATTEST * float(np.sqrt((deviation**2).mean()))
    return np.where(deviation > 1e-9, np.maximum(deviation, least), np.inf)


def _products(rows: FloatArray, centre: FloatArray, width: FloatArray) -> Products:
    values, vectors = shrunk_axes(rows)
    flat = (vectors / np.sqrt(values))[:, :COORDINATES]
    return Products(centre, np.ascontiguousarray(np.diag(1 / width) @ flat))


def _wave_axes(rows: FloatArray, width: FloatArray, waves: int, mix: Mix) -> FloatArray:
    """(columns, waves): how fast each turns, at random."""
    coins = np.random.default_rng(0)
    turns = coins.normal(size=(len(width), waves)) * mix.finest ** coins.random(waves)
    if mix.columns:
        turns = _along_few(turns, mix.columns, coins)
    spread = max(float(np.sqrt((rows**2).sum(axis=1).mean())), 1e-9)
    return np.ascontiguousarray(np.diag(1 / width) @ turns / spread)


def _along_few(turns: FloatArray, columns: int, coins: np.random.Generator) -> FloatArray:
    """Waves (dim, waves), each along so many columns alone, and as fast as before on average."""
    kept = coins.permuted(np.arange(len(turns))[:, np.newaxis] + np.zeros_like(turns), axis=0)
    return np.asarray(turns * (kept < columns) * np.sqrt(len(turns) / columns))


def _forest_trees(public: Public, number: int) -> Trees:
    """Small trees, each of other public rows: they are of use for where they cut."""
    from sklearn.ensemble import RandomForestClassifier  # here: owners never come by

    forest = RandomForestClassifier(
        number, max_leaf_nodes=_LEAVES, min_samples_leaf=_LEAF, random_state=0
    )
    grown = [each.tree_ for each in forest.fit(public.X, public.y).estimators_]
    roots = np.cumsum([0, *(len(tree.feature) for tree in grown)], dtype=np.int64)[:-1]
    inner = [tree.children_left >= 0 for tree in grown]
    below = [
        [
            np.where(inside, side + root, 0)
            for tree, inside, root in zip(grown, inner, roots, strict=True)
            for side in (getattr(tree, name),)
        ]
        for name in ("children_left", "children_right")
    ]
    split = np.concatenate(inner)
    return Trees(
        column=np.where(split, np.concatenate([tree.feature for tree in grown]), -1),
        cut=np.where(split, np.concatenate([tree.threshold for tree in grown]), 0.0),
        left=np.concatenate(below[0]),
        right=np.concatenate(below[1]),
        value=np.zeros(len(split)),
        roots=roots,
        classes=np.zeros(number, dtype=np.int64),
    )
