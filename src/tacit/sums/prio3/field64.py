"""Arithmetic modulo p = 2^64 - 2^32 + 1, on words below p, as NumPy functions compiled by numba.

2^64 = 2^32 - 1 and 2^96 = -1 modulo p, so a product of 128 bits is reduced with one small product and no division;
Montgomery's form would not pay. Choices compile to conditional moves: no branch depends on an element.
"""

from typing import Any, cast

import numpy as np
from numba import guvectorize, njit, vectorize

from tacit.sums.prio3.words import high_half

MODULUS = 2**64 - 2**32 + 1
_P = np.uint64(MODULUS)
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)

_inline = cast(Any, njit)
_binary = cast(Any, vectorize(["uint64(uint64, uint64)"], cache=True))


@_inline
def _plus(a: Any, b: Any) -> Any:
    gap = _P - b
    return a - gap + (_P if a < gap else _ZERO)


@_inline
def _minus(a: Any, b: Any) -> Any:
    return a - b + (_P if a < b else _ZERO)


@_inline
def _reduce(high: Any, low: Any) -> Any:
    """(2^64 high + low) mod p, for any two words."""
    top, middle = high >> _HALF, high & _LOW
    less = low - top - (_LOW if low < top else _ZERO)
    more = middle * _LOW
    total = less + more
    total += _LOW if total < more else _ZERO
    return total - (_P if total >= _P else _ZERO)


@_inline
def _times(a: Any, b: Any) -> Any:
    return _reduce(high_half(a, b), a * b)


@_binary
def add(a: Any, b: Any) -> Any:
    return _plus(a, b)


@_binary
def subtract(a: Any, b: Any) -> Any:
    return _minus(a, b)


@_binary
def multiply(a: Any, b: Any) -> Any:
    return _times(a, b)


@guvectorize(["void(uint64[:,:], uint64[:,:], uint64[:])"], "(k,w),(k,w)->(w)", cache=True)
def dot(a: Any, b: Any, result: Any) -> None:
    """The sum of products, reduced once: 192 bits hold the sum of up to 2^32 of them."""
    low, middle, high = _ZERO, _ZERO, _ZERO
    for k in range(len(a)):
        x, y = a[k, 0], b[k, 0]
        below, above = x * y, high_half(x, y)
        low += below
        above += _ONE if low < below else _ZERO  # no overflow: (2^64 - 1)^2 leaves room for one
        middle += above
        high += _ONE if middle < above else _ZERO
    result[0] = _minus(_reduce(middle, low), high << _HALF)  # 2^128 = -2^32


@guvectorize(["void(uint64[:], uint64[:,:], uint64[:,:], uint64[:,:])"], "(w),(k,w),(k,w)->(k,w)", cache=True)
def lagrange(point: Any, nodes: Any, scales: Any, weights: Any) -> None:
    """weights[i] = scales[i] * product over j != i of (point - nodes[j])."""
    n = len(nodes)
    product = _ONE
    for i in range(n):
        weights[i, 0] = product
        product = _times(product, _minus(point[0], nodes[i, 0]))
    product = _ONE
    for i in range(n - 1, -1, -1):
        weights[i, 0] = _times(_times(weights[i, 0], product), scales[i, 0])
        product = _times(product, _minus(point[0], nodes[i, 0]))
