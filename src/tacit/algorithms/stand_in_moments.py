"""Means over rows that stand in for owners': chances x features of a model, and which model has the
means that owners' answers say. Why so: summed_gradients.md.

Coordinates are along axes that stand-ins span, then the rest of a vector, in which all directions
are alike and of which stand-ins have nothing; there curvature is a guess, `unseen`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from tacit._util.types import FloatArray
from tacit.algorithms.public_curvature import curvatures
from tacit.learners.models.scores import contrasts, softmax

_STEPS = 30  # of finding the likeliest model: few enough not to follow stand-ins where they err


@dataclass(frozen=True, eq=False)
class StandInMoments:
    """Stand-ins `along` axes (rows, axes they span), the part that each counts for, and what rows
    that they have not seen are guessed to add to curvature. `size` is how many coordinates there
    are.
    """

    along: FloatArray
    parts: FloatArray
    classes: int
    unseen: float
    size: int

    @property
    def contrasts(self) -> FloatArray:
        return contrasts(self.classes)

    def spanned(self, coordinates: FloatArray) -> FloatArray:
        """Those along axes that stand-ins span."""
        return coordinates[..., : self.along.shape[1]]

    def whole(self, seen: FloatArray) -> FloatArray:
        """Coordinates along axes that stand-ins span, and nothing along the rest."""
        return np.concatenate([seen, np.zeros(self.size - len(seen))])

    def chances(self, theta: FloatArray) -> FloatArray:
        """Of classes under coefficients along the axes."""
        return softmax(self.along @ self.spanned(theta).T @ self.contrasts.T)

    def spread(self, weights: FloatArray) -> FloatArray:
        """The mean square of features along each axis, stand-ins weighed so."""
        return self.whole((self.parts * weights) @ self.along**2)

    def curve(self, theta: FloatArray) -> FloatArray:
        """The curvature along each axis of a model with these coefficients."""
        return self.spread(curvatures(self.chances(theta))) + self.unseen

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean of values x features, (classes - 1, axes that they span)."""
        return np.asarray((self.parts[:, np.newaxis] * (values @ self.contrasts)).T @ self.along)

    def moments(self, theta: FloatArray, chances: FloatArray) -> FloatArray:
        """Mean of chances x features, and what rows that they have not seen are guessed to add."""
        out = self.unseen * theta
        self.spanned(out)[:] += self.mean(chances)
        return np.asarray(out)

    def likeliest(
        self,
        begin: FloatArray,
        before: FloatArray,
        moments: FloatArray,
        weight: FloatArray,
        *,
        curve: FloatArray,
        first: FloatArray,
    ) -> FloatArray:
        """Coefficients near `begin`, by the precision `before`, that have these moments, by the
        precision `weight`: in closed form where no stand-in is, elsewhere by a few steps from
        `first`, each as long as curvature allows.
        """
        curved = self.unseen * weight
        theta = (before * begin + curved * moments) / (before + self.unseen * curved)
        size = 1 / np.sqrt(self.spanned(before + curve**2 * weight))
        near, centre, mean, by = (self.spanned(each) for each in (before, begin, moments, weight))
        matrix = self.contrasts

        def loss(flat: Any) -> tuple[float, Any]:
            now = flat.reshape(centre.shape) * size
            chances = self.chances(now)
            off = self.mean(chances) + self.unseen * now - mean
            pull, away = by * off, now - centre
            told = self.along @ pull.T @ matrix.T
            told -= (chances * told).sum(axis=1, keepdims=True)
            slope = self.mean(chances * told) + self.unseen * pull + near * away
            value = 0.5 * float((pull * off).sum() + (near * away**2).sum())
            return value, (slope * size).ravel()

        options: Any = {"maxiter": _STEPS, "maxcor": 20}
        start: Any = (self.spanned(first) / size).ravel()
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        self.spanned(theta)[:] = np.asarray(found.x).reshape(centre.shape) * size
        return np.asarray(theta)
