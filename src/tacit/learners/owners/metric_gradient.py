"""`Gradient` in a public metric: a share says less along some directions, so that it is shorter and
the noise of a sum is smaller along all others. Note: gradient.md.

What an owner computes is the share of `Gradient`, and of every class's part of it, a vector as long
as there are features, s - sum over k of (1 - parts[k]) (axes[k] . s) axes[k]. Only then is it
clipped to the public ball, so the promise is that of `Gradient`, whatever axes and parts are.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad
from tacit._util.kernels import affine
from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort
from tacit.learners.learner import Facts, ShareQuery
from tacit.learners.owners.gradient import Gradient
from tacit.learners.query import Cost, table
from tacit.mechanisms.spaces import Ball
from tacit.wire import message

_SHARES_AT_ONCE = 1 << 12  # of one class: what is made beside the shares stays small


@message("gradient.metric")
@dataclass(frozen=True, eq=False)
class MetricGradient(Gradient):
    """`axes` (directions, features), at right angles and of length 1, and for each the part of a
    share that is said along it.
    """

    name: ClassVar[str] = "gradient in a metric"

    axes: FloatArray
    parts: FloatArray

    def space(self, facts: Facts) -> Ball:
        fits = self.axes.ndim == 2 and self.axes.shape[1] == self.features.dim
        if not (fits and 1 <= len(self.axes) <= self.features.dim):
            raise bad("axes", f"(at least one, {self.features.dim})", self.axes.shape)
        if not self.parts.shape == (len(self.axes),):
            raise bad("parts", f"one for each of {len(self.axes)} axes", self.parts.shape)
        return super().space(facts)

    def cost(self, query: ShareQuery, rows: int) -> Cost:
        """What a gradient takes, and two products of its classes' parts with the axes."""
        others = query.facts.classes - 1
        along = table(others, len(self.axes), passes=2)
        change = table(others, self.features.dim, passes=2) + table(1, 2 * self.axes.size)
        return super().cost(query, rows) + Cost(2 * others * self.axes.size) + along + change

    def share(self, query: ShareQuery, cohort: Cohort) -> FloatArray:
        shares = super().share(query, cohort)
        each, upright = shares.reshape(-1, self.features.dim), np.ascontiguousarray(self.axes.T)
        for first in range(0, len(each), _SHARES_AT_ONCE):
            some = each[first : first + _SHARES_AT_ONCE]
            along, change = np.empty((len(some), len(self.axes))), np.empty(some.shape)
            affine(some, np.zeros(some.shape[1]), upright, along)
            along *= self.parts - 1.0
            affine(along, np.zeros(len(self.axes)), self.axes, change)
            some += change
        return shares
