"""What is believed of a model's coefficients: public rows by their likelihood, answers by their
noise.

    theta ~ N(mean, scale_g strength), group by group;  labels of public rows ~ softmax(phi theta)
    answer = what the public rows say it would be under theta + delta, plus noise of known variance

delta is what owners have of their own (labels that are wrong in one direction, other habits): a
level and slopes, small before any evidence. Found is the mode, by Gauss-Newton steps over all terms
at once, with its curvature as the precision; the scales of groups come from the evidence.
Derivation: combination.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import FOLDS
from tacit.learners.models.scores import contrasts, softmax

_STEPS, _STILL, _FARTHEST = 12, 1e-3, 2.0  # of Gauss-Newton; in root mean squares of scores
_LEFT_OUT = 1 / FOLDS
_TRUST = (0.25, 1.0)  # least and most part of its precision that a fitted model keeps
_GRID = np.linspace(-9.0, 9.0, 73)  # of the logarithm of a scale around its guess


@dataclass(frozen=True, eq=False)
class PriorScale:
    """A guess of how large the coefficients in `columns` are: their variance is s times `strength`,
    log s is normal around log `guess` with deviation `spread`; spread 0: s is the guess. `late`:
    only answers tell more.
    """

    columns: slice
    strength: FloatArray
    guess: float
    spread: float
    late: bool = False


@dataclass(frozen=True, eq=False)
class Heard:
    """An answer, and what it takes to say what it would have been under another model.

    It was asked with features `kept`, scaled by `scale`, about the model `reference` (classes - 1,
    features); public rows would have counted by `weights`, and clipping leaves the part `left`.
    """

    kept: IntArray
    scale: FloatArray
    reference: FloatArray
    weights: FloatArray
    left: float
    mean: FloatArray
    noise: float


@dataclass(eq=False)
class Posterior:
    """Mode and precision of the coefficients (classes - 1, features + what owners have of their
    own).

    `phi` (rows, features) are the public rows' features, `own` those of them (the constant one and
    the columns) in which owners may differ, `mean` the coefficients that are expected beforehand.
    Where a linear model was fitted to the rows already, `fitted` are its scores and what they are
    out of fold: in the columns of `own` it stands for what the labels say, with a precision that is
    calibrated by how much it changes out of fold.
    """

    phi: FloatArray
    labels: IntArray
    classes: int
    scales: Sequence[PriorScale]
    mean: FloatArray
    own: slice
    fitted: tuple[FloatArray, FloatArray] | None = None
    heard: list[Heard] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._contrasts = contrasts(self.classes)
        self._theirs = np.hstack([self.phi, self.phi[:, self.own]])
        self._public = np.hstack([self.phi, np.zeros_like(self.phi[:, self.own])])
        extra = np.zeros((self.classes - 1, self._theirs.shape[1] - self.phi.shape[1]))
        self._centre = np.hstack([self.mean, extra])
        self._all = self._centre.copy()
        self._found = np.array([scale.guess for scale in self.scales])
        self._expected = self._found.copy()
        self._trust = 1.0
        self._settle(4)
        self._before = self._leverage(slice(0, self.own.stop)).trace(axis1=1, axis2=2)
        if self.fitted is not None:
            changed = float((((self.fitted[0] - self.fitted[1]) @ self._contrasts) ** 2).sum())
            predicted = _LEFT_OUT / (1 - _LEFT_OUT) * float(self._before.sum())
            self._trust = float(np.clip(predicted / max(changed, 1e-300), *_TRUST))
            self._settle(4)
            self._before = self._leverage(slice(0, self.own.stop)).trace(axis1=1, axis2=2)

    @property
    def theta(self) -> FloatArray:
        """Coefficients of the model, (classes - 1, features)."""
        return np.ascontiguousarray(self._all[:, : self.phi.shape[1]])

    @property
    def covariance(self) -> FloatArray:
        """Of the model's coefficients, flat."""
        return self._block(self._precision)

    @property
    def open_covariance(self) -> FloatArray:
        """The same where scales are as large as is expected, not as is most likely: a group of
        which nothing is known yet is worth a question.
        """
        return self._block(self._information + np.diag(self._tightness(self._expected)))

    @property
    def owners_chances(self) -> FloatArray:
        """How likely each class is for public rows, if owners had them."""
        return softmax(self._scores(self._theirs))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Scores of public rows under coefficients (classes - 1, features)."""
        return np.asarray(self.phi @ theta.T @ self._contrasts.T)

    def take(self, answer: Heard) -> None:
        """The posterior after one more answer."""
        self.heard.append(answer)
        self._settle(2)

    @property
    def left_out(self) -> FloatArray:
        """Scores of each public row as they would be had its label not been seen.

        One Newton step back: theta - P phi (1 - W h)^-1 r for a row with residual r, curvature W
        and leverage h = phi^T P phi. What a fitted model loses out of fold is known; the part of it
        is taken off that the row's leverage still is of what it was before owners spoke.
        """
        chances = softmax(self._scores(self._public))
        rest = slice(0 if self.fitted is None else self.own.stop, None)
        leverage = self._leverage(rest)
        back = np.eye(self.classes - 1) - self._curvatures(chances) @ leverage
        drop = leverage @ np.linalg.solve(back, self._residuals(chances)[:, :, np.newaxis])
        scores = self.scores(self.theta) - drop[:, :, 0] @ self._contrasts.T
        if self.fitted is None:
            return scores
        now = self._leverage(slice(0, self.own.stop)).trace(axis1=1, axis2=2)
        part = np.clip(now / np.maximum(self._before, 1e-300), 0.0, 1.0)
        return np.asarray(scores - part[:, np.newaxis] * (self.fitted[0] - self.fitted[1]))

    def _leverage(self, columns: slice) -> FloatArray:
        """phi^T P phi of each row, (rows, classes - 1, classes - 1), along some of the features."""
        size, phi = self.classes - 1, self.phi[:, columns]
        covariance = self.covariance.reshape(size, self.phi.shape[1], size, -1)
        covariance = covariance[:, columns, :, columns]
        out = np.empty((len(phi), size, size))
        for a in range(size):
            for b in range(size):
                out[:, a, b] = ((phi @ covariance[a, :, b]) * phi).sum(axis=1)
        return out

    def covariance_after(self, asked: Heard) -> FloatArray:
        """The covariance of the model's coefficients after an answer of this kind and noise."""
        _, slope, noise = self._foretell(asked, self.owners_chances)
        return self._block(self._precision + slope.T @ slope / noise)

    def _settle(self, times: int) -> None:
        """Mode and scales in turn."""
        for _ in range(times):
            self._climb()
            self._weigh_scales()
        self._climb()

    def _climb(self) -> None:
        """Gauss-Newton steps to the mode of prior, labels and answers."""
        tightness = self._tightness(self._found)
        for _ in range(_STEPS):
            chances = softmax(self._scores(self._public))
            slope = self._pull(chances).ravel()
            ones = np.ones(len(self.phi))
            rows = self._public.copy()
            rows[:, self.own] *= np.sqrt(self._trust)
            information = len(self.phi) * self._curvature(chances, ones, rows, rows)
            theirs = self.owners_chances
            for answer in self.heard:
                expected, change, noise = self._foretell(answer, theirs)
                slope = slope + change.T @ (answer.mean - expected) / noise
                information = information + change.T @ change / noise
            self._slope, self._information = slope, information
            self._precision = information + np.diag(tightness)
            pull = slope - tightness * (self._all - self._centre).ravel()
            step = cho_solve(cho_factor(self._precision), pull).reshape(self._all.shape)
            move = float(np.sqrt(((self._theirs @ step.T) ** 2).sum(axis=1).mean()))
            self._all = self._all + step * min(1.0, _FARTHEST / max(move, 1e-300))
            if move < _STILL:
                return

    def _pull(self, chances: FloatArray) -> FloatArray:
        """The gradient of the public rows' log likelihood."""
        slope = self._residuals(chances).T @ self._public
        if self.fitted is not None:
            apart = (softmax(self.fitted[0]) - chances) @ self._contrasts
            slope[:, self.own] = self._trust * apart.T @ self._public[:, self.own]
        return np.asarray(slope)

    def _foretell(self, asked: Heard, chances: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """What the answer should be, how it changes with the coefficients, and its variance.

        The mean over public rows of what they would say if their labels had these chances, shrunk
        towards uncorrelated features: few rows tell correlations badly. To the noise of the answer
        comes that of the public rows, which vanishes as the reference comes near.
        """
        features = self.phi[:, asked.kept] * asked.scale
        before = self.scores(asked.reference)
        shift = chances - softmax(before)
        told = ((shift @ self._contrasts) * asked.weights[:, np.newaxis])[:, :, np.newaxis]
        told = (told * features[:, np.newaxis]).reshape(len(features), -1)
        change = self._curvature(chances, asked.weights, features, self._theirs)
        rough = self.phi.shape[1] / (self.phi.shape[1] + len(self.phi))
        level = (features**2).mean(axis=0) / asked.scale
        moved = self._scores(self._theirs) - before
        secant = float((asked.weights * (shift * moved).sum(axis=1)).sum())
        secant /= max(float((moved**2).sum()), 1e-300)
        apart = (self._together - asked.reference)[:, asked.kept]
        expected = (1 - rough) * told.mean(axis=0) + rough * secant * (apart * level).ravel()
        mean = np.einsum("iab,i->ab", self._curvatures(chances), asked.weights) / len(features)
        change = (1 - rough) * change + rough * np.kron(mean, self._alone(asked.kept, level))
        unsure = float(told.var(axis=0).mean()) / len(features)
        return asked.left * expected, asked.left * change, asked.noise + asked.left**2 * unsure

    @property
    def _together(self) -> FloatArray:
        """Coefficients that owners have, (classes - 1, features)."""
        joint = self.theta.copy()
        joint[:, self.own] += self._all[:, self.phi.shape[1] :]
        return joint

    def _alone(self, kept: IntArray, level: FloatArray) -> FloatArray:
        """(kept, all): what each feature would say if it were uncorrelated with all others."""
        out = np.zeros((len(kept), self._all.shape[1]))
        out[np.arange(len(kept)), kept] = level
        theirs = np.flatnonzero(kept < self.own.stop)
        out[theirs, self.phi.shape[1] + kept[theirs]] = level[theirs]
        return out

    def _weigh_scales(self) -> None:
        """The scale of each group in turn: its average over a grid, weighted by the evidence.

        With likelihood exp(b^T t - t^T M t / 2) in the group's coefficients, the others integrated
        out, the evidence of s is that of N(0, s S): -1/2 log(1 + s e) + 1/2 u^2 s / (1 + s e) over
        eigenvalues e of S^1/2 M S^1/2.
        """
        size, features = self._all.shape
        flat = self._information @ (self._all - self._centre).ravel() + self._slope
        for place, scale in enumerate(self.scales):
            idle = scale.late and not self.heard
            if scale.spread == 0 or idle:
                continue
            own = np.zeros((size, features), dtype=np.bool_)
            own[:, scale.columns] = True
            inside, outside = np.flatnonzero(own.ravel()), np.flatnonzero(~own.ravel())
            rest = self._information + np.diag(self._tightness(self._found))
            across = rest[np.ix_(outside, inside)]
            factor = cho_factor(rest[np.ix_(outside, outside)])
            solved = cho_solve(factor, np.column_stack([across, flat[outside]]))
            reduced = self._information[np.ix_(inside, inside)] - across.T @ solved[:, :-1]
            told = flat[inside] - across.T @ solved[:, -1]
            root = np.sqrt(np.tile(scale.strength, size))
            values, vectors = np.linalg.eigh(reduced * np.outer(root, root))
            values, seen = np.maximum(values, 0.0), (vectors.T @ (root * told)) ** 2
            grid = np.exp(np.log(scale.guess) + _GRID)
            variance = 1 + grid[:, np.newaxis] * values
            evidence = 0.5 * (seen * grid[:, np.newaxis] / variance - np.log(variance)).sum(axis=1)
            evidence = evidence - 0.5 * (_GRID / scale.spread) ** 2
            weights = np.exp(evidence - evidence.max())
            weights = weights / weights.sum()
            self._found[place] = np.exp(weights @ np.log(grid))
            self._expected[place] = weights @ grid

    def _tightness(self, found: FloatArray) -> FloatArray:
        """Precision of the prior, flat."""
        out = np.empty(self._all.shape[1])
        for scale, size in zip(self.scales, found, strict=True):
            out[scale.columns] = 1 / (size * scale.strength)
        return np.tile(out, self.classes - 1)

    def _block(self, precision: FloatArray) -> FloatArray:
        """The covariance of the model's own coefficients for a precision of all."""
        size, features = self.classes - 1, self.phi.shape[1]
        whole = cho_solve(cho_factor(precision), np.eye(len(precision)))
        blocks = whole.reshape(size, self._all.shape[1], size, -1)[:, :features, :, :features]
        return np.ascontiguousarray(blocks).reshape(size * features, -1)

    def _scores(self, rows: FloatArray) -> FloatArray:
        return np.asarray(rows @ self._all.T @ self._contrasts.T)

    def _residuals(self, chances: FloatArray) -> FloatArray:
        """C^T (e_y - chances) of public rows."""
        return np.asarray((np.eye(self.classes)[self.labels] - chances) @ self._contrasts)

    def _curvatures(self, chances: FloatArray) -> FloatArray:
        """C^T (diag p - p p^T) C of each row."""
        first = chances @ self._contrasts
        second = np.einsum("ik,ka,kb->iab", chances, self._contrasts, self._contrasts)
        return np.asarray(second - first[:, :, np.newaxis] * first[:, np.newaxis])

    def _curvature(
        self, chances: FloatArray, weights: FloatArray, left: FloatArray, right: FloatArray
    ) -> FloatArray:
        """Mean over rows of weight (C^T (diag p - p p^T) C) x left right^T, flat."""
        each = self._curvatures(chances) * (weights / len(weights))[:, np.newaxis, np.newaxis]
        size = self.classes - 1
        out = np.empty((size, left.shape[1], size, right.shape[1]))
        for a in range(size):
            for b in range(size):
                out[a, :, b] = (left * each[:, a, b, np.newaxis]).T @ right
        return out.reshape(size * left.shape[1], -1)
