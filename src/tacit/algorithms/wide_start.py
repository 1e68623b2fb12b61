"""What is known before anybody has answered a sum: the likeliest model of wide features under
public rows alone, and the data user's own model beside it. Why so: summed_gradients.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import PublicModel, folds_of
from tacit.algorithms.wide_features import Mix, is_few, wide_map
from tacit.data.cohort import Public
from tacit.learners.models.features import FeatureMap, Joined
from tacit.learners.models.scores import ModelScores, contrasts, softmax, temperature

_OWN = 0.02  # squared length of what the data user's own model says
_LOUDEST = 3.0  # part of a model's scores in a mix, at most: rows may all be told apart
# of coefficients, before anything is known; few rows cannot tell that there is little to find
_VARIANCES = (1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0, 256.0)
_LEAST_OF_FEW = 1.0
_MANY = 2048  # rows, of which some say the variance as well as all


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
        if is_few(public):
            return wide._beside(own, 1.0, 0.0)
        return wide._beside(own, *_parts_of(own.held_out, wide.left_out, public.y))

    @classmethod
    def _alone(cls, public: Public, mix: Mix) -> "WideStart":
        least = _LEAST_OF_FEW if is_few(public) else 0.0
        variances = [each for each in _VARIANCES if each >= least]
        if len(public.y) > _MANY:
            variances = [_best_out_of_fold(_some_of(public), mix, variances)[0]]
        variance, left_out = _best_out_of_fold(public, mix, variances)
        features = wide_map(public, mix)
        phi = features.transform(public.X)
        (coefficients,) = _fit_wide(phi, public.y, public.classes, [variance])
        # at the temperature that the data user's own model has had as well
        loss = _loss(temperature(left_out, public.y) * left_out, public.y)
        scores = phi @ coefficients.T @ contrasts(public.classes).T
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


def _some_of(public: Public) -> Public:
    """So many rows, drawn at random."""
    some = np.sort(np.random.default_rng(0).permutation(len(public.y))[:_MANY])
    return Public(public.X[some], public.y[some], public.classes)


def _best_out_of_fold(
    public: Public, mix: Mix, variances: Sequence[float]
) -> tuple[float, FloatArray]:
    """The variance of coefficients that predicts rows left out best, and scores of public rows by
    starts that have not seen them, forests included.
    """
    folds, matrix = folds_of(public.y), contrasts(public.classes)
    scores = np.zeros((len(variances), len(public.y), public.classes))
    for fold in np.unique(folds):
        out = folds == fold
        rest = Public(public.X[~out], public.y[~out], public.classes)
        features = wide_map(rest, mix)
        phi = features.transform(public.X[out])
        fitted = _fit_wide(features.transform(rest.X), rest.y, rest.classes, variances)
        for place, each in enumerate(fitted):
            scores[place, out] = phi @ each.T @ matrix.T
    best = min(range(len(variances)), key=lambda place: _loss(scores[place], public.y))
    return variances[best], scores[best]


def _fit_wide(
    phi: FloatArray, labels: IntArray, classes: int, variances: Sequence[float]
) -> Iterator[FloatArray]:
    """Likeliest coefficients for each variance of them; fitted in the space of rows or of features,
    whichever is smaller.
    """
    root, back = phi, np.eye(phi.shape[1])
    if len(phi) < phi.shape[1]:
        values, vectors = np.linalg.eigh(phi @ phi.T)
        kept = values > 1e-10 * max(values[-1], 1e-300)
        root = vectors[:, kept] * np.sqrt(values[kept])
        back = phi.T @ (vectors[:, kept] / np.sqrt(values[kept]))
    hot, found = np.eye(classes)[labels], np.zeros((root.shape[1], classes - 1))
    for variance in variances:
        found = _likeliest(root, hot, variance, found)
        yield (back @ found).T


def _loss(scores: FloatArray, labels: IntArray) -> float:
    """The mean log loss."""
    likely = softmax(scores)[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(likely, 1e-12)).mean())


def _likeliest(root: FloatArray, hot: FloatArray, variance: float, guess: FloatArray) -> FloatArray:
    """The mode of prior and labels, from a guess on."""
    matrix = contrasts(hot.shape[1])

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
