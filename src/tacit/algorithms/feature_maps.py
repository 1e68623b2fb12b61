"""Fitting public feature maps to the data user's sample, and how much of a share each feature gets.

A spectrum is a map into uncorrelated features of unit variance, strongest first, with their
strengths: what a difference in a model is likely to be in each of them. Noise is shared out by
water-filling: with features scaled by a_j the variance of coordinate j is kappa / a_j^2 for sum
a_j^2 = 1; if its prior variance is tau_j^2, the expected loss is least for a_j^2 = (c - kappa /
tau_j^2)_+. So weak features are left out, the more the noisier the answer will be: the size of a
map follows from the predicted signal to noise.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits  # a dependency of scikit-learn

from tacit._util.checks import bad, positive
from tacit._util.types import FloatArray
from tacit.algorithms.public_baseline import as_scores
from tacit.data.sample import Public
from tacit.learners.models.features import Expansion, FeatureMap, Leaves, Products, Rows, Waves
from tacit.learners.models.scores import Forest

MOST = 480  # numbers of a share: an owner's time grows with it
_COORDINATES = 15  # of which products are made
_WAVES, _TREES = 200, 12


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Uncorrelated features of unit variance and their strengths, (features,); the constant one
    first, strength 1.
    """

    name: str
    features: FeatureMap
    strength: FloatArray

    def scaled(self, scale: FloatArray) -> FeatureMap:
        """The map with features multiplied by `scale`; those with scale 0 are gone. The constant
        one must stay.
        """
        kept = np.flatnonzero(scale[1:] > 0)
        whole = self.features
        matrix = np.ascontiguousarray(whole.matrix[:, kept] * scale[1:][kept])
        return FeatureMap(whole.expansion, whole.centre, matrix, whole.level * float(scale[0]))


def spectrum_of(name: str, public: Public) -> Spectrum:
    """The spectrum of an expansion by name: "linear", "products", "waves" or "leaves"."""
    if name == "linear":
        return _components(name, Rows(), public)
    if name == "products":
        centre, axes = _whitening(public.X, _COORDINATES)
        return _components(name, Products(centre, axes), public)
    if name == "waves":
        centre, axes = _whitening(public.X, public.dim)
        turns = np.random.default_rng(0).normal(size=(axes.shape[1], _WAVES)) / np.sqrt(
            axes.shape[1]
        )
        return _components(name, Waves(centre, axes @ turns), public)
    if name == "leaves":
        return _components(name, _leaves(public), public)
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
    values, vectors = _shrunk(rest / width)
    matrix = (vectors / np.sqrt(values)) / width[:, np.newaxis]
    level = max(
        1.0, float(np.sqrt(matrix.shape[1] / 20))
    )  # a little longer, and frequencies with less noise
    return FeatureMap(Rows(), public.X.mean(axis=0), np.ascontiguousarray(matrix), level)


def water_filling(variances: FloatArray, kappa: float) -> FloatArray:
    """a^2 with sum 1: (c - kappa / variance)_+, at least one of them above 0.

    >>> water_filling(np.array([1.0, 1.0, 0.1]), kappa=1.0).tolist()
    [0.5, 0.5, 0.0]
    """
    price = positive("kappa", kappa) / variances
    order = np.argsort(price, kind="stable")
    rising = price[order]
    size = np.arange(1, len(price) + 1)
    level = (1 + np.cumsum(rising)) / size
    count = int(np.max(np.flatnonzero(level > rising)) + 1)
    return np.asarray(np.maximum(level[count - 1] - price, 0.0))


def _components(name: str, expansion: Expansion, public: Public) -> Spectrum:
    """Principal components of the standardised expansion, scaled to unit variance."""
    raw = expansion.expand(public.X)
    centre, width = raw.mean(axis=0), raw.std(axis=0)
    width = np.where(width > 1e-9, width, np.inf)
    values, vectors = _shrunk((raw - centre) / width)
    most = max(1, min(MOST // (public.classes - 1), len(public.y)) - 1)
    values, vectors = values[:most], vectors[:, :most]
    matrix = np.ascontiguousarray((vectors / np.sqrt(values)) / width[:, np.newaxis])
    strength = np.concatenate([[1.0], values / values[0]])
    return Spectrum(name, FeatureMap(expansion, centre, matrix), strength)


def _shrunk(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, largest first, and eigenvectors of the Ledoit-Wolf covariance of centred
    rows; no null ones.
    """
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
    trees = HistGradientBoostingClassifier(
        max_iter=_TREES, max_leaf_nodes=16, learning_rate=0.3, early_stopping=False, random_state=0
    )
    with threadpool_limits(1):
        term = as_scores(trees.fit(public.X, public.y), public.classes).terms[0]
    if not isinstance(term, Forest):
        raise TypeError("boosted trees must become a forest")
    return Leaves(term.trees)
