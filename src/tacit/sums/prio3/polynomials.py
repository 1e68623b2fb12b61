"""Polynomials given by their values at roots of unity: more values of them, and their value at any
point.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit._util.types import WordArray
from tacit.sums.prio3.fields import Field, power_list, root_powers


def transform(field: Field, coefficients: WordArray) -> WordArray:
    """Values at the n-th roots of unity of polynomials with n coefficients (..., n, words), n a
    power of two.

    Cooley and Tukey: the transforms of even and odd coefficients, put together by one product each.
    """
    n = coefficients.shape[-2]
    shuffled = coefficients[..., _reversed_bits(n), :]
    values: WordArray = field.kernels.butterflies(shuffled, root_powers(field, n))
    return values


def interpolate(field: Field, values: WordArray) -> WordArray:
    """Coefficients from values at the n-th roots of unity: the transform at the inverse root, over
    n.
    """
    n = values.shape[-2]
    backwards = -np.arange(n) % n
    return field.multiply(transform(field, values)[..., backwards, :], field.inverse(n))


def extend(field: Field, values: WordArray, size: int) -> WordArray:
    """Values at the size-th roots of unity of polynomials given at the n-th roots, n <= size."""
    *others, n, words = values.shape
    coefficients = np.zeros((*others, size, words), np.uint64)
    coefficients[..., :n, :] = interpolate(field, values)
    return transform(field, coefficients)


@lru_cache(maxsize=64)
def _reversed_bits(n: int) -> WordArray:
    order = np.zeros(1, np.uint64)
    while len(order) < n:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


@dataclass(frozen=True, eq=False)
class Nodes:
    """The first `count` of the `size`-th roots of unity, and what it takes to evaluate at other
    points.

    Lagrange: P(t) = sum of P(x_i) s_i prod_{j != i} (t - x_j), with s_i = prod_{j != i} 1 / (x_i -
    x_j). There is no division, so t may be a node itself.
    """

    field: Field
    points: WordArray
    scales: WordArray

    def weights(self, at: WordArray) -> WordArray:
        """Weights (..., count, words) of the values at the nodes for the value at the points `at`
        (..., words).
        """
        result: WordArray = self.field.kernels.lagrange(at, self.points, self.scales)
        return result


@lru_cache(maxsize=64)
def nodes(field: Field, count: int, size: int) -> Nodes:
    """Over all roots the product of x_i - x_j is size / x_i; the roots that are left out are
    multiplied back in.
    """
    powers, p = power_list(field, size), field.modulus
    one_over_size = pow(size, -1, p)
    scales = []
    for x in powers[:count]:
        scale = x * one_over_size % p
        for left_out in powers[count:]:
            scale = scale * (x - left_out) % p
        scales.append(scale)
    return Nodes(field, root_powers(field, size, count), field.array(scales))
