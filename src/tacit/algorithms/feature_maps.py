"""Fitting public features to the data user's sample.

A basis is made of groups: the rows themselves, products of columns, waves, leaves of trees, and
what the data user's own model says. Features of a group are uncorrelated on public rows, of unit
variance, strongest first; their strengths say how large coefficients are likely to be, up to a
scale per group that comes from the evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from tacit._util.checks import bad
from tacit._util.one_thread import one_thread
from tacit._util.types import FloatArray
from tacit.algorithms.public_baseline import PublicModel, as_scores
from tacit.data.cohort import Public
from tacit.learners.models.features import Expansion, FeatureMap, Joined, Products, Rows, Waves
from tacit.learners.models.scores import Forest, Leaves, ModelScores, contrasts

MOST = 480  # numbers of a share: an owner's time grows with it
COORDINATES = 15  # of which products are made
WAVES, _TREES = 400, 12  # how many of each: cosines and sines, trees


@dataclass(frozen=True, eq=False)
class Group:
    """Features (expand(x) - centre) @ matrix of one kind, and their strengths, 1 on average."""

    name: str
    expansion: Expansion
    centre: FloatArray
    matrix: FloatArray
    strength: FloatArray

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[1])


@dataclass(frozen=True, eq=False)
class Basis:
    """All features that a model may have: the constant one first, then group by group."""

    groups: tuple[Group, ...]

    @property
    def dim(self) -> int:
        return 1 + sum(group.dim for group in self.groups)

    def columns(self, name: str) -> slice:
        """Where the features of a group are; none where there is no such group."""
        start = 1
        for group in self.groups:
            if group.name == name:
                return slice(start, start + group.dim)
            start += group.dim
        return slice(0, 0)

    def feature_map(self, scale: FloatArray) -> FeatureMap:
        """Features multiplied by `scale`; those with scale 0 are gone, and so are groups without
        any. The constant one must stay.
        """
        parts, centres, blocks = [], [], []
        for group in self.groups:
            own = scale[self.columns(group.name)]
            if (own > 0).any():
                parts.append(group.expansion)
                centres.append(group.centre)
                blocks.append((group.matrix * own)[:, own > 0])
        if not parts:
            first = self.groups[0]
            return FeatureMap(first.expansion, first.centre, first.matrix[:, :0], float(scale[0]))
        expansion = parts[0] if len(parts) == 1 else Joined(tuple(parts))
        matrix = np.ascontiguousarray(block_diag(*blocks))
        return FeatureMap(expansion, np.concatenate(centres), matrix, float(scale[0]))

    def transform(self, X: FloatArray) -> FloatArray:
        """All features of rows, (rows, dim)."""
        return self.feature_map(np.ones(self.dim)).transform(X)


def basis_of(names: Sequence[str], public: Public) -> Basis:
    """The rows' own columns, and the groups of these names: "products", "waves", "leaves"."""
    named = [name for name in names if name != "linear"]
    kinds = {"linear": Rows(), **{name: _expansion(name, public) for name in named}}
    expanded = {name: kind.expand(public.X) for name, kind in kinds.items()}
    room, groups = MOST // (public.classes - 1) - 1, list[Group]()
    for name, kind in kinds.items():
        if room > 0:
            groups.append(_components(name, kind, expanded[name], public, room))
            room -= groups[-1].dim
    return Basis(tuple(groups))


def with_model(basis: Basis, own: PublicModel) -> Basis:
    """The basis, and what the data user's own model says, of unit variance out of fold."""
    said = own.held_out @ contrasts(own.held_out.shape[1])
    width = np.maximum(said.std(axis=0), 1e-3)
    group = Group(
        "model",
        ModelScores(own.model),
        np.zeros(len(width)),
        np.diag(1 / width),
        np.ones(len(width)),
    )
    return Basis((*basis.groups, group))


def _expansion(name: str, public: Public) -> Expansion:
    if name == "products":
        return Products(*_whitening(public.X, COORDINATES))
    if name == "waves":
        centre, axes = _whitening(public.X, public.dim)
        turns = np.random.default_rng(0).normal(size=(axes.shape[1], WAVES // 2))
        return Waves(centre, axes @ turns / np.sqrt(axes.shape[1]))
    if name == "leaves":
        return _leaves(public)
    raise bad("features", "one of ['leaves', 'linear', 'products', 'waves']", name)


def within_classes(public: Public) -> FeatureMap:
    """Rows centred, and whitened so that classes have unit covariance: where linear
    discriminants are nearest means.
    """
    counts = np.bincount(public.y, minlength=public.classes)
    sums = np.zeros((public.classes, public.dim))
    np.add.at(sums, public.y, public.X)
    means = sums / np.maximum(counts, 1)[:, np.newaxis]
    rest = public.X - means[public.y]
    width = rest.std(axis=0)
    width = np.where(width > 1e-9, width, np.inf)
    values, vectors = shrunk_axes(rest / width)
    matrix = (vectors / np.sqrt(values)) / width[:, np.newaxis]
    level = max(
        1.0, float(np.sqrt(matrix.shape[1] / 20))
    )  # a little longer, and frequencies with less noise
    return FeatureMap(Rows(), public.X.mean(axis=0), np.ascontiguousarray(matrix), level)


def _components(
    name: str, expansion: Expansion, raw: FloatArray, public: Public, room: int
) -> Group:
    """Principal components of the standardised expansion `raw` of public rows, scaled to unit
    variance; of products only those of two columns: the columns themselves are in the linear group.
    """
    single = expansion.axes.shape[1] if isinstance(expansion, Products) else 0
    centre, width = raw.mean(axis=0), raw.std(axis=0)
    width = np.where(width > 1e-9, width, np.inf)
    width[:single] = np.inf
    values, vectors = shrunk_axes(((raw - centre) / width)[:, single:])
    most = len(public.y) - 1 if name == "linear" else len(public.y) // (public.classes - 1) - 1
    most = max(1, min(room, most))
    values, vectors = values[:most], vectors[:, :most]
    matrix = np.zeros((raw.shape[1], len(values)))
    matrix[single:] = (vectors / np.sqrt(values)) / width[single:, np.newaxis]
    return Group(name, expansion, centre, matrix, values / values.mean())


def shrunk_axes(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, largest first, and eigenvectors of the Ledoit-Wolf covariance of centred
    rows; no null ones.
    """
    from sklearn.covariance import ledoit_wolf_shrinkage  # here: owners never come by

    weight = float(ledoit_wolf_shrinkage(rows, assume_centered=True)) if len(rows) > 1 else 1.0
    raw = rows.T @ rows / len(rows)
    level = max(
        float(np.trace(raw)) / len(raw), 1e-9
    )  # where nothing varies, everything counts alike
    values, vectors = np.linalg.eigh((1 - weight) * raw + weight * level * np.eye(len(raw)))
    kept = np.flatnonzero(values > 1e-9 * values[-1])[::-1]
    if not len(kept):
        return np.ones(1), vectors[:, :1]
    return values[kept], vectors[:, kept]


def _whitening(X: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Centre and axes of the first principal coordinates, of unit variance."""
    width = X.std(axis=0)
    width = np.where(width > 1e-9, width, np.inf)
    centre = X.mean(axis=0)
    centred = (X - centre) / width
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X) + 1e-12 * np.eye(X.shape[1]))
    kept = np.flatnonzero(values > 1e-6 * values[-1])[::-1][:most]
    return centre, np.ascontiguousarray(
        vectors[:, kept] / np.sqrt(values[kept]) / width[:, np.newaxis]
    )


def _leaves(public: Public) -> Leaves:
    """The leaves of a few boosted trees of the sample."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        max_iter=_TREES, max_leaf_nodes=16, learning_rate=0.3, early_stopping=False, random_state=0
    )
    with one_thread():
        term = as_scores(trees.fit(public.X, public.y), public.classes).terms[0]
    if not isinstance(term, Forest):
        raise TypeError("boosted trees must become a forest")
    return Leaves(term.trees)
