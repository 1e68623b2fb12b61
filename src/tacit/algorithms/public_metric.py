"""In which metric shares are clipped and noised: how much of a share is said along each of its
steepest axes. Why so: summed_gradients.md.

An answer about a coordinate with curvature c, of which a part a is said, has precision
c^2 a^2 / (noise t), t = sum c a^2 / sum c: shares are as long as what they say, and noise grows
with their length. Chosen are the parts by which all answers should explain most of the expected
loss, sum c (v - 1 / (1 / v + precision)): steep axes are known well whatever is said along them,
and take most of a share's length.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from tacit._util.types import FloatArray, IntArray

_LEAST, _MOST = -6.0, 2.0  # logarithms of parts


class Metric(NamedTuple):
    """Axes (directions, features) along which other parts of a share are said than all of it."""

    axes: FloatArray
    parts: FloatArray

    def apply(self, vectors: FloatArray) -> FloatArray:
        """What is said of vectors (rows, features)."""
        return np.asarray(vectors + (vectors @ self.axes.T * (self.parts - 1)) @ self.axes)


def best_parts(
    curvature: FloatArray, variance: FloatArray, freedom: FloatArray, noise: float, axes: int
) -> tuple[IntArray, FloatArray]:
    """Of coordinates with this curvature and variance that stand for so many directions each, the
    steepest (so many axes), and the part of a share to be said along each of them; along all others
    it is said whole. `noise` is the variance of the mean of all answers if all is said.

    >>> curvature, ones = np.array([1.0, 0.01, 0.01, 0.01]), np.ones(4)
    >>> best_parts(curvature, ones, ones, 1e-4, axes=1)[1].round(2).tolist()
    [0.1]
    """
    places = np.argsort(-curvature, kind="stable")[:axes]
    length = freedom * curvature
    whole = float(length.sum())

    def loss(logarithms: Any) -> tuple[float, Any]:
        """The logarithm of what is left beside what is explained, and its slope."""
        square = np.ones(len(curvature))
        square[places] = np.exp(2 * logarithms)
        longer = float(length @ square) / whole
        told = curvature**2 * square / (noise * longer)
        after = 1 / (1 / variance + told)
        left, explained = float(length @ after), float(length @ (variance * told * after))
        falls = length * after**2 * told  # of what is left, by the logarithm of what is told
        slope = falls - float(falls.sum()) * length * square / (whole * longer)
        return float(np.log(left / explained)), -2 * slope[places] * (1 / left + 1 / explained)

    first: Any = np.zeros(len(places))
    bounds = [(_LEAST, _MOST)] * len(places)
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return places, np.exp(np.asarray(found.x))
