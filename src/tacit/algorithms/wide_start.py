"""What is known before anybody has answered a sum: wide public features, the likeliest model of
them under public rows alone, and how these rows curve. Why these: summed_gradients.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.feature_maps import COORDINATES, shrunk_axes
from tacit.algorithms.public_baseline import PublicModel, folds_of
from tacit.data.cohort import Public
from tacit.learners.models.features import Expansion, FeatureMap, Joined, Products, Rows, Waves
from tacit.learners.models.scores import Leaves, ModelScores, Trees, contrasts, softmax, temperature

WIDE = 2000  # numbers of a share that is added up by servers, for two classes
_MOST_WIDE = 9000  # the same for any number of classes
_LEVEL = 0.2  # of their constant
_OWN = 0.02  # squared length of what the data user's own model says
_FLATTEST = 0.25  # part of the mean deviation that a column is taken to have at least
_TREES, _LEAVES, _LEAF = 40, 16, 3  # of a forest, of a tree, rows of a leaf
_LEAST_FOR_TREES = 20  # rows
_BY_HEART = 300  # public rows, below which wide features would know them by heart
_LOUDEST = 3.0  # part of a model's scores in a mix, at most: rows may all be told apart
_VARIANCES = (1.0, 4.0, 16.0, 64.0, 256.0)  # of coefficients, before anything is known
_STAND_INS = 1500  # rows in owners' place: public ones, and others between them
_AS_THEY_ARE = 0.3  # part of these that public rows count for at least
_NEAREST, _FARTHEST = np.pi / 16, np.pi / 4  # angles that a row is turned towards another by
_CURVED, _CAUTION = 1.5, 0.05  # how much more than foreseen rows left out may curve; part of it


class StandIns(NamedTuple):
    """Rows between public rows, and the part that each public row and then each of them counts for
    in a mean.
    """

    X: FloatArray
    parts: FloatArray


def stand_ins(public: Public, rows: int | None = None) -> StandIns:
    """Rows as owners may have them: each a public row that is turned around their mean towards
    another one, which leaves mean and covariance as they are. A few hundred rows show few
    directions of wide features; these show how curved the others are.

    None with more than two classes: between rows of two classes are no rows, and of many classes
    most pairs are of two (ten digits, 200 rows: 88.2 without, 87.8 with them).
    """
    known, mean = len(public.y), public.X.mean(axis=0)
    others = max(0, (_STAND_INS if rows is None else rows) - known) if public.classes == 2 else 0
    coins, away = np.random.default_rng(0), public.X - mean
    one, two = coins.integers(0, known, size=(2, others))
    angle = _NEAREST + (_FARTHEST - _NEAREST) * coins.random((others, 1))
    part = max(_AS_THEY_ARE, known / (known + others))
    parts = [np.full(known, part / known), np.full(others, (1 - part) / max(1, others))]
    X = mean + np.cos(angle) * away[one] + np.sin(angle) * away[two]
    return StandIns(X, np.concatenate(parts))


class Mix(NamedTuple):
    """What features are made of: the part of each kind in their squared length, and how much
    faster the fastest waves turn than the slowest.
    """

    parts: dict[type[Expansion], float]
    finest: float


ROUGH = Mix({Rows: 0.2, Products: 0.2, Leaves: 0.3, Waves: 0.3}, 6.0)
SMOOTH = Mix({Rows: 0.3, Products: 0.2, Waves: 0.5}, 1.0)


def mixes_for(public: Public) -> tuple[Mix, ...]:
    """Kinds of features that are worth comparing on these rows. Few rows cannot tell, and then of
    two classes rough ones have more to learn from owners; of more classes the slopes share one
    length, so that each is heard less well, and smooth ones need fewer.
    """
    if len(public.y) >= _BY_HEART:
        return (ROUGH, SMOOTH)
    return (ROUGH,) if public.classes == 2 else (SMOOTH,)


def wide_map(public: Public, mix: Mix) -> FeatureMap:
    """Columns, products of their first principal coordinates, leaves of a forest of public rows
    where the mix has them, and as many random waves as there is room for; each only centred and
    scaled: squared lengths add up to 1 on average over public rows.

    Owners compute it without a matrix product, and a coefficient's scale is a guess of a smooth
    function, not of what few rows happen to span.
    """
    room = min(WIDE, _MOST_WIDE // (public.classes - 1))
    deviation = public.X.std(axis=0)
    least = _FLATTEST * float(np.sqrt((deviation**2).mean()))
    width = np.where(deviation > 1e-9, np.maximum(deviation, least), np.inf)
    centre, axes = public.X.mean(axis=0), np.diag(1 / width)
    rows = (public.X - centre) / width
    values, vectors = shrunk_axes(rows)
    flat = (vectors / np.sqrt(values))[:, :COORDINATES]
    products = Products(centre, np.ascontiguousarray(axes @ flat))
    parts: list[Expansion] = [Rows(), products]
    if Leaves in mix.parts and len(public.y) >= _LEAST_FOR_TREES:
        parts.append(Leaves(_forest_trees(public, max(1, min(_TREES, room // (3 * _LEAVES))))))
    waves = max(1, (room - sum(part.width(public.dim) for part in parts)) // 2)
    coins = np.random.default_rng(0)
    turns = coins.normal(size=(public.dim, waves)) * mix.finest ** coins.random(waves)
    spread = max(float(np.sqrt((rows**2).sum(axis=1).mean())), 1e-9)
    parts.append(Waves(centre, np.ascontiguousarray(axes @ turns / spread)))
    centres, scales, whole = [], [], sum(mix.parts[type(part)] for part in parts)
    for part in parts:
        raw = part.expand(public.X)
        centres.append(raw.mean(axis=0))
        each = 1 / width if isinstance(part, Rows) else np.ones(raw.shape[1])
        length = float((((raw - centres[-1]) * each) ** 2).sum(axis=1).mean())
        scales.append(each * np.sqrt(mix.parts[type(part)] / whole / max(length, 1e-12)))
    return FeatureMap(Joined(tuple(parts)), np.concatenate(centres), np.concatenate(scales), _LEVEL)


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


@dataclass(frozen=True, eq=False)
class WideStart:
    """A model of public rows alone in features `map`, which are `phi` on these rows: coefficients
    (classes - 1, features), the variance of coefficients that predicts rows left out best, and
    scores of the rows, by it and by models that have not seen the row. `loss` is the mean log loss
    of rows that wide features alone have not seen: how well these features suit the rows.
    """

    map: FeatureMap
    phi: FloatArray
    coefficients: FloatArray
    variance: float
    scores: FloatArray
    left_out: FloatArray
    loss: float

    @classmethod
    def of(cls, public: Public, own: PublicModel, mix: Mix) -> "WideStart":
        """Of wide features and the data user's own model, which is one more feature, in the parts
        that make public rows likeliest which neither has seen; that model alone where there are so
        few rows that wide features would know them by heart, and could not be judged by them.
        """
        wide = cls._alone(public, mix)
        if own.accuracy is None:
            return wide
        if len(public.y) < _BY_HEART:
            return wide._beside(own, 1.0, 0.0)
        return wide._beside(own, *_parts_of(own.held_out, wide.left_out, public.y))

    @classmethod
    def _alone(cls, public: Public, mix: Mix) -> "WideStart":
        features = wide_map(public, mix)
        phi = features.transform(public.X)
        coefficients, variance, scores = _fit_wide(phi, public.y, public.classes)
        left_out = _out_of_fold(public, mix, variance)
        # at the temperature that the data user's own model has had as well
        loss = _loss(temperature(left_out, public.y) * left_out, public.y)
        return cls(features, phi, coefficients, variance, scores, left_out=left_out, loss=loss)

    def _beside(self, own: PublicModel, of_own: float, of_this: float) -> "WideStart":
        """So much of the data user's own model, as one more feature, and so much of this one; of
        public rows the former says what it says out of fold.
        """
        classes = own.held_out.shape[1]
        said = own.held_out @ contrasts(classes)
        scale = np.sqrt(_OWN / max(float((said**2).sum(axis=1).mean()), 1e-12))
        model, old = ModelScores(own.model), self.map
        blank = np.zeros(classes - 1)
        features = FeatureMap(
            Joined((old.expansion, model)),
            np.concatenate([old.centre, blank]),
            np.concatenate([old.matrix, blank + scale]),
            old.level,
        )
        phi = np.hstack([self.phi, scale * said])
        mixed = [of_this * self.coefficients, of_own * np.eye(classes - 1) / scale]
        return WideStart(
            features,
            phi,
            np.hstack(mixed),
            variance=self.variance,
            scores=of_own * own.held_out + of_this * self.scores,
            left_out=of_own * own.held_out + of_this * self.left_out,
            loss=self.loss,
        )


def _parts_of(own: FloatArray, wide: FloatArray, labels: IntArray) -> tuple[float, float]:
    """How much of each of two models' scores makes these rows likeliest, which neither has seen."""

    def loss(parts: Any) -> tuple[float, Any]:
        scores = parts[0] * own + parts[1] * wide
        residual = softmax(scores)
        residual[np.arange(len(labels)), labels] -= 1.0
        slope = [float((residual * each).sum()) / len(labels) for each in (own, wide)]
        return _loss(scores, labels), np.array(slope)

    first: Any = np.array([0.5, 0.5])
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(0.0, _LOUDEST)] * 2)
    return float(found.x[0]), float(found.x[1])


def _fit_wide(
    phi: FloatArray, labels: IntArray, classes: int, variances: Sequence[float] = _VARIANCES
) -> tuple[FloatArray, float, FloatArray]:
    """Likeliest coefficients, their variance, and scores; fitted in the space of the rows: as many
    unknowns as rows, however many features.
    """
    values, vectors = np.linalg.eigh(phi @ phi.T)
    kept = values > 1e-10 * max(values[-1], 1e-300)
    root = vectors[:, kept] * np.sqrt(values[kept])
    back = phi.T @ (vectors[:, kept] / np.sqrt(values[kept]))
    matrix, hot = contrasts(classes), np.eye(classes)[labels]
    found, guess = [], np.zeros((root.shape[1], classes - 1))
    for variance in variances:
        guess = _likeliest(root, hot, matrix, variance, guess)
        scores = root @ guess @ matrix.T
        loss = _loss(_scores_unseen(root, scores, hot, variance), labels)
        found.append((loss, variance, guess, scores))
    _, variance, best, scores = min(found, key=lambda each: each[0])
    return (back @ best).T, variance, scores


def _out_of_fold(public: Public, mix: Mix, variance: float) -> FloatArray:
    """Scores of public rows by starts that have not seen them, forests included."""
    folds, scores = folds_of(public.y), np.zeros((len(public.y), public.classes))
    for fold in np.unique(folds):
        out = folds == fold
        rest = Public(public.X[~out], public.y[~out], public.classes)
        features = wide_map(rest, mix)
        fitted = _fit_wide(features.transform(rest.X), rest.y, rest.classes, (variance,))[0]
        scores[out] = features.transform(public.X[out]) @ fitted.T @ contrasts(rest.classes).T
    return scores


def _loss(scores: FloatArray, labels: IntArray) -> float:
    """The mean log loss."""
    likely = softmax(scores)[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(likely, 1e-12)).mean())


def _likeliest(
    root: FloatArray, hot: FloatArray, matrix: FloatArray, variance: float, guess: FloatArray
) -> FloatArray:
    """The mode of prior and labels, from a guess on."""

    def loss(flat: Any) -> tuple[float, Any]:
        theta = flat.reshape(guess.shape)
        chances = softmax(root @ theta @ matrix.T)
        likely = float(np.log(np.maximum((chances * hot).sum(axis=1), 1e-300)).sum())
        slope = root.T @ ((chances - hot) @ matrix) + theta / variance
        return 0.5 * float((theta**2).sum()) / variance - likely, slope.ravel()

    options: Any = {"maxiter": 200}
    start: Any = guess.ravel()
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x).reshape(guess.shape)


def _scores_unseen(
    root: FloatArray, scores: FloatArray, hot: FloatArray, variance: float
) -> FloatArray:
    """Scores of each row had its label not been seen: one Newton step back, theta - P phi r / (1 -
    w h) for a row with residual r, curvature w and leverage h = phi^T P phi.
    """
    chances = softmax(scores)
    weights = curvatures(chances)
    precision = (root * weights[:, np.newaxis]).T @ root + np.eye(root.shape[1]) / variance
    leverage = (root * np.linalg.solve(precision, root.T).T).sum(axis=1)
    part = leverage / np.maximum(1 - weights * leverage, 1e-3)
    return np.asarray(scores - part[:, np.newaxis] * (hot - chances))


def curvatures(chances: FloatArray) -> FloatArray:
    """The mean curvature of the log likelihood along contrasts of classes, row by row."""
    return np.asarray((1 - (chances**2).sum(axis=1)) / (chances.shape[1] - 1))


@dataclass(frozen=True, eq=False)
class CurvatureAxes:
    """Axes (features, seen) of the curvature of public rows. Vectors have a coordinate along each,
    and after them what is left of the vector itself, in which no direction is known from another:
    `freedom` says for how many directions a coordinate stands.
    """

    seen: FloatArray
    freedom: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> "CurvatureAxes":
        """Of rows times the root of their curvature, in whichever space is smaller."""
        size = rows.shape[1]
        if len(rows) < size:
            values, vectors = np.linalg.eigh(rows @ rows.T)
            kept = values > 1e-10 * max(values[-1], 1e-300)
            seen = rows.T @ (vectors[:, kept] / np.sqrt(values[kept]))
        else:
            seen = np.linalg.eigh(rows.T @ rows)[1]
        rest = np.full(size, (size - seen.shape[1]) / size)
        return cls(seen, np.concatenate([np.ones(seen.shape[1]), rest]))

    def split(self, vectors: FloatArray) -> FloatArray:
        """Coordinates of vectors (rows, features)."""
        along = vectors @ self.seen
        return np.hstack([along, vectors - along @ self.seen.T])

    def join(self, coordinates: FloatArray) -> FloatArray:
        """Vectors of coordinates."""
        along, rest = np.split(coordinates, [self.seen.shape[1]], axis=1)
        return np.asarray(along @ self.seen.T + rest)

    def alike(self, squares: FloatArray) -> FloatArray:
        """Squares of coordinates, the same for all directions of the rest."""
        seen, directions = self.seen.shape[1], max(float(self.freedom[-1]) * len(self.seen), 1.0)
        level = squares[..., seen:].sum(axis=-1, keepdims=True) / directions
        return np.concatenate(
            [squares[..., :seen], np.broadcast_to(level, squares[..., seen:].shape)], axis=-1
        )


def unseen_curvature(rows: FloatArray) -> float:
    """What to add to the curvature of public rows, so that rows that it was not made of curve
    little more than it says: the least such number, by halves of the rows, times a part of caution
    (all rows see more than half of them, and a step too far is seen by the next answer).

    >>> few, many = (np.random.default_rng(1).normal(size=(n, 20)) for n in (20, 2000))
    >>> unseen_curvature(few) > 10 * unseen_curvature(many)
    True
    """
    one, two = (half / np.sqrt(max(1, len(half))) for half in (rows[::2], rows[1::2]))
    other = two @ two.T
    values, vectors = np.linalg.eigh(one @ one.T)
    across, values = vectors.T @ (one @ two.T), np.maximum(values, 0.0)
    size = max(float(np.trace(other)), 1e-12)
    low, high = np.log(1e-7 * size), np.log(size)
    for _ in range(12):
        middle = float(np.exp((low + high) / 2))
        seen = across / np.sqrt(values + middle)[:, np.newaxis]
        room = seen.T @ seen - other + _CURVED * middle * np.eye(len(other))
        low, high = (low, np.log(middle)) if _is_positive(room) else (np.log(middle), high)
    return _CAUTION * float(np.exp(high))


def _is_positive(matrix: FloatArray) -> bool:
    """Whether all eigenvalues are above 0, for a third of what it costs to find the largest."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
