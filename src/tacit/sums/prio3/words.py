"""Two things that a machine does with 64-bit words in one or two instructions and numba does not
offer by itself.
"""

from typing import Any, cast

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
