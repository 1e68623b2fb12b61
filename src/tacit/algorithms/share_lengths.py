"""How long shares of a sum are, and at which length to clip them: noise grows with that length.

Made-up owners tell it, who hold public rows with labels as they are expected: nothing of it depends
on anybody's rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.question import made_up_owners

QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)  # of lengths of shares, to clip at
NEARLY_WHOLE = (0.97,)  # the same, where clipping must not hide what long ones say
_LEAST_LEFT = 0.5  # of a share that clipping must leave on average
_DRAWN, _PAIRED = 3000, 64  # made-up owners; rows of one that are paired
_MOST_PAIRED = 2048  # public rows, of which all pairs have room


class Clipping(NamedTuple):
    """The length that shares are clipped at, and the part that this leaves of them on average."""

    radius: float
    left: float


def best_clipping(lengths: FloatArray, quantiles: Sequence[float]) -> Clipping:
    """At one of these quantiles of lengths: the least noise for what is left, among those that
    leave at least half.

    >>> lengths = np.array([1.0, 1.0, 1.0, 10.0])
    >>> best_clipping(lengths, (0.7, 1.0)), best_clipping(lengths[:3], (0.7, 1.0))
    (Clipping(radius=10.0, left=1.0), Clipping(radius=1.0, left=1.0))
    """
    found, square = [], max(float((lengths**2).sum()), 1e-300)
    for radius in np.quantile(lengths, quantiles).clip(1e-9, 1e9).tolist():
        left = float((np.minimum(lengths, radius) * lengths).sum()) / square
        if left >= _LEAST_LEFT:
            found.append((radius / left, radius, left))
    _, radius, left = min(found, default=(0.0, 1e-9, 1.0))
    return Clipping(radius, left)


@dataclass(frozen=True, eq=False)
class MadeUpOwners:
    """Owners who hold rows with the features `phi`: `drawn` (owners, rows of each) says which, and
    `coins` decide about labels.
    """

    phi: FloatArray
    products: FloatArray | None
    drawn: IntArray
    coins: FloatArray

    @classmethod
    def of(cls, phi: FloatArray, rows: int) -> "MadeUpOwners":
        """With so many rows each."""
        generator, made_up = np.random.default_rng(0), (made_up_owners(_DRAWN, rows), rows)
        drawn = generator.integers(0, len(phi), size=made_up)
        paired = rows <= _PAIRED and len(phi) <= _MOST_PAIRED
        products = phi @ phi.T if paired else None
        return cls(phi, products, drawn, generator.random((*drawn.shape, 1)))

    def residuals(self, asked: FloatArray, expected: FloatArray) -> FloatArray:
        """(owners, rows, classes): labels by the chances `expected` of each public row, less those
        of the model that is asked about.
        """
        labels = (expected[self.drawn].cumsum(axis=2) < self.coins).sum(axis=2)
        hot = np.eye(expected.shape[1])[labels.clip(max=expected.shape[1] - 1)]
        return np.asarray(hot - asked[self.drawn])

    def lengths(self, residuals: FloatArray) -> FloatArray:
        """Of shares: by products of pairs of rows where these are few, else by adding up."""
        rows = self.drawn.shape[1]
        if self.products is None:
            pairs = zip(residuals, self.drawn, strict=True)
            squared = [float(((said.T @ self.phi[held]) ** 2).sum()) for said, held in pairs]
            return np.asarray(np.sqrt(squared) / rows)
        alike = self.products[self.drawn[:, :, np.newaxis], self.drawn[:, np.newaxis]]
        squares = np.einsum("nra,nsa,nrs->n", residuals, residuals, alike)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / rows)

    def along(self, residuals: FloatArray, scores: FloatArray) -> FloatArray:
        """What each share has along a model that has these scores of public rows."""
        return np.asarray((residuals * scores[self.drawn]).sum(axis=2).mean(axis=1))
