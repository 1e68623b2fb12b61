"""Three ways to compile arithmetic with numba: inside other loops, on every element, on every
vector of elements.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

_P = ParamSpec("_P")
_R = TypeVar("_R")
_ELEMENTS, _VECTOR, _WORD = "uint64[:,:]", "uint64[:]", "uint64"


def inline(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function that compiled loops call."""
    return cast(Callable[_P, _R], numba.njit(function))


def on_words(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function of two words, as one that broadcasts over arrays of words."""
    signature = f"{_WORD}({_WORD}, {_WORD})"
    return cast(Callable[_P, _R], cast(Any, numba).vectorize([signature], cache=True)(function))


def on_vectors(layout: str) -> Callable[[Callable[_P, _R]], Callable[_P, Any]]:
    """A function of vectors of words or of elements, laid out like "(k,w),(w)->(w)", broadcast over
    the axes before.

    The last argument is the result: callers leave it out.
    """
    inner = layout.replace("->", ",").replace("),(", ");(").split(";")
    types = ", ".join(_ELEMENTS if "," in each else _VECTOR for each in inner)

    def compile_it(function: Callable[_P, _R]) -> Callable[_P, Any]:
        vectorized = cast(Any, numba).guvectorize([f"void({types})"], layout, cache=True)
        return cast(Callable[_P, Any], vectorized(function))

    return compile_it
