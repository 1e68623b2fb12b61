"""Arithmetic modulo p = 2^128 - 28 * 2^64 + 1, on pairs of words (low, high) below p, as functions
compiled by numba.

Montgomery's reduction pays here: p = 1 modulo 2^64, so a step of it needs one product of words.
Elements stay plain numbers: a product is reduced twice, the second time times 2^256, which takes
the two factors 2^-128 off again.
"""

from typing import Any

import numpy as np

from tacit._util.kernels import high_half, inline, on_vectors, ones_if_below

_MODULUS = 2**128 - 28 * 2**64 + 1
_P0, _P1 = np.uint64(1), np.uint64(_MODULUS >> 64)
_BACK0, _BACK1 = np.uint64(2**256 % _MODULUS % 2**64), np.uint64(2**256 % _MODULUS >> 64)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inline
def _difference(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """The two words of a - b modulo 2^128, and all bits set if a < b. A borrow is ones."""
    borrow = ones_if_below(a0, b0)
    high = a1 - b1
    below = ones_if_below(a1, b1) | ones_if_below(high, borrow & _ONE)
    return a0 - b0, high + borrow, below


@inline
def _minus(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    low, high, below = _difference(a0, a1, b0, b1)
    more = low + (_P0 & below)
    return more, high + (_P1 & below) - ones_if_below(more, low)


@inline
def _plus(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """As a - (p - b); p - b is p for b = 0, which _minus takes as well."""
    low, high, _ = _difference(_P0, _P1, b0, b1)
    return _minus(a0, a1, low, high)


@inline
def _step(t0: Any, t1: Any, t2: Any) -> Any:
    """(t + m p) / 2^64 with m = -t mod 2^64, for t of three words below 2^64 p; three words."""
    m = _ZERO - t0
    low, high = m * _P1, high_half(m, _P1)
    low -= ones_if_below(_ZERO, t0)  # t0 + m carries 1; no overflow: low = -28 m is even
    first = t1 + low
    high -= ones_if_below(first, low)
    second = t2 + high
    return first, second, _ZERO - ones_if_below(second, high)


@inline
def _add_product(t0: Any, t1: Any, t2: Any, a0: Any, a1: Any, b: Any) -> Any:
    """The four words of t + a b, for one word b: a carry is all bits set, taken off."""
    low, high = a0 * b, high_half(a0, b)
    t0 += low
    high -= ones_if_below(t0, low)
    second, third = a1 * b, high_half(a1, b)
    second += high
    third -= ones_if_below(second, high)
    t1 += second
    third -= ones_if_below(t1, second)
    t2 += third
    return t0, t1, t2, _ZERO - ones_if_below(t2, third)


@inline
def _montgomery(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """The product over 2^128, modulo p: for each word of b, add its product and take a step."""
    t0, t1, t2, _ = _add_product(_ZERO, _ZERO, _ZERO, a0, a1, b0)
    t0, t1, t2 = _step(t0, t1, t2)
    t0, t1, t2, over = _add_product(t0, t1, t2, a0, a1, b1)
    t0, t1, t2 = _step(t0, t1, t2)
    low, high, below = _difference(t0, t1, _P0, _P1)
    keep = below & ones_if_below(t2 + over, _ONE)
    return (t0 & keep) | (low & ~keep), (t1 & keep) | (high & ~keep)


@inline
def _times(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    c0, c1 = _montgomery(a0, a1, b0, b1)
    return _montgomery(c0, c1, _BACK0, _BACK1)


@on_vectors("(w),(w)->(w)")
def add(a: Any, b: Any, result: Any) -> None:
    result[0], result[1] = _plus(a[0], a[1], b[0], b[1])


@on_vectors("(w),(w)->(w)")
def subtract(a: Any, b: Any, result: Any) -> None:
    result[0], result[1] = _minus(a[0], a[1], b[0], b[1])


@on_vectors("(w),(w)->(w)")
def multiply(a: Any, b: Any, result: Any) -> None:
    result[0], result[1] = _times(a[0], a[1], b[0], b[1])


@on_vectors("(k,w),(k,w)->(w)")
def dot(a: Any, b: Any, result: Any) -> None:
    """The sum of products; the factor 2^128 goes back in once, at the end."""
    low, high = _ZERO, _ZERO
    for k in range(len(a)):
        c0, c1 = _montgomery(a[k, 0], a[k, 1], b[k, 0], b[k, 1])
        low, high = _plus(low, high, c0, c1)
    result[0], result[1] = _montgomery(low, high, _BACK0, _BACK1)


@on_vectors("(w),(k,w),(k,w)->(k,w)")
def lagrange(point: Any, nodes: Any, scales: Any, weights: Any) -> None:
    """weights[i] = scales[i] * product over j != i of (point - nodes[j])."""
    n = len(nodes)
    low, high = _ONE, _ZERO
    for i in range(n):
        weights[i, 0], weights[i, 1] = low, high
        d0, d1 = _minus(point[0], point[1], nodes[i, 0], nodes[i, 1])
        low, high = _times(low, high, d0, d1)
    low, high = _ONE, _ZERO
    for i in range(n - 1, -1, -1):
        w0, w1 = _times(weights[i, 0], weights[i, 1], low, high)
        weights[i, 0], weights[i, 1] = _times(w0, w1, scales[i, 0], scales[i, 1])
        d0, d1 = _minus(point[0], point[1], nodes[i, 0], nodes[i, 1])
        low, high = _times(low, high, d0, d1)


@on_vectors("(k,w),(k,w)->(k,w)")
def butterflies(shuffled: Any, roots: Any, values: Any) -> None:
    """The transform of coefficients in bit-reversed order; `roots` are the powers of the k-th root
    of unity.
    """
    n = len(shuffled)
    for k in range(n):
        values[k, 0], values[k, 1] = shuffled[k, 0], shuffled[k, 1]
    half = 1
    while half < n:
        stride = n // (2 * half)
        for start in range(0, n, 2 * half):
            for k in range(start, start + half):
                other, root = k + half, (k - start) * stride
                e0, e1 = values[k, 0], values[k, 1]
                t0, t1 = _times(values[other, 0], values[other, 1], roots[root, 0], roots[root, 1])
                values[k, 0], values[k, 1] = _plus(e0, e1, t0, t1)
                values[other, 0], values[other, 1] = _minus(e0, e1, t0, t1)
        half *= 2
