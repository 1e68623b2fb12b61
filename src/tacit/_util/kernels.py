"""Hot loops: `kernel` compiles one with numba, `prefetch` asks for memory ahead, `spread` runs
pieces on all cores of this machine, for kernels that release the interpreter's lock; `affine` is a
product of matrices that rounds alike in any block, `exponential` and `turn` are functions that
round alike on every machine and in every language (docs/reference/wire.md).

numba is imported when a loop is first called, not where it is defined: it takes longer to load than
ten rows to predict, which `interpreted` does without it, and longer to compile than a small fit
takes, which `in_arrays` does by NumPy.

For arithmetic on 64-bit words there is what a machine does in one or two instructions and numba
does not offer by itself, and three ways to compile: inside other loops (`inline`), on every element
(`on_words`), on every vector of elements (`on_vectors`). Their code is kept on disk in two pieces,
the function and what calls it on arrays, and pieces of two processes do not fit together. So one
process compiles at a time, and the next one finds both.
"""

import fcntl
import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cached_property, update_wrapper
from pathlib import Path
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

from tacit._util.types import FloatArray

_P = ParamSpec("_P")
_R = TypeVar("_R")
_INTERPRETED = ContextVar("_INTERPRETED", default=False)
_IN_ARRAYS = ContextVar("_IN_ARRAYS", default=False)
_ONE_AT_A_TIME = RLock()


class _Patience:
    """How many steps this process still takes in arrays: as long as compiling would take."""

    left = 1 << 31

    def lasts(self, steps: int) -> bool:
        """Whether there are so many steps left, which are taken then; if not, there are none."""
        self.left = self.left - steps if steps <= self.left else 0
        return self.left > 0


_PATIENCE = _Patience()


def compile_at_once() -> None:
    """From now on this process compiles whatever it calls: measurements warm up by it."""
    _PATIENCE.left = 0


class Kernel(Generic[_P, _R]):
    """A loop that numba compiles, with these options, when it is first called or when another that
    calls it is compiled. Nothing is raised where it divides by 0: quotients are as IEEE 754 has
    them, as in arrays, and a loop need not look out for it.
    """

    __wrapped__: Callable[_P, _R]

    def __init__(self, function: Callable[_P, _R], **options: Any) -> None:
        update_wrapper(self, function)
        self._options = options
        self._compiled: Any = None
        self._arrays: tuple[Callable[_P, _R], Callable[_P, int]] | None = None

    def by_arrays(self, steps: Callable[_P, int]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
        """Decorates what does the same, to the bit, by NumPy; `steps`: on how many numbers."""

        def take(form: Callable[_P, _R]) -> Callable[_P, _R]:
            self._arrays = form, steps
            return form

        return take

    @property
    def compiled(self) -> Any:
        """What numba makes of it; threads that ask at once have the same."""
        with _ONE_AT_A_TIME:
            if self._compiled is None:
                import numba

                made = numba.njit(error_model="numpy", **self._options)
                self._compiled = made(self.__wrapped__)
            return self._compiled

    @property
    def _numba_type_(self) -> Any:
        """What numba takes it for where another kernel calls it."""
        return self.compiled._numba_type_

    def __call__(self, *given: _P.args, **named: _P.kwargs) -> _R:
        if _INTERPRETED.get():
            return self.__wrapped__(*given, **named)
        if self._compiled is None and self._arrays is not None and _IN_ARRAYS.get():
            form, steps = self._arrays
            if _PATIENCE.lasts(steps(*given, **named)):
                with interpreted():  # small functions are as good for arrays as for numbers
                    return form(*given, **named)
        return cast(_R, (self._compiled or self.compiled)(*given, **named))


@contextmanager
def interpreted() -> Iterator[None]:
    """In this thread loops run as the Python that they are written in: the same bits, a hundred
    times slower, and no compiler is loaded. For so little work that loading takes longer.

    Never where owners' rows are worked on: how long it takes would show how many they are.
    """
    token = _INTERPRETED.set(True)
    try:
        with np.errstate(all="ignore"):  # compiled loops warn of nothing
            yield
    finally:
        _INTERPRETED.reset(token)


@contextmanager
def in_arrays() -> Iterator[None]:
    """Loops that NumPy can do as well (`Kernel.by_arrays`) are done by it until that has taken as
    long as compiling them: the same bits, and a small fit loads no compiler.

    Only where rows are in this process to be simulated with, as in `interpreted`.
    """
    token = _IN_ARRAYS.set(True)
    try:
        yield
    finally:
        _IN_ARRAYS.reset(token)


def kernel(function: Callable[_P, _R]) -> Kernel[_P, _R]:
    """Compile a hot loop: machine code kept on disk, the interpreter's lock released."""
    return Kernel(function, cache=True, nogil=True)


def kernel_here(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a loop that calls a library by its address, which is this process's: not kept."""
    return Kernel(function, nogil=True)


def dot_kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a loop whose sums may be reordered, once for all, so that dot products vectorise."""
    return Kernel(function, cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


class Instruction:
    """What a machine does in one or two instructions and numba does not offer by itself: `write`
    writes it into a kernel that calls it, as numba's `intrinsic` says; `plain` is what an
    interpreted one does.
    """

    def __init__(
        self, write: Callable[..., tuple[Any, Any]], plain: Callable[..., Any] | None = None
    ) -> None:
        update_wrapper(self, write)
        self._write, self._plain = write, plain

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        made = cast(Any, intrinsic)(self._write)
        types = cast(Any, cpu_target.typing_context)
        types.refresh()
        return types.resolve_value_type(made)

    def __call__(self, *given: Any) -> Any:
        if self._plain is None:
            raise TypeError(f"{self._write.__name__} is called by compiled loops only")
        return self._plain(*given)


_READ, _SECOND_LEVEL_CACHE, _DATA = 0, 2, 1  # as LLVM numbers them


@Instruction
def prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> tuple[Any, Any]:
    """In a kernel, `prefetch(array, row, column)` asks memory for an element before it is needed.

    Reading one coordinate of each of a million rows waits for memory at every row; asking a little
    ahead lets those waits overlap (measured: four times faster). It changes no result. No bounds
    are checked: a prefetch cannot fault.
    """
    from llvmlite import ir
    from numba.core import cgutils, types

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
    size = max(1, least) if n <= least else max(1, least, -(-n // cores()))
    size = size if most is None else max(1, min(most, size))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def spread(work: Callable[[slice], _R], parts: Iterable[slice]) -> list[_R]:
    """Do all parts, the calling thread among the workers; one part, or one core, needs no other
    thread. What each gave is in the order of parts.
    """
    waiting = list(parts)
    if len(waiting) < 2:  # the usual case of a gate, which asks nobody how many cores there are
        return [work(part) for part in waiting]
    done: list[Any] = [None] * len(waiting)
    others = min(cores(), len(waiting)) - 1
    queue = iter(enumerate(waiting))

    def drain() -> None:
        for place, part in queue:
            done[place] = work(part)

    if others < 1:
        drain()
        return done
    with ThreadPoolExecutor(others) as pool:
        running = [pool.submit(copy_context().run, drain) for _ in range(others)]
        drain()
        for other in running:
            other.result()
    return done


@kernel
def affine(X: FloatArray, centre: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """`out` = (X - centre) @ matrix, term by term in one order: a library's product may round
    differently in blocks. Four terms go to memory at once, which halves the time; zeros are not
    left out, so that time does not depend on rows.
    """
    fours = len(matrix) - len(matrix) % 4
    done = _to_two_columns(X, centre, matrix, out) if matrix.shape[1] == 2 else 0
    for i in range(done, len(X)):
        for k in range(matrix.shape[1]):
            out[i, k] = 0.0
        for j in range(0, fours, 4):
            x0, x1 = X[i, j] - centre[j], X[i, j + 1] - centre[j + 1]
            x2, x3 = X[i, j + 2] - centre[j + 2], X[i, j + 3] - centre[j + 3]
            for k in range(matrix.shape[1]):
                two = (out[i, k] + x0 * matrix[j, k]) + x1 * matrix[j + 1, k]
                out[i, k] = (two + x2 * matrix[j + 2, k]) + x3 * matrix[j + 3, k]
        for j in range(fours, len(matrix)):
            x = X[i, j] - centre[j]
            for k in range(matrix.shape[1]):
                out[i, k] += x * matrix[j, k]


@kernel
def _to_two_columns(X: FloatArray, centre: FloatArray, matrix: FloatArray, out: FloatArray) -> int:
    """`affine` of as many rows as are fours, four side by side: a sum waits for the one before it.
    Answers how many.
    """
    fours = len(X) - len(X) % 4
    for i in range(0, fours, 4):
        a, b, c, d = X[i], X[i + 1], X[i + 2], X[i + 3]
        a0, b0, c0, d0, a1, b1, c1, d1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(len(matrix)):
            e, f, g, h = a[j] - centre[j], b[j] - centre[j], c[j] - centre[j], d[j] - centre[j]
            m0, m1 = matrix[j, 0], matrix[j, 1]
            a0, b0, c0, d0 = a0 + e * m0, b0 + f * m0, c0 + g * m0, d0 + h * m0
            a1, b1, c1, d1 = a1 + e * m1, b1 + f * m1, c1 + g * m1, d1 + h * m1
        out[i, 0], out[i + 1, 0], out[i + 2, 0], out[i + 3, 0] = a0, b0, c0, d0
        out[i, 1], out[i + 1, 1], out[i + 2, 1], out[i + 3, 1] = a1, b1, c1, d1
    return fours


@affine.by_arrays(lambda X, centre, matrix, out: X.size * matrix.shape[1])
def _affine(X: FloatArray, centre: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    out[:] = 0.0
    for j in range(len(matrix)):
        out += (X[:, j, np.newaxis] - centre[j]) * matrix[j]


def _write_power(typing_context: Any, exponent: Any) -> tuple[Any, Any]:
    """2.0 to a whole power from -1022 to 1023: its bits."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        biased = builder.add(arguments[0], word(1023))
        return builder.bitcast(builder.shl(biased, word(52)), ir.DoubleType())

    return types.float64(types.int64), generate


_power_of_two = Instruction(_write_power, lambda exponent: math.ldexp(1.0, int(exponent)))

# nearest doubles; of ln 2 and of a quarter turn first parts with few enough bits that whole
# multiples of them are exact
_PER_OCTAVE = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_PER_QUARTER = 0.6366197723675814
_QUARTER = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_LEAST, _MOST, _FARTHEST = -708.0, 709.0, 1e6
_FACTORIALS = tuple(float(math.factorial(n)) for n in range(12, -1, -1))


@kernel
def exponential(x: float) -> float:
    """e^x within two units in the last place; 0 below -708 and for what is no number, infinite
    above 709. Sums and products in one order, so the same bits everywhere.
    """
    if not x >= _LEAST:
        return 0.0
    if x > _MOST:
        return np.inf
    octaves = np.floor(x * _PER_OCTAVE + 0.5)
    r = (x - octaves * _LN2_HIGH) - octaves * _LN2_LOW
    total = 1.0 / 6227020800.0
    for factorial in _FACTORIALS:
        total = total * r + 1.0 / factorial
    return float(total * _power_of_two(np.int64(octaves)))


def exponentials(x: FloatArray) -> FloatArray:
    """`exponential` of each number, the same bits.

    >>> exponentials(np.array([0.0, -1000.0, np.nan]))
    array([1., 0., 0.])
    """
    near = np.clip(np.nan_to_num(x), _LEAST, _MOST)
    octaves = np.floor(near * _PER_OCTAVE + 0.5)
    r = (near - octaves * _LN2_HIGH) - octaves * _LN2_LOW
    total = np.full_like(near, 1.0 / 6227020800.0)
    for factorial in _FACTORIALS:
        total = total * r + 1.0 / factorial
    raised = np.ldexp(total, octaves.astype(np.int64))
    return np.where(x >= _LEAST, np.where(x > _MOST, np.inf, raised), 0.0)


@kernel
def turn(angle: float) -> tuple[float, float]:
    """Cosine and sine within two units in the last place of 1; of 0 where the angle is beyond a
    million, or none. The same bits everywhere.
    """
    c, s, quadrant = _in_quarter(angle if abs(angle) <= _FARTHEST else 0.0)
    is_odd = (quadrant == 1.0) | (quadrant == 3.0)
    cosine = s if is_odd else c
    sine = c if is_odd else s
    # signs as factors: then nothing branches, and a loop takes several angles at once
    before = -1.0 if (quadrant == 1.0) | (quadrant == 2.0) else 1.0
    below = -1.0 if quadrant >= 2.0 else 1.0
    return cosine * before, sine * below


def turns(angles: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`turn` of each angle, the same bits: for a loop by arrays."""
    near = np.where(np.abs(angles) <= _FARTHEST, angles, 0.0)
    c, s, quadrant = cast(Any, _in_quarter)(near)
    is_odd = (quadrant == 1.0) | (quadrant == 3.0)
    cosine, sine = np.where(is_odd, s, c), np.where(is_odd, c, s)
    turned = (quadrant == 1.0) | (quadrant == 2.0)
    return np.where(turned, -cosine, cosine), np.where(quadrant >= 2.0, -sine, sine)


@kernel
def _in_quarter(x: float) -> tuple[float, float, float]:
    """Cosine and sine of what an angle is beyond whole quarters, and of which four it is in."""
    quarters = np.floor(x * _PER_QUARTER + 0.5)
    r = x - quarters * _QUARTER[0]
    r = (r - quarters * _QUARTER[1]) - quarters * _QUARTER[2]
    z = r * r
    c = 1.0 / 20922789888000.0
    c = c * z - 1.0 / 87178291200.0
    c = c * z + 1.0 / 479001600.0
    c = c * z - 1.0 / 3628800.0
    c = c * z + 1.0 / 40320.0
    c = c * z - 1.0 / 720.0
    c = c * z + 1.0 / 24.0
    c = c * z - 0.5
    c = c * z + 1.0
    s = 1.0 / 355687428096000.0
    s = s * z - 1.0 / 1307674368000.0
    s = s * z + 1.0 / 6227020800.0
    s = s * z - 1.0 / 39916800.0
    s = s * z + 1.0 / 362880.0
    s = s * z - 1.0 / 5040.0
    s = s * z + 1.0 / 120.0
    s = s * z - 1.0 / 6.0
    s = (s * z + 1.0) * r
    return c, s, quarters - 4.0 * np.floor(quarters * 0.25)


@Instruction
def high_half(_: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The high half of the product of two words."""
    from llvmlite import ir
    from numba.core import types

    def emit(_context: Any, build: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = build.mul(build.zext(arguments[0], wide), build.zext(arguments[1], wide))
        return build.trunc(build.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), emit


@Instruction
def ones_if_below(_: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """All bits set if a < b, else none: the borrow of a - b.

    A comparison would do, but the compiler makes branches of comparisons, which depend on secrets
    and are mispredicted half of the time: a product in the field then takes four times as long.
    """
    from llvmlite import ir
    from numba.core import types

    def emit(_context: Any, build: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        difference = build.sub(build.zext(arguments[0], wide), build.zext(arguments[1], wide))
        return build.trunc(build.lshr(difference, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), emit


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
    return Kernel(function)


def on_words(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function of two words, as one that broadcasts over arrays of words."""
    import numba

    signature = f"{_WORD}({_WORD}, {_WORD})"
    with _alone() as keep:
        vectorized = cast(Any, numba).vectorize([signature], cache=keep)
        return cast(Callable[_P, _R], vectorized(function))


def on_vectors(layout: str) -> Callable[[Callable[_P, _R]], Callable[_P, Any]]:
    """A function of vectors of words or of elements, laid out like "(k,w),(w)->(w)", broadcast over
    the axes before.

    The last argument is the result: callers leave it out.
    """
    import numba

    inner = layout.replace("->", ",").replace("),(", ");(").split(";")
    types = ", ".join(_ELEMENTS if "," in each else _VECTOR for each in inner)

    def compile_it(function: Callable[_P, _R]) -> Callable[_P, Any]:
        with _alone() as keep:
            vectorized = cast(Any, numba).guvectorize([f"void({types})"], layout, cache=keep)
            return cast(Callable[_P, Any], vectorized(function))

    return compile_it
