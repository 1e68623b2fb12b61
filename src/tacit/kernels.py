"""`kernel` compiles a hot loop with numba."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a hot loop: machine code kept on disk, the interpreter's lock released."""
    return cast(Callable[_P, _R], numba.njit(cache=True, nogil=True)(function))


def kernel_here(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a loop that calls into a library by its address, which another process need not share: not kept."""
    return cast(Callable[_P, _R], numba.njit(nogil=True)(function))


def dot_kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a loop whose sums the compiler may reorder, so that dot products vectorise. The order is then fixed."""
    reorder = {"reassoc", "contract", "nsz"}
    return cast(Callable[_P, _R], numba.njit(cache=True, nogil=True, fastmath=reorder)(function))
