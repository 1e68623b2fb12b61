"""Hot loops: `kernel` compiles one with numba, `prefetch` asks for memory ahead, `spread` runs
pieces on all cores of this machine, for kernels that release the interpreter's lock; `affine` is a
product of matrices that rounds alike in any block.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tacit._util.types import FloatArray

_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a hot loop: machine code kept on disk, the interpreter's lock released."""
    return cast(Callable[_P, _R], numba.njit(cache=True, nogil=True)(function))


def kernel_here(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a loop that calls a library by its address, which is this process's: not kept."""
    return cast(Callable[_P, _R], numba.njit(nogil=True)(function))


def dot_kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a loop whose sums may be reordered, once for all, so that dot products vectorise."""
    reorder = {"reassoc", "contract", "nsz"}
    return cast(Callable[_P, _R], numba.njit(cache=True, nogil=True, fastmath=reorder)(function))


_READ, _SECOND_LEVEL_CACHE, _DATA = 0, 2, 1  # as LLVM numbers them


@intrinsic
def prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """In a kernel, `prefetch(array, row, column)` asks memory for an element before it is needed.

    Reading one coordinate of each of a million rows waits for memory at every row; asking a little
    ahead lets those waits overlap (measured: four times faster). It changes no result. No bounds
    are checked: a prefetch cannot fault.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(  # type: ignore[no-untyped-call]
            context, builder, kind, view, arguments[1:], wraparound=False
        )
        address = builder.bitcast(pointer, cgutils.voidptr_t)
        number = ir.IntType(32)
        declared = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), declared)
        builder.call(
            instruction, [address, number(_READ), number(_SECOND_LEVEL_CACHE), number(_DATA)]
        )
        return context.get_dummy_value()

    return types.void(array, row, column), generate


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pieces(n: int, least: int, most: int | None = None) -> list[slice]:
    """0 .. n in one piece per core, none smaller than is worth a thread (`least`) or larger than
    `most`.

    >>> pieces(10, least=5, most=5)
    [slice(0, 5, None), slice(5, 10, None)]
    >>> pieces(10, least=10)
    [slice(0, 10, None)]
    """
    size = max(1, least, -(-n // cores()))
    size = size if most is None else max(1, min(most, size))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def spread(work: Callable[[slice], None], parts: Iterable[slice]) -> None:
    """Do all parts, the calling thread among the workers; one part, or one core, needs no other
    thread.
    """
    waiting = list(parts)
    others = min(cores(), len(waiting)) - 1
    queue = iter(waiting)

    def drain() -> None:
        for part in queue:
            work(part)

    if others < 1:
        drain()
        return
    with ThreadPoolExecutor(others) as pool:
        running = [pool.submit(drain) for _ in range(others)]
        drain()
        for other in running:
            other.result()


@kernel
def affine(X: FloatArray, centre: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """`out` = (X - centre) @ matrix, row by row in one order: a library's product may round
    differently in blocks.
    """
    for i in range(len(X)):
        for k in range(matrix.shape[1]):
            out[i, k] = 0.0
        for j in range(len(matrix)):
            x = X[i, j] - centre[j]
            if x != 0.0:
                for k in range(matrix.shape[1]):
                    out[i, k] += x * matrix[j, k]
