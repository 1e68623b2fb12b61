"""Arithmetic modulo p = 2^64 - 2^32 + 1, on words below p, as NumPy functions compiled by numba.

2^64 = 2^32 - 1 and 2^96 = -1 modulo p, so a product of 128 bits is reduced with one small product
and no division; Montgomery's form would not pay. Choices are masks: no branch
depends on an element.
"""

from typing import Any

import numpy as np

from tacit._util.kernels import high_half, inline, kernel, on_vectors, on_words, ones_if_below
from tacit._util.types import WordArray

_P = np.uint64(2**64 - 2**32 + 1)
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inline
def minus(a: Any, b: Any) -> Any:
    return a - b - (_LOW & ones_if_below(a, b))  # adds p: -(2^32 - 1) = p modulo 2^64


@inline
def plus(a: Any, b: Any) -> Any:
    return minus(a, _P - b)


@inline
def _reduce(high: Any, low: Any) -> Any:
    """(2^64 high + low) mod p, for any two words."""
    top, middle = high >> _HALF, high & _LOW
    less = low - top - (_LOW & ones_if_below(low, top))
    more = (middle << _HALF) - middle
    total = less + more
    total += _LOW & ones_if_below(total, more)
    return total - (_P & ~ones_if_below(total, _P))


@inline
def times(a: Any, b: Any) -> Any:
    return _reduce(high_half(a, b), a * b)


@on_words
def add(a: Any, b: Any) -> Any:
    return plus(a, b)


@on_words
def subtract(a: Any, b: Any) -> Any:
    return minus(a, b)


@on_words
def multiply(a: Any, b: Any) -> Any:
    return times(a, b)


@on_vectors("(k,w),(k,w)->(w)")
def dot(a: Any, b: Any, result: Any) -> None:
    """The sum of products, reduced once: 192 bits hold the sum of up to 2^32 of them."""
    low, middle, high = _ZERO, _ZERO, _ZERO
    for k in range(len(a)):
        x, y = a[k, 0], b[k, 0]
        below, above = x * y, high_half(x, y)
        low += below
        above -= ones_if_below(low, below)  # no overflow: (2^64 - 1)^2 leaves room for one
        middle += above
        high -= ones_if_below(middle, above)
    result[0] = minus(_reduce(middle, low), high << _HALF)  # 2^128 = -2^32


@on_vectors("(w),(k,w),(k,w)->(k,w)")
def lagrange(point: Any, nodes: Any, scales: Any, weights: Any) -> None:
    """weights[i] = scales[i] * product over j != i of (point - nodes[j])."""
    n = len(nodes)
    product = _ONE
    for i in range(n):
        weights[i, 0] = product
        product = times(product, minus(point[0], nodes[i, 0]))
    product = _ONE
    for i in range(n - 1, -1, -1):
        weights[i, 0] = times(times(weights[i, 0], product), scales[i, 0])
        product = times(product, minus(point[0], nodes[i, 0]))


@on_vectors("(k,w),(k,w)->(k,w)")
def butterflies(shuffled: Any, roots: Any, values: Any) -> None:
    """The transform of coefficients in bit-reversed order; `roots` are the powers of the k-th root
    of unity.
    """
    n = len(shuffled)
    for k in range(n):
        values[k, 0] = shuffled[k, 0]
    half = 1
    while half < n:
        stride = n // (2 * half)
        for start in range(0, n, 2 * half):
            for k in range(half):
                even, turned = (
                    values[start + k, 0],
                    times(values[start + half + k, 0], roots[k * stride, 0]),
                )
                values[start + k, 0] = plus(even, turned)
                values[start + half + k, 0] = minus(even, turned)
        half *= 2


@kernel
def squares_in_range(
    wires: WordArray, coefficients: WordArray, entries: int, largest: int, result: WordArray
) -> None:
    """The gadget of `bounded`, for inputs (n, arity, points, 1) and coefficients (n, arity, 1)."""
    n, arity, points, _ = wires.shape
    squares, zeros = np.empty(points, np.uint64), np.empty(points, np.uint64)
    for owner in range(n):
        for point in range(points):
            result[owner, point, 0] = _ZERO
        for j in range(arity):
            coefficient = coefficients[owner, j, 0]
            # points innermost: their products do not wait for each other
            for point in range(points):
                x = wires[owner, j, point, 0]
                squares[point] = times(x, x)
                zeros[point] = times(coefficient, x)
            for k in range(1, largest + 1):
                for point in range(points):
                    zeros[point] = times(zeros[point], minus(squares[point], np.uint64(k * k)))
            for point in range(points):
                term = plus(zeros[point], squares[point]) if j < entries else zeros[point]
                result[owner, point, 0] = plus(result[owner, point, 0], term)
