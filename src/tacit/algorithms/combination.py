"""Public and private knowledge weighted by their precision. Derivation: combination.md.

The data user starts from its own model f0 and believes that the best model is f0 + phi theta with
theta ~ N(0, s^2 S), S the strengths of a public spectrum. Owners answer with the gradient of the
likelihood at the current model, g = H (theta* - theta) + noise of known variance, H the curvature
on the data user's rows. The posterior mean is the next model. How large s^2 is comes from the
evidence: what the model still gets wrong out of fold on the public sample, and the answer itself.
With much noise nothing changes, and what will be gained is known before anybody is asked.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from tacit._util.types import FloatArray
from tacit.algorithms.feature_maps import Spectrum, water_filling
from tacit.algorithms.public_baseline import PublicModel
from tacit.data.sample import Public
from tacit.learners.models.scores import Mapped, ScoreModel, contrasts, softmax
from tacit.learners.owners.discriminant import Discriminant, class_residuals
from tacit.learners.query import Answer
from tacit.mechanisms.registry import best_mechanism
from tacit.mechanisms.spaces import Ball

_SCALES = np.exp(
    np.linspace(np.log(1e-3), np.log(1e3), 61)
)  # of s^2, in units of the sampling variance 1 / (n0 w)
_SPREAD = 1.5  # of log s^2 around that unit, before any evidence
_QUANTILES = (
    0.1,
    0.3,
    0.5,
    0.7,
    0.9,
    0.97,
    1.0,
)  # of the lengths of shares: longer ones are clipped
_DRAWN = 4000  # made-up owners that tell the lengths of shares
_DOUBT = 0.5  # spread of how far a step should be gone
# part of the first prior that a later round believes in again: curvature changes along the way
_AGAIN = 0.25


@dataclass(frozen=True)
class Population:
    """What is public about those to be asked: how many, their epsilon, how many rows they are
    believed to hold.
    """

    owners: int
    epsilon: float
    rows: int = 1

    def cost(self, dim: int) -> float:
        """The variance of a coordinate of one report, in units of the squared radius of the
        ball.
        """
        return best_mechanism(Ball(dim=dim), self.epsilon).risk / dim


@dataclass(eq=False)
class Combination:
    """A belief about what to add to the data user's model; `learner` asks, `update` takes the
    answer in.
    """

    public: Public
    own: PublicModel
    spectrum: Spectrum
    crowd: Population

    def __post_init__(self) -> None:
        public, classes = self.public, self.public.classes
        self.model: ScoreModel = self.own.model
        self._contrasts = contrasts(classes)
        whole = self.spectrum.features.transform(public.X)
        residuals = class_residuals(self.own.held_out, public.y)
        weight = max(float((residuals**2).sum(axis=1).mean()) / (classes - 1), 1e-6)
        self._grid = _SCALES / (len(public.y) * weight)
        self._log_prior = -0.5 * (np.log(_SCALES) / _SPREAD) ** 2
        self._log_prior = self._log_prior + self._public_evidence(whole, residuals)
        scale = _average(self._log_prior, self._grid)
        cost = self.crowd.cost((classes - 1) * whole.shape[1]) / (
            self.crowd.owners * self.crowd.rows
        )
        kappa = cost * (classes - 1) / weight
        shares = water_filling(scale * self.spectrum.strength, kappa)
        shares[shares < 1e-3 * shares.max()] = 0.0
        shares[0] = max(shares[0], 1e-3 * shares.max())  # the intercept always stays
        kept = shares > 0
        self.features = self.spectrum.scaled(np.sqrt(shares / shares.sum()))
        self._phi = self.features.transform(public.X)
        self._strength = np.tile(
            (self.spectrum.strength / np.where(kept, shares / shares.sum(), 1.0))[kept], classes - 1
        )
        self._theta = np.zeros((classes - 1) * self.features.dim)
        self._covariance = scale * np.diag(self._strength)
        self._rounds = 0
        self._look()

    @property
    def gain(self) -> float:
        """Expected fall of the mean log loss if everybody answers in one round, in nats."""
        pulled = self._curvature @ self._covariance @ self._curvature
        read = np.linalg.solve(
            pulled + self._noise(self.crowd.owners) * np.eye(len(pulled)), pulled
        )
        return 0.5 * float(np.trace(read @ self._covariance @ self._curvature))

    @property
    def change(self) -> float:
        """How far scores are expected to move, root mean square: when it is large, one straight
        step is not enough.
        """
        pulled = self._covariance @ self._curvature
        noise = self._noise(self.crowd.owners) * np.eye(len(pulled))
        explained = pulled @ np.linalg.solve(self._curvature @ pulled + noise, pulled.T)
        classes, features = self.public.classes - 1, self.features.dim
        second = self._phi.T @ self._phi / len(self._phi)
        blocks = explained.reshape(classes, features, classes, features)
        return float(np.sqrt(max(np.einsum("aiaj,ij->", blocks, second), 0.0)))

    def expected_rise(self, draws: int, seed: int) -> float:
        """Expected rise of accuracy, in the data user's own eyes: truths drawn from the belief,
        answers from their law.

        For each drawn truth the model with and without an answer of predicted noise is judged by
        the true probabilities.
        """
        coins, size = np.random.default_rng(seed), len(self._theta)
        pulled = self._curvature @ self._covariance
        noise = self._noise(self.crowd.owners)
        gain = np.linalg.solve(pulled @ self._curvature + noise * np.eye(size), pulled).T
        root = np.sqrt(np.diag(self._covariance))
        rows, rise = np.arange(len(self._phi)), 0.0
        for _ in range(draws):
            truth = root * coins.normal(size=size)
            heard = gain @ (self._curvature @ truth + np.sqrt(noise) * coins.normal(size=size))
            chance = softmax(self._scores + self._moves(truth))
            after = np.argmax(self._scores + self._moves(heard), axis=1)
            rise += (
                float(np.mean(chance[rows, after] - chance[rows, np.argmax(self._scores, axis=1)]))
                / draws
            )
        return rise

    @property
    def learner(self) -> Discriminant:
        """What the next round asks for."""
        return Discriminant(self.features, self.model, self._radius)

    def update(self, answer: Answer) -> None:
        """The posterior after an answer, and the model that is its mean."""
        gradient = answer.mean / self._clipped
        noise = (float(np.mean(answer.stderr**2)) + self._bias) / self._clipped**2
        if not np.isfinite(noise):
            return  # too few owners to know anything
        if self._rounds == 0:
            pulled = self._curvature * self._strength @ self._curvature
            values, vectors = np.linalg.eigh(pulled)
            values, seen = np.maximum(values, 0.0), vectors.T @ gradient
            evidence = self._log_prior + _log_evidence(self._grid, values, seen, noise)
            self._covariance = _average(evidence, self._grid) * np.diag(self._strength)
        prior = self._covariance
        pulled = self._curvature @ prior
        gain = np.linalg.solve(pulled @ self._curvature + noise * np.eye(len(pulled)), pulled).T
        self._theta = self._theta + self._trusted(gain @ gradient)
        again = _AGAIN * prior if self._rounds == 0 else 0.0
        self._covariance = prior - gain @ pulled + again
        self._rounds += 1
        weights = (self._contrasts @ self._theta.reshape(self.public.classes - 1, -1)).T
        self.model = self.own.model.plus(Mapped(self.features, np.ascontiguousarray(weights)))
        self._look()

    def _trusted(self, step: FloatArray) -> FloatArray:
        """The step times how far it should be gone: 1, give or take one half, unless the public
        rows say otherwise.

        The step knows nothing of public labels, so that scores out of fold can judge it. Owners who
        differ from the data user's population, or from each other, would otherwise lead it astray.
        """
        flat = self._moves(step)
        rows = np.arange(len(flat))

        def loss(part: float) -> float:
            right = softmax(self._scores + part * flat)[rows, self.public.y]
            return (
                float(-np.log(np.maximum(right, 1e-300)).sum()) + 0.5 * ((part - 1) / _DOUBT) ** 2
            )

        return float(minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded").x) * step

    def _moves(self, theta: FloatArray) -> FloatArray:
        """What theta adds to the scores of the public rows."""
        return np.asarray(
            self._phi @ theta.reshape(self.public.classes - 1, -1).T @ self._contrasts.T
        )

    def _look(self) -> None:
        """Curvature, lengths of shares and what clipping leaves of them, at the current model,
        from public rows.
        """
        self._scores = scores = self.own.held_out + self._moves(self._theta)
        self._curvature = self._regular(scores, self._phi)
        self._set_radius(scores)

    def _set_radius(self, scores: FloatArray) -> None:
        """The radius with the least predicted error: a small one means little noise, but clipping
        leaves a bias.

        Clipped shares c(g) answer a small change of the model with E[c(g) g^T] instead of the
        curvature E[g g^T], so the part E[c(g) g] / E[g g] of it is left; and they have a mean of
        their own even if the model were true.
        """
        shares = self._made_up(class_residuals(scores, self.public.y))
        drawn = np.random.default_rng(1).random((len(scores), 1))
        labels = (
            (softmax(scores).cumsum(axis=1) < drawn).sum(axis=1).clip(max=self.public.classes - 1)
        )
        if_true = self._made_up(class_residuals(scores, labels))
        cost = self.crowd.cost(len(self._theta)) / self.crowd.owners
        lengths = np.sqrt((shares**2).sum(axis=1))
        found = []
        for radius in np.quantile(lengths, _QUANTILES):
            radius = float(np.clip(radius, 1e-9, 1e9))
            left = float(
                (np.minimum(lengths, radius) * lengths).sum() / max((lengths**2).sum(), 1e-300)
            )
            bias = _bias(if_true, radius, len(scores) // self.crowd.rows)
            noise = cost * radius**2
            found.append(
                ((bias / len(self._theta) + noise) / left**2, radius, left, bias / len(self._theta))
            )
        _, self._radius, self._clipped, self._bias = min(found)

    def _made_up(self, residuals: FloatArray) -> FloatArray:
        """Shares of made-up owners with rows drawn from the sample."""
        products = _products(residuals, self._phi)
        drawn = np.random.default_rng(0).integers(0, len(products), size=(_DRAWN, self.crowd.rows))
        total = np.zeros((_DRAWN, products.shape[1]))
        for column in drawn.T:
            total += products[column]
        return total / self.crowd.rows

    def _noise(self, owners: int) -> float:
        """Predicted variance of a coordinate of the answer, clipping undone."""
        return (
            self.crowd.cost(len(self._theta)) * self._radius**2 / owners + self._bias
        ) / self._clipped**2

    def _regular(self, scores: FloatArray, phi: FloatArray) -> FloatArray:
        """The curvature of the log loss, shrunk towards that of uncorrelated features: few rows
        tell it badly.
        """
        p, matrix = softmax(scores), self._contrasts
        first = p @ matrix
        each = (
            np.einsum("ik,ka,kb->iab", p, matrix, matrix)
            - first[:, :, np.newaxis] * first[:, np.newaxis]
        )
        size = each.shape[1] * phi.shape[1]
        full = np.einsum("iab,ij,il->ajbl", each, phi, phi, optimize=True).reshape(
            size, size
        ) / len(phi)
        weight = phi.shape[1] / (phi.shape[1] + len(phi))
        plain = np.kron(each.mean(axis=0), np.diag((phi**2).mean(axis=0)))
        return np.asarray((1 - weight) * full + weight * plain)

    def _public_evidence(self, phi: FloatArray, residuals: FloatArray) -> FloatArray:
        """How likely the out-of-fold gradient of the public sample is under each scale."""
        classes, rows = self.public.classes, len(phi)
        strength = np.tile(self.spectrum.strength, classes - 1)
        products = _products(residuals, phi)
        curvature = self._regular(self.own.held_out, phi)
        weight = phi.shape[1] / (phi.shape[1] + rows)
        spread = (1 - weight) * products.T @ products / rows + weight * np.diag(
            (products**2).mean(axis=0) + 1e-12
        )
        root = np.linalg.cholesky(
            (spread + 1e-10 * np.trace(spread) / len(spread) * np.eye(len(spread))) / rows
        )
        pulled = np.linalg.solve(root, curvature * np.sqrt(strength))
        values, vectors = np.linalg.eigh(pulled @ pulled.T)
        seen = vectors.T @ np.linalg.solve(root, products.mean(axis=0))
        return _log_evidence(self._grid, np.maximum(values, 0.0), seen, 1.0)


def _products(residuals: FloatArray, phi: FloatArray) -> FloatArray:
    """Residual x phi of each row, flat."""
    return np.asarray((residuals[:, :, np.newaxis] * phi[:, np.newaxis]).reshape(len(phi), -1))


def _bias(shares: FloatArray, radius: float, owners: int) -> float:
    """Squared length of the mean of clipped shares, less what chance makes of it with so many
    different owners.
    """
    lengths = np.sqrt((shares**2).sum(axis=1, keepdims=True))
    clipped = shares * np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
    chance = float(clipped.var(axis=0).sum()) * (1 / max(owners, 1) + 1 / len(shares))
    return max(0.0, float((clipped.mean(axis=0) ** 2).sum()) - chance)


def _log_evidence(
    grid: FloatArray, values: FloatArray, seen: FloatArray, noise: float
) -> FloatArray:
    """Log N(seen; 0, scale * values + noise) for each scale of the grid, up to a constant."""
    variance = grid[:, np.newaxis] * values + noise
    return np.asarray(-0.5 * (np.log(variance) + seen**2 / variance).sum(axis=1))


def _average(log_weights: FloatArray, grid: FloatArray) -> float:
    weights = np.exp(log_weights - log_weights.max())
    return float(weights @ grid / weights.sum())
