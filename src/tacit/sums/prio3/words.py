"""How arithmetic on 64-bit words is compiled: what a machine does in one or two instructions and
numba does not offer by itself, and three ways to compile: inside other loops, on every element, on
every vector of elements.

Compiled code is kept on disk in two pieces, the function and what calls it on arrays, and pieces of
two processes do not fit together. So one process compiles at a time, and the next one finds both.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _high_half(_: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The high half of the product of two words."""

    def emit(_context: Any, build: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = build.mul(build.zext(arguments[0], wide), build.zext(arguments[1], wide))
        return build.trunc(build.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), emit


def _ones_if_below(_: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """All bits set if a < b, else none: the borrow of a - b.

    A comparison would do, but the compiler makes branches of comparisons, which depend on secrets
    and are mispredicted half of the time: a product in the field then takes four times as long.
    """

    def emit(_context: Any, build: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        difference = build.sub(build.zext(arguments[0], wide), build.zext(arguments[1], wide))
        return build.trunc(build.lshr(difference, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), emit


high_half = cast(Any, intrinsic)(_high_half)
ones_if_below = cast(Any, intrinsic)(_ones_if_below)


_P = ParamSpec("_P")
_R = TypeVar("_R")
_ELEMENTS, _VECTOR, _WORD = "uint64[:,:]", "uint64[:]", "uint64"


@contextmanager
def _alone() -> Iterator[bool]:
    """No other process compiles meanwhile; False where nothing can be kept, so nothing need be."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "compiling.lock").open("a")
    except OSError:
        yield False
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield True


def inline(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function that compiled loops call."""
    return cast(Callable[_P, _R], numba.njit(function))


def on_words(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function of two words, as one that broadcasts over arrays of words."""
    signature = f"{_WORD}({_WORD}, {_WORD})"
    with _alone() as keep:
        vectorized = cast(Any, numba).vectorize([signature], cache=keep)
        return cast(Callable[_P, _R], vectorized(function))


def on_vectors(layout: str) -> Callable[[Callable[_P, _R]], Callable[_P, Any]]:
    """A function of vectors of words or of elements, laid out like "(k,w),(w)->(w)", broadcast over
    the axes before.

    The last argument is the result: callers leave it out.
    """
    inner = layout.replace("->", ",").replace("),(", ");(").split(";")
    types = ", ".join(_ELEMENTS if "," in each else _VECTOR for each in inner)

    def compile_it(function: Callable[_P, _R]) -> Callable[_P, Any]:
        with _alone() as keep:
            vectorized = cast(Any, numba).guvectorize([f"void({types})"], layout, cache=keep)
            return cast(Callable[_P, Any], vectorized(function))

    return compile_it
