"""Arithmetic modulo p = 2^128 - 28 * 2^64 + 1, on pairs of words (low, high) below p, as functions compiled by numba.

Montgomery's reduction pays here: p = 1 modulo 2^64, so a step of it needs one product of words. Elements stay plain
numbers: a product is reduced twice, the second time times 2^256, which takes the two factors 2^-128 off again.
"""

from typing import Any, cast

import numpy as np
from numba import guvectorize, njit

from tacit.sums.prio3.words import high_half

_MODULUS = 2**128 - 28 * 2**64 + 1
_P0, _P1 = np.uint64(1), np.uint64(_MODULUS >> 64)
_BACK0, _BACK1 = np.uint64(2**256 % _MODULUS % 2**64), np.uint64(2**256 % _MODULUS >> 64)
_ZERO, _ONE = np.uint64(0), np.uint64(1)

_inline = cast(Any, njit)


def _elementwise(function: Any) -> Any:
    return guvectorize(["void(uint64[:], uint64[:], uint64[:])"], "(w),(w)->(w)", cache=True)(function)


@_inline
def _minus(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    borrow = _ONE if a0 < b0 else _ZERO
    under = a1 < b1 or (a1 == b1 and a0 < b0)
    low, high = a0 - b0, a1 - b1 - borrow
    low2 = low + (_P0 if under else _ZERO)
    carry = _ONE if low2 < low else _ZERO
    return low2, high + carry + (_P1 if under else _ZERO)


@_inline
def _plus(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """a - (p - b); p - b is p for b = 0, which _minus takes as well."""
    borrow = _ONE if b0 > _P0 else _ZERO
    return _minus(a0, a1, _P0 - b0, _P1 - b1 - borrow)


@_inline
def _step(t0: Any, t1: Any, t2: Any) -> Any:
    """(t + m p) / 2^64 with m = -t mod 2^64, for t of three words below 2^64 p; three words again."""
    m = _ZERO - t0
    low, high = m * _P1, high_half(m, _P1)
    low += _ONE if t0 != _ZERO else _ZERO  # t0 + m = 2^64; no overflow, as low = -28 m mod 2^64 is even
    first = t1 + low
    high += _ONE if first < low else _ZERO
    second = t2 + high
    return first, second, _ONE if second < high else _ZERO


@_inline
def _montgomery(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    """a b / 2^128 mod p: for each word of b, add its product and take a step."""
    low, high = a0 * b0, high_half(a0, b0)
    second, third = a1 * b0, high_half(a1, b0)
    second += high
    third += _ONE if second < high else _ZERO
    t0, t1, t2 = _step(low, second, third)
    low, high = a0 * b1, high_half(a0, b1)
    t0 += low
    high += _ONE if t0 < low else _ZERO
    second, third = a1 * b1, high_half(a1, b1)
    second += high
    third += _ONE if second < high else _ZERO
    t1 += second
    third += _ONE if t1 < second else _ZERO
    t2 += third
    over = _ONE if t2 < third else _ZERO
    t0, t1, t2 = _step(t0, t1, t2)
    t2 += over
    above = t2 != _ZERO or t1 > _P1 or (t1 == _P1 and t0 >= _P0)
    borrow = _ONE if above and t0 < _P0 else _ZERO
    return t0 - (_P0 if above else _ZERO), t1 - (_P1 if above else _ZERO) - borrow


@_inline
def _times(a0: Any, a1: Any, b0: Any, b1: Any) -> Any:
    c0, c1 = _montgomery(a0, a1, b0, b1)
    return _montgomery(c0, c1, _BACK0, _BACK1)


@_elementwise
def add(a: Any, b: Any, result: Any) -> None:
    result[0], result[1] = _plus(a[0], a[1], b[0], b[1])


@_elementwise
def subtract(a: Any, b: Any, result: Any) -> None:
    result[0], result[1] = _minus(a[0], a[1], b[0], b[1])


@_elementwise
def multiply(a: Any, b: Any, result: Any) -> None:
    result[0], result[1] = _times(a[0], a[1], b[0], b[1])


@guvectorize(["void(uint64[:,:], uint64[:,:], uint64[:])"], "(k,w),(k,w)->(w)", cache=True)
def dot(a: Any, b: Any, result: Any) -> None:
    """The sum of products; the factor 2^128 goes back in once, at the end."""
    low, high = _ZERO, _ZERO
    for k in range(len(a)):
        c0, c1 = _montgomery(a[k, 0], a[k, 1], b[k, 0], b[k, 1])
        low, high = _plus(low, high, c0, c1)
    result[0], result[1] = _montgomery(low, high, _BACK0, _BACK1)


@guvectorize(["void(uint64[:], uint64[:,:], uint64[:,:], uint64[:,:])"], "(w),(k,w),(k,w)->(k,w)", cache=True)
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


@guvectorize(["void(uint64[:,:], uint64[:,:], uint64[:,:])"], "(k,w),(k,w)->(k,w)", cache=True)
def butterflies(shuffled: Any, roots: Any, values: Any) -> None:
    """The transform of coefficients in bit-reversed order; `roots` are the powers of the k-th root of unity."""
    n = len(shuffled)
    values[:] = shuffled
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
