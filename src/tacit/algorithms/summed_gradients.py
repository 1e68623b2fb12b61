"""What is believed of a model when sums are nearly exact: wide public features, a few Newton-like
steps, every answer weighed by its known noise. Derivation: summed_gradients.md.

    start:  the likeliest coefficients of wide features under the data user's rows
    ask:    everybody for residual x features of the model as it is, clipped at a public length
    take:   in the eigenbasis of the public curvature, each answer says where the best model is;
            earlier ones count less by how far the model has moved since

Unlike `Combination`, which fights for every bit of noisy reports, it has more features than public
rows can tell apart: curvature that public rows have not seen is guessed from rows left out.
"""

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits  # a dependency of scikit-learn

from tacit._util.checks import bad
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.feature_maps import wide_map
from tacit.algorithms.public_baseline import PublicModel, temperature
from tacit.algorithms.question import Population
from tacit.data.cohort import Public
from tacit.learners.models.scores import Mapped, ScoreModel, contrasts, softmax
from tacit.learners.owners.gradient import Gradient
from tacit.learners.query import Answer
from tacit.mechanisms.spaces import Ball

_ROUNDS, _MORE = 4, 6  # more where fewer public rows than these tell the curvature worse
_FEW = 150
_VARIANCES = (1.0, 4.0, 16.0, 64.0, 256.0)  # of coefficients, before anything is known
_QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)  # of lengths of shares, to clip at
_LEAST_LEFT = 0.5  # of a share that clipping must leave on average
_CURVED, _CAUTION = 1.5, 0.2  # how much more than foreseen rows left out may curve; part of it
_DOUBT = 0.5  # of a curvature: relative error that a step away from it has
_PUBLIC = 0.5  # part of its precision that the start keeps
_FORESEEN = 1.0  # largest variance of coefficients that predictions count on
_FAR = 1e6  # rows are not shortened one by one: shares are
_DRAWN = 3000  # made-up owners that tell lengths
_DOUBTS = 2.0  # standard errors by which public rows must contradict owners to be believed


@dataclass(frozen=True, eq=False)
class _Told:
    """An answer, undone of clipping: about which coefficients, along which slope, how noisy."""

    reference: FloatArray
    slope: FloatArray
    noise: float


@dataclass(eq=False)
class SummedGradients:
    """A belief about the best model; `learner` asks, `update` takes the answer in.

    Coefficients are (classes - 1, features); all classes share one curvature.
    """

    public: Public
    own: PublicModel
    population: Population
    _told: list[_Told] = field(init=False, default_factory=list)
    _radius: float = field(init=False, default=1.0)
    _left: float = field(init=False, default=1.0)

    def __post_init__(self) -> None:
        with threadpool_limits(1):  # steps too small for threads
            self._begin_alone()

    def _begin_alone(self) -> None:
        """The belief before anybody has answered."""
        self.map = wide_map(self.public)
        self._phi = self.map.transform(self.public.X)
        start = _Start.of(self._phi, self.public.y, self.public.classes)
        self._scale, self._first, self._alone = start.variance, start.scores, start.left_out
        self._contrasts = contrasts(self.public.classes)
        weights = _curvatures(softmax(start.left_out))
        values, self._axes = np.linalg.eigh((self._phi * weights[:, np.newaxis]).T @ self._phi)
        self._turned = self._phi @ self._axes
        self._begin = start.coefficients @ self._axes
        self._theta = self._begin.copy()
        self._curve = np.maximum(values, 0.0) / len(self._phi)
        self._unseen = unseen_curvature(self._phi * np.sqrt(weights)[:, np.newaxis])
        self._precision = self._before
        self._aim(start.left_out)

    def among(self, population: Population) -> "SummedGradients":
        """The same before anybody has answered, for others with as many rows each."""
        if not (population.summed and population.rows == self.population.rows and not self._told):
            raise bad("population", "of the same trust and rows, before any answer", population)
        other = copy(self)
        other.population, other._told = population, []
        return other

    @property
    def rounds(self) -> int:
        """In how many rounds to ask: with fewer the last step is not the end, with more each is
        noisier, and owners send as many reports.
        """
        return _MORE if len(self.public.y) < _FEW else _ROUNDS

    @property
    def features(self) -> str:
        """What questions are about, in words."""
        return "linear + products + waves"

    @property
    def numbers(self) -> int:
        """The length of a share."""
        return (self.public.classes - 1) * self.map.dim

    @property
    def learner(self) -> Gradient:
        """What the next round asks for."""
        weights = (self._contrasts @ self._theta @ self._axes.T).T
        return Gradient(self.map, np.ascontiguousarray(weights), _FAR, self._radius)

    @property
    def model(self) -> ScoreModel:
        """The mean of the belief."""
        return ScoreModel(self.public.classes, (Mapped(self.map, self.learner.weights),))

    @property
    def held_out(self) -> FloatArray:
        """Scores of each public row by the model as it would be without its label: what the start
        loses out of fold is taken off by the part of the row's leverage that is left.
        """
        square = self._turned**2
        part = (square @ (1 / self._precision)) / (square @ (1 / self._before))
        drop = part[:, np.newaxis] * (self._first - self._alone)
        return np.asarray(self._scores(self._theta) - drop)

    def update(self, answer: Answer) -> None:
        """The belief after an answer; too few owners tell nothing."""
        noise = float(np.mean(answer.stderr**2))
        if np.isfinite(noise):
            slope = answer.mean.reshape(self._theta.shape) @ self._axes / self._left
            self._told.append(_Told(self._theta.copy(), slope, noise / self._left**2))
            self._settle()
        chances = softmax(self._scores(self._theta))
        weights = _curvatures(chances)[:, np.newaxis]
        self._curve = (self._turned**2 * weights).mean(axis=0)
        self._aim(self._scores(self._theta))

    @property
    def contradicted(self) -> bool:
        """Whether public rows speak against the model, and for the data user's own: it is wrong
        more often, and less likely by more than two standard errors, on rows it has not seen.
        """
        rows, y = np.arange(len(self.public.y)), self.public.y
        said = self.held_out
        said = temperature(said, y) * said  # the data user's own model has had the same favour
        sides = [np.maximum(softmax(each)[rows, y], 1e-12) for each in (said, self.own.held_out)]
        lead = np.log(sides[0] / sides[1])
        wrong = [np.count_nonzero(each.argmax(1) != y) for each in (said, self.own.held_out)]
        error = float(lead.std()) * np.sqrt(len(lead))
        return bool(lead.sum() < -_DOUBTS * error and wrong[0] >= wrong[1])

    @property
    def gain(self) -> float:
        """Expected fall of the mean log loss if everybody answers, in nats."""
        explained, _ = self._foreseen
        chances = softmax(self._alone)
        weights = 1 - (chances**2).sum(axis=1)
        return 0.5 * float((weights * (self._turned**2 @ explained)).mean())

    def expected_rise(self, draws: int, seed: int) -> float:
        """Expected rise of accuracy over the data user's own model: models drawn as answers would
        make them, truths around them.
        """
        explained, after = self._foreseen
        coins, rows, rise = np.random.default_rng(seed), np.arange(len(self.public.y)), 0.0
        before = np.argmax(self.own.held_out, axis=1)
        for _ in range(draws):
            steps = [
                coins.normal(size=self._theta.shape) * np.sqrt(part) for part in (explained, after)
            ]
            heard = self._alone + self._scores(steps[0])
            chance = softmax(heard + self._scores(steps[1]))
            guess = np.argmax(heard, axis=1)
            rise += float(np.mean(chance[rows, guess] - chance[rows, before])) / draws
        return rise

    @property
    def _before(self) -> FloatArray:
        """Precision of the coefficients along each axis before anybody has answered."""
        return self._public_precision(self._scale)

    def _public_precision(self, variance: float) -> FloatArray:
        return np.asarray(1 / variance + _PUBLIC * len(self._phi) * self._curve)

    @property
    def _foreseen(self) -> tuple[FloatArray, FloatArray]:
        """What everybody's answers would explain of each coefficient's variance, and the rest."""
        before = self._public_precision(min(self._scale, _FORESEEN))
        noise = self.population.mean_variance(Ball(self.numbers, self._radius), self.rounds)
        curve = self._left * (self._curve + self._unseen)
        after = 1 / (before + self.rounds * curve**2 / noise)
        return 1 / before - after, after

    def _settle(self) -> None:
        """Every answer says where the best model is, g / M away from what it was asked about: with
        the variance of its noise and of what M is wrong by along the way since. The mean by
        precision, found in a few turns.
        """
        curve = self._curve + self._unseen
        for _ in range(3):
            precision = np.broadcast_to(self._before, self._theta.shape).copy()
            total = precision * self._begin
            for told in self._told:
                moved = _DOUBT * curve * (self._theta - told.reference)
                weight = curve**2 / (told.noise + moved**2)
                precision += weight
                total += weight * (told.reference + told.slope / curve)
            self._theta = total / precision
        self._precision = precision.mean(axis=0)

    def _aim(self, expected: FloatArray) -> None:
        """Radius of the next shares, and what clipping leaves of them: the least noise for what is
        left, over quantiles of lengths of made-up owners' shares.
        """
        coins, chances = np.random.default_rng(0), softmax(expected)
        drawn = coins.integers(0, len(chances), size=(_DRAWN, self.population.rows))
        labels = (chances[drawn].cumsum(axis=2) < coins.random((*drawn.shape, 1))).sum(axis=2)
        asked = softmax(self._scores(self._theta))
        lengths = _share_lengths(self._phi, asked, drawn, labels.clip(max=chances.shape[1] - 1))
        found = []
        for radius in np.quantile(lengths, _QUANTILES).clip(1e-9, 1e9).tolist():
            left = float((np.minimum(lengths, radius) * lengths).sum())
            left /= max(float((lengths**2).sum()), 1e-300)
            if left >= _LEAST_LEFT:
                found.append((radius / left, radius, left))
        _, self._radius, self._left = min(found, default=(0.0, 1e-9, 1.0))

    def _scores(self, theta: FloatArray) -> FloatArray:
        """Of public rows under coefficients along the axes."""
        return np.asarray(self._turned @ theta.T @ self._contrasts.T)


@dataclass(frozen=True, eq=False)
class _Start:
    """The likeliest coefficients under public rows alone: (classes - 1, features), with the
    variance of coefficients that predicts rows left out best.
    """

    coefficients: FloatArray
    variance: float
    scores: FloatArray
    left_out: FloatArray

    @classmethod
    def of(cls, phi: FloatArray, labels: IntArray, classes: int) -> "_Start":
        """Fitted in the space of the rows: as many coefficients as rows, however many features."""
        values, vectors = np.linalg.eigh(phi @ phi.T)
        kept = values > 1e-10 * max(values[-1], 1e-300)
        root = vectors[:, kept] * np.sqrt(values[kept])
        back = phi.T @ (vectors[:, kept] / np.sqrt(values[kept]))
        matrix, hot = contrasts(classes), np.eye(classes)[labels]
        found, guess = [], np.zeros((root.shape[1], classes - 1))
        for variance in _VARIANCES:
            guess = _likeliest(root, hot, matrix, variance, guess)
            scores = root @ guess @ matrix.T
            left_out = _left_out(root, scores, hot, variance)
            likely = softmax(left_out)[np.arange(len(labels)), labels]
            loss = float(-np.log(np.maximum(likely, 1e-12)).mean())
            found.append((loss, variance, guess, scores, left_out))
        _, variance, best, scores, left_out = min(found, key=lambda each: each[0])
        return cls((back @ best).T, variance, scores, left_out)


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


def _left_out(root: FloatArray, scores: FloatArray, hot: FloatArray, variance: float) -> FloatArray:
    """Scores of each row had its label not been seen: one Newton step back, theta - P phi r / (1 -
    w h) for a row with residual r, curvature w and leverage h = phi^T P phi.
    """
    chances = softmax(scores)
    weights = _curvatures(chances)
    precision = (root * weights[:, np.newaxis]).T @ root + np.eye(root.shape[1]) / variance
    leverage = (root * np.linalg.solve(precision, root.T).T).sum(axis=1)
    part = leverage / np.maximum(1 - weights * leverage, 1e-3)
    return np.asarray(scores - part[:, np.newaxis] * (hot - chances))


def unseen_curvature(rows: FloatArray) -> float:
    """What to add to the curvature of public rows, so that rows that it was not made of curve
    little more than it says: the least such number, by halves of the rows, times a part of caution
    (all rows see more than half of them, and a step too far is seen by the next answer).

    >>> few, many = (np.random.default_rng(1).normal(size=(n, 20)) for n in (20, 2000))
    >>> unseen_curvature(few) > 10 * unseen_curvature(many)
    True
    """
    one, two = (half / np.sqrt(max(1, len(half))) for half in (rows[::2], rows[1::2]))
    inside, across, other = one @ one.T, one @ two.T, two @ two.T
    size = max(float(np.trace(other)), 1e-12)
    low, high = np.log(1e-7 * size), np.log(size)
    for _ in range(12):
        middle = float(np.exp((low + high) / 2))
        solved = np.linalg.solve(inside + middle * np.eye(len(inside)), across)
        most = float(np.linalg.eigvalsh((other - across.T @ solved) / middle)[-1])
        low, high = (low, np.log(middle)) if most < _CURVED else (np.log(middle), high)
    return _CAUTION * float(np.exp(high))


def _curvatures(chances: FloatArray) -> FloatArray:
    """The mean curvature of the log likelihood along contrasts of classes, row by row."""
    return np.asarray((1 - (chances**2).sum(axis=1)) / (chances.shape[1] - 1))


def _share_lengths(
    phi: FloatArray, asked: FloatArray, drawn: IntArray, labels: IntArray
) -> FloatArray:
    """Lengths of shares of owners that hold these rows with these labels."""
    residuals = np.eye(asked.shape[1])[labels] - asked[drawn]
    products = phi @ phi.T
    alike = products[drawn[:, :, np.newaxis], drawn[:, np.newaxis]]
    squares = np.einsum("nra,nsa,nrs->n", residuals, residuals, alike)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / drawn.shape[1])
